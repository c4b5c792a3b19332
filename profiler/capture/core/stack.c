/* Takes stacks: unwinds the native frames, asks the frame source for an interpreter's, and writes
 * each different stack once. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "profiler/capture/core/stack.h"
#include "profiler/capture/core/unwind/cfi.h"
#include "profiler/capture/core/unwind/modules.h"
#include "profiler/capture/core/unwind/unwind.h"
#include "profiler/capture/raw/safe_read.h"
#include "profiler/capture/raw/system.h"

enum {
    OWN_FRAMES = 16,        /* room for the library's own, which are left out */
    WRITTEN = 2 << 20 >> 3, /* ids remembered as written: 2 MiB */
    PROBES = 16,
    WINDOW_BYTES = 16384,
};

/* A thread's scratch: handlers may run on an alternate stack of 8 KiB, so none of this is on it. */
struct stack_thread {
    uintptr_t pc[UNWIND_DEPTH + OWN_FRAMES];
    uint64_t python[2 * UNWIND_DEPTH];
    uint8_t window[WINDOW_BYTES];
    struct cfi_scratch cfi;
    uint8_t text[FRAME_SCRATCH];
};

static _Atomic(uint64_t) *written;

static void *map(size_t bytes)
{
    void *p = raw_map(bytes, 0);
    if (p)
        capture_count_memory((int64_t)bytes);
    return p;
}

static size_t mapped; /* that stays */

void *stack_map(size_t bytes)
{
    void *p = map(bytes);
    mapped += p ? bytes : 0;
    return p;
}

int stack_was_written(uint64_t id)
{
    for (uint64_t i = 0; i < PROBES; i++) {
        uint64_t seen = atomic_load_explicit(&written[(id + i) % WRITTEN], memory_order_relaxed);
        if (seen == id)
            return 1;
        if (!seen)
            return 0;
    }
    return 0;
}

void stack_remember(uint64_t id)
{
    for (uint64_t i = 0; i < PROBES; i++) {
        uint64_t empty = 0;
        _Atomic(uint64_t) *slot = &written[(id + i) % WRITTEN];
        if (atomic_compare_exchange_strong(slot, &empty, id) || empty == id)
            return;
    }
    /* No room here: it will be written again, which does no harm. */
}

static uint64_t write_stack(struct capture_thread *t, const uintptr_t *pc, size_t natives,
                            const uint64_t *python, size_t pythons, uint32_t flags)
{
    struct trace_stack record = {.r.kind = TRACE_STACK,
                                 .native = (uint16_t)natives,
                                 .python = (uint16_t)pythons,
                                 .flags = flags};
    record.id = trace_hash(pc, natives * 8, flags);
    record.id = trace_hash(python, pythons * 16, record.id);
    if (flags & TRACE_STACK_CUT)
        trace_lost(&capture.writer, TRACE_LOST_FRAMES, 1);
    if (flags & TRACE_STACK_PYTHON_CUT)
        trace_lost(&capture.writer, TRACE_LOST_PYTHON, 1);
    if (stack_was_written(record.id))
        return record.id;
    if (!trace_put2(&t->stream, &record.r, sizeof record, pc, natives * 8, python, pythons * 16))
        return 0;
    stack_remember(record.id);
    return record.id;
}

/* How many frames from the leaf are the library's own. */
static size_t own_frames(const uintptr_t *pc, size_t n, const void *caller)
{
    size_t own = 0;
    while (own < n && own < OWN_FRAMES && pc[own] != (uintptr_t)caller)
        own++;
    if (own < n && pc[own] == (uintptr_t)caller)
        return own;
    for (own = 0; own < n && pc[own] >= modules_own.start && pc[own] < modules_own.end;)
        own++;
    return own;
}

static frame_source *source;

void stack_add_frames(frame_source *added)
{
    __atomic_store_n(&source, added, __ATOMIC_RELEASE);
}

static size_t frames_of(struct capture_thread *t, const struct frame_view *v, uint64_t *pair,
                        uint32_t *flags)
{
    frame_source *read = __atomic_load_n(&source, __ATOMIC_ACQUIRE);
    if (read)
        return read(t, v, pair, UNWIND_DEPTH, flags);
    *flags |= TRACE_STACK_NO_PYTHON;
    return 0;
}

