/* links: tp_store */
#include <stdio.h>
#include <unistd.h>
#include <zlib.h>

#include "host/store/format/nifti.h"
#include "tests/unit/check.h"

static char plain[64], packed[80];

static int make_paths(void **state)
{
    (void)state;
    snprintf(plain, sizeof plain, "/tmp/test_nifti.%ld.nii", (long)getpid());
    snprintf(packed, sizeof packed, "%s.gz", plain);
    return 0;
}

static int remove_paths(void **state)
{
    (void)state;
    unlink(plain);
    unlink(packed);
    return 0;
}

/* gzread reads plain files as well. */
static unsigned char *slurp(const char *path, size_t *n)
{
    size_t room = 8 << 20;
    unsigned char *data = malloc(room);
    gzFile f = gzopen(path, "rb");
    int got = gzread(f, data, (unsigned)room);
    assert_true(got >= 0 && (size_t)got < room);
    assert_int_equal(gzclose(f), Z_OK); /* checksum and length of the stream */
    *n = (size_t)got;
    return data;
}

static float float_at(const unsigned char *p)
{
    float x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* value = 10000 i + 100 j + k, so that any exchange of axes shows. */
static float *volume(int64_t rows, int64_t cols, int64_t slices)
{
    float *x = malloc((size_t)(rows * cols * slices) * sizeof *x);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            for (int64_t k = 0; k < slices; k++)
                x[(i * cols + j) * slices + k] = (float)(10000 * i + 100 * j + k);
    return x;
}

static void check_voxels(const unsigned char *data, int64_t rows, int64_t cols, int64_t slices)
{
    for (int64_t k = 0; k < slices; k++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < cols; j++, data += 4)
                assert_true(float_at(data) == (float)(10000 * i + 100 * j + k));
}

static void test_nifti1(void **state)
{
    (void)state;
    const double spacing[3] = {.5, .25, 2};
    float *x = volume(5, 7, 35); /* 35 slices: two slabs of 16 and a rest */
    const char *const paths[2] = {plain, packed};
    for (int p = 0; p < 2; p++) {
        size_t n;
        struct nifti_header h;
        assert_ok(nifti_write(paths[p], 5, 7, 35, spacing, x));
        unsigned char *data = slurp(paths[p], &n);
        assert_int_equal(n, 352 + 5 * 7 * 35 * 4);
        assert_memory_equal(data, "\x5c\x01\x00\x00", 4); /* 348 */
        assert_memory_equal(data + 344, "n+1", 4);
        assert_memory_equal(data + 40, "\x03\x00\x07\x00\x05\x00\x23\x00\x01\x00", 10);
        assert_memory_equal(data + 70, "\x10\x00\x20\x00", 4); /* float32, 32 bits */
        assert_true(float_at(data + 80) == .5f && float_at(data + 84) == .25f &&
                    float_at(data + 88) == 2);
        assert_true(float_at(data + 108) == 352);
        assert_int_equal(data[123], 2);
        /* the middle of the volume is the origin: -spacing (n - 1) / 2 */
        assert_true(float_at(data + 280) == .5f && float_at(data + 292) == -1.5f);
        assert_true(float_at(data + 300) == .25f && float_at(data + 308) == -.5f);
        assert_true(float_at(data + 320) == 2 && float_at(data + 324) == -34);
        check_voxels(data + 352, 5, 7, 35);
        free(data);
        assert_ok(nifti_read_header(paths[p], &h));
        assert_int_equal(h.version, 1);
        assert_int_equal(h.dims, 3);
        assert_true(h.shape[0] == 7 && h.shape[1] == 5 && h.shape[2] == 35);
        assert_true(h.spacing[0] == .5 && h.spacing[1] == .25 && h.spacing[2] == 2);
        assert_int_equal(h.datatype, 16);
        assert_int_equal(h.bits, 32);
        assert_int_equal(h.big_endian, 0);
        assert_int_equal(h.data_offset, 352);
        assert_near(h.slope, 1, 0);
    }
    free(x);
}

static void test_nifti2(void **state)
{
    (void)state;
    const double spacing[3] = {.1, .2, .3};
    float *x = volume(1, 40000, 2);
    size_t n;
    struct nifti_header h;
    assert_ok(nifti_write(plain, 1, 40000, 2, spacing, x));
    unsigned char *data = slurp(plain, &n);
    assert_int_equal(n, 544 + 80000 * 4);
    check_voxels(data + 544, 1, 40000, 2);
    assert_ok(nifti_read_header(plain, &h));
    assert_int_equal(h.version, 2);
    assert_true(h.shape[0] == 40000 && h.shape[1] == 1 && h.shape[2] == 2);
    assert_near(h.spacing[1], .2, 0);
    assert_int_equal(h.data_offset, 544);
    free(data);
    free(x);
}

/* Slices of 18 MiB: three of them are transposed at a time, not sixteen. */
static void test_slabs(void **state)
{
    (void)state;
    int64_t rows = 1200, cols = 4000, slices = 4;
    float *x = volume(rows, cols, slices), line[4000];
    const double spacing[3] = {1, 1, 1};
    assert_ok(nifti_write(plain, rows, cols, slices, spacing, x));
    FILE *f = fopen(plain, "rb");
    for (int64_t k = 0; k < slices; k++)
        for (int64_t i = 0; i < rows; i += 341) {
            assert_int_equal(fseek(f, (long)(352 + (k * rows + i) * cols * 4), SEEK_SET), 0);
            assert_int_equal(fread(line, 4, (size_t)cols, f), cols);
            for (int64_t j = 0; j < cols; j++)
                assert_true(line[j] == x[(i * cols + j) * slices + k]);
        }
    fclose(f);
    free(x);
}

static void swap_bytes(unsigned char *p, int size)
{
    for (int i = 0; i < size / 2; i++) {
        unsigned char t = p[i];
        p[i] = p[size - 1 - i];
        p[size - 1 - i] = t;
    }
}

/* The fields that are read, in big-endian order. */
static void test_big_endian(void **state)
{
    (void)state;
    unsigned char *h, *data;
    size_t n;
    struct nifti_header got;
    float *x = volume(2, 3, 4);
    const double spacing[3] = {.5, .25, 2};
    assert_ok(nifti_write(plain, 2, 3, 4, spacing, x));
    h = data = slurp(plain, &n);
    swap_bytes(h, 4);
    for (int at = 40; at < 56; at += 2)
        swap_bytes(h + at, 2);
    swap_bytes(h + 70, 2);
    swap_bytes(h + 72, 2);
    for (int at = 76; at < 120; at += 4)
        swap_bytes(h + at, 4);
    assert_ok(nifti_parse("big.nii", h, n, &got));
    assert_int_equal(got.big_endian, 1);
    assert_true(got.shape[0] == 3 && got.shape[1] == 2 && got.shape[2] == 4);
    assert_true(got.spacing[0] == .5 && got.datatype == 16 && got.data_offset == 352);
    free(data);
    free(x);
}

static void test_wrong(void **state)
{
    (void)state;
    static const struct {
        int at, size;
        int64_t value;
        const char *words;
    } cases[] = {
        {0, 4, 349, "not a NIfTI file"},
        {344, 4, 0, "not a NIfTI file"},
        {40, 2, 0, "0 dimensions"},
        {40, 2, 8, "8 dimensions"},
        {42, 2, 0, "dimension 1: 0"},
        {44, 2, -5, "dimension 2: -5"},
        {70, 2, 3, "datatype 3"},
        {72, 2, 16, "datatype 16 of 16 bits"},
        {108, 4, 0, "puts the voxels"},
        {108, 4, 0x7fc00000, "puts the voxels"},
        {108, 4, 0x7f7fffff, "puts the voxels"},
        {42, 2, 1000, "cut short"},
    };
    float *x = volume(2, 3, 4);
    const double spacing[3] = {1, 1, 1};
    struct nifti_header h;
    size_t n;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_ok(nifti_write(plain, 2, 3, 4, spacing, x));
        unsigned char *data = slurp(plain, &n);
        memcpy(data + cases[i].at, &cases[i].value, (size_t)cases[i].size);
        FILE *f = fopen(plain, "wb");
        fwrite(data, 1, n, f);
        fclose(f);
        free(data);
        assert_error(nifti_read_header(plain, &h), ERR_INPUT, cases[i].words);
    }
    assert_error(nifti_read_header("/nowhere.nii", &h), ERR_INPUT, "/nowhere.nii");
    assert_error(nifti_read_header("/tmp", &h), ERR_INPUT, "/tmp");
    assert_error(nifti_write("/nowhere/x.nii.gz", 2, 3, 4, spacing, x), ERR_IO,
                 "/nowhere/x.nii.gz");
    assert_error(nifti_write("/dev/full", 2, 3, 4, spacing, x), ERR_IO, "/dev/full");
    free(x);
}

