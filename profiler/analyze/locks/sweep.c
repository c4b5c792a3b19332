/* Through the waits of an image and the samples of its threads in order of time: who holds the lock
 * that is waited for, how many threads run meanwhile, and how many want to.
 *
 * A lock's holder is the one seen as a wait for it began, or by the recorder while it lasts, or the
 * thread whose own wait for it ended last. What it holds up is counted until its next sample as
 * a holder, which tells at which line that was. */
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "profiler/analyze/locks/locks_state.h"

#define TWO    1.5      /* threads that want to run: parts of them are means over a sample */
#define ASLEEP 10000000 /* ns: a holder that sleeps counts once in so long */
#define PIECES 1024     /* of one sleep */
#define LAST   20000000 /* ns */

enum event_type { STOPS, ENDS, SEEN, BEGINS, RUNS, SAMPLED }; /* in this order at one time */

struct event {
    uint64_t time;
    double value; /* RUNS, STOPS: part of the time on a CPU or ready for one; SAMPLED: ns */
    double on_cpu;
    uint32_t index;
    uint8_t type;
};
struct owed { /* waits that a thread caused since its last sample, of one row and lock */
    int row, thread;
    uint64_t address;
    double ns;
};
struct lock_thread {
    uint64_t begun;         /* of a wait that is told in parts */
    uint32_t wait;          /* that it is in, + 1; 0 none */
    uint64_t step, counted; /* when that was counted last */
    double held;  /* time in which it held what others waited for, since its last sample */
    double ready; /* for a CPU, since its last sample on one */
    const struct lock_place *last; /* of its samples as a holder */
    VECTOR(struct owed) owed;
};
struct lock_sweeper {
    struct image *im;
    struct locks *l;
    VECTOR(struct event) events;
    VECTOR(uint32_t) active; /* waits for what another thread holds */
    struct lock_thread *threads;
    double running, on_cpu; /* threads now */
    uint64_t steps;
};

ARRAY_ORDER(by_time, struct event, COMPARE(x->time, y->time) ?: COMPARE(x->type, y->type));

ARRAY_ORDER(wait_order, struct lock_wait,
            COMPARE(x->thread, y->thread) ?: COMPARE(x->start, y->start));

ARRAY_ORDER(sample_order, struct lock_sample,
            COMPARE(x->thread, y->thread) ?: COMPARE(x->end, y->end));

static enum err sweep_add_event(struct lock_sweeper *s, enum event_type type, uint64_t time,
                                size_t index, double value)
{
    return vector_add(&s->events, (struct event){time, value, 0, (uint32_t)index, (uint8_t)type});
}

static enum err runs_from(struct lock_sweeper *s, uint64_t from, uint64_t to, double part,
                          double on_cpu)
{
    if (to <= from)
        return ERR_OK;
    TRY(vector_add(&s->events, ((struct event){from, part, on_cpu, 0, RUNS})));
    return vector_add(&s->events, ((struct event){to, part, on_cpu, 0, STOPS}));
}

/* A thread ran for `cpu` within [from, to], or was ready for a CPU for `ready`, which is free of
 * waits but for those from `w` on. */
static enum err run_pieces(struct lock_sweeper *s, const struct lock_wait *w,
                           const struct lock_wait *last, uint64_t from, uint64_t to, double cpu,
                           double ready)
{
    uint64_t waited = 0;
    for (const struct lock_wait *k = w; k < last && k->start < to; k++) {
        uint64_t a = k->start > from ? k->start : from, b = k->end < to ? k->end : to;
        waited += b > a ? b - a : 0;
    }
    double left = to - from > waited ? (double)(to - from - waited) : 1;
    double on_cpu = cpu < left ? cpu / left : 1;
    double part = cpu + ready < left ? (cpu + ready) / left : 1;
    for (const struct lock_wait *k = w; from < to; k++) {
        uint64_t end = k < last && k->start < to ? k->start : to;
        TRY(runs_from(s, from, end, part, on_cpu));
        if (k >= last || k->start >= to)
            return ERR_OK;
        from = k->end > from ? k->end : from;
    }
    return ERR_OK;
}

