/* Adds CPU samples and waits to their sample contexts. A thread without Python frames borrows the
 * line of the main thread, or of another that is in the same library: that waits for it. */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/array.h"
#include "base/text.h"
#include "profiler/analyze/attribute/cpu.h"
#include "profiler/analyze/attribute/ranges.h"

#define NEAR_NS                                                                                    \
    100000000            /* a thread without Python borrows another thread's line within 100 ms    \
                          */
#define HELD_MAX 1000000 /* samples that wait for those of others */
enum { MODULES_MAX = 8 };

/* In a process with an interpreter, samples of other threads wait until the main thread's samples
 * around them have been read; chunks of different threads follow each other in the file in steps of
 * seconds. */
struct held {
    uint64_t time, weight;
    uint32_t thread, stack, mode;
};
struct seen {
    uint64_t time, from; /* a wait covers what came before it */
    uint32_t stack;
};
struct stacks_seen { /* of a thread that runs Python */
    VECTOR(struct seen) all;
    int sorted;
};
struct stack_modules { /* that are not the interpreter's or the C library's */
    const char *module[MODULES_MAX];
    int count;
};
struct cpu {
    VECTOR(struct held) held;
    struct stacks_seen main;
    VECTOR(struct stacks_seen) others; /* by thread */
    VECTOR(struct stack_modules) modules;
    struct table modules_of; /* by stack */
};

static void cpu_free(struct image *im, void *state)
{
    struct cpu *c = state;
    (void)im;
    vector_free(&c->held);
    vector_free(&c->main.all);
    for (size_t i = 0; i < c->others.count; i++)
        vector_free(&c->others.items[i].all);
    vector_free(&c->others);
    vector_free(&c->modules);
    table_free(&c->modules_of);
}

ARRAY_ORDER(by_time, uint64_t, COMPARE(*x, *y));

static enum err seen_add(struct stacks_seen *l, uint64_t from, uint64_t time, uint32_t stack)
{
    TRY(vector_add(&l->all, (struct seen){time, from, stack}));
    l->sorted = 0;
    return ERR_OK;
}

/* Notes what a thread other than the main one did, from its first stack with Python on. */
static enum err seen_of_other(struct image *im, struct cpu *c, const struct thread *t,
                              uint64_t from, uint64_t time, uint32_t stack)
{
    const size_t row = (size_t)(t - im->threads.items), n = c->others.count;
    const struct stack *s = stack == TABLE_NONE ? NULL : &im->stacks.items[stack];
    if (!(s && s->known && s->python) && (row >= n || !c->others.items[row].all.count))
        return ERR_OK;
    if (row >= n) {
        TRY(vector_room(&c->others, row + 1));
        memset(c->others.items + n, 0, (row + 1 - n) * sizeof *c->others.items);
        c->others.count = row + 1;
    }
    return seen_add(&c->others.items[row], from, time, stack);
}

/* By time. A thread that waits for a CPU has no stack: it is where it was before. */
static void seen_sort(struct stacks_seen *l)
{
    vector_sort(&l->all, by_time);
    for (size_t i = 1; i < l->all.count; i++)
        if (l->all.items[i].stack == TABLE_NONE)
            l->all.items[i].stack = l->all.items[i - 1].stack;
    l->sorted = 1;
}

/* Returns the stack, plus 1, of the wait that covers the time, else of its latest sample, when that is
 * near; 0: none. */
static uint32_t seen_at(struct stacks_seen *l, uint64_t time)
{
    if (!l->sorted)
        seen_sort(l);
    size_t low = ARRAY_BOUND(0, l->all.count, i, l->all.items[i].time <= time);
    const struct seen *next = low < l->all.count ? &l->all.items[low] : NULL;
    if (next && next->from <= time && next->stack != TABLE_NONE)
        return next->stack + 1;
    const struct seen *last = low ? &l->all.items[low - 1] : NULL;
    int near = last && last->stack != TABLE_NONE && time - last->time <= NEAR_NS;
    return near ? last->stack + 1 : 0;
}

