/* links: tp_cpu */
/* The pieces of VCD and the elementwise operations of the CPU against float64 loops, at sizes
 * around the vectors, groups and chunks that they work in; the same bits at any number of threads.
 */
#include <float.h>

#include "host/cpu/common/elementwise.h"
#include "host/cpu/common/threads.h"
#include "host/cpu/projection/project.h"
#include "host/cpu/vcd/vcd.h"
#include "tests/unit/check.h"

static float *uniform(int64_t n, double low, double high)
{
    static unsigned seed = 1;
    float *a = malloc((size_t)(n ? n : 1) * sizeof *a);
    for (int64_t i = 0; i < n; i++)
        a[i] = (float)(low + (high - low) * rand_r(&seed) / (double)RAND_MAX);
    return a;
}

static float *twin_of(const float *a, int64_t n)
{
    float *b = malloc((size_t)(n ? n : 1) * sizeof *b);
    memcpy(b, a, (size_t)n * sizeof *b);
    return b;
}

static struct buffer wrap(const float *p, int64_t n)
{
    return (struct buffer){PLACE_HOST, 0, (size_t)n * sizeof *p, (void *)p};
}

static const int thread_counts[] = {1, 2, 7};
static const int64_t lengths[] = {0, 1, 7, 8, 65536, 65537, 200003};
#define LENGTHS (int)(sizeof lengths / sizeof *lengths)

/* 300 pixels of 9 x 70, more than one of the fixed groups; slices off the vectors' lengths. */
enum { PICKED = 300, PIXELS = 630 };
static const int64_t slice_counts[] = {1, 5, 16, 33};
static int32_t picked[PICKED];

static struct volume volume(int64_t slices)
{
    for (int i = 0; i < PICKED; i++)
        picked[i] = 2 * i + i % 2;
    return (struct volume){9, 70, slices, 1, 1, 1, 0, ROR_NONE, 0};
}

struct subset {
    struct volume v;
    struct pixel_set pixels;
    int64_t packed, whole;
    float *g, *h, *back, *hessian, *x;
};

static struct subset subset(int64_t slices)
{
    struct subset s = {.v = volume(slices), .pixels = {picked, PICKED, 1}};
    s.packed = PICKED * slices;
    s.whole = PIXELS * slices;
    s.g = uniform(s.packed, -1, 1);
    s.h = uniform(s.packed, 0.1, 2);
    s.back = uniform(s.packed, -3, 3);
    s.hessian = uniform(s.whole, 0, 4);
    s.x = uniform(s.whole, -0.2, 1);
    return s;
}

static void subset_free(struct subset *s)
{
    free(s->g);
    free(s->h);
    free(s->back);
    free(s->hessian);
    free(s->x);
}

static float *direction(const struct subset *s, int threads, const float *damping,
                        struct vcd_sums *sums)
{
    struct backend be = {.threads = threads};
    struct buffer H = wrap(s->hessian, s->whole), g = wrap(s->g, s->packed);
    struct buffer h = wrap(s->h, s->packed), d = wrap(twin_of(s->back, s->packed), s->packed);
    assert_ok(cpu_vcd_direction(&be, &s->v, &s->pixels, 0.7, damping, &H, &g, &h, &d, sums));
    assert_true(be.declared.flops > 0 && be.declared.bytes_min > 0);
    return d.ptr;
}

/* g, 1/h in float64 at packed element i of slice k. */
static void terms(const struct subset *s, int64_t q, int64_t k, double *g, double *inverse)
{
    const int64_t i = q * s->v.slices + k, p = picked[q] * s->v.slices + k;
    *g = (double)s->g[i] - (double)s->back[i] / 0.49;
    *inverse = 1 / ((double)s->h[i] + (double)s->hessian[p] / 0.49);
}

