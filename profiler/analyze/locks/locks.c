/* Collects an image's waits for locks, and makes rows of the model of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "profiler/analyze/locks/locks_state.h"

enum { WAITS_MAX = 2000000, SAMPLES_MAX = 4000000 };

static void locks_free(struct image *im, void *state)
{
    struct locks *l = state;
    (void)im;
    for (size_t i = 0; i < l->rows.count; i++)
        vector_free(&l->rows.items[i].holders);
    vector_free(&l->waits);
    vector_free(&l->samples);
    vector_free(&l->rows);
    vector_free(&l->places);
    vector_free(&l->frames);
    vector_free(&l->takers);
    table_free(&l->takers_of);
    table_free(&l->asked);
    table_free(&l->row_by_key);
    table_free(&l->seen);
}

/* [time - ns, time] as far as it is asked for, from the run's origin; 0: none of it. */
static int locks_clip(struct image *im, uint64_t time, uint64_t ns, uint64_t *start, uint64_t *end)
{
    struct run *r = im->run;
    uint64_t from = time > ns ? time - ns : 0, to = time < r->until ? time : r->until;
    if (ns > 1ull << 53) {
        r->q.bad_values++;
        return 0;
    }
    from = from > r->origin ? from : r->origin;
    if (to < from)
        return 0;
    *start = image_time(im, from);
    *end = image_time(im, to);
    return 1;
}

static enum err locks_wait(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_lock *r = (const void *)item->record;
    struct locks *l = state;
    struct thread *t;
    uint32_t stack;
    struct lock_wait w = {.address = r->address,
                          .holder = (int)r->holder, /* its number, until all threads are known */
                          .row = NO_ROW,
                          .readers = r->readers,
                          .kind = r->kind,
                          .flags = r->flags};
    if (r->kind >= TRACE_LOCK_KINDS) {
        im->run->q.bad_values++;
        return ERR_OK;
    }
    if (l->waits.count >= WAITS_MAX || !locks_clip(im, r->r.time_ns, r->wait_ns, &w.start, &w.end))
        return ERR_OK;
    TRY(image_thread(im, r->tid, &t));
    w.thread = (int)(t - im->threads.items);
    TRY(image_stack(im, r->stack, &stack));
    w.stack = stack;
    return vector_add(&l->waits, w);
}

static enum err locks_add_sample(struct image *im, struct locks *l, uint32_t tid, uint64_t stack_id,
                                 uint64_t time, uint64_t ns, enum lock_doing doing)
{
    struct thread *t;
    struct lock_sample s = {.weight = ns, .doing = doing};
    if (l->samples.count >= SAMPLES_MAX || !locks_clip(im, time, ns, &s.start, &s.end))
        return ERR_OK;
    TRY(image_thread(im, tid, &t));
    s.thread = (int)(t - im->threads.items);
    if (t->recorder)
        return ERR_OK;
    TRY(image_stack(im, stack_id, &s.stack));
    return vector_add(&l->samples, s);
}

static enum err locks_sample(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_sample *s = (const void *)item->record;
    return locks_add_sample(im, state, s->tid, s->stack, s->r.time_ns, s->weight_ns, DOES_RUN);
}

static enum err locks_sleep(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_wait *w = (const void *)item->record;
    struct locks *l = state;
    int futex = w->state == TRACE_SLEEP && w->syscall == SYS_futex;
    if (futex && w->weight_ns < 1ull << 53)
        l->asleep_in_futex += (double)w->weight_ns;
    if (w->state == TRACE_RUNNABLE)
        return locks_add_sample(im, l, w->tid, 0, w->r.time_ns, w->weight_ns, DOES_QUEUE);
    if (w->state != TRACE_SLEEP && w->state != TRACE_DISK)
        return ERR_OK;
    return locks_add_sample(im, l, w->tid, w->stack, w->r.time_ns, w->weight_ns,
                            futex ? DOES_FUTEX : DOES_SLEEP);
}

