/* Between the files of the emulator. */
#ifndef TP_SHIM_MEMORY_H
#define TP_SHIM_MEMORY_H

#include <stddef.h>

#include <functional>

#include "tests/device/shim/cuda_runtime.h"

/* Device memory can be touched between these two, which nest. */
void shim_unlock(void);
void shim_lock(void);
/* 1: all of the bytes are device memory that is allocated. */
int shim_is_device(const void *p, size_t bytes);
int shim_is_mapped_host(const void *p);
int shim_is_pinned(const void *p);
[[noreturn]] void shim_die(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern struct shim_counts shim_totals; /* what shim_counts returns, but for what others know */

/* Remembered for cudaGetLastError, and returned. */
cudaError_t shim_note(cudaError_t code);
/* First of all calls, last of those that give back: what fails it (shim_faults.call, a lost
 * device); else 0. */
cudaError_t shim_enter(const char *call);
cudaError_t shim_lost(void); /* what every call says once the device is gone; else 0 */
void shim_lose(void);
void shim_count_copy(enum cudaMemcpyKind kind, size_t bytes);

/* stream.cpp: work for a stream, which runs when somebody waits for it (shim_streams); all that
 * waits is done; most streams that had work at once. */
void shim_enqueue(cudaStream_t stream, std::function<void()> work);
void shim_drain(void);
int64_t shim_busiest(void);
int64_t shim_streams_alive(void); /* with events and pinned memory */
int64_t shim_plans_alive(void);   /* of cuFFT */
void shim_reset_busiest(void);

/* graph.cpp: whether the stream records. 1: the work went into its graph. An argument of the next
 * work leads to device memory. 0: this work is the one whose recording fails. The error of a call
 * that cannot be recorded; 0 while no stream records. */
int shim_recording(cudaStream_t stream);
int shim_record(cudaStream_t stream, std::function<void()> work);
void shim_name_memory(const void *p);
int shim_may_record(void);
cudaError_t shim_forbid(void);
int64_t shim_graphs_alive(void);

#endif
