/* links: tp_base */
/* The library's own logarithm and exponential against those of libm. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profiler/capture/raw/logarithm.c"

#define CLOSE 1e-14

static void logarithms_are_those_of_libm(void **state)
{
    (void)state;
    for (double x = 1e-300; x < 1e300; x *= 1.007)
        assert_true(fabs(raw_log(x) - log(x)) <= CLOSE * fabs(log(x)) + 1e-16);
    for (double x = 0x1p-53; x < 1; x *= 1.003) /* what capture_random draws */
        assert_true(fabs(raw_log(x) - log(x)) <= CLOSE * fabs(log(x)));
    assert_true(raw_log(1) == 0);
}

static void exponentials_are_those_of_libm(void **state)
{
    (void)state;
    for (double x = -1e-18; x > -800; x *= 1.003)
        assert_true(fabs(raw_expm1(x) - expm1(x)) <= CLOSE * fabs(expm1(x)));
    assert_true(raw_expm1(0) == 0);
    assert_true(raw_expm1(-INFINITY) == -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logarithms_are_those_of_libm),
        cmocka_unit_test(exponentials_are_those_of_libm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
