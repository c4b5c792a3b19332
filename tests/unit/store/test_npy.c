/* links: tp_store */
#include <stdio.h>
#include <unistd.h>

#include "base/memory.h"
#include "host/store/format/npy.h"
#include "tests/unit/check.h"

static char path[64];

static int make_path(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/test_npy.%ld.npy", (long)getpid());
    return 0;
}

static int remove_path(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static void write_bytes(const void *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    fclose(f);
}

/* A version 1 file: preamble, dictionary padded to 118 bytes, data. */
static size_t build(char out[512], const char *dictionary, size_t data_bytes)
{
    memset(out, 0, 512);
    memcpy(out, "\x93NUMPY\x01\x00\x76\x00", 10);
    memset(out + 10, ' ', 118);
    memcpy(out + 10, dictionary, strlen(dictionary));
    out[127] = '\n';
    return 128 + data_bytes;
}

static void test_round_trip(void **state)
{
    (void)state;
    const int64_t shape[3] = {2, 3, 4};
    float x[24], *y;
    for (int i = 0; i < 24; i++)
        x[i] = (float)i * 1.5f - 7;
    assert_ok(npy_write(path, 3, shape, x));
    int64_t got[3] = {2, -1, -1};
    size_t before = mem_held();
    mem_reset_peak();
    assert_ok(npy_read(path, 3, got, NULL, 1, &y));
    assert_memory_equal(got, shape, sizeof shape);
    assert_memory_equal(x, y, sizeof x);
    assert_int_equal(mem_peak() - before, sizeof x); /* no second copy */
    mem_free(y);
    assert_int_equal(mem_held(), before);
}

/* The bytes that numpy.save(f, numpy.float32([1, 2])) writes. */
static void test_written_as_numpy_does(void **state)
{
    (void)state;
    const int64_t shape[1] = {2};
    const float x[2] = {1, 2};
    char want[512], got[512];
    assert_ok(npy_write(path, 1, shape, x));
    size_t n = build(want, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", sizeof x);
    memcpy(want + 128, x, sizeof x);
    FILE *f = fopen(path, "rb");
    assert_int_equal(fread(got, 1, sizeof got, f), n);
    fclose(f);
    assert_memory_equal(got, want, n);
}

static void test_int32(void **state)
{
    (void)state;
    const int64_t shape[2] = {1, 3};
    const int32_t x[3] = {-1, 0, 7};
    unsigned char head[256];
    struct npy_header h;
    assert_ok(npy_write_int32(path, 2, shape, x));
    FILE *f = fopen(path, "rb");
    size_t n = fread(head, 1, sizeof head, f);
    fclose(f);
    assert_ok(npy_parse(path, head, n, &h));
    assert_string_equal(h.dtype, "<i4");
    assert_memory_equal(head + h.data_offset, x, sizeof x);
    int64_t got[2] = {-1, -1};
    float *y;
    assert_error(npy_read(path, 2, got, NULL, 0, &y), ERR_INPUT, "<i4");
    assert_null(y);
}

static void test_headers(void **state)
{
    (void)state;
    static const struct {
        const char *dictionary, *words; /* words NULL: good */
    } cases[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", NULL},
        {"{\"shape\":(3),\"fortran_order\":False,\"descr\":\"<f4\"}", NULL},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }", "float32"},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (3,), }", ">f4"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (3,), }", "Fortran"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 1), }", "2 dimensions"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "0 dimensions"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }", "no views"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }", "cut short"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "4 bytes more"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,), }",
         "too large"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
         "plain array"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }", "plain array"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,3), }", "plain array"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }", "plain array"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
         "plain array"},
        {"{'descr': '<f4', 'shape': (3,), }", "plain array"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } x", "plain array"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)", "plain array"},
        {"", "plain array"},
    };
    const char *const names[1] = {"views"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char file[512];
        int64_t shape[1] = {-1};
        float *y;
        write_bytes(file, build(file, cases[i].dictionary, 12));
        if (cases[i].words) {
            assert_error(npy_read(path, 1, shape, names, 0, &y), ERR_INPUT, cases[i].words);
            assert_non_null(strstr(err_text(), path));
            assert_null(y);
        } else {
            assert_ok(npy_read(path, 1, shape, names, 0, &y));
            assert_int_equal(shape[0], 3);
            mem_free(y);
        }
    }
}

static void test_wanted_shape(void **state)
{
    (void)state;
    const int64_t shape[3] = {2, 3, 4};
    const char *const names[3] = {"views", "rows", "channels"};
    float x[24] = {0}, *y;
    x[5] = NAN;
    assert_ok(npy_write(path, 3, shape, x));
    int64_t want[3] = {2, 5, 4};
    assert_error(npy_read(path, 3, want, names, 0, &y), ERR_INPUT, "3 rows (dimension 1), but 5");
    want[1] = -1;
    assert_error(npy_read(path, 3, want, names, 1, &y), ERR_INPUT, "flat index 5");
    assert_ok(npy_read(path, 3, want, names, 0, &y));
    mem_free(y);
}

/* Every beginning of a file is refused with a sentence. */
static void test_torn(void **state)
{
    (void)state;
    char file[512];
    size_t n = build(file, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 12);
    for (size_t cut = 0; cut < n; cut++) {
        int64_t shape[1] = {-1};
        float *y;
        write_bytes(file, cut);
        assert_error(npy_read(path, 1, shape, NULL, 0, &y), ERR_INPUT, path);
    }
}

/* A header that promises 2^60 bytes to a small file costs no memory. */
static void test_hostile_length(void **state)
{
    (void)state;
    char file[512];
    int64_t shape[1] = {-1};
    float *y;
    write_bytes(file,
                build(file,
                      "{'descr': '<f4', 'fortran_order': False, 'shape': (288230376151711744,), }",
                      12));
    mem_reset_peak();
    size_t before = mem_peak();
    assert_error(npy_read(path, 1, shape, NULL, 0, &y), ERR_INPUT, "cut short");
    assert_int_equal(mem_peak(), before);
    /* a version 2 preamble that promises a header of 4 GiB */
    memcpy(file, "\x93NUMPY\x02\x00\xff\xff\xff\xff", 12);
    write_bytes(file, 140);
    assert_error(npy_read(path, 1, shape, NULL, 0, &y), ERR_INPUT, "header");
}

static void test_no_file(void **state)
{
    (void)state;
    int64_t shape[1] = {-1};
    const float x[1] = {0};
    float *y;
    assert_error(npy_read("/nowhere/x.npy", 1, shape, NULL, 0, &y), ERR_INPUT, "/nowhere/x.npy");
    assert_error(npy_read("/tmp", 1, shape, NULL, 0, &y), ERR_INPUT, "/tmp");
    assert_error(npy_read("/dev/zero", 1, shape, NULL, 0, &y), ERR_INPUT,
                 "is a device, not a file");
    shape[0] = 1;
    assert_error(npy_write("/nowhere/x.npy", 1, shape, x), ERR_IO, "/nowhere/x.npy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),     cmocka_unit_test(test_written_as_numpy_does),
        cmocka_unit_test(test_int32),          cmocka_unit_test(test_headers),
        cmocka_unit_test(test_wanted_shape),   cmocka_unit_test(test_torn),
        cmocka_unit_test(test_hostile_length), cmocka_unit_test(test_no_file),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
