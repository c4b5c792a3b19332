/* Between the files of the stand-in. */
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
[[noreturn]] void shim_die(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* 1 when the launch may go ahead; else the error waits in cudaGetLastError. */
int shim_may_launch(const char *kernel, size_t threads, size_t shared);

/* Remembered for cudaGetLastError, and returned. */
cudaError_t shim_note(cudaError_t code);
cudaError_t shim_lost(void); /* what every call says once the device is gone; else 0 */
void shim_lose(void);
void shim_count_copy(enum cudaMemcpyKind kind, size_t bytes);

/* stream.cpp: work for a stream, which runs when somebody waits for it (shim_streams); all that
 * waits is done; most streams that had work at once. */
void shim_enqueue(cudaStream_t stream, std::function<void()> work);
void shim_drain(void);
int64_t shim_busiest(void);
void shim_reset_busiest(void);

#endif
