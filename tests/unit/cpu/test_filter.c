/* links: tp_cpu */
/* The ramp filter per instruction set, against a direct convolution in float64. */
#include "base/memory.h"
#include "host/cpu/filter/ramp.h"
#include "tests/unit/check.h"
#include "tests/unit/each_isa.h"

static struct buffer wrap(float *p, int64_t floats)
{
    return (struct buffer){PLACE_HOST, 0, (size_t)floats * sizeof(float), p};
}

static struct scan parallel(int64_t views, int64_t rows, int64_t channels)
{
    return (struct scan){.beam = BEAM_PARALLEL,
                         .views = views,
                         .rows = rows,
                         .channels = channels,
                         .delta_row = 1,
                         .delta_channel = 1,
                         .source_detector = INFINITY,
                         .source_iso = INFINITY};
}

/* A wide cone off the centre: weights from 1 down to 0.6. */
static struct scan cone(int64_t views, int64_t rows, int64_t channels)
{
    struct scan s = parallel(views, rows, channels);
    s.beam = BEAM_CONE;
    s.delta_row = 1.3;
    s.delta_channel = 0.8;
    s.row_offset = -2.25;
    s.channel_offset = 3.5;
    s.source_detector = 0.5 * (double)channels + (double)rows + 4;
    s.source_iso = 0.6 * s.source_detector;
    return s;
}

static float *random_rows(const struct scan *s)
{
    const int64_t n = scan_samples(s);
    float *y = malloc((size_t)n * sizeof *y);
    unsigned seed = (unsigned)n;
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        y[i] = (float)(seed >> 8) / (1 << 24);
    }
    return y;
}

static float *filter(const struct scan *s, double scale, int threads, const float *y)
{
    const int64_t n = scan_samples(s);
    struct backend be = {.threads = threads};
    float *out = malloc((size_t)n * sizeof *out);
    struct buffer from = wrap((float *)y, n), to = wrap(out, n);
    assert_ok(cpu_ramp_filter(&be, s, scale, &from, &to));
    assert_near(be.declared.bytes_min, 8.0 * (double)n, 0);
    return out;
}

/* h of operators.md: band-limited ramp of unit pitch. */
static double tap(int64_t n)
{
    return n == 0 ? 0.25 : n % 2 == 0 ? 0 : -1 / (M_PI * M_PI * (double)n * (double)n);
}

static double weight(const struct scan *s, int64_t row, int64_t channel)
{
    if (s->beam == BEAM_PARALLEL || isinf(s->source_detector))
        return 1;
    double u =
        ((double)channel - 0.5 * (double)(s->channels - 1)) * s->delta_channel - s->channel_offset;
    double v = ((double)row - 0.5 * (double)(s->rows - 1)) * s->delta_row - s->row_offset;
    return s->source_detector / sqrt(s->source_detector * s->source_detector + u * u + v * v);
}

/* |out - twin| / |twin| */
static double error(const struct scan *s, double scale, const float *y, const float *out)
{
    double difference = 0, norm = 0;
    for (int64_t r = 0; r < s->views * s->rows; r++)
        for (int64_t c = 0; c < s->channels; c++) {
            double sum = 0;
            for (int64_t j = 0; j < s->channels; j++)
                sum += tap(c - j) * weight(s, r % s->rows, j) * (double)y[r * s->channels + j];
            double d = (double)out[r * s->channels + c] - scale * sum;
            difference += d * d;
            norm += scale * sum * (scale * sum);
        }
    return sqrt(difference / norm);
}

static void check(struct scan s, double scale, int threads)
{
    float *y = random_rows(&s), *out = filter(&s, scale, threads, y);
    double e = error(&s, scale, y, out);
    if (!(e <= 1e-6))
        fail_msg("%s %d x %d x %d: error %g", s.beam == BEAM_CONE ? "cone" : "parallel",
                 (int)s.views, (int)s.rows, (int)s.channels, e);
    free(y);
    free(out);
}

/* Odd and even numbers of rows, so that the last one is alone or not; lengths 1, 2, primes, powers.
 * Those of 16 views and more with 16 channels and more also take the kernel, in full and ragged
 * blocks of views, with a part of a vector at the end: 33, 150 and, as short as can be, 19 channels
 * by radix 5, 45 and 190 by radix 3. */