/* When a thread ran: from its sample before on, at most twice as long as it ran and was ready for a
 * CPU, besides its waits. */
static enum err sweep_runs(struct lock_sweeper *s)
{
    struct locks *l = s->l;
    const struct lock_wait *w = l->waits.items, *last = w + l->waits.count;
    uint64_t before = 0, ready = 0;
    for (size_t i = 0; i < l->samples.count; i++) {
        const struct lock_sample *now = &l->samples.items[i];
        if (i && now->thread != l->samples.items[i - 1].thread)
            before = ready = 0;
        ready += now->doing == DOES_QUEUE ? now->weight : 0;
        if (now->doing != DOES_RUN)
            continue;
        while (w < last &&
               (w->thread < now->thread || (w->thread == now->thread && w->end <= before)))
            w++;
        const struct lock_wait *end = w;
        uint64_t span = 2 * (now->weight + ready), from;
        for (; end < last && end->thread == now->thread && end->start < now->end; end++)
            span += end->end - end->start;
        from = now->end > span ? now->end - span : 0;
        TRY(run_pieces(s, w, end, from > before ? from : before, now->end, (double)now->weight,
                       (double)ready));
        before = now->end;
        ready = 0;
    }
    return ERR_OK;
}

/* `ns` of the time from `from` on, in pieces; those that lie in waits from `w` on are left out. */
static enum err pieces_of(struct lock_sweeper *s, uint64_t from, uint64_t to, size_t sample,
                          double ns, const struct lock_wait *w, const struct lock_wait *last)
{
    uint64_t pieces = (to - from) / ASLEEP + 1, kept = 0;
    pieces = pieces < PIECES ? pieces : PIECES;
    for (int pass = 0; pass < 2; pass++) {
        const struct lock_wait *k = w;
        for (uint64_t i = 1; i <= pieces; i++) {
            uint64_t at = from + (to - from) / pieces * i;
            while (k < last && k->end < at)
                k++;
            if (k < last && k->start < at)
                continue;
            kept += !pass;
            if (pass)
                TRY(sweep_add_event(s, SAMPLED, at, sample, ns / (double)kept));
        }
    }
    return ERR_OK;
}

/* A thread's sleep between two looks at it counts as one, at the place of the second. Of that the
 * waits for locks are known; the rest belongs to the place where it slept otherwise. */
static enum err sweep_sleeps(struct lock_sweeper *s)
{
    struct locks *l = s->l;
    const struct lock_wait *w = l->waits.items, *last = w + l->waits.count;
    uint64_t before = 0;
    size_t place = l->samples.count; /* none yet */
    for (size_t i = 0; i < l->samples.count; i++) {
        const struct lock_sample *now = &l->samples.items[i];
        if (i && now->thread != l->samples.items[i - 1].thread) {
            before = 0;
            place = l->samples.count;
        }
        if (now->doing != DOES_SLEEP && now->doing != DOES_FUTEX)
            continue;
        place = now->doing == DOES_SLEEP ? i : place;
        uint64_t from = before && before < now->start ? before : now->start, waited = 0;
        while (w < last &&
               (w->thread < now->thread || (w->thread == now->thread && w->end <= from)))
            w++;
        const struct lock_wait *end = w;
        for (; end < last && end->thread == now->thread && end->start < now->end; end++)
            waited += (end->end < now->end ? end->end : now->end) -
                      (end->start > from ? end->start : from);
        if (place < l->samples.count && now->weight > waited)
            TRY(pieces_of(s, from, now->end, place, (double)(now->weight - waited), w, end));
        before = now->end;
    }
    return ERR_OK;
}

