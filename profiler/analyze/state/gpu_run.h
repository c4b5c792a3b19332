/* Gathered by the GPU collector from all images of a run: kernels, devices, and calls by name. */
#ifndef TP_ANALYZE_STATE_GPU_RUN_H
#define TP_ANALYZE_STATE_GPU_RUN_H

#include "base/array.h"
#include "base/table.h"
#include "profiler/analyze/common/dist.h"
#include "profiler/trace/reader.h"
#include "profiler/trace/stalls.h"

struct variant { /* launch configuration of a kernel, of one image */
    uint64_t name;
    uint32_t grid[3], block[3], cluster[3], registers, static_shared, dynamic_shared, carveout,
        device;
    uint64_t local_bytes;
    struct dist time;
    double api_ns, queue_ns, queued_n, occupancy, waves; /* the last two: by another tool, or 0 */
    double delay_ns, submit_ns, delayed_n; /* from the command buffer to start, to the device */
    uint32_t kernel;                       /* in run.kernels, once known */
};
struct launch_site { /* where a kernel was launched */
    uint32_t site;
    double n, ns;
};
struct kernel {
    const char *mangled, *readable;  /* readable: as another tool wrote it */
    struct kernel_counters *counted; /* by another tool, gpu.h; NULL: nothing was counted */
    VECTOR(struct variant) variants;
    const char *recorded, *file; /* as recorded; as shown */
    int line, rank;              /* rank: by total time */
    double total;                /* ns */
    VECTOR(struct launch_site) launched_at;
    struct table launched_at_by_site;
};
enum { INSIDE_DEEP = 8 };
struct instruction { /* of a kernel, as it was sampled; of one image */
    uint64_t cubin, name, offset;
    double stalls[TRACE_STALLS];
    int done; /* its line is known */
};
struct instructions {
    VECTOR(struct instruction) list;
    struct table by_key;
};
struct inside_frame {
    const char *file, *function; /* file: as recorded; function: NULL for the kernel's own code */
    int line;
};
struct inside_place {        /* samples of a place in a kernel */
    uint32_t kernel, frames; /* innermost first; 0: the kernel as a whole */
    struct inside_frame frame[INSIDE_DEEP];
    double stalls[TRACE_STALLS];
    double sectors, sectors_ideal, wavefronts, wavefronts_ideal; /* NaN: not counted */
};
struct interval {
    uint64_t start, end;
};
struct gap {
    uint64_t start, end;
    int device;
};
struct run_device {
    struct trace_device d;
    const char *name;
    double busy, sum, idle, peak;
    uint64_t first, last;
    VECTOR(struct interval) busy_intervals; /* at most BUSY_MAX of utilization.c */
    int images;
};

struct gpu_run {
    VECTOR(struct kernel) kernels;
    struct table kernel_by_name;
    struct counters transfers, sets, apis, overheads, faults, syncs;
    VECTOR(struct run_device) devices;
    VECTOR(struct gap) gaps;
    VECTOR(struct interval) syncing;  /* host blocked in synchronising calls */
    VECTOR(struct interval) all_busy; /* of all devices, for waiting */
    VECTOR(struct inside_place) inside;
    struct table inside_by_key;
    double no_origin_n, no_origin_ns, kernels_n, launches_n;
};
void gpu_run_free(struct gpu_run *g); /* what it holds */

#endif