/* 1: threads of all kinds are in it. */
static int module_is_common(const char *module)
{
    static const char *const begins[] = {"libc.",      "libc-", "ld-", "libpthread",
                                         "libstdc++.", "libm.", "[",   "libtomoprof"};
    const char *name = base_name(module);
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (text_begins(name, begins[i]))
            return 1;
    return owner_is_interpreter(module, NULL);
}

static enum err modules_find(struct image *im, struct cpu *c, uint32_t stack, uint32_t *out)
{
    const struct stack *s = &im->stacks.items[stack];
    struct stack_modules found = {.count = 0};
    *out = table_get(&c->modules_of, stack);
    if (*out != TABLE_NONE)
        return ERR_OK;
    for (int i = 0; s->known && i < s->native && found.count < MODULES_MAX; i++) {
        struct symbol_frame at[2] = {{.module = NULL}};
        const uint64_t word = im->words.items[s->at + (size_t)i];
        if (!(word & TRACE_LEFT_OUT))
            (void)symbols_at(im->run->symbols, im->index, s->time, word, 0, at, 2);
        int known = at->module && !module_is_common(at->module) ? 0 : MODULES_MAX;
        while (known < found.count && strcmp(found.module[known], at->module))
            known++;
        if (known == found.count)
            found.module[found.count++] = at->module;
    }
    *out = (uint32_t)c->modules.count;
    TRY(vector_add(&c->modules, found));
    return table_put(&c->modules_of, stack, *out);
}

static enum err modules_shared(struct image *im, struct cpu *c, uint32_t a, uint32_t b, int *n)
{
    uint32_t x, y;
    TRY(modules_find(im, c, a, &x));
    TRY(modules_find(im, c, b, &y));
    *n = 0;
    for (int i = 0; i < c->modules.items[x].count; i++)
        for (int k = 0; k < c->modules.items[y].count; k++)
            *n += !strcmp(c->modules.items[x].module[i], c->modules.items[y].module[k]);
    return ERR_OK;
}

/* Finds whose line the sample of a pool's thread borrows: of the thread that shares most libraries
 * with it, the main one first. */
static enum err borrow_of(struct image *im, struct cpu *c, const struct held *h, uint32_t *out)
{
    int most = 0, n;
    *out = seen_at(&c->main, h->time);
    if (!c->others.count)
        return ERR_OK;
    if (*out)
        TRY(modules_shared(im, c, *out - 1, h->stack, &most));
    for (size_t i = 0; i < c->others.count; i++) {
        struct stacks_seen *l = &c->others.items[i];
        const uint32_t at = l->all.count && i != h->thread ? seen_at(l, h->time) : 0;
        if (!at)
            continue;
        TRY(modules_shared(im, c, at - 1, h->stack, &n));
        *out = n > most ? at : *out;
        most = n > most ? n : most;
    }
    return ERR_OK;
}

uint32_t cpu_main_stack(struct image *im, uint64_t time)
{
    return seen_at(&((struct cpu *)collector_state(im, &collector_cpu))->main, time);
}

static enum err cpu_attribute_sample(struct image *im, const struct held *h, uint32_t borrow)
{
    uint32_t index;
    TRY(image_context_at(im, h->thread, h->stack, borrow, &index));
    struct sample_context *s = &im->contexts.items[index];
    struct thread *t = &im->threads.items[h->thread];
    double weight = (double)h->weight;
    *(h->mode == TRACE_SYSTEM ? &s->costs.sys : &s->costs.user) += weight;
    *(h->mode == TRACE_SYSTEM ? &t->sys : &t->user) += weight;
    s->costs.samples++;
    s->costs.cpu_square += weight * weight;
    if (!t->cpu_track) {
        struct timeline_track *l = run_track(im->run, "cpu", im->index, t->row, -1, 0, 0);
        FAIL_IF(!l, ERR_MEMORY, "no memory for the timeline");
        t->cpu_track = (uint32_t)(l - im->run->timeline.items) + 1;
    }
    TRY(range_spent(im, RANGE_CPU, h->time, weight, index));
    uint64_t start = h->time > h->weight ? h->time - h->weight : 0;
    struct track *track = &im->run->timeline.items[t->cpu_track - 1].track;
    TRY(track_add(track, start, h->time, index, run_track_limit(im->run)));
    for (size_t i = 0; h->weight > h->time && i < track->count && !track->events[i].start; i++)
        if (track->events[i].what == index) { /* the rest was before the recording began */
            track->events[i].busy += h->weight - h->time;
            break;
        }
    return ERR_OK;
}