static void test_convolution(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {
        {1, 1, 1},   {2, 1, 1},    {1, 1, 2},    {3, 1, 3},    {1, 5, 7},   {4, 3, 31},
        {3, 3, 97},  {5, 1, 128},  {2, 7, 211},  {3, 5, 256},  {40, 2, 15}, {4, 8, 16},
        {11, 3, 17}, {1, 64, 20},  {33, 1, 31},  {1, 33, 32},  {2, 50, 61}, {7, 5, 100},
        {9, 4, 128}, {40, 1, 255}, {13, 3, 256}, {35, 1, 257}, {6, 6, 509}, {40, 7, 150},
        {34, 2, 33}, {5, 7, 150},  {34, 3, 45},  {16, 2, 190}, {36, 2, 19},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t *z = sizes[i];
        check(parallel(z[0], z[1], z[2]), 0.37, 1 + (int)i % 3);
        check(cone(z[0], z[1], z[2]), -12.5, 1 + (int)i % 3);
    }
}

/* Detector rows 2 to 5 alone get the bits that they get among all 7: reconstruction in slabs of
 * slices rests on it. By the kernel in full and ragged blocks, and by the library. */
static void test_rows_are_independent(void **state)
{
    (void)state;
    static const int64_t views[] = {1, 5, 16, 37, 64};
    const int64_t rows = 7, channels = 50, first = 2, count = 4;
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        struct scan all = parallel(views[i], rows, channels), some = all;
        some.rows = count;
        const size_t view = (size_t)(rows * channels), part = (size_t)(count * channels);
        float *y = calloc((size_t)views[i] * view, sizeof *y);
        float *z = calloc((size_t)views[i] * part, sizeof *z);
        for (size_t n = 0; n < (size_t)views[i] * view; n++)
            y[n] = (float)(n * 7919 % 1009) / 1009;
        for (size_t v = 0; v < (size_t)views[i]; v++)
            memcpy(z + v * part, y + v * view + first * channels, part * sizeof *z);
        float *whole = filter(&all, 1, 1, y), *slab = filter(&some, 1, 1, z);
        for (size_t v = 0; v < (size_t)views[i]; v++)
            assert_memory_equal(slab + v * part, whole + v * view + first * channels,
                                part * sizeof *z);
        free(y);
        free(z);
        free(whole);
        free(slab);
    }
}

/* Checks the choice between the two ways: the tests above mean to see both. */
static void test_choice(void **state)
{
    (void)state;
    static const struct {
        int64_t channels, views;
        int kernel;
        int64_t n;
    } cases[] = {{15, 100, 0, 30},   {16, 100, 1, 32},    {256, 1, 0, 512}, {256, 100, 1, 512},
                 {257, 100, 1, 640}, {150, 100, 1, 320},  {33, 100, 1, 80}, {45, 100, 1, 96},
                 {20, 100, 1, 40},   {1248, 100, 1, 2560}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ramp r;
        assert_ok(ramp_create(cases[i].channels, cases[i].views, 1, 1, &r));
        assert_int_equal(r.kernels != NULL, cases[i].kernel);
        assert_int_equal(r.filter.n, cases[i].n);
        ramp_free(&r);
    }
}

static void test_cone_kinds(void **state)
{
    (void)state;
    struct scan s = cone(3, 4, 50);
    s.curved = 1; /* weights of the flat detector all the same */
    check(s, 1, 2);
    s.source_detector = s.source_iso = INFINITY;
    check(s, 1, 2);
}

/* Filters one channel at 1: gives the taps themselves, which sum to almost 0. */
static void test_impulse(void **state)
{
    (void)state;
    struct scan s = parallel(1, 1, 401);
    float *y = calloc(401, sizeof *y);
    y[200] = 1;
    float *out = filter(&s, 1, 1, y);
    double sum = 0;
    for (int64_t c = 0; c < 401; c++) {
        assert_near(out[c], tap(c - 200), 3e-8);
        sum += (double)out[c];
    }
    assert_near(sum, 1 / (M_PI * M_PI * 200), 1e-6);
    free(y);
    free(out);
}