uint64_t capture_stack(struct capture_thread *t, const void *ucontext, const void *caller)
{
    struct stack_thread *s = t->stacks;
    if (!s)
        return 0;
    struct unwind_registers r;
    struct unwind_memory m = {.low = t->stack_low,
                              .high = t->stack_high,
                              .window = s->window,
                              .scratch = &s->cfi,
                              .window_room = 4096};
    if (ucontext)
        unwind_from_context(&r, ucontext);
    else
        unwind_from_here(&r);
    int complete;
    size_t n = unwind(&r, &m, s->pc, UNWIND_DEPTH + (ucontext ? 0 : OWN_FRAMES), &complete);
    size_t own = ucontext ? 0 : own_frames(s->pc, n, caller);
    uint32_t flags = ucontext ? TRACE_STACK_EXACT : 0;
    if (n - own > UNWIND_DEPTH) {
        n = own + UNWIND_DEPTH;
        complete = 0;
    }
    if (!complete)
        flags |= TRACE_STACK_CUT;
    struct frame_view view = {.floor = m.floor, .high = m.high, .scratch = s->text};
    size_t pythons = frames_of(t, &view, s->python, &flags);
    return write_stack(t, s->pc + own, n - own, s->python, pythons, flags);
}

uint64_t capture_stack_of(struct capture_thread *t, pid_t tid, uintptr_t pc, uintptr_t sp)
{
    struct stack_thread *s = t->stacks;
    if (!s && written) /* the library's own thread has no thread_start */
        s = t->stacks = map(sizeof *s);
    if (!s)
        return 0;
    struct unwind_registers r = {.pc = pc, .known = 1ull << UNWIND_SP};
    struct unwind_memory m = {.window = s->window, .scratch = &s->cfi, .window_room = WINDOW_BYTES};
    r.r[UNWIND_SP] = sp;
    int complete;
    size_t n = unwind(&r, &m, s->pc, UNWIND_DEPTH, &complete);
    uint32_t flags = complete ? 0 : TRACE_STACK_CUT;
    struct frame_view view = {.tid = tid, .scratch = s->text};
    size_t pythons = frames_of(t, &view, s->python, &flags);
    return write_stack(t, s->pc, n, s->python, pythons, flags);
}

static int start(void)
{
    struct capture_thread *t = capture_self();
    size_t bytes = 0;
    written = stack_map(WRITTEN * sizeof *written);
    if (!written)
        return ENOMEM;
    int failed = modules_start(&bytes);
    if (!failed)
        failed = cfi_start(&bytes);
    mapped += bytes;
    capture_count_memory((int64_t)bytes);
    if (failed)
        return failed;
    (void)safe_read_start(); /* without it stacks are cut where they leave the thread's own */
    modules_refresh(t ? &t->stream : NULL);
    return 0;
}

/* The thread's mapping is known; its neighbours may have been merged into it. */
static void trim_bounds(struct capture_thread *t)
{
    uintptr_t control = (uintptr_t)pthread_self(); /* glibc keeps it above the frames */
    if (t->tid == (uint32_t)getpid())
        /* The main stack grows; at least 128 MiB below it stay free of other mappings. */
        t->stack_low = t->stack_high - (120ul << 20);
    else if (control >= t->stack_low && control < t->stack_high)
        t->stack_high = control;
}

static void thread_start(struct capture_thread *t)
{
    if (t->stack_high)
        trim_bounds(t);
    if (written)
        t->stacks = map(sizeof(struct stack_thread));
}

static void thread_end(struct capture_thread *t)
{
    struct stack_thread *s = t->stacks;
    t->stacks = NULL;
    if (!s)
        return;
    raw_unmap(s, sizeof *s);
    capture_count_memory(-(int64_t)sizeof *s);
}

static void tick(struct capture_thread *ours)
{
    modules_refresh(&ours->stream);
}

static void fork_child(void)
{
    if (written)
        raw_clear((void *)written, WRITTEN * sizeof *written);
    capture_count_memory((int64_t)mapped);
    (void)safe_read_start();
    struct capture_thread *t = capture_self();
    if (t)
        modules_forked(&t->stream);
    modules_release();
}

static void stop(void)
{
    struct capture_thread *t = capture_self();
    if (t)
        modules_refresh(&t->stream);
}

const struct recorder stack_recorder = {
    .name = "stack",
    .modes = ~0u,
    .start = start,
    .thread_start = thread_start,
    .thread_end = thread_end,
    .tick = tick,
    .fork_prepare = modules_hold,
    .fork_parent = modules_release,
    .fork_child = fork_child,
    .stop = stop,
};