/* Attributes the held samples up to `until`. */
static enum err cpu_attribute_until(struct image *im, struct cpu *c, uint64_t until)
{
    vector_sort(&c->held, by_time);
    size_t n = 0;
    for (; n < c->held.count && c->held.items[n].time <= until; n++) {
        uint32_t borrow;
        TRY(borrow_of(im, c, &c->held.items[n], &borrow));
        TRY(cpu_attribute_sample(im, &c->held.items[n], borrow));
    }
    for (size_t i = n; i < c->held.count; i++)
        c->held.items[i - n] = c->held.items[i];
    c->held.count -= n;
    return ERR_OK;
}

static enum err cpu_sample(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_sample *s = (const void *)item->record;
    struct cpu *c = state;
    struct thread *t;
    uint32_t stack;
    im->run->q.stacks++;
    TRY(image_thread(im, s->tid, &t));
    TRY(image_stack(im, s->stack, &stack));
    struct held h = {image_time(im, s->r.time_ns), s->weight_ns, (uint32_t)(t - im->threads.items),
                     stack, s->mode};
    if (s->weight_ns > 1ull << 53) {
        im->run->q.bad_values++;
        return ERR_OK;
    }
    if (t->recorder)
        return ERR_OK;
    TRY(t->main ? seen_add(&c->main, h.time, h.time, stack)
                : seen_of_other(im, c, t, h.time, h.time, stack));
    if (t->main || !im->program.python ||
        (im->stacks.items[stack].known && im->stacks.items[stack].python)) /* has Python itself */
        return cpu_attribute_sample(im, &h, 0);
    TRY(vector_add(&c->held, h));
    if (c->held.count < HELD_MAX)
        return ERR_OK;
    vector_sort(&c->held, by_time);
    return cpu_attribute_until(im, c, c->held.items[c->held.count / 2].time);
}

static enum waits_for waits_for(const struct trace_wait *w)
{
    static const struct {
        int call;
        enum waits_for waits;
    } calls[] = {
        {SYS_nanosleep, WAITS_SLEEP},
        {SYS_clock_nanosleep, WAITS_SLEEP},
        {SYS_futex, WAITS_LOCK},
        {SYS_wait4, WAITS_CHILD},
        {SYS_waitid, WAITS_CHILD},
        {SYS_clone, WAITS_CHILD}, /* as vfork: until the child has run its program */
        {SYS_clone3, WAITS_CHILD},
        {SYS_ppoll, WAITS_EVENTS},
        {SYS_pselect6, WAITS_EVENTS},
        {SYS_epoll_pwait, WAITS_EVENTS},
        {SYS_accept, WAITS_EVENTS},
        {SYS_accept4, WAITS_EVENTS},
        {SYS_rt_sigtimedwait, WAITS_EVENTS},
        {SYS_rt_sigsuspend, WAITS_EVENTS},
#ifdef SYS_poll /* not on aarch64 */
        {SYS_poll, WAITS_EVENTS},
        {SYS_select, WAITS_EVENTS},
        {SYS_epoll_wait, WAITS_EVENTS},
        {SYS_pause, WAITS_EVENTS},
        {SYS_vfork, WAITS_CHILD},
#endif
    };
    if (w->state == TRACE_RUNNABLE)
        return WAITS_READY;
    if (w->state == TRACE_IN_CUDA)
        return WAITS_DEVICE;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i].call == w->syscall &&
            (w->state == TRACE_SLEEP || calls[i].waits == WAITS_CHILD))
            return calls[i].waits;
    return WAITS_IO;
}

