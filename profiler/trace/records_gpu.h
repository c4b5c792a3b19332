/* Records of the CUDA side (kinds: format.h). r.time_ns is CLOCK_MONOTONIC of the writing; `start`,
 * `end` and `at` are in the clock that the CLOCK records relate to it: CUPTI's own, unless META
 * "cupti.clock" says "monotonic". Joins: an API record lists the correlation ids of its nested
 * calls; an activity carries one. Both are per process. `name` = STRING id. */
#ifndef TP_TRACE_RECORDS_GPU_H
#define TP_TRACE_RECORDS_GPU_H

#include "profiler/trace/format.h"

enum trace_api_class {
    TRACE_API_OTHER,
    TRACE_API_LAUNCH,
    TRACE_API_COPY,
    TRACE_API_SET,
    TRACE_API_MEMORY,
    TRACE_API_SYNC,
    TRACE_API_GRAPH,
    TRACE_API_MODULE,
};
enum trace_api_flags {
    TRACE_API_CAPTURED = 1, /* the call went into a graph instead of being executed */
    TRACE_API_MORE = 2, /* more correlation ids of the record that follows; no time of its own */
};
struct trace_api { /* outermost CUDA call on its thread, written on its return; start_ns, end_ns are
                      CLOCK_MONOTONIC */
    struct trace_record r;
    uint64_t start_ns, end_ns, stack;
    uint64_t name, symbol; /* of the call; of the kernel, 0 unless a launch */
    uint64_t bytes;        /* asked to copy, set or allocate; 0 unknown */
    uint32_t tid;
    int32_t result;          /* CUDA error, 0 ok */
    uint32_t api_class;      /* enum trace_api_class */
    uint32_t context, flags; /* enum trace_api_flags */
    uint32_t correlations;   /* used entries of correlation[] */
    uint32_t correlation[4];
};
struct trace_kernel {
    struct trace_record r;
    uint64_t start, end, queued, submitted; /* into the command buffer, to the device; 0 unknown */
    uint64_t name;                          /* mangled */
    uint64_t graph_node;
    uint32_t correlation, device, context, stream, graph, cubin_function;
    uint32_t grid[3], block[3], cluster[3];
    uint32_t registers, static_shared, dynamic_shared, shared_executed;
    uint64_t local_bytes;
    uint32_t launch_type, reserved; /* as CUpti_ActivityLaunchType, or enum trace_launch */
};
enum trace_launch { TRACE_LAUNCH_GRAPH = 0x100 }; /* a graph as a whole, without configuration */
enum trace_memory_kind {                          /* as CUPTI's CUpti_ActivityMemoryKind */
                         TRACE_MEMORY_UNKNOWN,
                         TRACE_MEMORY_PAGEABLE,
                         TRACE_MEMORY_PINNED,
                         TRACE_MEMORY_DEVICE,
                         TRACE_MEMORY_ARRAY,
                         TRACE_MEMORY_MANAGED,
                         TRACE_MEMORY_DEVICE_STATIC,
                         TRACE_MEMORY_MANAGED_STATIC
};
enum trace_copy_kind { /* as CUPTI's CUpti_ActivityMemcpyKind */
                       TRACE_COPY_UNKNOWN,
                       TRACE_COPY_HTOD,
                       TRACE_COPY_DTOH,
                       TRACE_COPY_HTOA,
                       TRACE_COPY_ATOH,
                       TRACE_COPY_ATOA,
                       TRACE_COPY_ATOD,
                       TRACE_COPY_DTOA,
                       TRACE_COPY_DTOD,
                       TRACE_COPY_HTOH,
                       TRACE_COPY_PTOP,
                       TRACE_COPY_DECOMPRESS /* ours: of the decompression engine */
};
struct trace_gpu_copy {
    struct trace_record r;
    uint64_t start, end, bytes, graph_node;
    uint32_t correlation, device, context, stream, graph;
    uint32_t kind, from, to; /* enum trace_copy_kind, enum trace_memory_kind twice */
    uint32_t asynchronous, copies, peer_device, reserved;
};
struct trace_gpu_set {
    struct trace_record r;
    uint64_t start, end, bytes, graph_node;
    uint32_t correlation, device, context, stream, graph, memory_kind;
};
struct trace_gpu_sync {
    struct trace_record r;
    uint64_t start, end;
    uint32_t correlation, context, stream, type; /* type as CUpti_ActivitySynchronizationType */
};
struct trace_gpu_memory {
    struct trace_record r;
    uint64_t at, address, bytes, pool, pool_reserved, pool_used;
    uint32_t correlation, device, context, stream;
    uint32_t operation,
        memory_kind; /* 1 allocate, 2 release, 3 pool created, 4 pool destroyed, 5 pool trimmed */
};
enum trace_overhead {
    TRACE_OVERHEAD_JIT = 0x1000000, /* | CUpti_ActivityJitEntryType << 8 | ..JitOperationType */
};
struct trace_gpu_overhead {
    struct trace_record r;
    uint64_t start, end;
    uint32_t kind, correlation; /* CUpti_ActivityOverheadKind, or enum trace_overhead */
};
struct trace_device { /* tail = name */
    struct trace_record r;
    uint64_t memory_bytes, memory_bandwidth_kb_s;
    uint32_t id, major, minor, multiprocessors, clock_khz, memory_clock_khz, bus_bits;
    uint32_t threads_per_sm, blocks_per_sm, registers_per_sm, shared_per_sm, shared_per_block, warp,
        name_bytes;
    uint8_t uuid[16];
};
struct trace_context {
    struct trace_record r;
    uint32_t id, device, null_stream, reserved;
};
struct trace_gpu_stream {
    struct trace_record r;
    uint64_t name;
    uint32_t id, context, priority, flags;
};
struct trace_graph_node { /* where a node was created or captured */
    struct trace_record r;
    uint64_t node, stack;
    uint32_t graph, cloned;
    uint64_t original;
};
struct trace_cubin { /* saved as cubin-HASH.bin (16 hex digits) in the trace folder when `saved`;
                        the hash is of all bytes, 0: not asked for */
    struct trace_record r;
    uint64_t hash, bytes;
    uint32_t module, saved;
};
struct trace_gpu_samples { /* of an instruction of a kernel, since its record before; tail = struct
                              trace_stall_count[stalls]. name: the kernel's, mangled */
    struct trace_record r;
    uint64_t cubin, name, offset; /* cubin: hash of all its bytes, as TRACE_CUBIN's */
    uint32_t stalls, reserved;
};
struct trace_stall_count {
    uint32_t reason, samples; /* enum trace_stall */
};
struct trace_gpu_fault { /* unified-memory event; kind as CUpti_ActivityUnifiedMemoryCounterKind */
    struct trace_record r;
    uint64_t start, end, value, address;
    uint32_t kind, from, to, process;
};

#endif
