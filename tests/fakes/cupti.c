/* A pretended libcupti on the emulated GPU. Exports NVIDIA's names; misbehaves by
 * FAKE=KEY=NUMBER,..: version=N       API version (130001) layout=12|13|14 lengths of records:
 * shorter than CUDA 13.0's, its own, longer than any known clock=0|1       1: refuses the timestamp
 * callback and counts CLOCK_REALTIME jump=NS         its clock jumps by so much after the 100th
 * work zero=N drop=N unknown=N shuffle=N   every Nth record without times; N records dropped; every
 *                   Nth record followed by one of an unknown kind; records come in a mixed order
 *   lose=N          the Nth record of work is never delivered nor counted
 *   steal=N         so are all after the Nth: another client has taken the buffers
 *   deliver=1       buffers come back on a thread of CUPTI's own
 *   hang=1          a flush never returns
 *   full=1          overheads are of a full command buffer, with data that the client frees
 *   unified=1       unified memory can be watched
 *   device_graph=1  each whole graph launches another one on the device
 *   sampling_room=N, sampling_dropped=N: instructions that a call gives at most; samples lost
 *   buffers=N       asks for N buffers more than it uses, and keeps them
 *   NAME=CODE       the call NAME (cuptiSubscribe, ..) fails so; other=1: it names another tool */
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "profiler/capture/recorders/cuda/cupti_records_graph.h"
#include "sampling.h"

#define FAIL_IF_ASKED(name)                                                                        \
    do {                                                                                           \
        int asked = (int)store_option(name, 0);                                                    \
        if (asked)                                                                                 \
            return asked;                                                                          \
    } while (0)

/* A name of NVIDIA's library, prototype and definition. */
#define EXPORT(name, ...)                                                                          \
    FAKE_API int name(__VA_ARGS__);                                                                \
    FAKE_API int name(__VA_ARGS__)

static cupti_callback *subscriber;
static uint8_t domains[8], calls[3][64];

/* Numbers of this CUPTI's own: a client that assumes the real ones follows nothing. */
static const char *const names[3][32] = {
    {NULL},
    {"INVALID", "cuDeviceGet", "cuLaunchKernel", "cuMemcpyHtoD_v2", "cuMemcpyAsync", "cuMemcpy",
     "cuModuleLoadData", "cuModuleUnload", "cuStreamQuery", "cuMemBatchDecompressAsync"},
    {"INVALID", "cudaGetDevice_v3020", "cudaMemcpy_v3020", "cudaLaunchKernel_v7000",
     "cudaMemcpyAsync_v3020", "cudaMemcpyPeer_v4000", "cudaMemset_v3020", "cudaMalloc_v3020",
     "cudaMallocAsync_v11020", "cudaFree_v3020", "cudaSetDevice_v3020",
     "cudaDeviceSynchronize_v3020", "cudaStreamSynchronize_v3020", "cudaStreamBeginCapture_v10000",
     "cudaStreamEndCapture_v10000", "cudaGraphInstantiate_v12000", "cudaGraphLaunch_v10000",
     "cudaEventQuery_v3020", "cudaMallocManaged_v6000"},
};

static void call(int domain, const char *name, int leaving, uint32_t correlation,
                 const void *parameters, const char *symbol, int result)
{
    uint64_t data = 0;
    struct cupti_call c = {
        (uint32_t)leaving, name, parameters, leaving ? &result : NULL, symbol, NULL, 1, &data,
        correlation};
    for (uint32_t i = 1; i < 32 && names[domain][i]; i++) {
        size_t n = strlen(name);
        const char *rest = names[domain][i] + n;
        if (calls[domain][i] && subscriber && !strncmp(names[domain][i], name, n) &&
            (!*rest || *rest == '_'))
            subscriber(NULL, (uint32_t)domain, i, &c);
    }
}

static void resource(int id, const void *a, const void *b, size_t n)
{
    struct cupti_module module = {1, n, a};
    struct cupti_graph graph = {.node = (void *)(uintptr_t)a,
                                .original_node = (void *)(uintptr_t)b,
                                .graph = (void *)(uintptr_t)a};
    struct cupti_resource_data data = {&domains, NULL, NULL};
    if (id == CUPTI_MODULE_LOADED) {
        sampling_module(a, n);
        data.descriptor = &module;
    } else if (id == CUPTI_NODE_CREATED || id == CUPTI_NODE_CLONED)
        data.descriptor = &graph;
    if (subscriber && domains[CUPTI_RESOURCE])
        subscriber(NULL, CUPTI_RESOURCE, (uint32_t)id, &data);
}

static int attach(cupti_callback *callback, void **handle)
{
    static const struct fake_tool tool = {call, resource, store_activity, store_now, store_pending};
    void *symbol = dlsym(RTLD_DEFAULT, "fake_attach");
    void (*to_gpu)(const struct fake_tool *);
    memcpy(&to_gpu, &symbol, sizeof symbol);
    if (!symbol)
        return 999;
    to_gpu(&tool);
    subscriber = callback;
    *handle = &subscriber;
    return 0;
}

EXPORT(cuptiGetVersion, uint32_t *version)
{
    FAIL_IF_ASKED("cuptiGetVersion");
    *version = (uint32_t)store_option("version", 130001);
    return 0;
}