static void check_direction(const struct subset *s, const float *damping, const float *d,
                            const struct vcd_sums *sums)
{
    double linear = 0, quadratic = 0;
    for (int64_t k = 0; k < s->v.slices; k++) {
        double g, inverse, weighted = 0, weight = 0;
        for (int64_t q = 0; q < PICKED; q++) {
            terms(s, q, k, &g, &inverse);
            weighted += g * inverse;
            weight += inverse;
        }
        double pull = damping ? (1 - (double)damping[k]) * weighted / weight : 0;
        for (int64_t q = 0; q < PICKED; q++) {
            terms(s, q, k, &g, &inverse);
            double expected = -(g - pull) * inverse;
            int64_t i = q * s->v.slices + k;
            double size = fabs((double)s->g[i]) + fabs((double)s->back[i]) / 0.49 + fabs(pull);
            assert_near(d[i], expected, 1e-6 * size * inverse);
            linear += (double)s->g[i] * expected;
            quadratic += (double)s->h[i] * expected * expected;
        }
    }
    assert_near(sums->linear, linear, 1e-6 * quadratic);
    assert_near(sums->quadratic, quadratic, 1e-6 * quadratic);
}

static void test_direction(void **state)
{
    (void)state;
    for (int n = 0; n < 4; n++)
        for (int damped = 0; damped < 2; damped++) {
            struct subset s = subset(slice_counts[n]);
            float *damping = uniform(s.v.slices, 0.2, 1), *first = NULL;
            struct vcd_sums sums[3];
            for (int t = 0; t < 3; t++) {
                float *d = direction(&s, thread_counts[t], damped ? damping : NULL, &sums[t]);
                check_direction(&s, damped ? damping : NULL, d, &sums[t]);
                assert_memory_equal(&sums[0], &sums[t], sizeof *sums);
                if (first)
                    assert_memory_equal(first, d, (size_t)s.packed * sizeof *d);
                free(first);
                first = d;
            }
            free(first);
            free(damping);
            subset_free(&s);
        }
}

static void test_clip(void **state)
{
    (void)state;
    struct subset s = subset(5);
    struct backend be = {.threads = 2};
    struct buffer x = wrap(s.x, s.whole), d = wrap(twin_of(s.back, s.packed), s.packed);
    const float *out = d.ptr;
    int clipped = 0;
    assert_ok(cpu_clip_positive(&be, &s.v, &s.pixels, &x, 0.8, &d));
    for (int64_t i = 0; i < s.packed; i++) {
        double own = (double)s.x[picked[i / 5] * 5 + i % 5];
        double least = -own / (0.8 + (double)FLT_EPSILON);
        assert_near(out[i], fmax((double)s.back[i], least), 1e-6);
        clipped += (double)s.back[i] < least;
    }
    assert_in_range(clipped, 100, s.packed - 100);
    free(d.ptr);
    subset_free(&s);
}

static void test_add_cylinders(void **state)
{
    (void)state;
    for (int n = 0; n < 4; n++)
        for (int t = 0; t < 3; t++) {
            struct subset s = subset(slice_counts[n]);
            const int64_t S = s.v.slices;
            struct backend be = {.threads = thread_counts[t]};
            struct buffer d = wrap(s.back, s.packed), x = wrap(twin_of(s.x, s.whole), s.whole);
            double moved, expected = 0;
            float *want = twin_of(s.x, s.whole);
            for (int64_t i = 0; i < s.packed; i++) {
                want[picked[i / S] * S + i % S] += 0.3f * s.back[i];
                expected += fabs(0.3 * (double)s.back[i]);
            }
            assert_ok(cpu_add_cylinders(&be, &s.v, &s.pixels, 0.3, &d, &x, &moved));
#ifdef __aarch64__ /* compilers fuse the multiplication and the addition here or there */
            for (int64_t i = 0; i < s.whole; i++)
                assert_near(((float *)x.ptr)[i], want[i], 1e-6 * (1 + fabs((double)want[i])));
#else
            assert_memory_equal(x.ptr, want, (size_t)s.whole * sizeof *want);
#endif
            assert_near(moved, expected, 1e-6 * expected);
            free(want);
            free(x.ptr);
            subset_free(&s);
        }
}

