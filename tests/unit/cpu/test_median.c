/* links: tp_cpu */
/* The 3x3x3 median per instruction set, with the kernels of floats and of integer keys: the
 * published example, all windows of zeros and ones, a twin that sorts. */
#include "base/memory.h"
#include "host/cpu/median/median.h"
#include "tests/unit/check.h"
#include "tests/unit/each_isa.h"

static median_tile *tile; /* NULL: the one that cpu_median3 takes */

static struct buffer wrap(float *p, size_t floats)
{
    return (struct buffer){PLACE_HOST, 0, floats * sizeof(float), p};
}

static float *new_floats(size_t n)
{
    float *p = malloc((n ? n : 1) * sizeof *p);
    assert_non_null(p);
    return p;
}

static void filter(int threads, int64_t rows, int64_t cols, int64_t slices, float *x, float *out)
{
    struct backend be = {.threads = threads};
    const size_t n = (size_t)(rows * cols * slices);
    struct buffer in = wrap(x, n), to = wrap(out, n);
    if (tile) {
        const int stream = n * sizeof *x >= (size_t)16 << 20 && slices % 16 == 0;
        const struct median_volume v = {rows, cols, slices, x, out, stream};
        median_tiles(&be, tile, &v);
        return;
    }
    assert_ok(cpu_median3(&be, rows, cols, slices, &in, &to));
    assert_near(be.declared.bytes_min, 8.0 * (double)n, 0);
    assert_true(be.declared.flops > 0);
}

static int64_t clamp(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static int ascending(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Reads the 27 values around (i, j, k). */
static void window(const float *x, const int64_t size[3], int64_t i, int64_t j, int64_t k,
                   float w[27])
{
    for (int n = 0; n < 27; n++) {
        int64_t a = clamp(i + n / 9 - 1, size[0]), b = clamp(j + n / 3 % 3 - 1, size[1]);
        w[n] = x[(a * size[1] + b) * size[2] + clamp(k + n % 3 - 1, size[2])];
    }
}

static void test_example(void **state)
{
    (void)state;
    static const float expected[27] = {3,  3,  4,  6,  6,  7,  6,  7,  8,  10, 11, 11, 12, 13,
                                       14, 15, 15, 16, 18, 19, 20, 19, 20, 20, 22, 23, 23};
    float x[27], out[27];
    for (int i = 0; i < 27; i++)
        x[i] = (float)i;
    filter(1, 3, 3, 3, x, out);
    assert_memory_equal(out, expected, sizeof out);
}

/* The sanitizers ask where is read and written, not which values are there: half of the windows in
 * one place, which still are too many for the caches. */
#ifdef __SANITIZE_ADDRESS__
enum { WINDOWS = 1 << 17, PLACES = 1 };
#else
enum { WINDOWS = 1 << 18, PLACES = 4 };
#endif

/* All windows of sorted lines of zeros and ones, with the first window's corner at (row, col). */
static void check_windows(int64_t row, int64_t col, float *x, float *out)
{
    const int64_t windows = WINDOWS, slices = 3 * windows, rows = 3 + row, cols = 3 + col;
    memset(x, 0, (size_t)(rows * cols * slices) * sizeof *x);
    for (int64_t w = 0; w < windows; w++)
        for (int line = 0; line < 9; line++) {
            float *at = x + ((row + line / 3) * cols + col + line % 3) * slices + 3 * w;
            for (int64_t ones = w >> 2 * line & 3; ones > 0; ones--)
                at[ones - 1] = 1;
        }
    filter(2, rows, cols, slices, x, out);
    int64_t wrong = 0;
    for (int64_t w = 0; w < windows; w++) {
        int64_t ones = 0;
        for (int line = 0; line < 9; line++)
            ones += w >> 2 * line & 3;
        wrong += out[((row + 1) * cols + col + 1) * slices + 3 * w + 1] != (float)(ones >= 14);
    }
    assert_int_equal(wrong, 0);
}

/* A median by minima and maxima is right for all numbers when it is right for zeros and ones, and a
 * window's lines are sorted first, so that only the number of ones in each of 9 lines counts: 4^9
 * windows. In each row of a tile and each column of a block, which have code of their own, and with
 * a result that is aligned (written past the caches: 28 MB and more) or not. */
static void test_all_windows(void **state)
{
    (void)state;
    void *x, *out;
    const size_t bytes = (size_t)36 * 3 * 4 << 18;
    assert_ok(mem_alloc("test", bytes, &x));
    assert_ok(mem_alloc("test", bytes + sizeof(float), &out));
    for (int place = 0; place < PLACES; place++)
        check_windows(place, (place + 1) % 4, x, (float *)out + place % 2);
    mem_free(x);
    mem_free(out);
}

static const int64_t sizes[][3] = {
    {1, 1, 1},   {1, 1, 2},   {2, 1, 1},   {1, 2, 1},   {2, 2, 2},   {3, 3, 1},   {3, 5, 7},
    {5, 4, 15},  {4, 7, 16},  {7, 2, 17},  {3, 3, 31},  {9, 5, 33},  {1, 9, 255}, {2, 3, 256},
    {5, 2, 257}, {3, 1, 511}, {1, 4, 513}, {17, 13, 5}, {4, 4, 300}, {11, 3, 64}, {2, 11, 273},
};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Random values, half of them few different ones, so that ties occur. */
static float *random_volume(const int64_t size[3], unsigned seed)
{
    const int64_t n = size[0] * size[1] * size[2];
    float *x = new_floats((size_t)n);
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        x[i] = seed >> 31 ? (float)(seed >> 8 & 7) - 3 : (float)(int)seed * 1e-6f;
    }
    return x;
}

static void test_sort_twin(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; s++) {
        const int64_t *z = sizes[s], n = z[0] * z[1] * z[2];
        float *x = random_volume(z, (unsigned)s), *out = new_floats((size_t)n);
        filter(1 + s % 3, z[0], z[1], z[2], x, out);
        for (int64_t i = 0; i < n; i++) {
            float w[27];
            window(x, z, i / z[2] / z[1], i / z[2] % z[1], i % z[2], w);
            qsort(w, 27, sizeof *w, ascending);
            if (w[13] != out[i])
                fail_msg("size %d voxel %d: %g, expected %g", s, (int)i, (double)out[i],
                         (double)w[13]);
        }
        free(x);
        free(out);
    }
}