static enum err make_events(struct lock_sweeper *s)
{
    struct locks *l = s->l;
    for (size_t i = 0; i < l->waits.count; i++) {
        struct lock_wait *w = &l->waits.items[i];
        uint32_t holder =
            w->holder ? table_get(&s->im->thread_by_tid, (uint64_t)w->holder) : TABLE_NONE;
        w->holder = holder == TABLE_NONE ? NO_THREAD : (int)holder;
        if (w->flags & TRACE_LOCK_SEEN) { /* no wait */
            TRY(sweep_add_event(s, SEEN, w->start, i, 0));
            continue;
        }
        if (w->end <= w->start)
            continue;
        TRY(sweep_add_event(s, BEGINS, w->start, i, 0));
        TRY(sweep_add_event(s, ENDS, w->end, i, 0));
    }
    TRY(sweep_sleeps(s));
    for (size_t i = 0; i < l->samples.count; i++) {
        const struct lock_sample *p = &l->samples.items[i];
        if (p->doing == DOES_RUN)
            TRY(sweep_add_event(s, SAMPLED, p->end, i, (double)p->weight));
        else if (p->doing == DOES_QUEUE)
            TRY(pieces_of(s, p->start, p->end, i, (double)p->weight, NULL, NULL));
    }
    return sweep_runs(s);
}

static int same_frame(const struct lock_frame *a, const struct lock_frame *b)
{
    return a->file == b->file && a->line == b->line && a->function == b->function;
}

static enum err row_blame(struct lock_sweeper *s, const struct owed *owed,
                          const struct lock_place *at, int asleep, double ns)
{
    struct lock_row *r = &s->l->rows.items[owed->row];
    if (asleep && at->releases && r->kind == TRACE_LOCK_GIL)
        return ERR_OK; /* somebody else has taken it meanwhile */
    const uint64_t address = r->kind == TRACE_LOCK_GIL ? 0 : owed->address;
    struct lock_holder now = lock_section(s->l, address, owed->thread, at);
    now.asleep = asleep;
    now.ns = ns;
    r->known += ns;
    for (size_t i = 0; i < r->holders.count; i++) {
        struct lock_holder *h = &r->holders.items[i];
        if (same_frame(&h->at, &now.at) && same_frame(&h->locked, &now.locked) &&
            h->native == now.native && h->asleep == asleep) {
            h->ns += ns;
            return ERR_OK;
        }
    }
    return vector_add(&r->holders, now);
}

static struct lock_wait *sweep_waiting(struct lock_sweeper *s, size_t i)
{
    return &s->l->waits.items[s->active.items[i]];
}

/* All that wait for this lock know now who has it. */
static void sweep_held_by(struct lock_sweeper *s, uint64_t address, int holder)
{
    for (size_t i = 0; i < s->active.count; i++)
        if (sweep_waiting(s, i)->address == address && sweep_waiting(s, i)->thread != holder)
            sweep_waiting(s, i)->holder = holder;
}

static int waits_for_it(struct lock_sweeper *s, uint64_t address, int thread)
{
    uint32_t wait = s->threads[thread].wait;
    return wait && s->l->waits.items[wait - 1].address == address;
}

/* Does another thread hold what is waited for? A semaphore that the waiting thread took itself, or
 * one whose taker waits for it too, is a signal. */
static int wait_is_contention(struct lock_sweeper *s, const struct lock_wait *w)
{
    const struct lock_place *p = &s->l->places.items[w->stack];
    switch (w->kind) {
    case TRACE_LOCK_CONDITION:
        return 0;
    case TRACE_LOCK_SEMAPHORE:
        return w->holder != NO_THREAD && w->holder != w->thread && !p->signalling &&
               !waits_for_it(s, w->address, w->holder);
    case TRACE_LOCK_PYTHON:
        return !p->signalling;
    case TRACE_LOCK_FUTEX:
        return p->locking;
    default:
        return 1;
    }
}