static void test_torn(void **state)
{
    (void)state;
    float *x = volume(2, 3, 4);
    const double spacing[3] = {1, 1, 1};
    struct nifti_header h;
    size_t n, packed_bytes = 0;
    assert_ok(nifti_write(plain, 2, 3, 4, spacing, x));
    assert_ok(nifti_write(packed, 2, 3, 4, spacing, x));
    unsigned char *data = slurp(plain, &n);
    for (size_t cut = 0; cut < n; cut++) {
        assert_int_equal(truncate(plain, (off_t)(n - 1 - cut)), 0);
        assert_error(nifti_read_header(plain, &h), ERR_INPUT, plain);
    }
    FILE *f = fopen(packed, "rb");
    packed_bytes = fread(data, 1, n, f);
    fclose(f);
    for (size_t cut = packed_bytes; cut-- > 0;) { /* good while the header can be unpacked */
        assert_int_equal(truncate(packed, (off_t)cut), 0);
        enum err e = nifti_read_header(packed, &h);
        assert_true(e == ERR_OK || e == ERR_INPUT);
        assert_true(e == ERR_OK || strstr(err_text(), packed));
    }
    free(data);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nifti1), cmocka_unit_test(test_nifti2),
        cmocka_unit_test(test_slabs),  cmocka_unit_test(test_big_endian),
        cmocka_unit_test(test_wrong),  cmocka_unit_test(test_torn),
    };
    return cmocka_run_group_tests(tests, make_paths, remove_paths);
}
