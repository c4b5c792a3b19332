/* links: tp_backend */
/* Checks the source of each place of a resampled volume, for all pairs of sizes up to 512: as
 * integers define it, whether or not the compiler contracts multiplications and additions. nvcc
 * does. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "host/backend/volume_math.h"
#include "tests/unit/backend/volume_axis_fused.h"

#define LARGEST 512

typedef void axis_function(enum volume_kind kind, int64_t from, int64_t n, int64_t i, int32_t *at,
                           float *t);

static void axis_plain(enum volume_kind kind, int64_t from, int64_t n, int64_t i, int32_t *at,
                       float *t)
{
    volume_axis(kind, from, n, i, at, t);
}

/* Walks through one pair of sizes; `whole` and `rest` follow (2 i + 1) from / (2 n) without a
 * division. Returns 0 where a place differs. */
static int nearest_is_exact(axis_function *axis, int64_t from, int64_t n)
{
    int64_t whole = 0, rest = from;
    for (int64_t i = 0; i < n; i++, rest += 2 * from) {
        int32_t at;
        float t;
        for (; rest >= 2 * n; rest -= 2 * n)
            whole++;
        axis(VOLUME_NEAREST, from, n, i, &at, &t);
        if (at != whole || t != 0)
            return 0;
    }
    return 1;
}

/* The same less 1/2, within 0 and from - 1: the cell, and the share of its end. */
static int linear_is_exact(axis_function *axis, int64_t from, int64_t n)
{
    int64_t whole = 0, rest = from - n;
    for (int64_t i = 0; i < n; i++, rest += 2 * from) {
        int32_t at;
        float t;
        for (; rest >= 2 * n; rest -= 2 * n)
            whole++;
        const int within = rest > 0 && whole < from - 1;
        const float share = within ? (float)((double)rest / (double)(2 * n)) : 0;
        axis(VOLUME_LINEAR, from, n, i, &at, &t);
        if (at != (whole < from - 1 ? whole : from - 1) || t != share)
            return 0;
    }
    return 1;
}

static void expect_exact(axis_function *axis)
{
    int64_t nearest = 0, linear = 0;
    for (int64_t from = 1; from <= LARGEST; from++)
        for (int64_t n = 1; n <= LARGEST; n++) {
            nearest += !nearest_is_exact(axis, from, n);
            linear += !linear_is_exact(axis, from, n);
        }
    if (nearest + linear)
        fail_msg("of 262144 pairs of sizes %lld differ (nearest), %lld (linear)",
                 (long long)nearest, (long long)linear);
}

static void places_are_exact(void **state)
{
    (void)state;
    expect_exact(axis_plain);
}

static void places_are_exact_fused(void **state)
{
    (void)state;
#if defined __x86_64__
    if (!__builtin_cpu_supports("fma"))
        skip();
#endif
    const double a = 1 + 0x1p-30, b = 1 - 0x1p-30;
    if (volume_fused_sum(a, b, -1) != -0x1p-60)
        skip(); /* the machine has no fused multiply-add */
    expect_exact(volume_axis_fused);
}

/* The largest sizes that fit an index do not overflow. */
static void largest_places_fit(void **state)
{
    (void)state;
    const int64_t most = INT32_MAX;
    int32_t at;
    float t;
    volume_axis(VOLUME_NEAREST, most, most, most - 1, &at, &t);
    assert_int_equal(at, most - 1);
    volume_axis(VOLUME_LINEAR, most, most, most / 2, &at, &t);
    assert_int_equal(at, most / 2);
    assert_true(t == 0);
    volume_axis(VOLUME_LINEAR, 2, most, most - 1, &at, &t);
    assert_int_equal(at, 1);
    assert_true(t == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_exact),
        cmocka_unit_test(places_are_exact_fused),
        cmocka_unit_test(largest_places_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
