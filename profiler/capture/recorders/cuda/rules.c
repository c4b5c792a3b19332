/* Lists the API calls that are followed. The numbers of calls differ between CUPTI's versions,
 * their names do not, so CUPTI is asked for the name of every number and this table for what it
 * means. The first row that fits counts. Offsets of sizes: the calls' public parameters, 8 bytes
 * each. */
#include <string.h>

#include "profiler/capture/recorders/cuda/cuda.h"

#define NONE 255
enum { L = TRACE_API_LAUNCH, C = TRACE_API_COPY, S = TRACE_API_SET, M = TRACE_API_MEMORY };
enum { Y = TRACE_API_SYNC, G = TRACE_API_GRAPH, D = TRACE_API_MODULE, O = TRACE_API_OTHER };

static const struct cuda_rule rules[] = {
    {"LaunchHostFunc", NONE, 0, 0, 0, 0},
    {"Launch", L, 0, 0, 0, 0},
    {"cudaMemcpy2DToArray", C, 40, 48, 1, 0},
    {"cudaMemcpy2DFromArray", C, 40, 48, 1, 0},
    {"cudaMemcpy2DArrayToArray", C, 48, 56, 1, 0},
    {"cudaMemcpy2D", C, 32, 40, 1, 0},
    {"Memcpy2D", C, 0, 0, 0, 0},
    {"Memcpy3D", C, 0, 0, 0, 0},
    {"MemcpyBatch", C, 0, 0, 0, 0},
    {"cudaMemcpyToArray", C, 32, 0, 1, 0},
    {"cudaMemcpyFromArray", C, 32, 0, 1, 0},
    {"cudaMemcpyArrayToArray", C, 48, 0, 1, 0},
    {"MemcpyPeer", C, 32, 0, 1, 0},
    {"cuMemcpyAtoA", C, 32, 0, 1, 0},
    {"cuMemcpyAto", C, 24, 0, 1, 0},
    {"cuMemcpyHtoA", C, 24, 0, 1, 0},
    {"cuMemcpyDtoA", C, 24, 0, 1, 0},
    {"Memcpy", C, 16, 0, 1, 0},
    {"cudaMemset2D", S, 24, 32, 1, 0},
    {"cudaMemset3D", S, 0, 0, 0, 0},
    {"cudaMemset", S, 16, 0, 1, 0},
    {"cuMemsetD2D8", S, 24, 32, 1, 0},
    {"cuMemsetD2D16", S, 24, 32, 2, 0},
    {"cuMemsetD2D32", S, 24, 32, 4, 0},
    {"cuMemsetD8", S, 16, 0, 1, 0},
    {"cuMemsetD16", S, 16, 0, 2, 0},
    {"cuMemsetD32", S, 16, 0, 4, 0},
    {"MallocPitch", M, 16, 24, 1, 0},
    {"MallocArray", M, 0, 0, 0, 0},
    {"MallocMipmapped", M, 0, 0, 0, 0},
    {"Malloc3D", M, 0, 0, 0, 0},
    {"MallocManaged", M, 8, 0, 1, RULE_MANAGED},
    {"Malloc", M, 8, 0, 1, 0},
    {"HostAlloc", M, 8, 0, 1, 0},
    {"HostRegister", M, 8, 0, 1, 0},
    {"HostUnregister", M, 0, 0, 0, 0},
    {"Free", M, 0, 0, 0, 0},
    {"MemAllocPitch", M, 16, 24, 1, 0},
    {"MemAllocManaged", M, 8, 0, 1, RULE_MANAGED},
    {"MemAlloc", M, 8, 0, 1, 0},
    {"MemFree", M, 0, 0, 0, 0},
    {"MemHostAlloc", M, 8, 0, 1, 0},
    {"MemHostRegister", M, 8, 0, 1, 0},
    {"MemHostUnregister", M, 0, 0, 0, 0},
    {"MemCreate", M, 8, 0, 1, 0},
    {"MemRelease", M, 0, 0, 0, 0},
    {"MemMap", M, 0, 0, 0, 0},
    {"MemUnmap", M, 0, 0, 0, 0},
    {"MemPoolCreate", M, 0, 0, 0, 0},
    {"MemPoolDestroy", M, 0, 0, 0, 0},
    {"MemPoolTrimTo", M, 0, 0, 0, 0},
    {"MemPrefetchBatch", M, 0, 0, 0, 0},
    {"MemPrefetch", M, 8, 0, 1, 0},
    {"MemAdvise", M, 8, 0, 1, 0},
    {"MemDiscard", M, 0, 0, 0, 0},
    {"MemBatchDecompress", C, 0, 0, 0, 0},
    {"StreamAttachMem", M, 0, 0, 0, 0},
    {"ArrayCreate", M, 0, 0, 0, 0},
    {"Array3DCreate", M, 0, 0, 0, 0},
    {"ArrayDestroy", M, 0, 0, 0, 0},
    {"MipmappedArrayCreate", M, 0, 0, 0, 0},
    {"MipmappedArrayDestroy", M, 0, 0, 0, 0},
    {"DeviceSynchronize", Y, 0, 0, 0, 0},
    {"CtxSynchronize", Y, 0, 0, 0, 0},
    {"ThreadSynchronize", Y, 0, 0, 0, 0},
    {"StreamSynchronize", Y, 0, 0, 0, 0},
    {"EventSynchronize", Y, 0, 0, 0, 0},
    {"StreamWaitEvent", Y, 0, 0, 0, 0},
    {"GraphAdd", G, 0, 0, 0, 0},
    {"GraphInstantiate", G, 0, 0, 0, 0},
    {"GraphLaunch", G, 0, 0, 0, 0},
    {"GraphUpload", G, 0, 0, 0, 0},
    {"GraphExec", G, 0, 0, 0, 0},
    {"GraphClone", G, 0, 0, 0, 0},
    {"GraphDestroy", G, 0, 0, 0, 0},
    {"StreamBeginCapture", G, 0, 0, 0, 0},
    {"StreamEndCapture", G, 0, 0, 0, 0},
    {"ModuleLoad", D, 0, 0, 0, 0},
    {"ModuleUnload", D, 0, 0, 0, 0},
    {"LibraryLoad", D, 0, 0, 0, 0},
    {"LibraryUnload", D, 0, 0, 0, 0},
    {"LinkAdd", D, 0, 0, 0, 0},
    {"LinkComplete", D, 0, 0, 0, 0},
    {"InitModule", D, 0, 0, 0, 0},
    {"Init", O, 0, 0, 0, 0}, /* cuInit, cudaInitDevice */
    {"SetDevice", O, 0, 0, 0, 0},
    {"DeviceReset", O, 0, 0, 0, RULE_DISCARDS},
    {"CtxCreate", O, 0, 0, 0, 0},
    {"CtxDestroy", O, 0, 0, 0, RULE_DISCARDS},
    {"DevicePrimaryCtxRetain", O, 0, 0, 0, 0},
    {"DevicePrimaryCtxRelease", O, 0, 0, 0, RULE_DISCARDS},
    {"DevicePrimaryCtxReset", O, 0, 0, 0, RULE_DISCARDS},
};

const struct cuda_rule *cuda_rule(const char *name)
{
    name += strspn(name, "_"); /* __cudaLaunchKernel: what <<<>>> calls from CUDA 13 on */
    const char *rest = name;
    if (!strncmp(name, "cuda", 4))
        rest = name + 4;
    else if (!strncmp(name, "cu", 2))
        rest = name + 2;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const char *pattern = rules[i].pattern;
        if (!strncmp(pattern[0] == 'c' ? name : rest, pattern, strlen(pattern)))
            return rules[i].api_class == NONE ? NULL : rules + i;
    }
    return NULL;
}
