/* The critical path of the run's wall time: who has each moment.
 * The path is looked at in MOMENTS moments: the main thread of the first process that lives has
 * each of them, with its parts on a CPU, waiting and ready for a CPU. Where it waits for others (a
 * lock, a join, a child), those have that part who work or wait for something else meanwhile. What
 * was ready for a CPU belongs to no line: it depends on the neighbours. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profiler/analyze/attribute/sites.h"
#include "profiler/analyze/build/build.h"

enum { MOMENTS = 16384 };
#define GAP_NS     100000000 /* a thread of which nothing is known for less goes on: sleeps are told */
#define BETWEEN_NS 1000000000 /* likewise where it is seen again: under load looks come late */
#define WORKING    0.05       /* of its time on a CPU: more than a thread that beats the time */
#define NO_THREAD  (-1)

struct doing {                  /* of a thread at one moment, parts of it */
    double cpu, wait, ready;    /* seen */
    double led_cpu, led_wait;   /* that others wait for */
    double led_ready, leads;    /* leads: the sum, at most 1 */
    const struct moment_of *at; /* on a CPU rather than waiting; NULL: nothing is known */
};
struct thread_whole {              /* of a thread, over the run */
    struct moment_of last, latest; /* so far, on a CPU; on it or waiting */
    uint64_t final;                /* after it nothing is known */
    double cpu, asleep;            /* ns; waits for a held lock are left out */
};
struct walk {
    struct run *r;
    VECTOR(size_t) active;
    size_t next;
    struct doing *threads;      /* by row */
    struct thread_whole *whole; /* likewise */
    char *foreign;              /* by process: another program, without own code */
    double step;                /* ns */
    uint64_t until, between; /* nobody begins or ends anything before; a gap may last until then */
    int steps;               /* moments alike, which are attributed together */
    double now;              /* s: the first of them */
    struct queues queues;
    enum err e;
};
/* Threads are asked in this order whether others wait for them. */
enum others { OTHERS_WORKING, OTHERS_BETWEEN, OTHERS_ANY, OTHERS_FOREIGN, OTHERS };

ARRAY_ORDER(by_start, struct moment_of, COMPARE(x->start, y->start));

/* Part of the moment: the interval may hold several, merged, with gaps. */
static double moment_part(const struct moment_of *m)
{
    return m->end > m->start ? fmin(1, (double)m->busy / (double)(m->end - m->start)) : 0;
}

static const struct moment_of *walk_active(const struct walk *w, size_t i)
{
    return &w->r->moments.items[w->active.items[i]];
}

/* Finds what each thread does at time t. */
static enum err walk_moment(struct walk *w, uint64_t t)
{
    struct run *r = w->r;
    for (size_t i = 0; i < w->active.count; i++)
        w->threads[walk_active(w, i)->thread] = (struct doing){0};
    for (; w->next < r->moments.count && r->moments.items[w->next].start <= t; w->next++)
        TRY(vector_add(&w->active, w->next));
    w->until = w->next < r->moments.count ? r->moments.items[w->next].start : UINT64_MAX;
    size_t kept = 0;
    for (size_t i = 0; i < w->active.count; i++) {
        const struct moment_of *m = walk_active(w, i);
        if (!m->waiting && (m->end > w->whole[m->thread].last.end || !w->whole[m->thread].last.end))
            w->whole[m->thread].last = *m;
        if (m->end > w->whole[m->thread].latest.end)
            w->whole[m->thread].latest = *m;
        if (m->end <= t) {
            w->between = m->end + BETWEEN_NS > w->between ? m->end + BETWEEN_NS : w->between;
            continue;
        }
        w->until = m->end < w->until ? m->end : w->until;
        w->active.items[kept++] = w->active.items[i];
        struct doing *s = &w->threads[m->thread];
        const double part = moment_part(m);
        s->cpu += m->waiting ? 0 : part;
        s->wait += m->waiting ? part * (1 - m->ready) : 0;
        s->ready += m->waiting ? part * m->ready : 0;
        if (!s->at || (s->at->waiting && !m->waiting))
            s->at = m;
    }
    w->active.count = kept;
    w->until = w->between > t && w->between < w->until ? w->between : w->until;
    return ERR_OK;
}

