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
#include "profiler/capture/core/unwind/unwind_before.h"
#include "profiler/capture/raw/safe_read.h"
#include "profiler/capture/raw/system.h"

enum {
    OWN_FRAMES = 16,        /* room for the library's own, which are left out */
    WRITTEN = 2 << 20 >> 3, /* ids remembered as written: 2 MiB */
    WRITTEN_FIRST = 512,    /* of them, tried first: a page */
    PROBES_FIRST = 2,
    WRITTEN_FEW = 4096, /* tried next */
    PROBES_FEW = PROBES_FIRST + 8,
    PROBES = PROBES_FEW + 16,
    WINDOW_BYTES = 16384,
    /* When deep stacks have taken so much of the trace, 64 MiB, fewer frames are kept of them. */
    DEEP_BYTES = 64 << 20,
    FEW_INNER = 96,
    FEW_OUTER = 32,
    /* Stacks of a thread that are recognised without their hash: 8 of 192 words. */
    MEMOS = 8,
    MEMO_WORDS = 192,
};

/* A loop takes the same stacks again and again: what was hashed to `id`. */
struct memo {
    uint64_t id, seed, word[MEMO_WORDS];
    size_t natives, pythons;
};

/* A thread's scratch: handlers may run on an alternate stack of 8 KiB, so none of this is on it. */
struct stack_thread {
    uintptr_t pc[UNWIND_ROOM];
    uint64_t python[2 * FRAME_ROOM];
    struct unwind_outer outer;
    struct unwind_before before;
    struct deep python_deep;
    struct frame_outer python_outer;
    uint8_t window[WINDOW_BYTES];
    struct cfi_scratch cfi;
    uint8_t text[FRAME_SCRATCH];
    _Alignas(64) uint8_t recent[FRAME_RECENT];
    struct memo memo[MEMOS];
};

static _Atomic(uint64_t) *written;

static void *stack_map_counted(size_t bytes)
{
    void *p = raw_map(bytes, 0);
    if (p)
        capture_count_memory((int64_t)bytes);
    return p;
}

static size_t mapped; /* that stays */

void *stack_map(size_t bytes)
{
    void *p = stack_map_counted(bytes);
    mapped += p ? bytes : 0;
    return p;
}

/* Returns a slot where `id` may be. The first few share a page, more of them 8: spread over all 512,
 * each new stack of a short program was a page fault or two, a quarter of what recording an import
 * of pandas cost in faults. */
static _Atomic(uint64_t) *place(uint64_t id, uint64_t probe)
{
    return &written[(id + probe) % (probe < PROBES_FIRST ? WRITTEN_FIRST
                                    : probe < PROBES_FEW ? WRITTEN_FEW
                                                         : WRITTEN)];
}

int stack_was_written(uint64_t id)
{
    for (uint64_t i = 0; i < PROBES; i++) {
        uint64_t seen = atomic_load_explicit(place(id, i), memory_order_relaxed);
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
        if (atomic_compare_exchange_strong(place(id, i), &empty, id) || empty == id)
            return;
    }
    /* No room here: it will be written again, which does no harm. */
}

/* Keeps the two ends of a list of frames, `width` words each, that is longer than this. */
static size_t stack_shorten(uint64_t *word, size_t width, size_t n)
{
    uint64_t left_out = n - FEW_INNER - FEW_OUTER;
    if (n <= FEW_INNER + 1 + FEW_OUTER)
        return n;
    for (size_t i = 0; i < n; i++)
        if (word[i * width] & TRACE_LEFT_OUT)
            left_out += (word[i * width] & ~TRACE_LEFT_OUT) - 1;
    word[FEW_INNER * width] = TRACE_LEFT_OUT | left_out;
    if (width > 1)
        word[FEW_INNER * width + 1] = 0;
    memmove(word + (FEW_INNER + 1) * width, word + (n - FEW_OUTER) * width,
            FEW_OUTER * width * sizeof *word);
    return FEW_INNER + 1 + FEW_OUTER;
}

static atomic_uint code_changes;

void stack_code_changed(void)
{
    atomic_fetch_add_explicit(&code_changes, 1, memory_order_relaxed);
}