static enum err sweep_wait_begins(struct lock_sweeper *s, uint32_t index)
{
    struct lock_wait *w = &s->l->waits.items[index];
    w->contention = wait_is_contention(s, w);
    TRY(lock_row_of(s->l, w, &w->row));
    if (w->contention)
        TRY(lock_asks(s->l, w->address, w->thread, w->stack));
    if (w->contention && w->holder != NO_THREAD)
        sweep_held_by(s, w->address, w->holder);
    s->threads[w->thread].wait = index + 1;
    return w->contention ? vector_add(&s->active, index) : ERR_OK;
}

static void sweep_wait_ends(struct lock_sweeper *s, uint32_t index)
{
    struct lock_wait *w = &s->l->waits.items[index];
    struct lock_row *r = &s->l->rows.items[w->row];
    uint64_t *begun = &s->threads[w->thread].begun;
    *begun = *begun ? *begun : w->start + 1;
    s->threads[w->thread].wait = 0;
    r->ns += (double)(w->end - w->start);
    double whole = (double)(w->end + 1 - *begun);
    r->longest = whole > r->longest ? whole : r->longest;
    for (size_t i = 0; i < s->active.count; i++)
        if (s->active.items[i] == index)
            s->active.items[i] = s->active.items[--s->active.count];
    if (w->flags & TRACE_LOCK_MORE)
        return;
    *begun = 0;
    r->waits++;
    r->readers += w->readers > 0;
    r->no_owner += w->holder == NO_THREAD;
    if (w->contention && w->flags & TRACE_LOCK_TAKEN)
        sweep_held_by(s, w->address, w->thread);
}

/* A part of what a thread caused goes to the line where it was. */
static enum err sweep_attribute_part(struct lock_sweeper *s, struct lock_thread *t,
                                     const struct lock_place *at, int asleep, double part)
{
    for (size_t i = 0; i < t->owed.count; i++) {
        struct owed *owed = &t->owed.items[i];
        double ns = part * owed->ns;
        TRY(row_blame(s, owed, at, asleep, ns));
        owed->ns -= ns;
        if (s->l->rows.items[owed->row].kind == TRACE_LOCK_GIL && !(asleep && at->releases))
            *(at->native ? &s->l->gil_native : &s->l->gil_python) += ns;
    }
    t->held -= part * t->held;
    t->owed.count = part < 1 ? t->owed.count : 0;
    return ERR_OK;
}

static enum err thread_owes(struct lock_thread *t, const struct owed *more)
{
    for (size_t i = 0; i < t->owed.count; i++)
        if (t->owed.items[i].row == more->row && t->owed.items[i].address == more->address) {
            t->owed.items[i].ns += more->ns;
            return ERR_OK;
        }
    return vector_add(&t->owed, *more);
}

static int thread_holds(struct lock_sweeper *s, int thread)
{
    for (size_t i = 0; i < s->active.count; i++)
        if (sweep_waiting(s, i)->holder == thread)
            return 1;
    return 0;
}

static enum err sweep_sampled(struct lock_sweeper *s, uint32_t index, double ns)
{
    const struct lock_sample *p = &s->l->samples.items[index];
    struct lock_thread *t = &s->threads[p->thread];
    const struct lock_place *at = &s->l->places.items[p->stack];
    if (p->doing == DOES_RUN) {
        /* at most twice what it ran and was ready: who sleeps behind the lock is not at this line, nor
         * is the time that the one whom it woke needs to get a CPU */
        const double here = 2 * (ns + t->ready);
        t->ready = 0;
        if (!thread_holds(s, p->thread))
            return ERR_OK; /* it has let go since: this is another line */
        t->last = at;
        return sweep_attribute_part(s, t, at, 0, here < t->held ? here / t->held : 1);
    }
    if (p->doing == DOES_SLEEP) /* what it waits for is told by records of its own */
        return t->wait || !(t->held > 0)
                   ? ERR_OK
                   : sweep_attribute_part(s, t, at, 1, ns < t->held ? ns / t->held : 1);
    t->ready += ns;
    for (size_t i = 0; i < s->active.count; i++)
        if (sweep_waiting(s, i)->holder == p->thread)
            s->l->rows.items[sweep_waiting(s, i)->row].queued += ns;
    return ERR_OK;
}