static enum err put_contention(struct image *im, const struct locks *l)
{
    struct model_contention c;
    struct table threads = {0};
    double waits = 0, gil = 0, work = 0;
    enum err e = ERR_OK;
    for (size_t i = 0; i < l->rows.count; i++) {
        const struct lock_row *r = &l->rows.items[i];
        *(r->contention ? &waits : &work) += r->ns;
        gil += r->contention && r->kind == TRACE_LOCK_GIL ? r->ns : 0;
    }
    for (size_t i = 0; i < l->waits.count && e == ERR_OK; i++)
        if (l->waits.items[i].contention)
            e = table_put(&threads, (uint64_t)l->waits.items[i].thread + 1, 1);
    json_blank(&record_model_contention, &c);
    c.process = im->index;
    c.threads = (int64_t)threads.count;
    c.at_once = (int64_t)l->most;
    c.wait_s = waits * 1e-9;
    c.gil_s = gil * 1e-9;
    c.any_s = l->any * 1e-9;
    c.both_s = l->both * 1e-9;
    if (l->both > 0 && im->run->has_cpu) {
        c.ran = l->ran / l->both;
        c.wanted = l->wanted / l->both;
        c.on_cpu = l->on_cpu / l->both;
    }
    if (l->gil_python + l->gil_native > 0)
        c.python_share = l->gil_python / (l->gil_python + l->gil_native);
    c.work_s = work * 1e-9;
    if (im->run->has_wait)
        c.unseen_s = fmax(0, l->asleep_in_futex - waits - work) * 1e-9;
    table_free(&threads);
    return e == ERR_OK ? vector_add(&im->run->locks.contention, c) : e;
}

static enum err put_held_up(struct image *im, const struct locks *l)
{
    for (size_t i = 0; i < l->waits.count; i++) {
        const struct lock_wait *w = &l->waits.items[i];
        const size_t row = (size_t)im->threads.items[w->thread].row,
                     n = im->run->locks.held_up.count;
        if (row >= n) {
            TRY(vector_room(&im->run->locks.held_up, row + 1));
            memset(im->run->locks.held_up.items + n, 0, (row + 1 - n) * sizeof(double));
            im->run->locks.held_up.count = row + 1;
        }
        im->run->locks.held_up.items[row] += w->contention ? (double)(w->end - w->start) : 0;
    }
    return ERR_OK;
}

/* Keeps the waits for a replay of the threads. */
static enum err put_spans(struct image *im, const struct locks *l)
{
    for (size_t i = 0; i < l->waits.count && im->run->options->what_if; i++) {
        const struct lock_wait *w = &l->waits.items[i];
        const int taken = w->flags & TRACE_LOCK_TAKEN, more = w->flags & TRACE_LOCK_MORE;
        if (w->flags & TRACE_LOCK_SEEN)
            continue;
        TRY(vector_add(
            &im->run->locks.spans,
            ((struct lock_span){w->start, w->end, w->address, im->index,
                                im->threads.items[w->thread].row,
                                w->holder >= 0 ? im->threads.items[w->holder].row : -1, taken != 0,
                                !taken && !more && !(w->flags & TRACE_LOCK_WAITING)})));
    }
    return ERR_OK;
}

static enum err locks_attribute(struct image *im, void *state)
{
    struct locks *l = state;
    if (!l->waits.count)
        return ERR_OK;
    TRY(lock_places(im, l));
    TRY(lock_sweep(im, l));
    TRY(lock_rows(im, l));
    TRY(put_held_up(im, l));
    TRY(put_spans(im, l));
    return put_contention(im, l);
}

static const struct collected kinds[] = {
    {TRACE_LOCK, locks_wait, 0, COLLECTED_FLAG(has_locks)},
    {TRACE_SAMPLE, locks_sample, 1, 0}, /* who holds a lock is sampled where it runs */
    {TRACE_WAIT, locks_sleep, 0, 0},    /* and where it sleeps */
};
const struct collector collector_locks = {.state_bytes = sizeof(struct locks),
                                          COLLECTED(kinds),
                                          .attribute = locks_attribute,
                                          .free = locks_free};