EXPORT(cuptiGetTimestamp, uint64_t *t)
{
    FAIL_IF_ASKED("cuptiGetTimestamp");
    *t = store_now();
    return 0;
}

EXPORT(cuptiSubscribe, void **handle, cupti_callback *callback, void *user)
{
    (void)user;
    if (store_option("other", 0))
        return CUPTI_MULTIPLE_SUBSCRIBERS;
    FAIL_IF_ASKED("cuptiSubscribe");
    return attach(callback, handle);
}

EXPORT(cuptiSubscribe_v2, void **handle, cupti_callback *callback, void *user,
       struct cupti_subscriber *who)
{
    (void)user;
    if (store_option("other", 0)) {
        strncpy(who->old_name, "Other Profiler", who->old_name_bytes);
        return CUPTI_MULTIPLE_SUBSCRIBERS;
    }
    FAIL_IF_ASKED("cuptiSubscribe_v2");
    return attach(callback, handle);
}

EXPORT(cuptiEnableCallback, uint32_t on, void *handle, uint32_t domain, uint32_t id)
{
    (void)handle;
    FAIL_IF_ASKED("cuptiEnableCallback");
    calls[domain][id] = (uint8_t)on;
    return 0;
}

EXPORT(cuptiEnableDomain, uint32_t on, void *handle, uint32_t domain)
{
    (void)handle;
    FAIL_IF_ASKED("cuptiEnableDomain");
    domains[domain] = (uint8_t)on;
    return 0;
}

EXPORT(cuptiGetCallbackName, uint32_t domain, uint32_t id, const char **name)
{
    *name = domain && domain < 3 && id < 32 ? names[domain][id] : NULL;
    return *name ? 0 : 1;
}

EXPORT(cuptiSetThreadIdType, uint32_t type)
{
    (void)type;
    FAIL_IF_ASKED("cuptiSetThreadIdType");
    return 0;
}

EXPORT(cuptiActivityRegisterTimestampCallback, uint64_t (*f)(void))
{
    if (store_option("clock", 0))
        return CUPTI_MULTIPLE_SUBSCRIBERS; /* as reported from WSL */
    store_clock = f;
    return 0;
}

EXPORT(cuptiActivityRegisterCallbacks, cupti_request *r, cupti_complete *c)
{
    FAIL_IF_ASKED("cuptiActivityRegisterCallbacks");
    store_request = r;
    store_complete = c;
    return 0;
}

EXPORT(cuptiActivityEnable, uint32_t kind)
{
    FAIL_IF_ASKED("cuptiActivityEnable");
    store_enabled[kind] = 1;
    return 0;
}

EXPORT(cuptiActivityEnableLatencyTimestamps, uint8_t on)
{
    FAIL_IF_ASKED("cuptiActivityEnableLatencyTimestamps");
    store_latency = on;
    return 0;
}

EXPORT(cuptiActivityEnableHWTrace, uint8_t on)
{
    FAIL_IF_ASKED("cuptiActivityEnableHWTrace");
    store_hw_trace = on;
    return 0;
}

EXPORT(cuptiActivityEnableDeviceGraph, uint8_t on)
{
    FAIL_IF_ASKED("cuptiActivityEnableDeviceGraph");
    store_enabled[CUPTI_DEVICE_GRAPH] = on;
    return 0;
}

EXPORT(cuptiActivityGetNextRecord, uint8_t *at, size_t valid, uint8_t **record)
{
    uint32_t kind;
    FAIL_IF_ASKED("cuptiActivityGetNextRecord");
    if (*record)
        memcpy(&kind, *record, sizeof kind);
    uint8_t *next = *record ? *record + store_length(kind) : at;
    if (next >= at + valid)
        return CUPTI_MAX_LIMIT;
    *record = next;
    return 0;
}

EXPORT(cuptiActivityGetNumDroppedRecords, void *context, uint32_t stream, size_t *n)
{
    static int told;
    (void)context, (void)stream;
    FAIL_IF_ASKED("cuptiActivityGetNumDroppedRecords");
    *n = store_dropped();
    if (!__atomic_exchange_n(&told, 1, __ATOMIC_RELAXED))
        *n += (size_t)store_option("drop", 0);
    return 0;
}

EXPORT(cuptiActivityFlushAll, uint32_t how)
{
    (void)how;
    FAIL_IF_ASKED("cuptiActivityFlushAll");
    while (store_option("hang", 0))
        pause();
    store_flush();
    return 0;
}

EXPORT(cuptiActivityConfigureUnifiedMemoryCounter, struct cupti_memory_counter *c, uint32_t n)
{
    return c && n && store_option("unified", 0) ? 0 : 29;
}

EXPORT(cuptiGetGraphNodeId, void *node, uint64_t *id)
{
    *id = ((struct fake_node *)node)->id;
    return 0;
}

EXPORT(cuptiGetGraphId, void *node, uint32_t *id)
{
    *id = ((struct fake_node *)node)->graph;
    return 0;
}

EXPORT(cuptiGetStreamIdEx, void *context, void *stream, uint8_t per_thread, uint32_t *id)
{
    (void)context, (void)per_thread;
    memcpy(id, stream, sizeof *id); /* a stream of the pretended driver begins with it */
    return 0;
}