/* How many frames are left out makes no other stack. */
static uint64_t stack_hash(const uint64_t *word, size_t n, uint64_t seed)
{
    size_t at = 0;
    while (at < n && !(word[at] & TRACE_LEFT_OUT))
        at++;
    seed = trace_hash(word, at * sizeof *word, seed);
    return at == n ? seed
                   : trace_hash(word + at + 1, (n - at - 1) * sizeof *word, seed ^ TRACE_LEFT_OUT);
}

static struct memo *memo_of(struct stack_thread *s, const uint64_t *pc, size_t natives,
                            const uint64_t *python, size_t pythons)
{
    uint64_t leaf = (natives ? pc[0] : 0) ^ (pythons ? python[0] << 16 ^ python[1] : 0);
    return natives + 2 * pythons <= MEMO_WORDS
               ? &s->memo[(leaf * 0x9e3779b97f4a7c15ull >> 32) % MEMOS]
               : NULL;
}

static uint64_t id_of(struct stack_thread *s, const uint64_t *pc, size_t natives,
                      const uint64_t *python, size_t pythons, uint64_t seed)
{
    struct memo *m = memo_of(s, pc, natives, python, pythons);
    if (m && m->id && m->seed == seed && m->natives == natives && m->pythons == pythons &&
        !memcmp(m->word, pc, natives * 8) && !memcmp(m->word + natives, python, pythons * 16))
        return m->id;
    uint64_t id = stack_hash(python, pythons * 2, stack_hash(pc, natives, seed));
    if (m) {
        m->id = id;
        m->seed = seed;
        m->natives = natives;
        m->pythons = pythons;
        memcpy(m->word, pc, natives * 8);
        memcpy(m->word + natives, python, pythons * 16);
    }
    return id;
}

static uint64_t write_stack(struct capture_thread *t, uintptr_t *pc, size_t natives,
                            uint64_t *python, size_t pythons, uint32_t flags)
{
    static atomic_ulong deep_bytes;
    int deep = natives > FEW_INNER + 1 + FEW_OUTER || pythons > FEW_INNER + 1 + FEW_OUTER;
    if (deep && atomic_load_explicit(&deep_bytes, memory_order_relaxed) > DEEP_BYTES) {
        natives = stack_shorten(pc, 1, natives);
        pythons = stack_shorten(python, 2, pythons);
        flags |= TRACE_STACK_DEEP;
    }
    struct trace_stack record = {.r.kind = TRACE_STACK,
                                 .native = (uint16_t)natives,
                                 .python = (uint16_t)pythons,
                                 .flags = flags};
    /* after an unload the same addresses may be another library's: written anew, with its time */
    uint64_t code = modules_unloads() + atomic_load_explicit(&code_changes, memory_order_relaxed),
             seed = flags | code << 32;
    record.id = id_of(t->stacks, pc, natives, python, pythons, seed);
    if (flags & TRACE_STACK_CUT)
        trace_lost(&capture.writer, TRACE_LOST_FRAMES, 1);
    if (flags & TRACE_STACK_PYTHON_CUT)
        trace_lost(&capture.writer, TRACE_LOST_PYTHON, 1);
    if (stack_was_written(record.id))
        return record.id;
    if (!trace_put2(&t->stream, &record.r, sizeof record, pc, natives * 8, python, pythons * 16))
        return 0;
    if (deep)
        atomic_fetch_add_explicit(&deep_bytes, record.r.words * 8ul, memory_order_relaxed);
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
        return read(t, v, pair, flags);
    *flags |= TRACE_STACK_NO_PYTHON;
    return 0;
}

/* Made at the first stack: many threads end without one. */
static struct stack_thread *stack_scratch(struct capture_thread *t)
{
    if (!t->stacks && written)
        t->stacks = stack_map_counted(sizeof(struct stack_thread));
    return t->stacks;
}

