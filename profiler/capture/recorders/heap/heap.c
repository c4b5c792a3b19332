/* The heap recorder: starts what records allocations, mappings and copies, and tells its limits. */
#include <dlfcn.h>
#include <errno.h>

#include "profiler/capture/core/unwind/modules.h"
#include "profiler/capture/recorders.h"
#include "profiler/capture/recorders/heap/mappings.h"

static const struct heap_allocator *allocator; /* NULL: no hooks of malloc */

void heap_set_allocator(const struct heap_allocator *a)
{
    allocator = a;
}

/* Weak, not by dlsym: a search in vain allocates its message, in the program's heap. */
#define SANITIZERS(X) X(__asan_init) X(__tsan_init) X(__msan_init) X(__hwasan_init)
#define DECLARE(name) extern char name[] __attribute__((weak, visibility("default")));
SANITIZERS(DECLARE)
DECLARE(_Znwm) /* C++'s operator new */

static int heap_is_sanitized(void)
{
#define IS_THERE(name) name ||
    return SANITIZERS(IS_THERE) 0;
}

/* The loader's own answer, where it gives one: dladdr() goes through all symbols of an image, 75,000
 * of node. */
static int heap_same_image(const void *a, const void *b)
{
    const char *of_a = modules_name_at((uintptr_t)a), *of_b = modules_name_at((uintptr_t)b);
    Dl_info at_a, at_b;
    if (of_a && of_b)
        return of_a == of_b;
    return dladdr(a, &at_a) && dladdr(b, &at_b) && at_a.dli_fbase == at_b.dli_fbase;
}

/* Reports limits that make the records incomplete, as far as they can be seen from here. */
static void heap_note_limits(struct capture_thread *t)
{
    Dl_info at;
    if (!allocator->is_ours())
        capture_note(t, 1, "malloc",
                     "The program brings its own malloc, or this library was loaded late: "
                     "allocations are not recorded.");
    else if (_Znwm && heap_same_image(_Znwm, allocator->next()) && dladdr(_Znwm, &at))
        capture_note(t, 1, "malloc",
                     "%s serves the C++ operator new itself: what it allocates is not recorded.",
                     at.dli_fname);
}

static int heap_start(void)
{
    struct capture_thread *t = capture_self();
    if (heap_is_sanitized())
        return capture.config.modes & (CAPTURE_MEMORY | CAPTURE_COPIES) ? ENOTSUP : 0;
    allocator->resolve();
    heap_calls_start(allocator);
    if (capture.config.modes & CAPTURE_COPIES)
        heap_copies_on = 1;
    if (!(capture.config.modes & CAPTURE_MEMORY))
        return 0;
    int e = live_start();
    if (e)
        return e;
    if (t)
        heap_note_limits(t);
    mappings_start(allocator->next());
    heap_python_find();
    capture_count_memory((int64_t)live_bytes());
    heap_record(1);
    return 0;
}

/* About once a second: an interpreter that was loaded late, and what there is to say. */
static void heap_tick(struct capture_thread *ours)
{
    static unsigned ticks;
    static int said;
    heap_calls_tick(ours);
    if (!heap_recording() || ++ticks < (unsigned)capture.config.wait_hz)
        return;
    ticks = 0;
    if (heap_python_is_wanted() && modules_are_whole() && modules_may_lock())
        heap_python_find();
    if (!said && heap_is_thinned()) {
        said = 1;
        capture_note(ours, 0, "malloc",
                     "The program allocates so much that fewer allocations than asked for are "
                     "sampled, large ones too; sums stay unbiased.");
    }
}

static void heap_footprint(struct trace_footprint *r)
{
    r->heap_live = heap_live();
}

static void heap_fork_child(void)
{
    live_clear();
    mappings_clear();
    heap_live_reset();
    heap_rate_reset();
    if (heap_recording())
        capture_count_memory((int64_t)live_bytes());
    heap_calls_forked(capture_self());
}

const struct recorder heap_recorder = {
    .name = "heap",
    .modes = ~0u, /* it takes its hooks out of the way where they are not wanted */
    .start = heap_start,
    .tick = heap_tick,
    .footprint = heap_footprint,
    .fork_child = heap_fork_child,
};
