/* Python frames for the stacks: finds the interpreter and follows a thread's frames from its
 * innermost one to the root. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/capture/core/unwind/modules.h"
#include "profiler/capture/recorders.h"
#include "profiler/capture/recorders/python/read.h"

static atomic_int ready;

int python_use(struct capture_thread *t, const struct python_symbols *s)
{
    static uintptr_t refused;
    const uintptr_t found = s->runtime ? s->runtime : s->old;
    struct python_runtime r;
    if (!found || found == refused)
        return 0;
    const char *why = python_runtime_of(s, &r);
    if (!why && python_code_start())
        why = "memory ran out";
    if (why) {
        refused = found;
        capture_note(t, 1, "python", "Python lines cannot be read: %s.", why);
        return 0;
    }
    python_runtime = r;
    char text[32] = "3.00";
    text[2] = (char)('0' + r.layout.minor / 10);
    text[3] = (char)('0' + r.layout.minor % 10);
    if (r.layout.free_threaded)
        strcat(text, ", free-threaded");
    capture_meta(t, "python", r.layout.minor < 10 ? "3.9" : text);
    atomic_store_explicit(&ready, 1, memory_order_release);
    return 1;
}

int python_is_ready(void)
{
    return atomic_load_explicit(&ready, memory_order_acquire);
}

void python_find(struct capture_thread *t)
{
    struct python_symbols s;
    python_find_symbols(&s);
    (void)python_use(t, &s);
}

/* The list of all interpreters' threads, searched for one. The list may change meanwhile: every
 * step is a checked read, and there is a limit. */
static uintptr_t search_threads(const struct python_layout *l, size_t offset, uint64_t wanted)
{
    uintptr_t interpreter, thread;
    int steps = 0;
    if (!safe_read(python_runtime.runtime + l->interpreters, &interpreter, sizeof interpreter))
        return 0;
    while (interpreter && steps++ < 8192) {
        if (!safe_read(interpreter + l->threads, &thread, sizeof thread))
            return 0;
        while (thread && steps++ < 8192) {
            uint64_t id;
            if (!safe_read(thread + offset, &id, sizeof id))
                return 0;
            if (id == wanted)
                return thread;
            if (!safe_read(thread + l->thread_next, &thread, sizeof thread))
                return 0;
        }
        if (!safe_read(interpreter + l->interpreter_next, &interpreter, sizeof interpreter))
            return 0;
    }
    return 0;
}

/* CPython keeps a thread's state under a pthread key besides: the one that holds what the list
 * says. Its number plus 1, 0 not known yet. */
static atomic_uint key_plus_1;

static uintptr_t own_state(const struct python_layout *l)
{
    enum { KEYS = 256 };
    unsigned key = atomic_load_explicit(&key_plus_1, memory_order_relaxed);
    if (key)
        return (uintptr_t)pthread_getspecific((pthread_key_t)(key - 1));
    uintptr_t state = search_threads(l, l->thread_id, (uint64_t)pthread_self());
    for (pthread_key_t k = 0; state && k < KEYS; k++)
        if ((uintptr_t)pthread_getspecific(k) == state) {
            atomic_store(&key_plus_1, k + 1);
            break;
        }
    return state;
}

/* Before 3.11 a thread's state has no kernel id, only the pthread_t, which in glibc is the address
 * of a structure that holds that id: at which offset, the calling thread's tells. */
static size_t kernel_id_offset(void)
{
    static atomic_size_t offset;
    size_t at = atomic_load(&offset);
    if (at)
        return at;
    const uint8_t *control = (const uint8_t *)pthread_self();
    pid_t id = (pid_t)syscall(SYS_gettid), here;
    for (at = 256; at < 1024; at += 4) {
        memcpy(&here, control + at, sizeof here);
        if (here == id) {
            atomic_store(&offset, at);
            return at;
        }
    }
    return 0;
}