uint64_t capture_stack(struct capture_thread *t, const void *ucontext, const void *caller)
{
    struct stack_thread *s = stack_scratch(t);
    if (!s)
        return 0;
    struct unwind_registers r;
    struct unwind_memory m = {.low = t->stack_low,
                              .high = t->stack_high,
                              .window = s->window,
                              .scratch = &s->cfi,
                              .before = &s->before,
                              .window_room = 4096};
    if (ucontext)
        unwind_from_context(&r, ucontext);
    else
        unwind_from_here(&r);
    int complete, deep;
    size_t n = unwind_both_ends(&r, &m, s->pc, &s->outer, &complete, &deep);
    size_t own = ucontext ? 0 : own_frames(s->pc, n, caller);
    uint32_t flags = (ucontext ? TRACE_STACK_EXACT : 0) | (complete ? 0 : TRACE_STACK_CUT) |
                     (deep ? TRACE_STACK_DEEP : 0);
    struct frame_view view = {.called = !ucontext,
                              .floor = m.floor,
                              .high = m.high,
                              .scratch = s->text,
                              .recent = s->recent,
                              .deep = &s->python_deep,
                              .outer = &s->python_outer};
    size_t pythons = frames_of(t, &view, s->python, &flags);
    return write_stack(t, s->pc + own, n - own, s->python, pythons, flags);
}

/* Takes the stack of another thread, from the known part of its registers. */
static uint64_t stack_of_registers(struct capture_thread *t, pid_t tid, struct unwind_registers *r,
                                   uint32_t flags)
{
    struct stack_thread *s = stack_scratch(t);
    if (!s)
        return 0;
    struct unwind_memory m = {.window = s->window, .scratch = &s->cfi, .window_room = WINDOW_BYTES};
    int complete, deep;
    size_t n = unwind_both_ends(r, &m, s->pc, &s->outer, &complete, &deep);
    flags |= (complete ? 0 : TRACE_STACK_CUT) | (deep ? TRACE_STACK_DEEP : 0);
    s->python_outer.known = 0; /* of another thread, it may be */
    struct frame_view view = {
        .tid = tid, .scratch = s->text, .deep = &s->python_deep, .outer = &s->python_outer};
    size_t pythons = frames_of(t, &view, s->python, &flags);
    return write_stack(t, s->pc, n, s->python, pythons, flags);
}

uint64_t capture_stack_of(struct capture_thread *t, pid_t tid, uintptr_t pc, uintptr_t sp)
{
    struct unwind_registers r = {.pc = pc, .known = 1ull << UNWIND_SP};
    r.r[UNWIND_SP] = sp;
    return stack_of_registers(t, tid, &r, 0);
}

uint64_t capture_stack_stopped(struct capture_thread *t, pid_t tid, const void *ucontext)
{
    struct unwind_registers r;
    unwind_from_context(&r, ucontext);
    return stack_of_registers(t, tid, &r, TRACE_STACK_EXACT);
}

int stack_start_outside(void)
{
    size_t bytes = 0;
    written = stack_map(WRITTEN * sizeof *written);
    return written ? cfi_start(&bytes) : ENOMEM;
}

static int stack_start(void)
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
    if (t->tid == (uint32_t)capture.pid)
        /* The main stack grows; at least 128 MiB below it stay free of other mappings. */
        t->stack_low = t->stack_high - (120ul << 20);
    else if (control >= t->stack_low && control < t->stack_high)
        t->stack_high = control;
}

static void stack_thread_start(struct capture_thread *t)
{
    if (t->stack_high)
        trim_bounds(t);
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

static void stack_tick(struct capture_thread *ours)
{
    modules_refresh(&ours->stream);
}

static void stack_fork_child(void)
{
    if (written)
        raw_clear((void *)written, WRITTEN * sizeof *written);
    capture_count_memory((int64_t)mapped);
    (void)safe_read_forked();
    struct capture_thread *t = capture_self();
    if (t)
        modules_forked(&t->stream);
    modules_release();
}

static void stack_stop(void)
{
    struct capture_thread *t = capture_self();
    if (t)
        modules_refresh(&t->stream);
}

const struct recorder stack_recorder = {
    .name = "stack",
    .modes = ~0u,
    .start = stack_start,
    .thread_start = stack_thread_start,
    .thread_end = thread_end,
    .tick = stack_tick,
    .fork_prepare = modules_hold,
    .fork_parent = modules_release,
    .fork_child = stack_fork_child,
    .stop = stack_stop,
};
