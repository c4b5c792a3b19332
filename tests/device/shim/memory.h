/* Between the files of the stand-in. */
#ifndef TP_SHIM_MEMORY_H
#define TP_SHIM_MEMORY_H

#include <stddef.h>

/* Device memory can be touched between these two, which nest. */
void shim_unlock(void);
void shim_lock(void);
/* 1: all of the bytes are device memory that is allocated. */
int shim_is_device(const void *p, size_t bytes);
int shim_is_mapped_host(const void *p);
[[noreturn]] void shim_die(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* 1 when the launch may go ahead; else the error waits in cudaGetLastError. */
int shim_may_launch(const char *kernel, size_t threads, size_t shared);

#endif
