/* links: tp_scan $<TARGET_NAME_IF_EXISTS:PkgConfig::HDF5> */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "host/store/store.h"
#include "tests/unit/check.h"

#if __has_include(<hdf5.h>)
#include <hdf5.h>

/* Bytes of headers and heaps that libhdf5 1.10.8 takes unchecked: it crashed or never ended. */
static char folder[] = "/tmp/tomoprof-test-damage-XXXXXX";
static const uint32_t value = 0xa1b2c3d4;

static int enter(void **state)
{
    (void)state;
    log_set_level(LOG_ERROR);
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    unlink("x.h5");
    return chdir("/") || rmdir(folder);
}

static void add(hid_t file, const char *name, hid_t type, hid_t space, hid_t how)
{
    hid_t d = H5Dcreate2(file, name, type, space, H5P_DEFAULT, how, H5P_DEFAULT);
    assert_true(d >= 0);
    H5Dclose(d);
}

/* A virtual dataset of two mappings, one with a fill value, chunks with a filter, a type with
 * members, an attribute. */
static void make_file(size_t address, size_t length)
{
    const hsize_t shape[] = {4, 8}, half[] = {2, 8}, start[] = {0, 0}, next[] = {2, 0},
                  five[] = {5};
    hid_t sizes = H5Pcreate(H5P_FILE_CREATE), how = H5Pcreate(H5P_DATASET_CREATE),
          space = H5Screate_simple(2, shape, NULL), from = H5Screate_simple(2, half, NULL),
          to = H5Screate_simple(2, shape, NULL), member = H5Tarray_create2(H5T_STD_I16LE, 1, five),
          type = H5Tcreate(H5T_COMPOUND, 16);
    H5Pset_sizes(sizes, address, length);
    hid_t file = H5Fcreate("x.h5", H5F_ACC_TRUNC, sizes, H5P_DEFAULT);
    add(file, "source", H5T_STD_U16LE, from, H5P_DEFAULT);
    H5Pset_fill_value(how, H5T_NATIVE_UINT32, &value);
    add(file, "fill", H5T_STD_U32LE, space, how);
    H5Pset_chunk(how, 2, half);
    H5Pset_deflate(how, 9);
    add(file, "chunks", H5T_STD_U32LE, space, how);
    H5Pclose(how);
    H5Tinsert(type, "member_a", 0, H5T_STD_I32LE);
    H5Tinsert(type, "member_b", 4, member);
    add(file, "members", type, space, H5P_DEFAULT);
    how = H5Pcreate(H5P_DATASET_CREATE);
    H5Sselect_hyperslab(to, H5S_SELECT_SET, start, NULL, half, NULL);
    H5Pset_virtual(how, to, "./x.h5", "source", from);
    H5Sselect_hyperslab(to, H5S_SELECT_SET, next, NULL, half, NULL);
    H5Pset_virtual(how, to, "./x.h5", "source", from);
    if (address == 8)
        add(file, "virtual", H5T_STD_U16LE, space, how);
    hid_t source = H5Dopen2(file, "source", H5P_DEFAULT), one = H5Screate_simple(1, five, NULL),
          a = H5Acreate2(source, "attribute_a", H5T_STD_U32LE, one, H5P_DEFAULT, H5P_DEFAULT);
    const uint32_t values[5] = {7, 7, 7, 7, 7};
    H5Awrite(a, H5T_NATIVE_UINT32, values);
    H5Aclose(a);
    H5Dclose(source);
    const hid_t spaces[] = {space, from, to, one};
    for (int i = 0; i < 4; i++)
        H5Sclose(spaces[i]);
    H5Tclose(member);
    H5Tclose(type);
    H5Pclose(how);
    H5Pclose(sizes);
    H5Fclose(file);
}

static size_t find(const char *data, size_t n, const void *what, size_t bytes)
{
    size_t at = 0;
    while (at + bytes <= n && memcmp(data + at, what, bytes))
        at++;
    assert_true(at + bytes <= n);
    return at;
}

/* Changes `bytes` at a distance from a text; the text NULL: from the layout that refers to the
 * heap. */
static void damage(const char *text, size_t length, int from, const void *bytes, size_t n)
{
    char *data;
    size_t size;
    assert_ok(file_read_all("x.h5", 1 << 20, &data, &size));
    const uint64_t heap = text ? 0 : find(data, size, "GCOL", 4);
    const size_t at = text ? find(data, size, text, length) : find(data, size, &heap, 8);
    memcpy(data + at + from, bytes, n);
    FILE *f = fopen("x.h5", "wb");
    assert_true(f && fwrite(data, 1, size, f) == size && !fclose(f));
    free(data);
}

static void check_note(const char *name, const char *why)
{
    struct store *s;
    assert_ok(store_open("x.h5", &s));
    int found = 0;
    for (int i = 0; i < s->notes_count; i++)
        found |= !strncmp(s->notes[i].value, name, strlen(name)) && strstr(s->notes[i].value, why);
    if (!found)
        fail_msg("%s: no note \"%s\" among %d; the last is \"%s\"", name, why, s->notes_count,
                 s->notes_count ? s->notes[s->notes_count - 1].value : "");
    store_close(s);
}

