/* links: tp_trace */
/* Tests the table of CUDA calls with CUPTI's names for them. */
#include "profiler/capture/recorders/cuda/rules.c"
#include "tests/unit/check.h"

static const struct {
    const char *name;
    int api_class; /* -1: not followed */
    int bytes, scale;
} cases[] = {
    {"cudaLaunchKernel_v7000", TRACE_API_LAUNCH, 0, 0},
    {"cudaLaunchKernel_ptsz_v7000", TRACE_API_LAUNCH, 0, 0},
    {"cudaLaunchKernelExC_v11060", TRACE_API_LAUNCH, 0, 0},
    {"__cudaLaunchKernel_v13000", TRACE_API_LAUNCH, 0, 0},
    {"cuLaunchCooperativeKernel_ptsz", TRACE_API_LAUNCH, 0, 0},
    {"cuLaunchKernelEx", TRACE_API_LAUNCH, 0, 0},
    {"cuLaunchHostFunc", -1, 0, 0},
    {"cudaGraphLaunch_v10000", TRACE_API_GRAPH, 0, 0},
    {"cuGraphAddKernelNode_v2", TRACE_API_GRAPH, 0, 0},
    {"cudaMemcpyAsync_v3020", TRACE_API_COPY, 16, 1},
    {"cudaMemcpy2D_v3020", TRACE_API_COPY, 32, 1},
    {"cuMemcpy2D_v2", TRACE_API_COPY, 0, 0},
    {"cuMemcpyHtoDAsync_v2_ptsz", TRACE_API_COPY, 16, 1},
    {"cudaMemcpyPeerAsync_v4000", TRACE_API_COPY, 32, 1},
    {"cuMemsetD32Async", TRACE_API_SET, 16, 4},
    {"cudaMemset3D_v3020", TRACE_API_SET, 0, 0},
    {"cudaMallocAsync_v11020", TRACE_API_MEMORY, 8, 1},
    {"cuMemAllocFromPoolAsync", TRACE_API_MEMORY, 8, 1},
    {"cudaFreeAsync_v11020", TRACE_API_MEMORY, 0, 0},
    {"cudaHostRegister_v4000", TRACE_API_MEMORY, 8, 1},
    {"cuStreamSynchronize", TRACE_API_SYNC, 0, 0},
    {"cudaDeviceSynchronize_v3020", TRACE_API_SYNC, 0, 0},
    {"cuLibraryLoadData", TRACE_API_MODULE, 0, 0},
    {"__cudaInitModule_v13000", TRACE_API_MODULE, 0, 0},
    {"cuInit", TRACE_API_OTHER, 0, 0},
    {"cuDevicePrimaryCtxRetain", TRACE_API_OTHER, 0, 0},
    {"cuStreamQuery", -1, 0, 0},
    {"cudaEventQuery_v3020", -1, 0, 0},
    {"cudaGetLastError_v3020", -1, 0, 0},
    {"cudaEventRecord_v3020", -1, 0, 0},
    {"INVALID", -1, 0, 0},
    {"", -1, 0, 0},
};

static void calls_are_known_by_their_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct cuda_rule *r = cuda_rule(cases[i].name);
        if ((r ? r->api_class : -1) != cases[i].api_class)
            fail_msg("%s: class %d, expected %d", cases[i].name, r ? r->api_class : -1,
                     cases[i].api_class);
        if (r && (r->scale != cases[i].scale || (r->scale && r->bytes != cases[i].bytes)))
            fail_msg("%s: size at %d times %d", cases[i].name, r->bytes, r->scale);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls_are_known_by_their_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
