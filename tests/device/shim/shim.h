/* Controls the emulator from tests: failures, and another order of blocks and threads. */
#ifndef TP_SHIM_SHIM_H
#define TP_SHIM_SHIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All 0: everything works. Counts are from 1 and count down. */
struct shim_faults {
    int no_driver, old_driver, no_device, no_code; /* for this GPU in the object */
    int64_t allocation;                            /* this cudaMalloc fails */
    int64_t launch;                                /* this launch fails */
    int64_t lost; /* from this synchronisation on the device is gone */
    int64_t pin;  /* this cudaHostRegister fails */
    int pin_all;  /* and all that follow */
    int64_t capture, recorded, instantiate, graph_launch; /* this recording, launch in one,
                                                             graph, launch of one fails */
    int64_t call;  /* this call of the runtime or of cuFFT fails, launches apart */
    int code;      /* with this error, or one of no meaning */
    int no_graphs; /* no recording ends well */
    int lazy;      /* a kernel that never ran cannot be recorded: drivers before CUDA 12.3 */
    int sticky;    /* and with it all that follow: a kernel went astray */
};
extern struct shim_faults shim_faults;

/* 0: blocks and threads in their natural order; else a permutation of both. */
void shim_order(unsigned seed);

/* This process, a child of fork, never called the runtime: what it inherited is its own. */
void shim_new_process(void);

/* When the work of streams is done. 0: as late as may be, when somebody waits for it; else some of
 * it at once, of streams taken at random. */
void shim_streams(unsigned seed);

/* How often kernels of this name ran, in graphs too. */
int64_t shim_runs_of(const char *kernel);

/* How many kernels were launched by this name: instances of templates. */
int shim_variants_of(const char *kernel);

/* Launches a graph whose kernel writes to memory that was freed since it was recorded, which ends
 * the process; with `living` to memory that was not, and returns what it wrote. */
int shim_graph_of(int living);

/* Returns the value that a kernel leaves in which all threads write to one place. */
int shim_race(unsigned seed);

extern size_t shim_memory;       /* of the card, bytes */
extern size_t shim_block_shared; /* shared memory that a block can have */
extern int shim_capability;      /* 90: 9.0 */

/* Does something that a GPU would punish, or get wrong silently: ends the process. */
enum shim_misuse {
    SHIM_NO_BLOCKS,
    SHIM_TALL_GRID,
    SHIM_SHARED_NOT_ASKED_FOR,
    SHIM_LANES_APART,
    SHIM_LANES_MISSING,
    SHIM_HOST_MEMORY_CHANGED,
    SHIM_HOST_POINTER,
    SHIM_DESTROYED_STREAM,
    SHIM_DESTROYED_EVENT,
    SHIM_UNFINISHED_EVENT,
    SHIM_EVENT_IN_GRAPH,
    SHIM_WAIT_IN_GRAPH,
    SHIM_BEYOND_SHARED,
    SHIM_MISUSES
};
void shim_misuse(enum shim_misuse what);

/* Largest relative error of an approximation: 1 / x, 1 / sqrt(x) and sqrt(x) in float32, the rough 1 / x in
 * float64, and what two steps of Newton make of that (cuda/common/runtime.cuh). */
enum shim_approximation { SHIM_RECIPROCAL, SHIM_INVERSE_ROOT, SHIM_ROOT, SHIM_ROUGH, SHIM_NEWTON };
double shim_worst_error(enum shim_approximation which);

/* Since the start: what lives (allocations, pinned memory, streams, events, graphs, plans),
 * launches, cudaMalloc calls, bytes copied to and from, graphs launched (their kernels are no
 * launches here), recordings of graphs, waits of the host. Since shim_reset_peaks: most bytes
 * allocated at once, most streams that had work at once. */
struct shim_counts {
    int64_t live, launches, allocations, to_device, to_host, graphs, peak, busy_streams;
    int64_t recordings, waits;
    const char *failed; /* the last call that shim_faults.call failed */
};
struct shim_counts shim_counts(void);
void shim_reset_peaks(void);

#ifdef __cplusplus
}
#endif

#endif
