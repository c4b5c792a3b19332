/* links: tp_scan $<TARGET_NAME_IF_EXISTS:PkgConfig::HDF5> */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "host/store/engine/engine.h"
#include "host/store/exchange/exchange.h"
#include "host/store/store.h"
#include "tests/unit/check.h"

#if __has_include(<hdf5.h>)
#include <hdf5.h>

/* Scans whose parts are there, but not as plain datasets: links, virtual datasets, texts of
 * variable length; and the same with something damaged or hostile. */
enum { V = 6, R = 3, N = 5, FRAME = R * N };
static char folder[] = "/tmp/tomoprof-test-links-XXXXXX";

static int enter(void **state)
{
    (void)state;
    log_set_level(LOG_ERROR);
    if (!mkdtemp(folder) || chdir(folder) || mkdir("in", 0700))
        return -1;
    return chdir("in");
}

static int leave(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return chdir("/") || system(command) ? -1 : 0;
}

static hid_t create(const char *path)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(file >= 0);
    return file;
}

static void add_text(hid_t file, const char *path, const char *name, const char *text, int variable)
{
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR),
          object = H5Oopen(file, path, H5P_DEFAULT);
    H5Tset_size(type, variable ? H5T_VARIABLE : strlen(text) + 1);
    hid_t a = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(a, type, variable ? (const void *)&text : text) >= 0);
    H5Aclose(a);
    H5Sclose(space);
    H5Tclose(type);
    H5Oclose(object);
}

