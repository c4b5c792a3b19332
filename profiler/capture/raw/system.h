/* System calls without the C library's functions of these names: those may be the library's own
 * hooks, and some are points where a thread may be cancelled. Async-signal-safe; they set errno. */
#ifndef TP_CAPTURE_RAW_SYSTEM_H
#define TP_CAPTURE_RAW_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed private memory of its own mapping; `flags` besides MAP_PRIVATE | MAP_ANONYMOUS. NULL:
 * there is none. */
void *raw_map(size_t bytes, int flags);
/* A file from its start on, for reading; NULL on failure. */
void *raw_map_file(int fd, size_t bytes);
void raw_unmap(void *p, size_t bytes);
/* Zero again, where the kernel can do so without touching the pages: 1; 0: not done. */
int raw_clear(void *p, size_t bytes);

void raw_sleep(uint64_t ns); /* less when a signal arrives */
/* Of this process alone. Waits while *word is `value`, `ns` at most (0: without end). */
void raw_futex_wait(const volatile void *word, uint32_t value, uint64_t ns);
void raw_futex_wake(const volatile void *word, int threads);

/* A small file; terminated; bytes read, 0 on any error. Keeps errno. */
size_t raw_read_file(const char *path, char *out, size_t bytes);

/* The function that ours of this name replaces (RTLD_NEXT), resolved once; safe while dlsym
 * allocates. */
void *raw_next(void **slot, const char *name);

#endif
