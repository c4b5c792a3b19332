#include <dlfcn.h>
#include <errno.h>
#include <math.h>

#include "profiler/capture/core/capture.h"
#include "profiler/capture/recorders/heap/heap.h"

__thread struct heap_thread heap_thread;

static volatile int recording; /* this part was started and records allocations */
static int64_t live_sum;

enum { DOUBLINGS = 20 };
static int doublings;                     /* of all distances, to keep the rate */
static uint64_t bucket_until, cost_since; /* ns */

double heap_draw(double uniform, double mean)
{
    return floor(-log(uniform) * mean);
}

double heap_weight(size_t bytes, double mean)
{
    double n = (double)bytes;
    return n / -expm1(-n / mean);
}

uint64_t heap_live(void)
{
    int64_t sum = __atomic_load_n(&live_sum, __ATOMIC_RELAXED);
    return sum > 0 ? (uint64_t)sum : 0;
}

int heap_recording(void)
{
    return recording;
}

static void live_changed(const struct live_block *b, int sign)
{
    if (b->heap != TRACE_MMAP)
        __atomic_fetch_add(&live_sum, sign * (int64_t)b->weight, __ATOMIC_RELAXED);
}

static void draw(struct heap_countdown *c, struct capture_thread *t, double mean)
{
    c->mean = mean;
    c->left = (int64_t)heap_draw(capture_random(t), mean);
}

double heap_counted(struct heap_countdown *c, struct capture_thread *t, size_t bytes, double mean)
{
    if (!c->armed) { /* was no draw: this block is the first that one decides on */
        draw(c, t, mean);
        c->armed = 1;
        c->left -= (int64_t)bytes;
    }
    if (c->left >= 0)
        return 0;
    double weight = heap_weight(bytes, c->mean);
    draw(c, t, mean);
    return weight;
}

/* A bucket that every record fills by HEAP_SHARE times its cost and time empties. Updates that
 * threads lose to each other do no harm. */
static void keep_share(uint64_t now, uint64_t cost)
{
    uint64_t full = __atomic_load_n(&bucket_until, __ATOMIC_RELAXED);
    int doubled = __atomic_load_n(&doublings, __ATOMIC_RELAXED);
    if (cost < HEAP_COST_LEAST)
        cost = HEAP_COST_LEAST;
    if (cost > HEAP_COST_MOST)
        cost = HEAP_COST_MOST;
    uint64_t spent = __atomic_add_fetch(&cost_since, cost, __ATOMIC_RELAXED);
    if (full <= now && doubled)
        __atomic_store_n(&doublings, doubled - 1, __ATOMIC_RELAXED);
    full = (full > now ? full : now) + cost * HEAP_SHARE;
    __atomic_store_n(&bucket_until, full, __ATOMIC_RELAXED);
    if (full - now > HEAP_BURST * HEAP_SHARE && spent >= HEAP_BURST / 50 && doubled < DOUBLINGS) {
        __atomic_store_n(&doublings, doubled + 1, __ATOMIC_RELAXED);
        __atomic_store_n(&cost_since, 0, __ATOMIC_RELAXED);
    }
}

/* What to record a block with, 0 to leave it out. */
static double weight_of(struct capture_thread *t, size_t bytes)
{
    int doubled = __atomic_load_n(&doublings, __ATOMIC_RELAXED);
    double mean = ldexp(capture.config.alloc_mean, doubled);
    double weight = heap_counted(&heap_thread.alloc, t, bytes, mean);
    return bytes >= HEAP_LARGE << doubled ? (double)bytes : weight;
}

void heap_put_alloc(struct capture_thread *t, const struct live_block *b, const void *caller)
{
    struct trace_alloc a = {.r.kind = TRACE_ALLOC, .address = b->address, .bytes = b->bytes};
    a.stack = capture_stack(t, NULL, caller);
    a.weight = b->weight;
    a.heap = b->heap;
    a.tid = t->tid;
    trace_put(&t->stream, &a.r, sizeof a, NULL, 0);
    live_changed(b, 1);
}

void heap_put_free(struct capture_thread *t, const struct live_block *b, uint64_t time_ns)
{
    struct trace_free f = {.r.kind = TRACE_FREE, .address = b->address, .bytes = b->bytes};
    f.r.time_ns = time_ns;
    f.heap = b->heap;
    f.tid = t->tid;
    trace_put(&t->stream, &f.r, sizeof f, NULL, 0);
    live_changed(b, -1);
}

/* What finds no room in the table is recorded as freed at once: it counts as allocated, not as
 * live. */
static void record(struct capture_thread *t, const struct live_block *b, const void *caller)
{
    struct live_block stale;
    enum live_added added = live_add(b, &stale);
    if (added == LIVE_REPLACED)
        heap_put_free(t, &stale, 0);
    heap_put_alloc(t, b, caller);
    if (added == LIVE_LOST) {
        heap_put_free(t, b, 0);
        trace_lost(&capture.writer, TRACE_LOST_ALLOCATIONS, 1);
    }
}

void heap_allocated(void *p, size_t bytes, enum trace_heap heap, const void *caller)
{
    struct heap_countdown *c = &heap_thread.alloc;
    if (!p) { /* nothing was allocated */
        c->left = (int64_t)((uint64_t)c->left + bytes);
        return;
    }
    int saved = errno;
    struct capture_thread *t = recording ? capture_enter() : NULL;
    if (t) {
        uint64_t entered = 0;
        struct live_block b = {(uintptr_t)p, bytes, weight_of(t, bytes), heap};
        if (b.weight > 0) {
            entered = trace_now();
            record(t, &b, caller);
            heap_python_install();
            uint64_t now = trace_now();
            keep_share(now, now - entered);
        }
        capture_leave(t, TRACE_PART_ALLOC, entered);
    } else if (c->left < 0) {
        c->left = HEAP_IDLE;
        c->armed = 0;
    }
    errno = saved;
}

