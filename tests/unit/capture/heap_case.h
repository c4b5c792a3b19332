/* The sampler of allocations with doubles of its surroundings, for the tests of it. */
#pragma once
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* The sampler alone, its surroundings below. */
#include "profiler/capture/raw/logarithm.c"
#include "profiler/capture/raw/next_symbol.c"
#include "profiler/capture/raw/system.c"
#include "profiler/capture/recorders/heap/blocks.c"
#include "profiler/capture/recorders/heap/calls.c"
#include "profiler/capture/recorders/heap/countdown.c"
#include "profiler/capture/recorders/heap/heap.c"
#include "profiler/capture/recorders/heap/live_blocks.c"
#include "profiler/capture/recorders/heap/records.c"

#define MEAN 65536.0
#define MIB  ((size_t)1 << 20)

struct capture capture = {.config.alloc_mean = MEAN, .config.modes = CAPTURE_MEMORY};
struct asleep asleep; /* nobody is */
static struct capture_thread thread;
static __thread int entered;
static int entered_is_off;
static uint64_t now, pace; /* ns that pass with every look */

static struct {
    uint64_t allocs, frees, lost;
    double weight, variance;
    struct trace_alloc alloc; /* the last ones */
    struct trace_free free;
} seen;

struct capture_thread *capture_enter(void)
{
    return entered || entered_is_off ? NULL : (entered = 1, &thread);
}

struct capture_thread *capture_enter_in(const void *object)
{
    (void)object;
    return capture_enter();
}

void capture_leave(struct capture_thread *t, enum trace_part part, uint64_t entered_ns)
{
    (void)t, (void)part, (void)entered_ns;
    entered = 0;
}

double capture_random(struct capture_thread *t) /* SplitMix64 */
{
    uint64_t z = t->random += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return ((double)((z ^ z >> 31) >> 11) + 1) * 0x1p-53;
}

int trace_put(struct trace_stream *s, struct trace_record *r, size_t bytes, const void *tail,
              size_t tail_bytes)
{
    (void)s, (void)bytes, (void)tail, (void)tail_bytes;
    if (!r->time_ns)
        r->time_ns = ++now;
    if (r->kind == TRACE_ALLOC) {
        seen.alloc = *(struct trace_alloc *)r;
        seen.allocs++;
        seen.weight += seen.alloc.weight;
        seen.variance += seen.alloc.weight * (seen.alloc.weight - (double)seen.alloc.bytes);
    } else {
        assert_int_equal(r->kind, TRACE_FREE);
        seen.free = *(struct trace_free *)r;
        seen.frees++;
    }
    return 1;
}

void trace_lost(struct trace_writer *w, enum trace_loss what, uint64_t n)
{
    (void)w;
    assert_int_equal(what, TRACE_LOST_ALLOCATIONS);
    seen.lost += n;
}

uint64_t trace_now(void)
{
    return now += pace;
}

uint64_t thread_poll_cpu(uint32_t tid)
{
    (void)tid;
    return trace_now();
}

/* The clock moves on with the next look at it. */
uint64_t thread_cost_add(struct capture_thread *t, enum trace_part part, uint64_t since)
{
    (void)t, (void)part;
    return now + pace - since;
}

uint64_t capture_stack(struct capture_thread *t, const void *ucontext, const void *caller)
{
    (void)t, (void)ucontext, (void)caller;
    errno = EBADF; /* what may happen there is not the program's */
    return 7;
}

struct capture_thread *capture_self(void)
{
    return &thread;
}

void capture_note(struct capture_thread *t, int severity, const char *key, const char *format, ...)
{
    (void)t, (void)severity, (void)key, (void)format;
}

void capture_count_memory(int64_t bytes)
{
    (void)bytes;
}

static void resolve(void)
{
}

static int is_ours(void)
{
    return 1;
}

static const void *next_malloc(void)
{
    return NULL;
}

static void measure(double ns[HEAP_CALLS])
{
    for (int k = 0; k < HEAP_CALLS; k++)
        ns[k] = 2;
}

static unsigned taken_out[HEAP_GROUPS];

static unsigned bind_past(enum heap_group group)
{
    taken_out[group]++;
    return 3;
}

const char *modules_name_at(uintptr_t address)
{
    (void)address;
    return NULL; /* as of a C library without _dl_find_object */
}

int modules_may_lock(void)
{
    return 1;
}

int modules_are_whole(void)
{
    return 1;
}

void modules_hold(void)
{
}

void modules_release(void)
{
}

static const struct heap_allocator hooks = {resolve, is_ours, next_malloc, measure, bind_past};
int heap_copies_on;

void mappings_start(const void *malloc_code)
{
    (void)malloc_code;
}

void mappings_clear(void)
{
}

int heap_python_is_wanted(void)
{
    return 0;
}

void heap_python_find(void)
{
}

static int set_up(void **state)
{
    (void)state;
    assert_int_equal(live_start(), 0);
    heap_set_allocator(&hooks);
    recording = 1;
    heap_recorder.fork_child();
    memset(&seen, 0, sizeof seen);
    heap_thread = (struct heap_thread){0};
    now = pace = 1;
    thread.random = 42;
    capture.config.alloc_mean = MEAN;
    entered_is_off = 0;
    return 0;
}

static inline void allocate(uintptr_t address, size_t bytes)
{
    if (heap_due(bytes))
        heap_allocated((void *)address, bytes, TRACE_MALLOC, NULL);
}

static inline void release(uintptr_t address)
{
    if (live_maybe((void *)address))
        heap_freed((void *)address, TRACE_MALLOC);
}

static inline int filter_is_empty(void)
{
    for (size_t i = 0; i < LIVE_BUCKETS / 64; i++)
        if (live_filter[i])
            return 0;
    return 1;
}
