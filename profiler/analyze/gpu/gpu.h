/* The device side of an image: activities, their calls, and how busy the devices were. */
#ifndef TP_ANALYZE_GPU_GPU_H
#define TP_ANALYZE_GPU_GPU_H

#include "profiler/analyze/state/collector.h"

extern const struct collector collector_gpu;

/* A member of a launch configuration that a capture of another tool does not tell. */
#define VARIANT_UNKNOWN UINT32_MAX
struct kernel_counters { /* sums over launches; shares are multiplied by their ns */
    double dram_read, dram_write, compute, memory, achieved;
};

enum activity_kind { ACTIVITY_KERNEL, ACTIVITY_COPY, ACTIVITY_SET, ACTIVITY_MEMORY };
extern const char *const gpu_directions[], *const gpu_memories[]; /* end with NULL */
enum direction {
    DIR_H2D,
    DIR_D2H,
    DIR_D2D,
    DIR_P2P,
    DIR_H2H,
    DIR_DECOMPRESS,
    DIR_OTHER,
    DIRECTIONS
};

struct activity {
    uint64_t start, end, bytes; /* relative to the origin */
    uint32_t correlation;
    uint32_t what; /* variant, or the memory event */
    uint16_t kind, direction;
    int pageable, synchronous;
    uint32_t device, cuda_context, stream; /* of kernels, copies and memsets */
};

struct cuda_call { /* a CUDA call that activities may name */
    uint64_t start, end;
    uint32_t correlation[4];
    uint32_t context, instance; /* of range_now */
    int32_t thread;             /* row */
    uint8_t correlations, api_class, expected, matched, used, waited;
};
struct correlator;
struct gpu;
enum err correlate_create(struct correlator **out);
void correlate_free(struct correlator *cr);
/* Attributes activities that waited for the call; the call stays until its activities have come. */
enum err correlate_call(struct image *im, struct gpu *g, const struct cuda_call *call);
enum err correlate_activity(struct image *im, struct gpu *g, const struct activity *a);
/* Settles the rest: activities without a call, calls without an activity. */
enum err correlate_finish(struct image *im, struct gpu *g);
/* attribute_device.c: the activity is of this call. */
enum err gpu_attribute_activity(struct image *im, struct gpu *g, struct cuda_call *call,
                                const struct activity *a);
/* The host was blocked during the call; how busy the devices were then is looked up at the end. */
enum err gpu_blocked(struct run *r, const struct cuda_call *call);

struct utilization; /* order of time restored through a window; union, gaps, overlaps, tracks */
struct device_operation {
    uint64_t start, end;
    uint32_t device, cuda_context, stream, what;
    int kind, graph;
};
enum err utilization_create(struct utilization **out);
void utilization_free(struct utilization *u);
enum err utilization_add(struct image *im, struct utilization *u, const struct device_operation *o);
enum err utilization_finish(struct image *im, struct utilization *u);

struct memory_event {
    uint64_t time, address, bytes;
    uint32_t context, device, order; /* context: TABLE_NONE without a call */
    int allocate;
};
struct pair { /* a variant launched in a sample context */
    uint32_t context, variant;
    double n, ns;
};
struct graph_node {
    uint64_t id, original, stack;
    double ns;
    uint32_t tid;
};
struct call_ids { /* correlation ids of a call's records that precede its own */
    uint32_t id[64];
    int count;
};
struct call_name {
    uint64_t name;
    uint32_t api_class, errors;
    struct dist time;
};
struct gpu {
    struct correlator *correlator;
    struct utilization *utilization;
    VECTOR(struct variant) variants;
    VECTOR(struct pair) pairs;
    VECTOR(struct memory_event) events;
    VECTOR(struct graph_node) nodes;
    VECTOR(struct call_name) names;
    VECTOR(uint64_t) cubins;      /* checksums, which name the saved files */
    VECTOR(struct call_ids) more; /* by thread of the image */
    struct instructions instructions;
    struct table variant_by_key, pair_by_key, node_by_id, name_by_id, device_by_id;
    struct clock_map *clock; /* NULL: not needed, or not yet */
    int monotonic;           /* device times are CLOCK_MONOTONIC already */
};
/* Both times on the run's clock. 0: the activity has none, or impossible ones. */
int gpu_times(struct image *im, const struct gpu *g, uint64_t start, uint64_t end, uint64_t *from,
              uint64_t *to);
enum err gpu_overhead(struct image *im, void *state, const struct trace_item *item);
enum err gpu_fault(struct image *im, void *state, const struct trace_item *item);
enum err gpu_sync(struct image *im, void *state, const struct trace_item *item);
/* The kernel of a name, made when new. */
enum err gpu_kernel_of(struct run *r, const char *name, uint32_t *index);
enum err gpu_launched_at(struct kernel *k, uint32_t site, double n, double ns);
enum err gpu_attribute_image(struct image *im, void *state); /* at its end, to lines and kernels */
enum err gpu_attribute_memory(struct image *im, struct gpu *g); /* a part of it: device_memory.c */

#endif