static int take(void *p, enum trace_heap heap, struct live_block *out)
{
    int taken = live_take((uintptr_t)p, heap, out);
    if (taken < 0)
        trace_lost(&capture.writer, TRACE_LOST_ALLOCATIONS, 1);
    return taken > 0;
}

void heap_freed(void *p, enum trace_heap heap)
{
    struct live_block b;
    int saved = errno;
    struct capture_thread *t = recording ? capture_enter() : NULL;
    if (t) {
        uint64_t entered = 0;
        if (take(p, heap, &b)) {
            entered = trace_now();
            heap_put_free(t, &b, entered);
        }
        capture_leave(t, TRACE_PART_ALLOC, entered);
    }
    errno = saved;
}

void heap_move_begin(struct heap_move *m, void *old, enum trace_heap heap)
{
    int saved = errno;
    struct capture_thread *t = recording ? capture_enter() : NULL;
    m->old.address = 0;
    if (t) {
        m->time_ns = take(old, heap, &m->old) ? trace_now() : 0;
        capture_leave(t, TRACE_PART_ALLOC, m->time_ns);
    }
    errno = saved;
}

/* A large block that was resized in place by less than an eighth keeps its record: growing it step
 * by step is one allocation, not many. */
static int same_block(const struct live_block *old, void *now, size_t bytes)
{
    return old->address == (uintptr_t)now && old->bytes >= HEAP_LARGE && bytes >= HEAP_LARGE &&
           (bytes > old->bytes ? bytes - old->bytes : old->bytes - bytes) < old->bytes / 8;
}

/* The FREE bears the time before the call, for another thread may have got the address since. */
void heap_move_end(struct heap_move *m, void *now, size_t bytes, enum trace_heap heap,
                   const void *caller)
{
    int saved = errno, kept = 0;
    struct capture_thread *t = m->old.address ? capture_enter() : NULL;
    if (t) {
        uint64_t entered = trace_now();
        struct live_block stale;
        kept = (!now && bytes) || same_block(&m->old, now, bytes);
        if (!kept || live_add(&m->old, &stale) == LIVE_LOST)
            heap_put_free(t, &m->old, m->time_ns);
        capture_leave(t, TRACE_PART_ALLOC, entered);
    }
    errno = saved;
    if (now && !kept && heap_due(bytes))
        heap_allocated(now, bytes, heap, caller);
}

static int sanitized(void)
{
    static const char *const entry[] = {"__asan_init", "__tsan_init", "__msan_init",
                                        "__hwasan_init"};
    for (size_t i = 0; i < sizeof entry / sizeof *entry; i++) {
        if (dlsym(RTLD_DEFAULT, entry[i]))
            return 1;
    }
    return 0;
}

/* What makes the records incomplete, as far as one can see it from here. */
static void say_limits(struct capture_thread *t)
{
    Dl_info a, b;
    void *new_operator = dlsym(RTLD_DEFAULT, "_Znwm");
    if (!malloc_is_ours())
        capture_note(t, 1, "malloc",
                     "The program brings its own malloc, or this library was loaded late: "
                     "allocations are not recorded.");
    else if (new_operator && dladdr(new_operator, &a) && dladdr(malloc_next(), &b) &&
             a.dli_fbase == b.dli_fbase)
        capture_note(t, 1, "malloc",
                     "%s serves the C++ operator new itself: what it allocates is not recorded.",
                     a.dli_fname);
}

static void count_tables(void)
{
    struct trace_header *h = capture.writer.header;
    if (h)
        __atomic_fetch_add(&h->capture_bytes, live_bytes(), __ATOMIC_RELAXED);
}

static int heap_start(void)
{
    struct capture_thread *t = capture_self();
    if (sanitized())
        return ENOTSUP;
    if (capture.config.modes & CAPTURE_COPIES)
        copies_start();
    if (!(capture.config.modes & CAPTURE_MEMORY))
        return 0;
    int e = live_start();
    if (e)
        return e;
    malloc_resolve();
    if (t)
        say_limits(t);
    mappings_start(malloc_next());
    heap_python_look();
    count_tables();
    recording = 1;
    return 0;
}

/* About once a second: an interpreter that was loaded late, and what there is to say. */
static void heap_tick(struct capture_thread *ours)
{
    static unsigned ticks;
    static int said;
    if (!recording || ++ticks < (unsigned)capture.config.wait_hz)
        return;
    ticks = 0;
    heap_python_look();
    if (!said && __atomic_load_n(&doublings, __ATOMIC_RELAXED)) {
        said = 1;
        capture_note(ours, 0, "malloc",
                     "The program allocates so much that fewer allocations than asked for are "
                     "sampled, large ones too; sums stay unbiased.");
    }
}

static void heap_fork_child(void)
{
    live_clear();
    mappings_clear();
    live_sum = 0;
    doublings = 0;
    bucket_until = 0;
    if (recording)
        count_tables();
}

const struct capture_part part_heap = {
    .name = "heap",
    .modes = CAPTURE_MEMORY | CAPTURE_COPIES,
    .start = heap_start,
    .tick = heap_tick,
    .fork_child = heap_fork_child,
};