uint32_t python_thread_number(uintptr_t state)
{
    const struct python_layout *l = &python_runtime.layout;
    uint64_t native;
    uintptr_t control;
    pid_t id;
    if (l->native_id)
        return safe_read(state + l->native_id, &native, sizeof native) ? (uint32_t)native : 0;
    size_t at = kernel_id_offset();
    return at && safe_read(state + l->thread_id, &control, sizeof control) &&
                   safe_read(control + at, &id, sizeof id)
               ? (uint32_t)id
               : 0;
}

static uintptr_t other_state(const struct python_layout *l, pid_t tid)
{
    if (l->native_id)
        return search_threads(l, l->native_id, (uint64_t)tid);
    size_t at = kernel_id_offset();
    uintptr_t interpreter, thread = 0, control;
    if (!at ||
        !safe_read(python_runtime.runtime + l->interpreters, &interpreter, sizeof interpreter) ||
        !interpreter || !safe_read(interpreter + l->threads, &thread, sizeof thread))
        return 0;
    for (int steps = 0; thread && steps < 4096; steps++) {
        pid_t id;
        if (!safe_read(thread + l->thread_id, &control, sizeof control))
            return 0;
        if (safe_read(control + at, &id, sizeof id) && id == tid)
            return thread;
        if (!safe_read(thread + l->thread_next, &thread, sizeof thread))
            return 0;
    }
    return 0;
}

static void add_range(struct python_unwind *w, uintptr_t low, uintptr_t high)
{
    if (low < high && w->ranges < PYTHON_RANGES) {
        w->range[w->ranges].low = low;
        w->range[w->ranges++].high = high;
    }
}

/* Adds the chunks of the thread's frame stack, newest first: {previous, bytes}. Each is there as
 * long as it is linked, and only this thread, which does not run now, unlinks them. */
static void add_chunks(struct python_unwind *w, uintptr_t chunk, int plainly)
{
    uintptr_t head[2];
    for (; chunk && w->ranges < PYTHON_RANGES; chunk = head[0]) {
        if (plainly)
            memcpy(head, (const void *)chunk, sizeof head);
        else if (!safe_read(chunk, head, sizeof head))
            return;
        add_range(w, chunk, chunk + head[1]);
    }
}

/* Only the thread itself ends its state, but for an interpreter that ends: then nothing of it is
 * certain. */
static int is_ending(const struct python_layout *l)
{
    uintptr_t by;
    memcpy(&by, (const void *)(python_runtime.runtime + l->finalizing), sizeof by);
    return by != 0;
}

/* Reads the way to the innermost frame: that frame, or (3.11, 3.12) a C structure that leads to it.
 * 0: cannot be known. */
__attribute__((noinline)) static int read_state(struct python_unwind *w, uintptr_t state,
                                                uintptr_t *top)
{
    const struct python_layout *l = w->l;
    uint8_t head[512];
    uintptr_t chunk = 0, id;
    size_t bytes = (l->chunk > l->thread_id ? l->chunk : l->thread_id) + sizeof chunk;
    int plainly = !w->view->tid && !is_ending(l);
    if (bytes > sizeof head)
        return 0;
    if (plainly)
        memcpy(head, (const void *)state, bytes);
    else if (!safe_read(state, head, bytes))
        return 0;
    memcpy(top, head + l->frame, sizeof *top);
    memcpy(&id, head + l->thread_id, sizeof id);
    if (l->chunk)
        memcpy(&chunk, head + l->chunk, sizeof chunk);
    w->called = plainly && w->view->called;
    if (!w->view->tid) {
        if (id != (uintptr_t)pthread_self())
            return 0;
        add_range(w, w->view->floor, w->view->high);
        if (plainly) /* it holds the outermost of the C structures */
            add_range(w, state, state + 384);
        add_chunks(w, chunk, plainly);
    }
    return 1;
}