/* Finds the place of a thread: ready for a CPU, it is where it computed last. */
static const struct moment_of *moment_place(const struct walk *w, const struct moment_of *m)
{
    return m->waiting && m->waits == WAITS_READY ? &w->whole[m->thread].last : m;
}

static struct own_node *moment_own(const struct walk *w, const struct moment_of *m)
{
    const struct moment_of *at = moment_place(w, m);
    return &w->r->own.items[at->end ? at->own : 0];
}

static int is_of_worker(const struct walk *w, const struct moment_of *m)
{
    return !w->foreign[m->process] && !strcmp(moment_own(w, m)->kind, "workers");
}

static int is_own_code(const struct walk *w, const struct moment_of *m)
{
    return !strcmp(moment_own(w, m)->kind, "code");
}

/* The own line that waits for a thread without own code: that at which other threads of its process
 * than the root wait, where they wait at one; else the root's. */
static uint32_t waiter_of(const struct walk *w, const struct moment_of *m,
                          const struct moment_of *root)
{
    const struct moment_of *only = NULL;
    for (size_t i = 0; i < w->active.count; i++) {
        const struct moment_of *o = walk_active(w, i);
        if (o->process != m->process || o->thread == m->thread || o->thread == root->thread ||
            !o->waiting || o->idle || (o->waits != WAITS_LOCK && o->waits != WAITS_POLL) ||
            !is_own_code(w, o))
            continue;
        if (only && w->r->own.items[only->own].site != w->r->own.items[o->own].site)
            return root->own;
        only = o;
    }
    return only ? only->own : root->own;
}

/* The node of a thread without own code below the line that waits for it; NULL: no memory. */
static struct own_node *worker_node(struct walk *w, const struct moment_of *m,
                                    const struct moment_of *root)
{
    uint32_t node;
    enum err e = own_workers(w->r, waiter_of(w, m, root), m->process, &node);
    w->e = w->e ? w->e : e;
    return e ? NULL : &w->r->own.items[node];
}

/* `root` waits for it; NULL: nobody does. */
static void walk_attribute(struct walk *w, const struct moment_of *m, const struct moment_of *root,
                           double part)
{
    struct own_node *own = NULL;
    if (root && root->waits != WAITS_SLEEP && !m->waiting && is_of_worker(w, m) &&
        is_own_code(w, root))
        own = worker_node(w, m, root);
    own = own ? own : moment_own(w, m);
    const double ns = part * w->step * w->steps;
    *(m->waiting ? &own->path_wait[m->idle ? WAITS_REQUESTS : m->waits] : &own->path_cpu) += ns;
    const int asks = m->waits == WAITS_CHILD || m->waits == WAITS_IO || m->waits == WAITS_EVENTS;
    if (m->waiting && asks && ns > 0 && !w->e)
        w->e = child_waits_add(w->r, (uint32_t)(own - w->r->own.items), m->process, w->now, ns);
}

static void walk_ready(struct walk *w, double part)
{
    w->r->path_ready += part * w->step * w->steps;
}

/* 1: `m` is waited for by a thread that waits for others. `computes`: or is ready to. */
static int moment_leads(const struct moment_of *m, int computes, const struct moment_of *root)
{
    int elsewhere = !root || m->process != root->process;
    if (root && m->thread == root->thread)
        return 0;
    if (computes) /* who sleeps meanwhile could not go on, or has nothing else to do */
        return !root || root->waits >= WAITS_EVENTS || root->waits == WAITS_SLEEP || elsewhere;
    if (m->waits >= WAITS_LOCK || m->waits == WAITS_DEVICE || m->waits == WAITS_READY || !root ||
        root->waits == WAITS_SLEEP)
        return 0;
    if (root->waits == WAITS_CHILD)
        return elsewhere;
    return root->waits >= WAITS_LOCK ||
           (root->waits == WAITS_EVENTS && elsewhere && m->waits < WAITS_EVENTS);
}

static int thread_works(const struct walk *w, int row)
{
    const struct thread_whole *of = &w->whole[row];
    return of->cpu > WORKING * (of->cpu + of->asleep);
}

/* A child without own code (gzip, ffmpeg): the line that waits for it is the answer, or for its
 * pipe. */
