/* Estimates the cost of calls through the wrappers that record nothing, and ends wrappers that cost
 * too much. */
#ifndef TP_CAPTURE_RECORDERS_HEAP_CALLS_H
#define TP_CAPTURE_RECORDERS_HEAP_CALLS_H

#include "profiler/capture/core/capture.h"

enum heap_call { HEAP_MALLOCS, HEAP_FREES, HEAP_COPIES, HEAP_CALLS }; /* parts of COST, in order */
enum heap_group { HEAP_GROUP_MALLOC, HEAP_GROUP_COPY, HEAP_GROUPS };  /* go together */

/* The hooks of malloc and memcpy. */
struct heap_allocator {
    void (*resolve)(void);     /* finds the allocator behind ours */
    int (*is_ours)(void);      /* 0: the program's calls do not reach our hooks */
    const void *(*next)(void); /* its malloc */
    /* ns that a call takes longer through a wrapper. Allocates. */
    void (*measure)(double ns[HEAP_CALLS]);
    /* Binds the program's calls to the next definitions; how many. Under modules_hold. */
    unsigned (*take_out)(enum heap_group group);
};

/* Groups of modes that are off are taken out at once, without a word. */
void heap_calls_start(const struct heap_allocator *a);
void heap_called(struct capture_thread *t, enum heap_call kind, double calls);
/* 1: the group's wrappers are taken out; what calls them all the same is counted, not recorded. */
extern int heap_is_off[HEAP_GROUPS] __attribute__((visibility("hidden"))); /* atomic */
void heap_calls_tick(struct capture_thread *ours);
void heap_calls_forked(struct capture_thread *t);

#endif
