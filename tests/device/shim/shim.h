/* What tests ask of the stand-in: failures, and another order of blocks and threads. */
#ifndef TP_SHIM_SHIM_H
#define TP_SHIM_SHIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All 0: everything works. Counts are from 1 and count down. */
struct shim_faults {
    int no_driver, old_driver, no_device;
    int64_t allocation; /* this cudaMalloc fails */
    int64_t launch;     /* this launch fails */
    int64_t lost;       /* from this synchronisation on the device is gone */
    int64_t pin;        /* this cudaHostRegister fails */
    int64_t capture, recorded, instantiate, graph_launch; /* this recording, launch in one,
                                                             graph, launch of one fails */
};
extern struct shim_faults shim_faults;

/* 0: blocks and threads in their natural order; else a permutation of both. */
void shim_order(unsigned seed);

/* When the work of streams is done. 0: as late as may be, when somebody waits for it; else some of
 * it at once, of streams taken at random. */
void shim_streams(unsigned seed);

/* How often kernels of this name ran, in graphs too. */
int64_t shim_runs_of(const char *kernel);

/* Launches a graph whose kernel writes to memory that was freed since it was recorded, which ends
 * the process; with `living` to memory that was not, and returns what it wrote. */
int shim_graph_of(int living);

/* What a kernel in which all threads write to one place leaves there. */
int shim_race(unsigned seed);

extern size_t shim_memory; /* of the card, bytes */

/* Since the start: allocations that live, launches, cudaMalloc calls, bytes copied to and from,
 * graphs launched (their kernels are no launches here), recordings of graphs, waits of the host.
 * Since shim_reset_peaks: most bytes allocated at once, most streams that had work at once. */
struct shim_counts {
    int64_t live, launches, allocations, to_device, to_host, graphs, peak, busy_streams;
    int64_t recordings, waits;
};
struct shim_counts shim_counts(void);
void shim_reset_peaks(void);

#ifdef __cplusplus
}
#endif

#endif