static int is_foreign_child(const struct walk *w, const struct moment_of *m,
                            const struct moment_of *root)
{
    const int waits = root && root->waits != WAITS_LOCK;
    return waits && m->process != root->process && is_own_code(w, root) && !is_own_code(w, m) &&
           !is_of_worker(w, m);
}

/* A wait of a thread without own code tells nobody anything; the own line that waits for it
 * does. */
static int waits_unseen(const struct walk *w, const struct moment_of *m,
                        const struct moment_of *root)
{
    return is_of_worker(w, m) || (root && is_own_code(w, root) && !is_own_code(w, m));
}

static int others_asked(const struct walk *w, enum others who, const struct moment_of *m,
                        const struct moment_of *root)
{
    return is_foreign_child(w, m, root) == (who == OTHERS_FOREIGN) &&
           (who >= OTHERS_ANY || thread_works(w, m->thread));
}

/* Finds for each thread which part of the moment others wait for; their sum. */
static double others_lead(struct walk *w, enum others who, const struct moment_of *root)
{
    double all = 0;
    for (size_t i = 0; i < w->active.count; i++) {
        struct doing *s = &w->threads[walk_active(w, i)->thread];
        s->led_cpu = s->led_wait = s->led_ready = s->leads = 0;
    }
    for (size_t i = 0; i < w->active.count; i++) {
        const struct moment_of *m = walk_active(w, i);
        struct doing *s = &w->threads[m->thread];
        const double part = moment_part(m);
        if (!others_asked(w, who, m, root))
            continue;
        if (moment_leads(m, 1, root)) {
            s->led_cpu += m->waiting ? 0 : part;
            s->led_ready += m->waiting && m->waits < WAITS_LOCK ? part * m->ready : 0;
        }
        if (m->waiting && moment_leads(m, 0, root) && !waits_unseen(w, m, root))
            s->led_wait += part * (1 - m->ready);
    }
    for (size_t i = 0; i < w->active.count; i++) {
        struct doing *s = &w->threads[walk_active(w, i)->thread];
        if (s->leads > 0)
            continue;
        if (s->led_cpu > 0) /* the rest of the interval, in which it had no CPU */
            s->led_ready = fmax(s->led_ready, 1 - s->cpu - s->wait);
        const double cpu = fmin(1, s->led_cpu), wait = fmin(1 - cpu, s->led_wait);
        s->leads = cpu + wait + fmin(1 - cpu - wait, s->led_ready);
        all += s->leads;
    }
    return all;
}

/* Threads share it by what others wait for in them; the rest of it. */
static double others_share(struct walk *w, enum others who, const struct moment_of *root,
                           double part)
{
    const double all = others_lead(w, who, root), each = part / fmax(1, all);
    for (size_t i = 0; i < w->active.count; i++) {
        const struct moment_of *m = walk_active(w, i);
        struct doing *s = &w->threads[m->thread];
        if (!(s->leads > 0) || !others_asked(w, who, m, root))
            continue;
        const double cpu = fmin(1, s->led_cpu), wait = fmin(1 - cpu, s->led_wait);
        const struct moment_of *to = who == OTHERS_FOREIGN ? root : m;
        if (!m->waiting && cpu > 0 && moment_leads(m, 1, root))
            walk_attribute(w, to, root, each * cpu * moment_part(m) / s->led_cpu);
        else if (m->waiting && wait > 0 && moment_leads(m, 0, root) && !waits_unseen(w, m, root))
            walk_attribute(w, to, root,
                           each * wait * moment_part(m) * (1 - m->ready) / s->led_wait);
        walk_ready(w, each * (s->leads - cpu - wait)); /* once for each thread */
        s->led_ready = 0;
        s->leads = cpu + wait;
    }
    return part * (1 - fmin(1, all));
}

/* 1: a thread that works is between two intervals, of which nothing is known. */
static int others_between(const struct walk *w, uint64_t t, const struct moment_of *root)
{
    for (size_t i = 0; i < w->r->threads.count; i++) {
        const struct moment_of *m = &w->whole[i].latest;
        if (m->end && m->end <= t && t < w->whole[i].final && t - m->end < BETWEEN_NS &&
            !w->threads[i].at && moment_leads(m, 1, root) &&
            others_asked(w, OTHERS_BETWEEN, m, root))
            return 1;
    }
    return 0;
}

