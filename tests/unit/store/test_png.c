/* links: tp_store */
#include <stdio.h>
#include <unistd.h>
#include <zlib.h>

#include "host/store/format/png.h"
#include "tests/unit/check.h"

static char path[64];

static uint32_t big32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Decodes what png_write_grey writes, checking lengths and checksums of all chunks. */
static unsigned char *decode(int64_t *rows, int64_t *cols)
{
    static const char *const order[] = {"IHDR", "IDAT", "IEND"};
    unsigned char *file = malloc(1 << 20), *p = file + 8, *lines = NULL;
    FILE *f = fopen(path, "rb");
    size_t n = fread(file, 1, 1 << 20, f);
    fclose(f);
    assert_true(n > 8);
    assert_memory_equal(file, "\x89PNG\r\n\x1a\n", 8);
    for (int i = 0; i < 3; i++) {
        uint32_t bytes = big32(p);
        assert_true(p + 12 + bytes <= file + n);
        assert_memory_equal(p + 4, order[i], 4);
        assert_int_equal(big32(p + 8 + bytes), crc32(0, p + 4, 4 + bytes));
        if (!i) {
            *cols = big32(p + 8);
            *rows = big32(p + 12);
            assert_memory_equal(p + 16, "\x08\x00\x00\x00\x00", 5); /* 8 bits, grey */
        } else if (i == 1) {
            uLong size = (uLong)(*rows * (*cols + 1));
            lines = malloc(size);
            assert_int_equal(uncompress(lines, &size, p + 8, bytes), Z_OK);
            assert_int_equal(size, *rows * (*cols + 1));
        }
        p += 12 + bytes;
    }
    assert_ptr_equal(p, file + n);
    free(file);
    return lines;
}

static void test_pixels(void **state)
{
    (void)state;
    /* rows 2, columns 3; the picture is one of 4 interleaved slices */
    float x[2 * 3 * 4] = {0};
    const float values[6] = {-1, 0, 1, .5f, 2, NAN};
    const unsigned char want[8] = {0, 0, 0, 255, 0, 128, 255, 0};
    for (int i = 0; i < 6; i++)
        x[4 * i + 2] = values[i];
    int64_t rows = 0, cols = 0;
    assert_ok(png_write_grey(path, 2, 3, x + 2, 12, 4, 0, 1));
    unsigned char *lines = decode(&rows, &cols);
    assert_int_equal(rows, 2);
    assert_int_equal(cols, 3);
    assert_memory_equal(lines, want, 8);
    free(lines);
}

static void test_flat_window(void **state)
{
    (void)state;
    const float x[4] = {7, 7, 7, 7};
    double low, high;
    int64_t rows, cols;
    image_window(2, 2, x, 2, 1, &low, &high);
    assert_true(low < 7 && high > 7);
    assert_ok(png_write_grey(path, 2, 2, x, 2, 1, low, high));
    unsigned char *lines = decode(&rows, &cols);
    assert_in_range(lines[1], 127, 128);
    free(lines);
}

static void test_window(void **state)
{
    (void)state;
    enum { N = 700 }; /* 490000 pixels: sampled */
    float *x = malloc(N * N * sizeof *x);
    for (int i = 0; i < N * N; i++)
        x[i] = (float)((i * 7919LL) % (N * N)) / (N * N); /* every value in [0, 1) once */
    for (int i = 0; i < 100; i++)
        x[i * 4801] = i % 3 ? NAN : 1e9f;
    double low, high;
    image_window(N, N, x, N, 1, &low, &high);
    assert_near(low, .005, .001);
    assert_near(high, .995, .001);
    const float none[2] = {NAN, INFINITY};
    image_window(1, 2, none, 2, 1, &low, &high);
    assert_true(low == 0 && high == 1);
    free(x);
}

static void test_wrong(void **state)
{
    (void)state;
    const float x = 0;
    assert_error(png_write_grey("/nowhere/x.png", 1, 1, &x, 1, 1, 0, 1), ERR_IO, "/nowhere/x.png");
    assert_error(png_write_grey("/dev/full", 1, 1, &x, 1, 1, 0, 1), ERR_IO, "/dev/full");
    assert_error(png_write_grey(path, 0, 1, &x, 1, 1, 0, 1), ERR_INPUT, path);
    assert_error(png_write_grey(path, INT32_MAX, INT32_MAX, &x, 1, 1, 0, 1), ERR_INPUT, path);
}

int main(void)
{
    snprintf(path, sizeof path, "/tmp/test_png.%ld.png", (long)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pixels),
        cmocka_unit_test(test_flat_window),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_wrong),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