/* The part of a wait that was asked for. 0: none of it. */
static int wait_clip(const struct image *im, struct trace_wait *w)
{
    uint64_t end = w->r.time_ns, start = end > w->weight_ns ? end - w->weight_ns : 0;
    int whole = !image_left_out(im, start) && !image_left_out(im, end);
    if (whole)
        return 1;
    start = start > im->run->origin ? start : im->run->origin;
    end = end < im->run->until ? end : im->run->until;
    w->r.time_ns = end;
    w->weight_ns = end > start ? end - start : 0;
    return end > start;
}

/* Votes for the wait of one place: that which has more of its time than all else together, if there
 * is such. A loop that waits for events waits for the GIL afterwards, at the same place. */
static void wait_vote(struct sample_context *c, const struct trace_wait *w)
{
    const enum waits_for waits = waits_for(w);
    const double ns = (double)w->weight_ns;
    if (c->waits_ns > 0 && c->waits != (int)waits && c->waits_ns >= ns) {
        c->waits_ns -= ns;
        return;
    }
    c->waits_ns = c->waits == (int)waits ? c->waits_ns + ns : ns - c->waits_ns;
    c->waits = (int)waits;
    c->idle = w->syscall == SYS_accept || w->syscall == SYS_accept4;
}

static enum err cpu_wait(struct image *im, void *state, const struct trace_item *item)
{
    struct trace_wait part = *(const struct trace_wait *)(const void *)item->record;
    const struct trace_wait *w = &part;
    struct run *r = im->run;
    struct thread *t;
    uint32_t stack, index;
    r->q.stacks++;
    if (!wait_clip(im, &part))
        return ERR_OK;
    if (w->weight_ns > 1ull << 53 || w->state < 0 || w->state > TRACE_STOPPED) {
        r->q.bad_values++;
        return ERR_OK;
    }
    TRY(image_thread(im, w->tid, &t));
    if (t->recorder || w->state == TRACE_ON_CPU)
        return ERR_OK;
    TRY(image_stack(im, w->stack, &stack));
    TRY(image_context_at(im, (uint32_t)(t - im->threads.items), stack, 0, &index));
    uint64_t end = image_time(im, w->r.time_ns);
    uint64_t start = end > w->weight_ns ? end - w->weight_ns : 0;
    im->contexts.items[index].costs.wait += (double)w->weight_ns;
    im->contexts.items[index].slept += w->state != TRACE_RUNNABLE;
    im->contexts.items[index].ready_ns += w->state == TRACE_RUNNABLE ? (double)w->weight_ns : 0;
    if (w->state != TRACE_RUNNABLE || !w->stack) /* else it is ready after the wait there */
        wait_vote(&im->contexts.items[index], w);
    t->wait += (double)w->weight_ns;
    r->waits[w->state] += (double)w->weight_ns;
    TRY(range_spent(im, w->state == TRACE_RUNNABLE ? RANGE_READY : RANGE_WAIT, end,
                    (double)w->weight_ns, index));
    const uint32_t at = w->stack ? stack : TABLE_NONE;
    struct cpu *c = state;
    TRY(t->main ? seen_add(&c->main, start, end, at) : seen_of_other(im, c, t, start, end, at));
    if (!t->wait_track) {
        struct timeline_track *l = run_track(r, "wait", im->index, t->row, -1, 0, 0);
        FAIL_IF(!l, ERR_MEMORY, "no memory for the timeline");
        t->wait_track = (uint32_t)(l - r->timeline.items) + 1;
    }
    struct track *track = &r->timeline.items[t->wait_track - 1].track;
    if (track_extend(track, start, end, index))
        return ERR_OK;
    return track_add(track, start, end, index, run_track_limit(r));
}

static enum err cpu_finish(struct image *im, void *state)
{
    return cpu_attribute_until(im, state, UINT64_MAX);
}

static const struct collected kinds[] = {
    {TRACE_SAMPLE, cpu_sample, 1, COLLECTED_FLAG(has_cpu)},
    {TRACE_WAIT, cpu_wait, 0, COLLECTED_FLAG(has_wait)},
};
const struct collector collector_cpu = {
    .state_bytes = sizeof(struct cpu), COLLECTED(kinds), .finish = cpu_finish, .free = cpu_free};
