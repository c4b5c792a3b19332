/* Allocation sampling. Each thread counts the bytes that it allocates down to the next sample, at
 * distances that are exponentially distributed: a block of n bytes is recorded with probability
 * 1 - exp(-n / alloc_mean) and stands for n divided by it, which makes every sum unbiased. Blocks
 * of HEAP_LARGE and more are always recorded and stand for themselves. Where the
 * records would take more than a burst of HEAP_BURST and then one part in HEAP_SHARE of the time,
 * all these distances are doubled until they do not, which leaves the sums unbiased and bounds cost
 * and trace. (A record of MBIRJAX, under 100 Python and 200 native frames, takes 50 us.)
 *
 * What is covered: malloc and its family, hence C++ new of libstdc++ and libc++; anonymous mappings
 * that the program makes itself; Python's objects (python_objects.c). Not covered: sbrk, allocators
 * linked statically into the program (a NOTE says so), jemalloc's and tcmalloc's own new and
 * non-standard calls. */
#ifndef TP_CAPTURE_RECORDERS_HEAP_HEAP_H
#define TP_CAPTURE_RECORDERS_HEAP_HEAP_H

#include "profiler/capture/core/capture.h"
#include "profiler/capture/recorders/heap/live_blocks.h"
#include "profiler/trace/records_host.h"

#define HEAP_LARGE ((size_t)1 << 20)
#define HEAP_BURST 50000000ull /* ns */
#define HEAP_SHARE 200
/* What one record counts for, ns: no less, nor more, for it may have waited for a CPU. */
#define HEAP_COST_LEAST 500
#define HEAP_COST_MOST  200000
#define MAPPING_SMALL                                                                              \
    ((size_t)256 << 10) /* mappings below are left out; Python's arenas are that */

/* Bytes to a thread's next sample. */
struct heap_countdown {
    int64_t left; /* armed: to the next sample; else to the next time it is asked whether capture is
                     on */
    int armed;
    double mean; /* that it was drawn with */
};

/* Of each thread. Static TLS: touching it never allocates. */
struct heap_thread {
    struct heap_countdown alloc, copy;
    int inside_python; /* its allocator makes an arena, which is not an allocation of the program */
};
extern __thread struct heap_thread heap_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

#define HEAP_LIKELY(x)   __builtin_expect(!!(x), 1)
#define HEAP_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Counts `bytes` down; 1 when heap_allocated must be called for the block. */
static inline int heap_due(size_t bytes)
{
    int64_t left = (int64_t)((uint64_t)heap_thread.alloc.left - bytes);
    heap_thread.alloc.left = left;
    return HEAP_UNLIKELY(left < 0) || HEAP_UNLIKELY(bytes >= HEAP_LARGE);
}

#define HEAP_IDLE ((int64_t)1 << 20) /* countdown of a thread that cannot record */

/* countdown.c */
double heap_draw(double uniform, double mean); /* bytes to the next sample, >= 0 */
double heap_weight(size_t bytes, double mean); /* of a block or a copy, by Poisson alone */
/* For a countdown that `bytes` were taken from: the weight to record them with, 0 to leave them
 * out. Draws it anew with `mean` when due. */
double heap_counted(struct heap_countdown *c, struct capture_thread *t, size_t bytes, double mean);

/* records.c */
void heap_put_alloc(struct capture_thread *t, const struct live_block *b, const void *caller);
void heap_put_free(struct capture_thread *t, const struct live_block *b, uint64_t time_ns);
uint64_t heap_live(void); /* estimate: bytes of live blocks */
void heap_live_reset(void);

/* blocks.c */
int heap_recording(void);
void heap_record(int on);
void heap_rate_reset(void);
int heap_is_thinned(void); /* distances are doubled: fewer blocks are recorded than asked for */
/* Called after each record from now on. */
void heap_after_records(void (*call)(void));
void heap_recorded(void);

/* After the allocation; `p` may be NULL. `caller`: see capture_stack. All keep errno. */
void heap_allocated(void *p, size_t bytes, enum trace_heap heap, const void *caller);
/* Before the release, when live_maybe(p). */
void heap_freed(void *p, enum trace_heap heap);

/* Around realloc: begin takes the old block out, end settles what became of it. */
struct heap_move {
    struct live_block old; /* address 0: was not sampled */
    uint64_t time_ns;
};
void heap_move_begin(struct heap_move *m, void *old, enum trace_heap heap);
void heap_move_end(struct heap_move *m, void *now, size_t bytes, enum trace_heap heap,
                   const void *caller);

/* python_objects.c: finds the interpreter's allocator; may take the loader's lock. It is hooked
 * once a thread that holds the interpreter records something. */
void heap_python_find(void);

/* Copies: 1 when heap_copied must be called, hooks/copies.c. */
extern int heap_copies_on __attribute__((visibility("hidden")));
static inline int heap_copy_due(size_t bytes)
{
    return HEAP_UNLIKELY(heap_copies_on) &&
           HEAP_UNLIKELY((heap_thread.copy.left -= (int64_t)bytes) < 0);
}
void heap_copied(size_t bytes, const void *caller);

/* The hooks of malloc, given before the recorder starts. */
struct heap_allocator {
    void (*resolve)(void);     /* finds the allocator behind ours */
    int (*is_ours)(void);      /* 0: the program's calls do not reach our hooks */
    const void *(*next)(void); /* its malloc */
};
void heap_set_allocator(const struct heap_allocator *a);

#endif