static void test_damage(void **state)
{
    (void)state;
#define TEXT(t) t, sizeof t - 1
    static const struct {
        const char *what, *text;
        size_t length;
        int from;
        const char *bytes;
        size_t n;
        const char *name, *why;
    } rows[] = {
        {"heap's place", NULL, 0, 0, TEXT("\x08"), "virtual", "where no heap is"},
        {"heap far away", NULL, 0, 5, TEXT("\x7f"), "virtual", "ends before byte"},
        {"heap's index", NULL, 0, 8, TEXT("\x55"), "virtual", "object 85 of a heap"},
        {"heap's size", TEXT("GCOL"), 12, TEXT("\x10"), "virtual", "its heap claims"},
        {"free space of 0 bytes", TEXT("GCOL"), 16, TEXT("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
         "virtual", "object 0 of its heap claims 0 bytes"},
        {"object's size", TEXT("GCOL"), 27, TEXT("\x7f"), "virtual", "object 1 of its heap claims"},
        {"mappings", TEXT("GCOL"), 33, TEXT("\x03"), "virtual", "mapping 2 of 3 is damaged"},
        {"many mappings", TEXT("GCOL"), 39, TEXT("\x7f"), "virtual", "is damaged"},
        {"selection's dimensions", TEXT("x.h5\0source\0"), 28, TEXT("\xff"), "virtual",
         "mapping 0 of 2 is damaged"},
        {"fill value of less than no bytes", TEXT("\xd4\xc3\xb2\xa1"), -1, TEXT("\xcc"), "fill",
         "a fill value of -"},
        {"fill value beyond its message", TEXT("\xd4\xc3\xb2\xa1"), -3, TEXT("\x7f"), "fill",
         "that it does not hold"},
        {"a shape larger than it may be", TEXT("\4\0\0\0\0\0\0\0\x8\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0"),
         0, TEXT("\5"), "fill", "its dimension 0 claims 5 elements of at most 4"},
        {"fill value of another size", TEXT("\xd4\xc3\xb2\xa1"), -4, TEXT("\x02"), "fill",
         "a fill value of 2 bytes for elements of 4"},
        {"filter's name", TEXT("deflate"), -6, TEXT("\xff\xff"), "chunks", "1 filters"},
        {"member's offset", TEXT("member_b"), 16, TEXT("\xff"), "members", "a member of 10 bytes"},
        {"array's dimensions", TEXT("member_b"), 28, TEXT("\xff"), "members",
         "an array of 255 dimensions"},
        {"member's type", TEXT("member_a"), 20, TEXT("\x1a"), "members",
         "an array of 0 dimensions"},
        {"attribute's name", TEXT("attribute_a"), -6, TEXT("\xff\xff"), "source",
         "an attribute that ends early"},
        {"attribute's type", TEXT("attribute_a"), 16, TEXT("\x1a"), "source",
         "an array of 0 dimensions"},
        {"attribute's bits", TEXT("attribute_a"), 16 + 10, TEXT("\xff"), "source",
         "of a type of 4 bytes"},
        {"attribute's shape", TEXT("attribute_a"), 16 + 16 + 8, TEXT("\xff"), "source",
         "whose value it does not hold"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        make_file(8, 8);
        damage(rows[i].text, rows[i].length, rows[i].from, rows[i].bytes, rows[i].n);
        print_message("%s\n", rows[i].what);
        check_note(rows[i].name, rows[i].why);
    }
}

/* Files of whole objects have no such notes, whatever their addresses take. */
static void test_whole(void **state)
{
    (void)state;
    static const size_t sizes[][2] = {{8, 8}, {4, 4}, {8, 4}};
    for (int i = 0; i < 3; i++) {
        struct store *s;
        make_file(sizes[i][0], sizes[i][1]);
        assert_ok(store_open("x.h5", &s));
        assert_int_equal(s->arrays_count, i == 1 ? 3 : 4);
        assert_int_equal(s->notes_count, 1); /* members are not numbers */
        store_close(s);
    }
}

/* A chunk whose place in the index is another one: it was read as fill values. */
static void test_index(void **state)
{
    (void)state;
    const hsize_t shape[] = {4, 8}, chunk[] = {2, 8};
    const uint32_t values[32] = {7, 7};
    const hid_t space = H5Screate_simple(2, shape, NULL), how = H5Pcreate(H5P_DATASET_CREATE),
                file = H5Fcreate("x.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Pset_chunk(how, 2, chunk);
    const hid_t d = H5Dcreate2(file, "chunks", H5T_STD_U32LE, space, H5P_DEFAULT, how, H5P_DEFAULT);
    assert_true(H5Dwrite(d, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(d);
    H5Pclose(how);
    H5Sclose(space);
    H5Fclose(file);
    for (int damaged = 0; damaged < 2; damaged++) {
        struct store *s;
        if (damaged) /* the second key follows a head of 24 bytes, a key of 32, an address */
            damage("TREE\1", 5, 24 + 32 + 8 + 8, "\x07", 1);
        assert_ok(store_open("x.h5", &s));
        if (damaged)
            assert_error(store_index(s, s->arrays[0]), ERR_INPUT, "the index of chunks is damaged");
        else
            assert_ok(store_index(s, s->arrays[0]));
        store_close(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_index),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
#else
int main(void)
{
    printf("skipped: this build has no HDF5\n");
    return 77;
}
#endif