/* From `address` to the root, on the way past `through` unless 0; 1 when it was reached. */
static int unwind_frames(struct python_unwind *w, uintptr_t address, uintptr_t through,
                         uint64_t *pair, size_t *n, uint32_t *flags)
{
    const size_t room = FRAME_INNER;
    uintptr_t last = 0;
    w->frames = 0;
    int alive = !w->view->tid;
    *n = 0;
    for (size_t steps = 0; address && *n < room && steps < 4 * room; steps++) {
        struct python_frame f;
        uint64_t line;
        /* A frame object that runs holds the one that called it, so behind the first, which was
         * checked, they can be read plainly; other frames lie in the ranges of the unwinding. */
        int plainly = steps && (w->called || (alive && w->l->frame_object));
        if (address == last || !python_read_frame(w, address, plainly, &f))
            return 0;
        uint64_t *to = pair + 2 * *n;
        if (f.shim) {
            if (*n)
                to[-2] |= TRACE_PYTHON_ENTRY;
        } else if (python_code(w, f.code, f.at, w->called || (alive && *n), &to[1], &line)) {
            to[0] = line | (f.entry ? TRACE_PYTHON_ENTRY : 0);
            ++*n;
            if (w->frames < sizeof w->frame / sizeof *w->frame) {
                w->frame[w->frames].address = address;
                w->frame[w->frames++].code = f.code;
            }
        } else if (steps) {
            return 0; /* the first may be half made; below it nothing changes */
        }
        last = address;
        address = f.previous;
        if (address == through)
            through = 0;
    }
    if (address && *n == room)
        return python_outer_frames(w, address, through, pair, n, flags);
    if (!address && *n)
        pair[2 * *n - 2] |= TRACE_PYTHON_ENTRY;
    return !address && !through;
}

/* 3.11 and 3.12: each call of the interpreter's loop has a structure on the C stack. On its way
 * into the loop a thread has one whose frame is not set yet, or is a leftover: then the one before
 * holds, whose frame each right way must pass. */
static int unwind_cframes(struct python_unwind *w, uintptr_t top, uint64_t *pair, size_t *n,
                          uint32_t *flags)
{
    uintptr_t frame, previous, below = 0;
    if (!python_get(w, top + w->l->cframe_frame, &frame, sizeof frame) ||
        !python_get(w, top + w->l->cframe_previous, &previous, sizeof previous) ||
        (previous && !python_get(w, previous + w->l->cframe_frame, &below, sizeof below)))
        return 0;
    int whole = unwind_frames(w, frame, below, pair, n, flags);
    if (whole || *n >= FRAME_INNER || !below)
        return whole;
    return unwind_frames(w, below, 0, pair, n, flags);
}

size_t python_frames(struct capture_thread *t, const struct frame_view *v, uint64_t *pair,
                     uint32_t *flags)
{
    struct python_unwind w = {.l = &python_runtime.layout, .thread = t, .view = v};
    uintptr_t state = 0, top;
    if (atomic_load_explicit(&ready, memory_order_acquire))
        state = v->tid ? other_state(w.l, v->tid) : own_state(w.l);
    if (!state) {
        *flags |= TRACE_STACK_NO_PYTHON;
        return 0;
    }
    size_t n = 0;
    int whole = read_state(&w, state, &top) &&
                (w.l->cframe && top ? unwind_cframes(&w, top, pair, &n, flags)
                                    : unwind_frames(&w, top, 0, pair, &n, flags));
    if (!whole)
        *flags |= TRACE_STACK_PYTHON_CUT;
    return whole && v->tid ? python_greenlets(&w, pair, python_awaits(&w, pair, n)) : n;
}

/* While no fork is under way: the loader's lock is taken. */
static void python_find_once(struct capture_thread *t)
{
    static uint32_t seen;
    uint32_t generation = modules_generation();
    if (atomic_load(&ready) || (generation == seen && !python_search_is_due()) || !t)
        return;
    seen = generation;
    modules_hold();
    python_find(t);
    modules_release();
}

static int python_start(void)
{
    stack_add_frames(python_frames);
    python_find_once(capture_self());
    return 0;
}

/* It warns of other threads from 3.12 on. */
static int fork_alone(void)
{
    return atomic_load(&ready) && python_runtime.layout.minor >= 12;
}

/* Code objects are written again. */
static void python_fork_child(void)
{
    python_code_forget();
}

const struct recorder python_recorder = {
    .name = "python",
    .modes = CAPTURE_PYTHON,
    .start = python_start,
    .tick = python_find_once,
    .fork_alone = fork_alone,
    .fork_child = python_fork_child,
};