/* Unsorted, with repeats: every mention counts; all pixels without a list. */
static void test_add_repeats(void **state)
{
    (void)state;
    static const int32_t order[6] = {4, 1, 4, 0, 4, 1};
    const struct volume v = {2, 3, 2, 1, 1, 1, 0, ROR_NONE, 0};
    const struct pixel_set list = {order, 6, 1}, all = {NULL, 6, 0};
    struct backend be = {.threads = 7};
    float d[12], x[12] = {0};
    for (int i = 0; i < 12; i++)
        d[i] = 1;
    struct buffer db = wrap(d, 12), xb = wrap(x, 12);
    double moved;
    assert_ok(cpu_add_cylinders(&be, &v, &list, 2, &db, &xb, &moved));
    static const float expected[12] = {2, 2, 4, 4, 0, 0, 0, 0, 6, 6, 0, 0};
    assert_memory_equal(x, expected, sizeof x);
    assert_near(moved, 24, 0);
    assert_ok(cpu_add_cylinders(&be, &v, &all, -1, &db, &xb, &moved));
    assert_near(x[4], -1, 0);
    assert_near(x[8], 5, 0);
}

static void test_weighted_dots(void **state)
{
    (void)state;
    for (int n = 0; n < LENGTHS; n++) {
        const int64_t N = lengths[n];
        float *w = uniform(N, 0, 2), *e = uniform(N, -1, 1), *d = uniform(N, -1, 1);
        struct buffer wb = wrap(w, N), eb = wrap(e, N), db = wrap(d, N);
        double linear = 0, quadratic = 0, plain = 0;
        for (int64_t i = 0; i < N; i++) {
            linear += (double)w[i] * (double)e[i] * (double)d[i];
            quadratic += (double)w[i] * (double)d[i] * (double)d[i];
            plain += (double)e[i] * (double)d[i];
        }
        struct vcd_sums sums[3], ones;
        for (int t = 0; t < 3; t++) {
            struct backend be = {.threads = thread_counts[t]};
            assert_ok(cpu_weighted_dots(&be, &wb, &eb, &db, &sums[t]));
            assert_memory_equal(&sums[0], &sums[t], sizeof *sums);
            assert_near(sums[t].linear, linear, 1e-10 * (double)N);
            assert_near(sums[t].quadratic, quadratic, 1e-10 * (double)N);
            assert_ok(cpu_weighted_dots(&be, NULL, &eb, &db, &ones));
            assert_near(ones.linear, plain, 1e-10 * (double)N);
        }
        free(w);
        free(e);
        free(d);
    }
}

static void check_sums(const float *a, int64_t N, int threads, double out[5])
{
    struct backend be = {.threads = threads};
    struct buffer b = wrap(a, N);
    double sum = 0, magnitude = 0, squares = 0, low = N ? (double)a[0] : 0, high = low;
    for (int64_t i = 0; i < N; i++) {
        sum += (double)a[i];
        magnitude += fabs((double)a[i]);
        squares += (double)a[i] * (double)a[i];
        low = fmin(low, (double)a[i]);
        high = fmax(high, (double)a[i]);
    }
    assert_ok(cpu_sum_abs(&be, &b, &out[0]));
    assert_ok(cpu_fingerprint(&be, &b, &out[1], &out[2], &out[3], &out[4]));
    assert_near(out[0], magnitude, 1e-10 * (double)N);
    assert_near(out[1], sum, 1e-10 * (double)N);
    assert_near(out[2], sqrt(squares), 1e-10 * (double)N);
    assert_near(out[3], low, 0);
    assert_near(out[4], high, 0);
}

static void test_sums(void **state)
{
    (void)state;
    for (int n = 0; n < LENGTHS; n++) {
        float *a = uniform(lengths[n], -1, 1);
        double out[3][5];
        for (int t = 0; t < 3; t++) {
            check_sums(a, lengths[n], thread_counts[t], out[t]);
            assert_memory_equal(out[0], out[t], sizeof out[0]);
        }
        free(a);
    }
}

