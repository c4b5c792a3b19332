/* What library.c starts of the hooks. */
#ifndef TP_CAPTURE_HOOKS_HOOKS_H
#define TP_CAPTURE_HOOKS_HOOKS_H

#include "profiler/capture/recorders/heap/heap.h"

extern const struct heap_allocator malloc_hooks; /* malloc.c */

/* thread_hooks.c: once, before the program can change its limits. */
void thread_hooks_setup(void);

#endif
