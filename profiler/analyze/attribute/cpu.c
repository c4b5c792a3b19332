/* Adds CPU samples and waits to their sample contexts. A thread without Python frames borrows
 * the line of the main thread. */
#include <stdlib.h>
#include <sys/syscall.h>

#include "base/array.h"
#include "profiler/analyze/attribute/cpu.h"
#include "profiler/analyze/attribute/ranges.h"

#define NEAR_NS                                                                                    \
    100000000            /* a thread without Python borrows the main thread's line within 100 ms   \
                          */
#define HELD_MAX 1000000 /* samples that wait for the main thread's */

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
struct cpu {
    VECTOR(struct held) held;
    VECTOR(struct seen) main;
    int main_sorted;
};

static void cpu_free(struct image *im, void *state)
{
    struct cpu *c = state;
    (void)im;
    vector_free(&c->held);
    vector_free(&c->main);
}

ARRAY_ORDER(by_time, uint64_t, COMPARE(*x, *y));

static enum err see_main(struct cpu *c, uint64_t from, uint64_t time, uint32_t stack)
{
    TRY(vector_add(&c->main, (struct seen){time, from, stack}));
    c->main_sorted = 0;
    return ERR_OK;
}

/* By time. A thread that waits for a CPU has no stack: it is where it was before. */
static void order_main(struct cpu *c)
{
    vector_sort(&c->main, by_time);
    for (size_t i = 1; i < c->main.count; i++)
        if (c->main.items[i].stack == TABLE_NONE)
            c->main.items[i].stack = c->main.items[i - 1].stack;
    c->main_sorted = 1;
}

/* Returns the stack of the wait that covers the time, else of its latest sample, when that is
 * near. */
static uint32_t main_stack(struct cpu *c, uint64_t time)
{
    if (!c->main_sorted)
        order_main(c);
    size_t low = ARRAY_BOUND(0, c->main.count, i, c->main.items[i].time <= time);
    const struct seen *next = low < c->main.count ? &c->main.items[low] : NULL;
    if (next && next->from <= time && next->stack != TABLE_NONE)
        return next->stack + 1;
    const struct seen *last = low ? &c->main.items[low - 1] : NULL;
    int near = last && last->stack != TABLE_NONE && time - last->time <= NEAR_NS;
    return near ? last->stack + 1 : 0;
}

uint32_t cpu_main_stack(struct image *im, uint64_t time)
{
    return main_stack(collector_state(im, &collector_cpu), time);
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
    TRY(range_cpu(im, h->time, weight, index));
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
    for (; n < c->held.count && c->held.items[n].time <= until; n++)
        TRY(cpu_attribute_sample(im, &c->held.items[n], main_stack(c, c->held.items[n].time)));
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
    if (t->main)
        TRY(see_main(c, h.time, h.time, stack));
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
    if (t->main)
        TRY(see_main(state, start, end, w->stack ? stack : TABLE_NONE));
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