/* Not counted in this step yet, as one that waits or holds. */
static int is_new(const struct lock_sweeper *s, struct lock_thread *t)
{
    int first = t->counted != s->steps;
    t->counted = s->steps;
    return first;
}

/* From the last event to this one. A holder that waits for a lock itself is where it waits. */
static enum err sweep_count(struct lock_sweeper *s, double ns)
{
    size_t waits = s->active.count, threads = 0, gil = 0;
    s->steps++;
    for (size_t i = 0; i < waits; i++) {
        const struct lock_wait *w = sweep_waiting(s, i);
        struct lock_thread *holder = w->holder != NO_THREAD ? &s->threads[w->holder] : NULL;
        const struct owed owed = {w->row, w->holder, w->address, ns};
        threads += is_new(s, &s->threads[w->thread]);
        if (holder && is_new(s, holder)) {
            threads++;
            gil += w->kind == TRACE_LOCK_GIL;
        }
        if (holder && holder->wait)
            TRY(row_blame(s, &owed, &s->l->places.items[s->l->waits.items[holder->wait - 1].stack],
                          1, ns));
        else if (holder)
            TRY(thread_owes(holder, &owed));
        if (holder && holder->step != s->steps) { /* once, however many wait for it */
            holder->step = s->steps;
            holder->held += ns;
        }
    }
    /* a holder that sleeps would go on beside the others; that of the GIL is seen late */
    const double want = fmax(s->running + (double)waits, (double)(threads - gil));
    s->l->any += waits ? ns : 0;
    s->l->most = threads > s->l->most ? threads : s->l->most;
    if (want < TWO)
        return ERR_OK;
    s->l->both += ns;
    s->l->ran += s->running * ns;
    s->l->on_cpu += s->on_cpu * ns;
    s->l->wanted += want * ns;
    return ERR_OK;
}

static enum err go_through(struct lock_sweeper *s)
{
    uint64_t last = 0;
    for (size_t i = 0; i < s->events.count; i++) {
        const struct event *e = &s->events.items[i];
        if (e->time > last)
            TRY(sweep_count(s, (double)(e->time - last)));
        last = e->time;
        if (e->type == BEGINS)
            TRY(sweep_wait_begins(s, e->index));
        else if (e->type == ENDS)
            sweep_wait_ends(s, e->index);
        else if (e->type == SEEN)
            sweep_held_by(s, s->l->waits.items[e->index].address,
                          s->l->waits.items[e->index].holder);
        else if (e->type == SAMPLED)
            TRY(sweep_sampled(s, e->index, e->value));
        else {
            s->running += e->type == RUNS ? e->value : -e->value;
            s->on_cpu += e->type == RUNS ? e->on_cpu : -e->on_cpu;
        }
    }
    /* After its last sample as a holder a thread is where that was, for as long as samples are
     * apart. */
    for (size_t i = 0; i < s->im->threads.count; i++)
        if (s->threads[i].last && s->threads[i].held < LAST)
            TRY(sweep_attribute_part(s, &s->threads[i], s->threads[i].last, 0, 1));
    return ERR_OK;
}

enum err lock_sweep(struct image *im, struct locks *l)
{
    struct lock_sweeper s = {.im = im, .l = l};
    vector_sort(&s.l->waits, wait_order);
    vector_sort(&s.l->samples, sample_order);
    s.threads = calloc(im->threads.count, sizeof *s.threads);
    enum err e = s.threads ? make_events(&s) : FAIL(ERR_MEMORY, "no memory for the locks");
    if (e == ERR_OK) {
        vector_sort(&s.events, by_time);
        e = go_through(&s);
    }
    for (size_t i = 0; i < im->threads.count && s.threads; i++)
        vector_free(&s.threads[i].owed);
    vector_free(&s.events);
    vector_free(&s.active);
    free(s.threads);
    return e;
}