/* A thread waits for others that seem asleep, or for another program: part of the time around `t` in which
 * one of them was ready for a CPU. */
static double others_late(const struct walk *w, uint64_t t, const struct moment_of *root)
{
    double most = 0;
    for (size_t i = 0; i < w->r->threads.count; i++) {
        const int process = w->r->threads.items[i].process;
        const int asked = root->waits == WAITS_LOCK
                              ? (int)i != root->thread && process == root->process
                              : root->waits != WAITS_DEVICE && w->foreign[process];
        if (asked && thread_works(w, (int)i))
            most = fmax(most, queues_share(&w->queues, (int)i, (double)t));
    }
    return most;
}

/* Adds what workers without own code compute while a line waits for them, or goes on between two
 * such waits: short ones are not seen. */
static void workers_hang(struct walk *w, const struct moment_of *root, double part, int waits)
{
    if (!is_own_code(w, root) || (!waits && !moment_own(w, root)->has_workers))
        return;
    for (size_t i = 0; i < w->active.count; i++) {
        const struct moment_of *m = walk_active(w, i);
        if (m->waiting || !is_of_worker(w, m) || m->thread == root->thread)
            continue;
        struct own_node *own = worker_node(w, m, root);
        if (!own)
            return;
        own->pool = m->own;
        own->waited_ns += part * moment_part(m) * w->step * w->steps;
        moment_own(w, root)->has_workers = 1;
    }
}

/* Gives the part to those that the thread waits for; the rest of it, for which there is nobody. */
static double walk_attribute_others(struct walk *w, uint64_t t, const struct moment_of *root,
                                    double part)
{
    const enum others last = /* threads that beat the time lead nobody */
        root && root->waits == WAITS_SLEEP ? OTHERS_ANY : OTHERS;
    for (enum others who = 0; who < last && part > 1e-9; who++) {
        if (who != OTHERS_BETWEEN)
            part = others_share(w, who, root, part);
        else if (others_between(w, t, root)) {
            walk_ready(w, part);
            part = 0;
        }
    }
    double woken = 0; /* all wait for each other: who is ready for a CPU holds them up */
    for (size_t i = 0; i < w->active.count && part > 0 && root; i++) {
        const struct moment_of *m = walk_active(w, i);
        woken += m->waiting && m->thread != root->thread && thread_works(w, m->thread)
                     ? moment_part(m) * m->ready
                     : 0;
    }
    const double late = root && part > 0 ? others_late(w, t, root) : 0;
    woken = fmin(1, fmax(woken, late));
    walk_ready(w, part * woken);
    part *= 1 - woken;
    const int starts =
        part > 0 && child_waits_ready(w->r, root, t, w->active.items, w->active.count);
    walk_ready(w, starts ? part : 0);
    return starts ? 0 : part;
}

/* The main thread of the first process that lives at `t`. */
static int main_thread(const struct run *r, double t, const int *mains)
{
    for (size_t p = 0; p < r->processes.count; p++)
        if (r->processes.items[p].start_s <= t && t < r->processes.items[p].end_s)
            return mains[p];
    return NO_THREAD;
}

static void walk_attribute_main(struct walk *w, uint64_t t, int row)
{
    double rest = 1;
    for (size_t i = 0; i < w->active.count; i++) {
        const struct moment_of *m = walk_active(w, i);
        struct moment_of root = *m;
        double part = moment_part(m);
        if (m->thread != row)
            continue;
        root.waits = m->polls ? WAITS_POLL : m->waits;
        if (m->waiting) {
            walk_ready(w, part * m->ready);
            part *= 1 - m->ready;
            if (root.waits != WAITS_SLEEP && root.waits != WAITS_DEVICE) {
                workers_hang(w, &root, part, 1);
                rest -= part;
            }
            if (root.waits != WAITS_DEVICE)
                part = walk_attribute_others(w, t, &root, part);
        }
        walk_attribute(w, m, NULL, part);
    }
    workers_hang(w, w->threads[row].at, fmax(0, rest), 0);
}

static uint64_t walk_time(const struct walk *w, int i)
{
    return (uint64_t)((i + 0.5) * w->step);
}

