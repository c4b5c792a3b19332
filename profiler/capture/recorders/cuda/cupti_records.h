/* The leading fields of CUPTI's activity records that we read, as CUDA 12.0 to 13.x lay them out on
 * 64-bit Linux. Older CUPTI writes shorter structs, newer ones longer: decode.c copies what a
 * record has into one of these and leaves the rest 0. tests/fakes/abi.c compares the
 * offsets with NVIDIA's headers where a toolkit is installed. */
#ifndef TP_CAPTURE_RECORDERS_CUDA_CUPTI_RECORDS_H
#define TP_CAPTURE_RECORDERS_CUDA_CUPTI_RECORDS_H

#include <stdint.h>

struct cupti_kernel {
    uint32_t kind;
    uint8_t cache, shared_config;
    uint16_t registers;
    uint32_t partitioned[2];
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3], static_shared, dynamic_shared;
    uint32_t local_per_thread, local_total, correlation;
    int64_t grid_id;
    const char *name;
    void *reserved;
    uint64_t queued, submitted;
    uint8_t launch_type, carveout_requested, carveout, padding;
    uint32_t shared_executed;
    uint64_t graph_node;
    uint32_t shared_limit, graph;
    void *access_policy;
    uint32_t channel, channel_type, cluster[3], cluster_policy; /* cluster from 11.8 */
    uint64_t local_total_64;
};
struct cupti_memcpy {
    uint32_t kind;
    uint8_t copy_kind, from, to, flags; /* flags 1: asynchronous */
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation, runtime_correlation, pad;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph, channel, channel_type, device_launched;
    uint64_t copies; /* from 12.8 */
};
struct cupti_memcpy_peer {
    uint32_t kind;
    uint8_t copy_kind, from, to, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, from_device, from_context, to_device, to_context, correlation;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph;
};
struct cupti_memset {
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
    uint16_t flags, memory_kind;
    uint32_t pad;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph;
};
struct cupti_memory {
    uint32_t kind, operation, memory_kind, correlation;
    uint64_t address, bytes, timestamp, pc;
    uint32_t process, device, context, stream;
    const char *name;
    uint32_t asynchronous, pad, pool_type, pad2;
    uint64_t pool, release_threshold, pool_size, pool_used;
};
struct cupti_memory_pool {
    uint32_t kind, operation, pool_type, correlation, process, device;
    uint64_t keep, address, size, release_threshold, timestamp, used;
};
struct cupti_device {
    uint32_t kind, flags;
    uint64_t bandwidth, memory;
    uint32_t constant_memory, l2, warp, clock, copy_engines, multiprocessors, max_ipc;
    uint32_t warps_per_sm, blocks_per_sm, shared_per_sm, registers_per_sm, registers_per_block,
        shared_per_block, threads_per_block, block_limit[3], grid_limit[3], major, minor, id, ecc;
    uint8_t uuid[16];
    const char *name;
};
struct cupti_context {
    uint32_t kind, id, device;
    uint16_t api, null_stream;
};
struct cupti_stream {
    uint32_t kind, context, id, priority, flags;
};
struct cupti_overhead {
    uint32_t kind, overhead, object_kind, object[3];
    uint64_t start, end;
    uint32_t correlation; /* from 12.2 */
    void *data;
};
struct cupti_unified_memory {
    uint32_t kind, counter;
    uint64_t value, start, end, address;
    uint32_t from, to, stream, process;
};
struct cupti_sync {
    uint32_t kind, type;
    uint64_t start, end;
    uint32_t correlation, context, stream, event;
};
struct cupti_jit {
    uint32_t kind, entry, operation, device;
    uint64_t start, end;
    uint32_t correlation;
};

#endif