/* A number that is not finite shows in the sum. */
static void test_fingerprint_of_nan(void **state)
{
    (void)state;
    struct backend be = {.threads = 2};
    const float strange[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        float *a = uniform(70000, -1, 1);
        double sum, l2, low, high;
        a[i * 34999] = strange[i];
        struct buffer b = wrap(a, 70000);
        assert_ok(cpu_fingerprint(&be, &b, &sum, &l2, &low, &high));
        assert_false(isfinite(sum));
        free(a);
    }
}

static void test_scales(void **state)
{
    (void)state;
    for (int n = 0; n < LENGTHS; n++) {
        const int64_t N = lengths[n];
        struct backend be = {.threads = 7};
        float *x = uniform(N, -1, 1);
        struct buffer xb = wrap(x, N);
        float *before = twin_of(x, N);
        assert_ok(cpu_scale(&be, 1.5, &xb));
        for (int64_t i = 0; i < N; i++)
            assert_near(x[i], 1.5f * before[i], 0);
        free(before);
        free(x);
    }
    struct backend be = {.threads = 2};
    const struct volume v = volume(33);
    float *x = uniform(PIXELS * 33, -1, 1), *factor = uniform(33, 0, 2);
    float *scaled = twin_of(x, PIXELS * 33);
    struct buffer b = wrap(scaled, PIXELS * 33);
    assert_ok(cpu_scale_slices(&be, &v, factor, &b));
    for (int64_t i = 0; i < PIXELS * 33; i++)
        assert_near(scaled[i], x[i] * factor[i % 33], 0);
    free(x);
    free(scaled);
    free(factor);
}

/* A packed array goes to its slices and back; slices and pixels beside them stay. */
static void test_move_slices(void **state)
{
    (void)state;
    enum { SLICES = 9, FIRST = 2, COUNT = 4 };
    static const int32_t some[] = {PIXELS - 1, 0, 3};
    struct slices_move move = {SLICES_ADD, SLICES, FIRST, COUNT};
    for (int listed = 0; listed < 2; listed++) {
        struct backend be = {.threads = 2};
        const struct pixel_set pixels = {listed ? some : NULL, listed ? 3 : PIXELS, 0};
        const int64_t n = pixels.count * COUNT;
        float *x = uniform(PIXELS * SLICES, -1, 1), *now = twin_of(x, PIXELS * SLICES);
        float *packed = uniform(n, -1, 1), *back = uniform(n, -1, 1);
        struct buffer to = wrap(now, PIXELS * SLICES), given = wrap(packed, n),
                      taken = wrap(back, n);
        move.how = SLICES_ADD;
        assert_ok(cpu_move_slices(&be, &move, &pixels, &to, &given));
        move.how = SLICES_TAKE;
        assert_ok(cpu_move_slices(&be, &move, &pixels, &to, &taken));
        for (int64_t i = 0; i < n; i++) {
            const int64_t q = i / COUNT, p = listed ? some[q] : q;
            assert_near(back[i], x[p * SLICES + FIRST + i % COUNT] + packed[i], 0);
            x[p * SLICES + FIRST + i % COUNT] = packed[i];
        }
        move.how = SLICES_PUT;
        assert_ok(cpu_move_slices(&be, &move, &pixels, &to, &given));
        assert_memory_equal(now, x, sizeof *x * PIXELS * SLICES);
        free(x);
        free(now);
        free(packed);
        free(back);
    }
}

int main(void)
{
    cpu_team_least = 1; /* small work goes in teams, too */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_direction),          cmocka_unit_test(test_clip),
        cmocka_unit_test(test_add_cylinders),      cmocka_unit_test(test_add_repeats),
        cmocka_unit_test(test_weighted_dots),      cmocka_unit_test(test_sums),
        cmocka_unit_test(test_fingerprint_of_nan), cmocka_unit_test(test_scales),
        cmocka_unit_test(test_move_slices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
