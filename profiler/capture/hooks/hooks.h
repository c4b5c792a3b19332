/* library.c starts these hooks. */
#ifndef TP_CAPTURE_HOOKS_HOOKS_H
#define TP_CAPTURE_HOOKS_HOOKS_H

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/capture/recorders/heap/heap.h"
#include "profiler/capture/recorders/locks/locks.h"

extern const struct heap_allocator malloc_hooks; /* malloc.c */
extern const struct lock_calls lock_hooks;       /* locks.c */
void lock_hooks_find(void);         /* once the process is recorded, or will not be; 20 searches */
extern __typeof(memcpy) own_memcpy; /* copies.c: the wrapper, by a name that nobody replaces */

/* rebind.c: what the program's calls are bound to. */
struct rebind {
    void *ours;        /* a wrapper */
    void *const *next; /* where its next definition is told */
};
/* Every image but this library: its entries for these wrappers lead to the next definitions from
 * now on. How many were changed. Entries that are not bound yet, or that their image is still
 * relocating, stay. Under modules_hold. */
unsigned rebind_all(const struct rebind *rows, size_t count);
extern const struct rebind copy_rebinds[]; /* copies.c; memcpy is the first */
extern const size_t copy_rebind_count;

/* cost.c: `measure` of struct heap_allocator, given the wrappers; of malloc one before a function
 * that allocates nothing. */
void calls_measure(__typeof(malloc) *no_malloc, __typeof(malloc) *wrapped_no_malloc,
                   __typeof(free) *real_free, __typeof(free) *wrapped_free,
                   __typeof(memcpy) *wrapped_copy, double ns[HEAP_CALLS]);

/* thread_hooks.c: once, before the program can change its limits. */
void thread_hooks_setup(void);
/* system_calls.c: once, so that no handler is the first to look for the C library's function. */
void filter_hooks_setup(void);

/* io_calls.c, io_stdio.c: once, for the same reason. */
void io_hooks_setup(void);
unsigned io_hooks_take_out(void); /* reads, writes and seeks; how many places. modules_hold */
void io_stdio_setup(void);
void io_names_setup(void);

/* eintr_restart.c: whether a call that failed with `error` did so for the sampler's signal alone,
 * and is to be made again. *before: interrupts_seen() before the call. */
uint32_t interrupts_seen(void);
int interrupted(int error, uint32_t *before);

/* syscall() by another name, with all that it may be given: in registers, and the last on the
 * stack, as in a call of the function with "...". */
typedef long call_fn(long, long, long, long, long, long, long);
call_fn hook_futex; /* locks.c */
call_fn hook_ring;  /* io_rings.c: io_uring's and io_getevents */

/* signals.c: sigaction() of the program, also where it comes by another way. */
int hook_sigaction(int number, const struct sigaction *act, struct sigaction *old);

#endif
