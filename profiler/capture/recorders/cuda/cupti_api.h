/* CUPTI's calls and callback data that we use, 64-bit Linux, CUDA 12.0 to 13.x, loaded by name. */
#ifndef TP_CAPTURE_RECORDERS_CUDA_CUPTI_API_H
#define TP_CAPTURE_RECORDERS_CUDA_CUPTI_API_H

#include "profiler/capture/recorders/cuda/cupti_samples.h"

/* SERIAL_KERNEL is never enabled: it makes kernels run one after the other. */
enum cupti_kind {
    CUPTI_MEMCPY = 1,
    CUPTI_MEMSET,
    CUPTI_SERIAL_KERNEL,
    CUPTI_DEVICE = 8,
    CUPTI_CONTEXT,
    CUPTI_KERNEL,
    CUPTI_OVERHEAD = 17,
    CUPTI_MEMCPY_PEER = 22,
    CUPTI_UNIFIED_MEMORY = 25,
    CUPTI_STREAM = 37,
    CUPTI_SYNC,
    CUPTI_MEMORY = 49,
    CUPTI_MEMORY_POOL,
    CUPTI_JIT = 52
};
enum cupti_domain { CUPTI_DRIVER = 1, CUPTI_RUNTIME, CUPTI_RESOURCE, CUPTI_STATE = 6 };
enum cupti_resource {
    CUPTI_CONTEXT_CREATED = 1,
    CUPTI_CONTEXT_DESTROYED = 2, /* it begins */
    CUPTI_CU_INIT_FINISHED = 5,
    CUPTI_MODULE_LOADED = 6,
    CUPTI_MODULE_UNLOAD = 7,
    CUPTI_NODE_CREATED = 13,
    CUPTI_NODE_CLONED = 20,
};
enum { CUPTI_ENTER, CUPTI_EXIT };
enum cupti_result {
    CUPTI_OK = 0,
    CUPTI_MAX_LIMIT = 12, /* no more records */
    CUPTI_MULTIPLE_SUBSCRIBERS = 39,
};
enum { CUPTI_FLUSH_FORCED = 1, CUPTI_THREAD_ID_SYSTEM = 1, CUPTI_COMMAND_BUFFER_FULL = 6 << 16 };

struct cupti_call { /* callback data of the driver and runtime domains */
    uint32_t site;
    const char *function;
    const void *parameters;
    const int *result;
    const char *symbol; /* of launches */
    void *context;
    uint32_t context_id;
    uint64_t *data;
    uint32_t correlation;
};
struct cupti_resource_data {
    void *context, *handle, *descriptor;
};
struct cupti_module {
    uint32_t id;
    size_t bytes;
    const void *cubin;
};
struct cupti_graph {
    void *graph, *original_graph, *node, *original_node;
    uint32_t node_type;
};
struct cupti_state {
    int result;
    const char *message;
};
struct cupti_subscriber {
    size_t bytes;
    const char *name;
    char *old_name;
    size_t old_name_bytes;
};
struct cupti_memory_counter {
    uint32_t scope, kind, device, enable;
};

typedef void cupti_callback(void *user, uint32_t domain, uint32_t id, const void *data);
typedef void cupti_request(uint8_t **buffer, size_t *bytes, size_t *records);
typedef void cupti_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                            size_t valid);

/* member, symbol, 1 when it is indispensable, parameters */
#define CUPTI_CALLS(X)                                                                             \
    X(version, "cuptiGetVersion", 1, (uint32_t *))                                                 \
    X(timestamp, "cuptiGetTimestamp", 1, (uint64_t *))                                             \
    X(subscribe, "cuptiSubscribe", 1, (void **, cupti_callback *, void *))                         \
    X(subscribe_v2, "cuptiSubscribe_v2", 0,                                                        \
      (void **, cupti_callback *, void *, struct cupti_subscriber *))                              \
    X(enable_callback, "cuptiEnableCallback", 1, (uint32_t, void *, uint32_t, uint32_t))           \
    X(enable_domain, "cuptiEnableDomain", 1, (uint32_t, void *, uint32_t))                         \
    X(callback_name, "cuptiGetCallbackName", 1, (uint32_t, uint32_t, const char **))               \
    X(thread_id_type, "cuptiSetThreadIdType", 0, (uint32_t))                                       \
    X(timestamp_callback, "cuptiActivityRegisterTimestampCallback", 0, (uint64_t(*)(void)))        \
    X(register_buffers, "cuptiActivityRegisterCallbacks", 1, (cupti_request *, cupti_complete *))  \
    X(enable, "cuptiActivityEnable", 1, (uint32_t))                                                \
    X(next, "cuptiActivityGetNextRecord", 1, (uint8_t *, size_t, uint8_t **))                      \
    X(dropped, "cuptiActivityGetNumDroppedRecords", 1, (void *, uint32_t, size_t *))               \
    X(flush, "cuptiActivityFlushAll", 1, (uint32_t))                                               \
    X(all_syncs, "cuptiActivityEnableAllSyncRecords", 0, (uint8_t))                                \
    X(hw_trace, "cuptiActivityEnableHWTrace", 0, (uint8_t))                                        \
    X(latency, "cuptiActivityEnableLatencyTimestamps", 0, (uint8_t))                               \
    X(device_graphs, "cuptiActivityEnableDeviceGraph", 0, (uint8_t))                               \
    X(memory_counters, "cuptiActivityConfigureUnifiedMemoryCounter", 0,                            \
      (struct cupti_memory_counter *, uint32_t))                                                   \
    X(node_id, "cuptiGetGraphNodeId", 0, (void *, uint64_t *))                                     \
    X(graph_id, "cuptiGetGraphId", 0, (void *, uint32_t *))                                        \
    X(stream_id, "cuptiGetStreamIdEx", 0, (void *, void *, uint8_t, uint32_t *))

struct cupti {
#define X(member, symbol, required, parameters) int(*member) parameters;
    CUPTI_CALLS(X)
    CUPTI_SAMPLING_CALLS(X)
#undef X
};

#endif
