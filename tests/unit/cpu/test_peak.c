/* links: tp_cpu */
/* The measured ceilings make sense, on a machine with little memory as well. */
#include "base/memory.h"
#include "host/cpu/common/peak.h"
#include "tests/unit/check.h"
#include "tests/unit/each_isa.h"

static void check(int threads)
{
    struct backend be = {.threads = threads};
    struct peak peak = {0};
    assert_ok(cpu_measure_peak(&be, &peak));
    assert_true(isfinite(peak.flops_per_s) && peak.flops_per_s > 1e6);
    assert_true(isfinite(peak.bytes_per_s) && peak.bytes_per_s > 1e6);
}

static void test_little_memory(void **state)
{
    (void)state;
    setenv("TOMOPROF_MEMORY", "64MiB", 1);
    mem_reset_peak();
    check(1);
    assert_true(mem_peak() > 0 && mem_peak() <= (size_t)8 << 20);
    assert_int_equal(mem_held(), 0);
    setenv("TOMOPROF_MEMORY", "1MiB", 1);
    struct backend be = {.threads = 1};
    struct peak peak;
    assert_error(cpu_measure_peak(&be, &peak), ERR_MEMORY, "calibration");
    unsetenv("TOMOPROF_MEMORY");
}

static void test_measure(void **state)
{
    (void)state;
    check(1);
    check(3);
}

static int all_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_little_memory),
        cmocka_unit_test(test_measure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return for_each_isa(all_tests);
}
