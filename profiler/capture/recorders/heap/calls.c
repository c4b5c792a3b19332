/* Estimates the cost of calls through the wrappers that record nothing: their number by the
 * samples, times the cost of one, measured at the first. A group of wrappers that takes more of the
 * process's CPU time than it may is taken out of the program's way; what it would have recorded is
 * lost, and said. */
#include <time.h>

#include "profiler/capture/core/unwind/modules.h"
#include "profiler/capture/recorders/heap/heap.h"

#define FREE_NS     5e8     /* of CPU time on which the share is granted at the start */
#define AGAIN_CALLS 1000000 /* that came all the same: places bound late */

static const struct heap_allocator *allocator;
static double call_ns[HEAP_CALLS] = {0.25, 0.25, 0.25}; /* no call costs less (hooks/cost.c) */
static int is_measured;                                 /* atomic */
static uint64_t called[HEAP_CALLS];                     /* by all threads */
int heap_is_off[HEAP_GROUPS];

static const struct group {
    const char *key, *what, *lost;
    enum heap_call first, last;
    unsigned mode;
} groups[HEAP_GROUPS] = {
    {"malloc.off", "malloc and free", "Allocations after that are not recorded", HEAP_MALLOCS,
     HEAP_FREES, CAPTURE_MEMORY},
    {"copies.off", "memcpy and memmove", "Copies after that are not recorded", HEAP_COPIES,
     HEAP_COPIES, CAPTURE_COPIES},
};

/* At the first sample: most processes of a shell or a build have none, and 20 us are a tenth of
 * what their start takes. The calls that it makes are not the program's. */
static void calls_measure_once(void)
{
    struct heap_thread counts = heap_thread;
    if (__atomic_load_n(&is_measured, __ATOMIC_RELAXED) ||
        __atomic_exchange_n(&is_measured, 1, __ATOMIC_RELAXED))
        return;
    allocator->measure(call_ns);
    heap_thread = counts;
}

void heap_called(struct capture_thread *t, enum heap_call kind, double calls)
{
    int part = TRACE_PART_MALLOC_CALLS + (int)kind;
    uint64_t n = (uint64_t)(calls + 0.5);
    if (!n)
        return;
    calls_measure_once();
    t->cost_calls[part] += n;
    t->cost_ns[part] += (uint64_t)(calls * call_ns[kind]);
    __atomic_fetch_add(&called[kind], n, __ATOMIC_RELAXED);
}

void heap_calls_start(const struct heap_allocator *a)
{
    allocator = a;
    for (int i = 0; i < HEAP_GROUPS; i++)
        heap_is_off[i] = !(capture.config.modes & groups[i].mode);
}

static uint64_t group_calls(const struct group *g)
{
    uint64_t n = 0;
    for (enum heap_call k = g->first; k <= g->last; k++)
        n += __atomic_load_n(&called[k], __ATOMIC_RELAXED);
    return n;
}

static double group_cost(const struct group *g)
{
    double ns = 0;
    for (enum heap_call k = g->first; k <= g->last; k++)
        ns += (double)__atomic_load_n(&called[k], __ATOMIC_RELAXED) * call_ns[k];
    return ns;
}

static void group_note(struct capture_thread *t, const struct group *g, double ns, double cpu)
{
    capture_note(t, 1, g->key,
                 "The program calls %s so often that counting the calls took %.1f %% of its CPU "
                 "time: after %.2f s of CPU time they were taken out of its way. %s. Set "
                 "TOMOPROF_CAPTURE_CALLS=1 to record them at that price.",
                 g->what, 100 * ns / cpu, 1e-9 * cpu, g->lost);
}

static void group_remove_wrappers(enum heap_group group)
{
    modules_hold();
    allocator->take_out(group);
    modules_release();
}

void heap_calls_tick(struct capture_thread *ours)
{
    static uint64_t seen[HEAP_GROUPS];
    static int taken_out[HEAP_GROUPS];
    struct timespec t;
    if (!ours || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t))
        return;
    double cpu = 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
    for (int i = 0; i < HEAP_GROUPS; i++) {
        const struct group *g = &groups[i];
        double ns = group_cost(g);
        uint64_t calls = group_calls(g);
        if (heap_is_off[i]) {
            if ((taken_out[i] && calls - seen[i] < AGAIN_CALLS) || !modules_are_whole())
                continue;
        } else {
            if (ns <= capture.config.calls_share * (FREE_NS + cpu) ||
                capture.config.calls_share >= 1 || !modules_are_whole())
                continue;
            group_note(ours, g, ns, cpu);
            __atomic_store_n(&heap_is_off[i], 1, __ATOMIC_RELAXED);
        }
        seen[i] = calls;
        taken_out[i] = 1;
        group_remove_wrappers((enum heap_group)i);
    }
}

/* Calls that were bound to the next definitions stay so. */
void heap_calls_forked(struct capture_thread *t)
{
    for (int i = 0; i < HEAP_GROUPS; i++)
        if (heap_is_off[i] && capture.config.modes & groups[i].mode)
            capture_note(t, 1, groups[i].key,
                         "The process that made this one had taken %s out of the program's way: "
                         "they are not recorded here.",
                         groups[i].what);
    for (int k = 0; k < HEAP_CALLS; k++)
        called[k] = 0;
}
