/* A run with one device on the stage, for the tests of its analysis. */
#ifndef TP_TESTS_TRACE_GPU_CASE_H
#define TP_TESTS_TRACE_GPU_CASE_H

#include "tests/trace/run_case.h"

#define NEAR(a, b) assert_near(a, b, 1e-12)

static uint64_t at120, at210; /* stacks of one frame */

static int before_gpu(void **state)
{
    before(state);
    stage_meta(&st, "cupti.clock", "monotonic");
    stage_device(&st, 0, 1);
    at120 = stage_at(&st, AT(APP, 120));
    at210 = stage_at(&st, AT(APP, 210));
    return 0;
}

static void kernel(uint64_t from, uint64_t to, const char *name, uint32_t correlation)
{
    struct trace_kernel k = stage_kernel(&st, from, to, name, correlation);
    stage_put(&st, 0, &k);
}

static void launch(uint64_t ms, uint64_t stack, uint32_t correlation)
{
    stage_api(&st, 0, ms, ms + 1, stack, "cudaLaunchKernel", TRACE_API_LAUNCH, correlation);
}

#endif