/* uint16 that count up from `first`; groups are made on the way. `chunk` 0: in one piece. */
static void add(hid_t file, const char *path, int dims, const hsize_t *shape, int chunk, int first)
{
    uint16_t values[1000];
    hsize_t n = 1, chunks[] = {(hsize_t)chunk, R, N};
    for (int i = 0; i < dims; i++)
        n *= shape[i];
    for (hsize_t i = 0; i < n; i++)
        values[i] = (uint16_t)(first + (int)i);
    hid_t links = H5Pcreate(H5P_LINK_CREATE), how = H5Pcreate(H5P_DATASET_CREATE),
          space = H5Screate_simple(dims, shape, NULL);
    H5Pset_create_intermediate_group(links, 1);
    if (chunk) {
        H5Pset_chunk(how, dims, chunks);
        H5Pset_deflate(how, 1);
    }
    hid_t d = H5Dcreate2(file, path, H5T_STD_U16LE, space, links, how, H5P_DEFAULT);
    assert_true(d >= 0);
    assert_true(H5Dwrite(d, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(d);
    H5Sclose(space);
    H5Pclose(how);
    H5Pclose(links);
}

static const hsize_t views[] = {V, R, N}, frames[] = {2, R, N}, angles[] = {V};

/* Views and flats here; angles and darks as the test wants them. */
static hid_t scan(const char *path)
{
    hid_t file = create(path);
    add(file, "exchange/data", 3, views, 1, 100);
    add(file, "exchange/data_white", 3, frames, 0, 1000);
    return file;
}

static void make_side(const char *path)
{
    hid_t file = create(path);
    add(file, "theta", 1, angles, 0, 10);
    add(file, "group/dark", 3, frames, 0, 1);
    add_text(file, "theta", "units", "deg", 1);
    H5Fclose(file);
}

static void check_scan(const char *path)
{
    struct exchange_counts c;
    assert_ok(exchange_read(&(struct exchange_source){.path = path}, 0, -1, &c));
    assert_int_equal(c.views, V);
    for (int i = 0; i < V; i++)
        assert_near(c.angles[i], (10 + i) * M_PI / 180, 1e-6);
    for (int i = 0; i < FRAME; i++)
        assert_near(c.dark[i], 1 + i + FRAME / 2., 1e-6); /* the mean of two frames */
    exchange_counts_free(&c);
}

static void check_refused(const char *path, const char *name, const char *why)
{
    struct exchange_counts c;
    const enum err e = exchange_read(&(struct exchange_source){.path = path}, 0, -1, &c);
    if (!e)
        fail_msg("%s was read", path);
    if (!strstr(err_text(), name) || !strstr(err_text(), why))
        fail_msg("%s: said \"%s\", not \"%s\" and \"%s\"", path, err_text(), name, why);
}

static void link_to(hid_t file, const char *target, const char *object, const char *name)
{
    assert_true((target ? H5Lcreate_external(target, object, file, name, H5P_DEFAULT, H5P_DEFAULT)
                        : H5Lcreate_soft(object, file, name, H5P_DEFAULT, H5P_DEFAULT)) >= 0);
}

static void test_links(void **state)
{
    (void)state;
    make_side("side.h5");
    hid_t file = scan("external.h5");
    link_to(file, "side.h5", "/theta", "exchange/theta");
    link_to(file, "./side.h5", "group/dark", "exchange/data_dark");
    H5Fclose(file);
    check_scan("external.h5");

    file = scan("soft.h5"); /* over a group that is a link to another file, and relative */
    link_to(file, "side.h5", "/", "exchange/side");
    link_to(file, NULL, "side/theta", "exchange/theta");
    link_to(file, NULL, "/exchange/side/group/dark", "exchange/data_dark");
    H5Fclose(file);
    check_scan("soft.h5");

    file = create("group.h5"); /* all of the scan below another name */
    add(file, "raw/data", 3, views, 1, 100);
    add(file, "raw/data_white", 3, frames, 0, 1000);
    link_to(file, "side.h5", "/theta", "raw/theta");
    link_to(file, "side.h5", "/group/dark", "raw/data_dark");
    link_to(file, NULL, "/raw", "exchange");
    H5Fclose(file);
    check_scan("group.h5");
}

/* An array that several links lead to is one array. */
static void test_names(void **state)
{
    (void)state;
    struct store *s;
    struct store_array *a, *b;
    hid_t file = create("names.h5");
    add(file, "a/data", 3, views, 1, 0);
    H5Lcreate_hard(file, "a/data", file, "hard", H5P_DEFAULT, H5P_DEFAULT);
    link_to(file, NULL, "a/data", "soft");
    link_to(file, NULL, "/", "a/loop"); /* a group inside of itself */
    H5Lcreate_hard(file, "/", file, "a/hard_loop", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(file);
    assert_ok(store_open("names.h5", &s));
    assert_int_equal(s->arrays_count, 1);
    assert_int_equal(s->aliases_count, 2);
    assert_ok(store_find(s, "a/data", &a));
    assert_ok(store_find(s, "hard", &b));
    assert_ptr_equal(a, b);
    assert_ok(store_find(s, "soft", &b));
    assert_ptr_equal(a, b);
    store_close(s);
}

/* No array is taken unasked where one that cannot be read may be larger. */
static void test_largest(void **state)
{
    (void)state;
    const struct {
        const char *file, *link;
        hsize_t rows; /* of a table with members */
        int good;
    } rows[] = {
        {"table.h5", NULL, 1, 1}, {"long.h5", NULL, 2000, 0}, {"lost.h5", "out/data", 1, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct store *s;
        struct store_array *a;
        hid_t file = create(rows[i].file), type = H5Tcreate(H5T_COMPOUND, 12),
              space = H5Screate_simple(1, &rows[i].rows, NULL);
        add(file, "data", 3, views, 1, 0);
        H5Tinsert(type, "time", 0, H5T_NATIVE_DOUBLE);
        H5Tinsert(type, "row", 8, H5T_NATIVE_INT);
        hid_t table =
            H5Dcreate2(file, "events", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        assert_true(table >= 0);
        H5Dclose(table);
        H5Tclose(type);
        H5Sclose(space);
        if (rows[i].link)
            link_to(file, NULL, rows[i].link, "projections");
        H5Fclose(file);
        assert_ok(store_open(rows[i].file, &s));
        const enum err e = store_find(s, NULL, &a);
        assert_int_equal(e, rows[i].good ? ERR_OK : ERR_INPUT);
        if (e)
            assert_non_null(strstr(err_text(), rows[i].link ? "projections" : "events"));
        assert_ok(store_find(s, "data", &a));
        store_close(s);
    }
}

/* Angles that are there and cannot be read are an error, not a scan without angles. */
static void test_nowhere(void **state)
{
    (void)state;
    static const struct {
        const char *file, *object, *why;
    } rows[] = {
        {NULL, "/gone", "has no gone"},
        {"gone.h5", "/theta", "No such file"},
        {"side.h5", "/gone", "has no gone"},
        {NULL, "/exchange/theta", "links lead to each other"},
        {"bad.h5", "/exchange/theta", "links lead to each other"},
        {"text", "/theta", "is not an HDF5 file"},
        {"pipe", "/theta", "is not a regular file"},
        {"../side.h5", "/theta", "outside of its folder"},
        {"/etc/passwd", "/theta", "outside of its folder"},
        {"/dev/zero", "/theta", "outside of its folder"},
        {"away.h5", "/theta", "outside of its folder"}, /* a symbolic link of the file system */
    };
    make_side("side.h5");
    make_side("../side.h5");
    assert_int_equal(symlink("../side.h5", "away.h5"), 0);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    FILE *text = fopen("text", "w");
    fputs("no HDF5", text);
    fclose(text);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hid_t file = scan("bad.h5");
        link_to(file, rows[i].file, rows[i].object, "exchange/theta");
        H5Fclose(file);
        check_refused("bad.h5", "exchange/theta", rows[i].why);
    }
    hid_t file = scan("away_link.h5");
    link_to(file, "../side.h5", "/theta", "exchange/theta");
    link_to(file, "away.h5", "/group/dark", "exchange/data_dark");
    H5Fclose(file);
    check_refused("away_link.h5", "exchange/data_dark", "`follow_links`");
    store_follow_links = 1;
    check_scan("away_link.h5");
    store_follow_links = 0;
}

/* Changes one byte of a dataset's header, of its text's reference, of the heap. */
static void change(const char *path, size_t at, int value)
{
    FILE *f = fopen(path, "r+b");
    assert_true(f && !fseek(f, (long)at, SEEK_SET) && fputc(value, f) == value && !fclose(f));
}

static size_t find_bytes(const char *path, const void *bytes, size_t n, int nth)
{
    char *data;
    size_t size, at = 0;
    assert_ok(file_read_all(path, 1 << 20, &data, &size));
    for (; at + n <= size; at++)
        if (!memcmp(data + at, bytes, n) && !nth--)
            break;
    assert_true(at + n <= size);
    free(data);
    return at;
}

static void test_damaged(void **state)
{
    (void)state;
    H5O_info_t info;
    hid_t file = scan("damaged.h5");
    add(file, "exchange/theta", 1, angles, 0, 10);
    hid_t theta = H5Dopen2(file, "exchange/theta", H5P_DEFAULT);
    assert_true(H5Oget_info2(theta, &info, H5O_INFO_BASIC) >= 0);
    H5Dclose(theta);
    H5Fclose(file);
    change("damaged.h5", info.addr, 0x41); /* the version of its header */
    check_refused("damaged.h5", "exchange/theta", "its header is damaged");
}

/* libhdf5 1.10.8 crashed on each. */
static void test_texts(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        int at, value; /* from the reference to the heap, or from the heap on */
        int in_heap;
        const char *why;
    } rows[] = {
        {"index", 14, 2, 0, "none of this number"},
        {"length", 1, 8, 0, "claims 2051 bytes of an object"},
        {"address", 6, 0x7f, 0, "ends before byte"},
        {"signature", 0, 'X', 1, "where no heap is"},
        {"size", 15, 0x7f, 1, "claims"},
        {"object", 16, 9, 1, "none of this number"},
        {"object's size", 26, 9, 1, "claims"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hid_t file = scan("text.h5");
        add(file, "exchange/theta", 1, angles, 0, 10);
        add(file, "exchange/data_dark", 3, frames, 0, 1);
        add_text(file, "exchange/theta", "units", "deg", 1);
        H5Fclose(file);
        check_scan("text.h5");
        const uint64_t heap = find_bytes("text.h5", "GCOL", 4, 0);
        unsigned char reference[12] = {3, 0, 0, 0};
        memcpy(reference + 4, &heap, sizeof heap);
        const size_t at = rows[i].in_heap ? heap : find_bytes("text.h5", reference, 12, 0);
        change("text.h5", at + (size_t)rows[i].at, rows[i].value);
        check_refused("text.h5", "exchange/theta: attribute units", rows[i].why);
    }
}

static void map(hid_t how, hid_t to, const hsize_t *start, const hsize_t *stride,
                const hsize_t *count, const char *path, const char *name, const hsize_t *shape)
{
    hid_t from = H5Screate_simple(3, shape, NULL);
    H5Sselect_hyperslab(to, H5S_SELECT_SET, start, stride, count, NULL);
    assert_true(H5Pset_virtual(how, to, path, name, from) >= 0);
    H5Sclose(from);
}

/* All elements, and a box, against libhdf5's own reading. */
static void check_virtual(const char *path)
{
    uint16_t want[1000], got[1000];
    struct store *s;
    struct store_array *a;
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), d = H5Dopen2(file, "v", H5P_DEFAULT);
    H5Sclose(H5Dget_space(d)); /* which asks the sources how long it is */
    assert_true(H5Dread(d, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, want) >= 0);
    H5Dclose(d);
    H5Fclose(file);
    assert_ok(store_open(path, &s));
    assert_ok(store_find(s, "v", &a));
    assert_non_null(a->from);
    memset(got, 0xee, sizeof got);
    assert_ok(engine_read(s, a, NULL, a->dtype, got, NULL));
    assert_memory_equal(got, want, (size_t)store_elements(a) * 2);
    const struct engine_box box = {{1, 1, 2}, {a->shape[0] - 2, 2, 2}};
    assert_ok(engine_read(s, a, &box, a->dtype, got, NULL));
    for (int64_t i = 0; i < box.count[0]; i++)
        for (int64_t r = 0; r < 2; r++)
            for (int64_t n = 0; n < 2; n++)
                assert_int_equal(got[(i * 2 + r) * 2 + n],
                                 want[((i + 1) * a->shape[1] + r + 1) * a->shape[2] + n + 2]);
    store_close(s);
}

static void make_virtual(const char *path, const hsize_t *shape, hid_t how, hid_t space)
{
    const uint16_t fill = 7;
    hid_t file = create(path);
    H5Pset_fill_value(how, H5T_NATIVE_UINT16, &fill);
    hid_t d = H5Dcreate2(file, "v", H5T_STD_U16LE, space, H5P_DEFAULT, how, H5P_DEFAULT);
    assert_true(d >= 0);
    (void)shape;
    H5Dclose(d);
    H5Fclose(file);
    H5Sclose(space);
    H5Pclose(how);
}

static void test_virtual(void **state)
{
    (void)state;
    const hsize_t part[] = {3, R, N}, all[] = {8, R, N}, wide[] = {8, R + 2, N}, one[] = {1, 1, 1};
    for (int i = 0; i < 2; i++) {
        char name[20];
        snprintf(name, sizeof name, "part%d.h5", i);
        hid_t file = create(name);
        add(file, "frames", 3, part, 1, 100 * (i + 1)); /* compressed, a frame per chunk */
        add(file, "pairs", 3, part, 2, 300 * (i + 1));
        add(file, "plain", 3, part, 0, 50 * (i + 1));
        H5Fclose(file);
    }
    static const char *const names[] = {"frames", "pairs", "plain"};
    for (int k = 0; k < 3; k++) {
        /* Places one after the other, with a gap before the second and after it. */
        hid_t how = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(3, all, NULL);
        map(how, space, (const hsize_t[]){0, 0, 0}, one, part, "part0.h5", names[k], part);
        map(how, space, (const hsize_t[]){4, 0, 0}, one, part, "./part1.h5", names[k], part);
        make_virtual("sequence.h5", all, how, space);
        check_virtual("sequence.h5");
        /* Frames by turns, inside of a larger frame. */
        how = H5Pcreate(H5P_DATASET_CREATE);
        space = H5Screate_simple(3, wide, NULL);
        const hsize_t turns[] = {2, 1, 1};
        map(how, space, (const hsize_t[]){0, 1, 0}, turns, part, "part0.h5", names[k], part);
        map(how, space, (const hsize_t[]){1, 1, 0}, turns, part, "part1.h5", names[k], part);
        make_virtual("turns.h5", wide, how, space);
        check_virtual("turns.h5");
    }
    /* A virtual dataset of a virtual dataset. */
    hid_t how = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(3, wide, NULL);
    map(how, space, (const hsize_t[]){0, 0, 0}, one, wide, "turns.h5", "v", wide);
    make_virtual("nested.h5", wide, how, space);
    check_virtual("nested.h5");
}

/* Makes one file for each block of frames, as many as there are. */
static void test_virtual_unlimited(void **state)
{
    (void)state;
    const hsize_t now[] = {3, R, N}, most[] = {H5S_UNLIMITED, R, N}, part[] = {3, R, N};
    hid_t how = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(3, now, most),
          from = H5Screate_simple(3, part, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, (const hsize_t[]){0, 0, 0}, part,
                        (const hsize_t[]){H5S_UNLIMITED, 1, 1}, part);
    assert_true(H5Pset_virtual(how, space, "part%b.h5", "frames", from) >= 0);
    H5Sclose(from);
    make_virtual("blocks.h5", now, how, space);
    struct store *s;
    assert_ok(store_open("blocks.h5", &s));
    assert_int_equal(s->arrays[0]->shape[0], 6); /* part0.h5 and part1.h5 */
    store_close(s);
    check_virtual("blocks.h5");
}

/* Sources that are not there, not here, of another shape, or the dataset itself. */
static void test_virtual_refused(void **state)
{
    (void)state;
    static const struct {
        const char *file, *name, *why;
    } rows[] = {
        {"gone.h5", "frames", "No such file"},
        {"part0.h5", "gone", "has no gone"},
        {"../side.h5", "theta", "outside of its"},
        {"/etc/passwd", "x", "outside of its"},
        {"pipe", "x", "is not a regular file"},
        {"part0.h5", "frames", "another shape"},
        {"bad.h5", "exchange/theta", "take their data from each other"},
    };
    const hsize_t shape[] = {V, R, N};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hid_t how = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(3, shape, NULL),
              file = scan("bad.h5");
        assert_true(H5Pset_virtual(how, space, rows[i].file, rows[i].name, space) >= 0);
        hid_t d =
            H5Dcreate2(file, "exchange/theta", H5T_STD_U16LE, space, H5P_DEFAULT, how, H5P_DEFAULT);
        assert_true(d >= 0);
        H5Dclose(d);
        H5Fclose(file);
        H5Sclose(space);
        H5Pclose(how);
        check_refused("bad.h5", "exchange/theta", rows[i].why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_links),           cmocka_unit_test(test_names),
        cmocka_unit_test(test_largest),         cmocka_unit_test(test_nowhere),
        cmocka_unit_test(test_damaged),         cmocka_unit_test(test_texts),
        cmocka_unit_test(test_virtual),         cmocka_unit_test(test_virtual_unlimited),
        cmocka_unit_test(test_virtual_refused),
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