static void test_threads(void **state)
{
    (void)state;
    const int64_t size[3] = {13, 6, 530}, n = size[0] * size[1] * size[2];
    float *x = random_volume(size, 5), *one = new_floats((size_t)n), *more = new_floats((size_t)n);
    filter(1, size[0], size[1], size[2], x, one);
    for (int threads = 2; threads <= 7; threads += 5) {
        filter(threads, size[0], size[1], size[2], x, more);
        assert_memory_equal(one, more, (size_t)n * sizeof *one);
    }
    free(x);
    free(one);
    free(more);
}

/* Past the caches, and at every place that a float may have in a line of memory: NumPy's arrays begin
 * 16 bytes behind one. Nothing before or behind the result is touched. */
static void test_places_in_a_line(void **state)
{
    (void)state;
    static const int64_t streamed[][3] = {{1, 1, 16}, {5, 6, 32}, {4, 3, 256}, {3, 5, 272}};
    for (size_t s = 0; s < sizeof streamed / sizeof *streamed; s++) {
        const int64_t *z = streamed[s], n = z[0] * z[1] * z[2];
        float *x = random_volume(z, (unsigned)s), *expected = new_floats((size_t)n);
        void *memory;
        assert_ok(mem_alloc("test", (size_t)(n + 64) * sizeof *x, &memory));
        filter(1, z[0], z[1], z[2], x, expected);
        for (int place = 0; place < 16; place++) {
            struct backend be = {.threads = 2};
            float *whole = memory, *out = whole + 16 + place;
            const struct median_volume v = {z[0], z[1], z[2], x, out, 1};
            for (int64_t i = 0; i < n + 64; i++)
                whole[i] = -77;
            median_tiles(&be, tile ? tile : median_best(), &v);
            assert_memory_equal(out, expected, (size_t)n * sizeof *out);
            for (int64_t i = 0; i < n + 64; i++)
                assert_true(whole[i] == -77 || (whole + i >= out && whole + i < out + n));
        }
        mem_free(memory);
        free(expected);
        free(x);
    }
}

/* A NaN reaches its own windows only, and even there nothing is made up. */
static void test_nan(void **state)
{
    (void)state;
    const int64_t size[3] = {8, 9, 70}, n = size[0] * size[1] * size[2];
    float *x = random_volume(size, 9), *out = new_floats((size_t)n);
    for (int64_t i = 7; i < n; i += 101)
        x[i] = NAN;
    filter(2, size[0], size[1], size[2], x, out);
    int clean = 0;
    for (int64_t i = 0; i < n; i++) {
        float w[27];
        window(x, size, i / size[2] / size[1], i / size[2] % size[1], i % size[2], w);
        int nans = 0, found = isnan(out[i]);
        for (int k = 0; k < 27; k++) {
            nans += isnan(w[k]) != 0;
            found |= w[k] == out[i];
        }
        assert_true(found);
        qsort(w, 27, sizeof *w, ascending);
        if (nans == 0)
            assert_true(w[13] == out[i]);
        clean += nans == 0;
    }
    assert_true(clean > n / 2 && clean < n);
    free(x);
    free(out);
}

static void test_wrong(void **state)
{
    (void)state;
    struct backend be = {.threads = 1};
    float x[8] = {0}, y[8];
    struct buffer in = wrap(x, 8), out = wrap(y, 8), small = wrap(y, 7);
    assert_error(cpu_median3(&be, 2, 2, 2, &in, &in), ERR_INTERNAL, "in place");
    assert_error(cpu_median3(&be, 2, 2, 2, &in, &small), ERR_INTERNAL, "28");
    assert_error(cpu_median3(&be, 2, 2, 2, &small, &out), ERR_INTERNAL, "28");
    for (int zero = 0; zero < 3; zero++) /* nothing to do, nothing touched */
        assert_ok(cpu_median3(&be, zero != 0, zero != 1, zero != 2, &in, &out));
}

static int all_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),   cmocka_unit_test(test_all_windows),
        cmocka_unit_test(test_sort_twin), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_nan),       cmocka_unit_test(test_places_in_a_line),
        cmocka_unit_test(test_wrong),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    /* the kernel that this machine does not take */
    median_tile *floats = ISA_PICK(median_kernels)->tile;
    tile = median_best() == floats ? ISA_PICK(median_key_kernels)->tile : floats;
    return failed | cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return for_each_isa(all_tests);
}
