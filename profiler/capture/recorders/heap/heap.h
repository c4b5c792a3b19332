/* Allocation sampling. Each thread counts the bytes that it allocates down to the next sample, at
 * distances that are exponentially distributed, and HEAP_CALL_BYTES for each call: a block of n
 * bytes is recorded with p = 1 - exp(-(n + HEAP_CALL_BYTES) / alloc_mean) and stands for n / p
 * bytes and 1 / p calls, which makes every sum unbiased. Blocks of HEAP_LARGE and more are always
 * recorded and stand for themselves. Where records would take more than a burst of HEAP_BURST and
 * then one part in HEAP_SHARE of the time, all these distances are doubled until they do not: sums
 * stay unbiased. (A record of MBIRJAX, under 100 Python and 200 native frames, takes 50 us.)
 *
 * What is covered: malloc and its family, hence C++ new of libstdc++ and libc++; anonymous mappings
 * that the program makes itself; Python's objects (python_objects.c). Not covered: sbrk, allocators
 * linked statically into the program (a NOTE says so), jemalloc's and tcmalloc's own new and
 * non-standard calls. */
#ifndef TP_CAPTURE_RECORDERS_HEAP_HEAP_H
#define TP_CAPTURE_RECORDERS_HEAP_HEAP_H

#include "profiler/capture/core/capture.h"
#include "profiler/capture/recorders/heap/calls.h"
#include "profiler/capture/recorders/heap/live_blocks.h"
#include "profiler/trace/records_host.h"

#define HEAP_LARGE ((size_t)1 << 20)
#define HEAP_BURST 50000000ull /* ns */
#define HEAP_SHARE 200
/* Mappings below are left out; Python's arenas are that. */
#define MAPPING_SMALL ((size_t)256 << 10)

#define HEAP_CALL_BYTES 16

/* Bytes to a thread's next sample. `left` never exceeds HEAP_LARGE, so that one comparison finds
 * the large blocks too; what lies beyond follows. */
struct heap_countdown {
    uint64_t left; /* armed: to the next sample; else to the next time it is asked whether capture
                      is on */
    uint64_t beyond;
    int armed;
    double mean; /* that it was drawn with */
};

/* State of each thread. Static TLS: touching it never allocates. */
struct heap_thread {
    struct heap_countdown alloc, copy;
    int inside_python; /* its allocator makes an arena, which is not an allocation of the program */
};
extern __thread struct heap_thread heap_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

#define HEAP_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* 1: heap_allocated must be called for the block; 0: it was counted down. Sizes within
 * HEAP_CALL_BYTES of the largest wrap, and no allocator has them. */
static inline int heap_counts(struct heap_countdown *c, size_t bytes)
{
    uint64_t left = c->left, taken = bytes + HEAP_CALL_BYTES;
    if (HEAP_UNLIKELY(left < taken))
        return 1;
    c->left = left - taken;
    return 0;
}

static inline int heap_due(size_t bytes)
{
    return heap_counts(&heap_thread.alloc, bytes);
}

static inline int heap_copy_due(size_t bytes) /* for heap_copied */
{
    return heap_counts(&heap_thread.copy, bytes);
}

#define HEAP_IDLE ((uint64_t)1 << 20) /* countdown of a thread that cannot record */

/* countdown.c */
double heap_draw(double uniform, double mean); /* bytes to the next sample, >= 0 */
double heap_weight(size_t bytes, double mean); /* calls that one of `bytes` stands for */
/* For a countdown that was found due: counts down; how many calls this one stands for, 0 when it is
 * left out. Then draws anew with `mean`. */
double heap_counted(struct heap_countdown *c, struct capture_thread *t, size_t bytes, double mean);
/* The same in a process that is asleep: 1, nothing is to be recorded; 0: the call wakes it. */
int heap_sleeps_on(struct heap_countdown *c, size_t bytes, double mean);
void heap_idle(struct heap_countdown *c); /* of a thread that cannot record now */

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
int heap_python_is_wanted(void); /* it has not been found yet */

extern int heap_copies_on;
void heap_copied(size_t bytes, const void *caller);
void heap_set_allocator(const struct heap_allocator *a); /* before the recorder starts */

#endif