/* Counts the moments from `i` on in which all threads do the same. */
static int walk_alike(const struct walk *w, int i, int row, const int *mains)
{
    int n = 1;
    for (; i + n < MOMENTS; n++) {
        const uint64_t t = walk_time(w, i + n);
        if (t >= w->until || main_thread(w->r, ns_to_seconds((double)t), mains) != row)
            break;
    }
    return n;
}

static enum err walk_follow(struct walk *w, const int *mains)
{
    struct run *r = w->r;
    int starting = 0, working = 0; /* moments; of others, as before a CPU was free, none is known */
    double imported_s = 0;         /* what the interpreter imports as it ends is not of the start */
    uint64_t seen = 0;             /* when the main thread was last */
    for (int i = 0; i < MOMENTS; i += w->steps) {
        const uint64_t t = walk_time(w, i);
        w->now = ns_to_seconds((double)t);
        TRY(walk_moment(w, t));
        const int row = main_thread(r, ns_to_seconds((double)t), mains);
        const struct moment_of *at = row >= 0 ? w->threads[row].at : NULL;
        const int between = row >= 0 && !at && seen && t - seen < GAP_NS;
        if (between)
            w->until = seen + GAP_NS < w->until ? seen + GAP_NS : w->until;
        w->steps = at && at->waits == WAITS_CHILD ? 1 : walk_alike(w, i, row, mains);
        const uint64_t last = walk_time(w, i + w->steps - 1);
        const char *kind = at ? moment_own(w, at)->kind : "none";
        starting += !strcmp(kind, "import") || !strcmp(kind, "run") ? w->steps : 0;
        working += !strcmp(kind, "code") ? w->steps : 0;
        if (!strcmp(kind, "import") && starting > working)
            imported_s = ns_to_seconds((double)last + w->step);
        if (!strcmp(kind, "code"))
            r->imports_s = imported_s;
        seen = at ? last : seen;
        if (at)
            walk_attribute_main(w, t, row);
        else if (!between)
            walk_attribute_others(w, t, NULL, 1);
        else
            workers_hang(w, &w->whole[row].last, 1, 0);
        TRY(w->e);
    }
    r->imports_s = r->imports_s > 0 ? r->imports_s : imported_s;
    return ERR_OK;
}

enum err build_path(struct run *r)
{
    if (r->last <= r->origin || !r->own.count || !r->moments.count)
        return ERR_OK;
    vector_sort(&r->moments, by_start);
    struct walk w = {.r = r, .step = (double)(r->last - r->origin) / MOMENTS};
    int *mains = calloc(r->processes.count + 1, sizeof *mains);
    w.threads = calloc(r->threads.count + 1, sizeof *w.threads);
    w.whole = calloc(r->threads.count + 1, sizeof *w.whole);
    w.foreign = calloc(r->processes.count + 1, 1);
    enum err e = mains && w.threads && w.whole && w.foreign
                     ? ERR_OK
                     : FAIL(ERR_MEMORY, "no memory for the critical path");
    if (e == ERR_OK)
        child_waits_foreign(r, w.foreign);
    for (size_t i = 0; i < r->moments.count && e == ERR_OK; i++) {
        const struct moment_of *m = &r->moments.items[i];
        struct thread_whole *of = &w.whole[m->thread];
        of->final = m->end > of->final ? m->end : of->final;
        of->cpu += m->waiting ? 0 : (double)m->busy;
        of->asleep += m->waiting ? (1 - m->ready) * (double)m->busy : 0;
    }
    for (size_t i = 0; i < r->locks.held_up.count && i < r->threads.count && e == ERR_OK; i++)
        w.whole[i].asleep = fmax(0, w.whole[i].asleep - r->locks.held_up.items[i]);
    if (e == ERR_OK)
        e = queues_make(r, &w.queues);
    for (size_t p = 0; p < r->processes.count && e == ERR_OK; p++)
        mains[p] = NO_THREAD;
    for (size_t i = 0; i < r->threads.count && e == ERR_OK; i++)
        if (r->threads.items[i].main)
            mains[r->threads.items[i].process] = (int)i;
    if (e == ERR_OK)
        e = walk_follow(&w, mains);
    if (e == ERR_OK && r->has_wait)
        r->m->totals.path_ready_s = ns_to_seconds(r->path_ready);
    free(mains);
    free(w.threads);
    free(w.whole);
    free(w.foreign);
    queues_free(&w.queues);
    vector_free(&w.active);
    return e;
}