static void test_threads_and_place(void **state)
{
    (void)state;
    for (int beam = 0; beam < 2; beam++) {
        struct scan s = beam ? cone(7, 9, 100) : parallel(7, 9, 100);
        const size_t bytes = (size_t)scan_samples(&s) * sizeof(float);
        float *y = random_rows(&s), *one = filter(&s, 2, 1, y);
        for (int threads = 2; threads <= 7; threads += 5) {
            float *more = filter(&s, 2, threads, y);
            assert_memory_equal(one, more, bytes);
            free(more);
        }
        struct backend be = {.threads = 2};
        struct buffer b = wrap(y, scan_samples(&s));
        assert_ok(cpu_ramp_filter(&be, &s, 2, &b, &b));
        assert_memory_equal(one, y, bytes);
        free(y);
        free(one);
    }
}

/* A result of more than 16 MiB is written past the caches when it is aligned: the same bits. */
static void test_large(void **state)
{
    (void)state;
    struct scan s = cone(50, 660, 128);
    const int64_t n = scan_samples(&s);
    float *y = random_rows(&s);
    void *aligned, *shifted;
    assert_ok(mem_alloc("test", (size_t)n * sizeof *y, &aligned));
    assert_ok(mem_alloc("test", (size_t)(n + 1) * sizeof *y, &shifted));
    struct backend be = {.threads = 2};
    struct buffer from = wrap(y, n), to = wrap(aligned, n);
    assert_true(to.bytes >= (size_t)16 << 20);
    assert_ok(cpu_ramp_filter(&be, &s, 1, &from, &to));
    to.ptr = (float *)shifted + 1;
    assert_ok(cpu_ramp_filter(&be, &s, 1, &from, &to));
    assert_memory_equal(aligned, to.ptr, (size_t)n * sizeof *y);
    s.views = 1; /* the first view's rows, checked like any others */
    assert_true(error(&s, 1, y, aligned) <= 1e-6);
    mem_free(aligned);
    mem_free(shifted);
    free(y);
}

static void test_wrong(void **state)
{
    (void)state;
    struct scan s = parallel(1, 2, 4);
    struct backend be = {.threads = 1};
    float y[8] = {0};
    struct buffer small = wrap(y, 7), right = wrap(y, 8);
    assert_error(cpu_ramp_filter(&be, &s, 1, &small, &right), ERR_INTERNAL, "28");
    assert_error(cpu_ramp_filter(&be, &s, 1, &right, &small), ERR_INTERNAL, "28");
}

/* Results of 16 MiB and more are written past the caches by whole lines. */
static void large_results_lie_anywhere_in_a_line(void **state)
{
    (void)state;
    const struct scan s = parallel(40, 512, 208);
    const int64_t n = scan_samples(&s);
    float *y = random_rows(&s), *expected = filter(&s, 1, 2, y);
    float *memory = aligned_alloc(64, (size_t)(n + 48) * sizeof *memory);
    assert_true((size_t)n * sizeof *y >= (size_t)16 << 20);
    static const int places[] = {1, 4, 8, 15};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        float *out = memory + 16 + places[i];
        struct backend be = {.threads = 2};
        struct buffer from = wrap(y, n), to = wrap(out, n);
        out[-1] = out[n] = 7e7f;
        assert_ok(cpu_ramp_filter(&be, &s, 1, &from, &to));
        assert_memory_equal(out, expected, (size_t)n * sizeof *out);
        assert_true(out[-1] == 7e7f && out[n] == 7e7f);
    }
    free(memory);
    free(expected);
    free(y);
}

static int all_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convolution), cmocka_unit_test(test_rows_are_independent),
        cmocka_unit_test(test_choice),      cmocka_unit_test(test_cone_kinds),
        cmocka_unit_test(test_impulse),     cmocka_unit_test(test_threads_and_place),
        cmocka_unit_test(test_large),       cmocka_unit_test(large_results_lie_anywhere_in_a_line),
        cmocka_unit_test(test_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return for_each_isa(all_tests);
}
