/* The critical path of the run's wall time, and the call tree of own code as rows of the model.
 * The path is looked at in MOMENTS moments: the main thread of the first process that lives has
 * each of them. Where it waits for others (a lock, a join, a child), those have it who work or wait
 * for something else meanwhile. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profiler/analyze/build/build.h"

enum { MOMENTS = 16384 };
#define GAP_NS                                                                                     \
    100000000 /* a thread of which nothing is known for less is where it was: sleeps are told */
#define WORKING    0.05 /* of its time on a CPU: more than a thread that beats the time */
#define NO_THREAD  (-1)
#define WORK_LEAST 0.0005 /* of the CPU time */

struct doing {                          /* of a thread at one moment */
    const struct moment_of *at, *other; /* other: where it computes and waits in turns */
    double part, other_part;            /* busy share of the interval */
};
struct walk {
    struct run *r;
    VECTOR(size_t) active;
    size_t next;
    struct doing *threads;  /* by row */
    VECTOR(int) rows;       /* those that were seen */
    struct moment_of *last; /* by row, on a CPU */
    double step;            /* ns */
    uint64_t until;         /* before it nobody begins or ends anything */
    int steps;              /* moments alike, which are attributed together */
};

ARRAY_ORDER(by_start, struct moment_of, COMPARE(x->start, y->start));

/* Finds the work of each thread at time t. */
static enum err walk_moment(struct walk *w, uint64_t t)
{
    struct run *r = w->r;
    for (; w->next < r->moments.count && r->moments.items[w->next].start <= t; w->next++)
        TRY(vector_add(&w->active, w->next));
    w->until = w->next < r->moments.count ? r->moments.items[w->next].start : UINT64_MAX;
    for (size_t i = 0; i < w->rows.count; i++)
        w->threads[w->rows.items[i]] = (struct doing){0};
    w->rows.count = 0;
    size_t kept = 0;
    for (size_t i = 0; i < w->active.count; i++) {
        const struct moment_of *m = &r->moments.items[w->active.items[i]];
        if (!m->waiting && (m->end > w->last[m->thread].end || !w->last[m->thread].end))
            w->last[m->thread] = *m;
        if (m->end <= t)
            continue;
        w->active.items[kept++] = w->active.items[i];
        w->until = m->end < w->until ? m->end : w->until;
        struct doing *s = &w->threads[m->thread];
        double part = m->end > m->start ? (double)m->busy / (double)(m->end - m->start) : 0;
        if (!s->at)
            TRY(vector_add(&w->rows, m->thread));
        int exact = s->at && s->at->waiting && !m->waiting; /* ends of waits are seen late */
        if (!s->at || part > s->part || (exact && part >= s->part))
            *s = (struct doing){m, s->at, part, s->part};
        else if (!s->other || part > s->other_part)
            *s = (struct doing){s->at, m, s->part, part};
    }
    w->active.count = kept;
    return ERR_OK;
}

/* A thread that is ready for a CPU is where it computed last. */
static int moment_computes(const struct moment_of *m)
{
    return !m->waiting || m->waits == WAITS_READY;
}

/* Adds once for each moment: a product would be rounded differently. */
static void walk_attribute(struct walk *w, const struct moment_of *m, double part)
{
    const struct moment_of *at = m->waiting && m->waits == WAITS_READY ? &w->last[m->thread] : m;
    struct own_node *own = &w->r->own.items[at->end ? at->own : 0];
    double *to =
        moment_computes(m) ? &own->path_cpu : &own->path_wait[m->idle ? WAITS_REQUESTS : m->waits];
    double sum = *to;
    for (int i = 0; i < w->steps; i++)
        sum += part * w->step;
    *to = sum;
}

/* Both states share the moment of a thread that computes and waits for shorter than it is looked
 * at. */
static void walk_attribute_both(struct walk *w, const struct doing *d)
{
    const int own_wait = d->other && d->other->waits <= WAITS_IO;
    const int in_turns = d->other && moment_computes(d->at) != moment_computes(d->other) &&
                         (moment_computes(d->other) || own_wait) && d->part + d->other_part > 0;
    const double first = in_turns ? d->part / (d->part + d->other_part) : 1;
    walk_attribute(w, d->at, first);
    if (in_turns)
        walk_attribute(w, d->other, 1 - first);
}

/* 1: `m` is waited for by a thread that waits for others. */
static int moment_leads(const struct moment_of *m, const struct moment_of *root)
{
    int elsewhere = !root || m->process != root->process;
    if (m == root)
        return 0;
    if (moment_computes(m))
        return !root || root->waits >= WAITS_EVENTS || elsewhere;
    if (m->waits >= WAITS_LOCK || m->waits == WAITS_DEVICE || !root)
        return 0;
    return root->waits >= WAITS_LOCK ||
           (root->waits == WAITS_EVENTS && elsewhere && m->waits < WAITS_EVENTS);
}

static int thread_works(const struct walk *w, int row)
{
    const struct model_thread *t = &w->r->threads.items[row];
    double cpu = (t->user_s > 0 ? t->user_s : 0) + (t->sys_s > 0 ? t->sys_s : 0);
    return cpu > WORKING * (cpu + (t->wait_s > 0 ? t->wait_s : 0));
}

static int is_own_code(const struct walk *w, const struct moment_of *m)
{
    const struct moment_of *at = m->waiting && m->waits == WAITS_READY ? &w->last[m->thread] : m;
    return !strcmp(w->r->own.items[at->end ? at->own : 0].kind, "code");
}

/* A child without own code (gzip, ffmpeg): the line that waits for it is the answer, or for its
 * pipe. */
static int is_foreign_child(const struct walk *w, const struct moment_of *m,
                            const struct moment_of *root)
{
    const int waits = root && (root->waits == WAITS_CHILD || root->waits == WAITS_POLL ||
                               root->waits == WAITS_IO || root->waits == WAITS_EVENTS);
    return waits && m->process != root->process && is_own_code(w, root) && !is_own_code(w, m);
}

/* A wait of a thread without own code tells nobody anything; the own line that waits for it
 * does. */
static int waits_unseen(const struct walk *w, const struct moment_of *m,
                        const struct moment_of *root)
{
    return root && !moment_computes(m) && is_own_code(w, root) && !is_own_code(w, m);
}

/* Those that lead share the moment; threads that work go before those that only wait. */
static int walk_attribute_others(struct walk *w, const struct moment_of *root)
{
    for (int strict = 1; strict >= 0; strict--) {
        int n = 0;
        for (int pass = 0; pass < 2; pass++)
            for (size_t i = 0; i < w->rows.count; i++) {
                const struct moment_of *m = w->threads[w->rows.items[i]].at;
                if (!moment_leads(m, root) || is_foreign_child(w, m, root) ||
                    waits_unseen(w, m, root) || (strict && !thread_works(w, m->thread)))
                    continue;
                n += !pass;
                if (pass)
                    walk_attribute(w, m, 1.0 / n);
            }
        if (n)
            return 1;
    }
    return 0;
}

/* The main thread of the first process that lives at `t`. */
static int main_thread(const struct run *r, double t, const int *mains)
{
    for (size_t p = 0; p < r->processes.count; p++)
        if (r->processes.items[p].start_s <= t && t < r->processes.items[p].end_s)
            return mains[p];
    return NO_THREAD;
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
    for (int i = 0; i < MOMENTS; i += w->steps) {
        uint64_t t = walk_time(w, i);
        TRY(walk_moment(w, t));
        int row = main_thread(r, ns_to_seconds((double)t), mains);
        const struct moment_of *root = row >= 0 ? w->threads[row].at : NULL;
        const struct moment_of *last = row >= 0 ? &w->last[row] : NULL;
        if (!root && last && last->end && t >= last->end && t - last->end < GAP_NS) {
            root = last;
            w->until = last->end + GAP_NS < w->until ? last->end + GAP_NS : w->until;
        }
        w->steps = walk_alike(w, i, row, mains);
        const char *kind = root ? r->own.items[root->own].kind : "none";
        starting += !strcmp(kind, "import") || !strcmp(kind, "run") ? w->steps : 0;
        working += !strcmp(kind, "code") ? w->steps : 0;
        if (!strcmp(kind, "import") && starting > working)
            imported_s = ns_to_seconds((double)walk_time(w, i + w->steps - 1) + w->step);
        if (!strcmp(kind, "code"))
            r->imports_s = imported_s;
        const struct doing of_last = {.at = root, .part = 1};
        const struct doing *d = root && root != last ? &w->threads[row] : &of_last;
        if (root &&
            (moment_computes(root) || root->waits == WAITS_SLEEP || root->waits == WAITS_DEVICE))
            walk_attribute_both(w, d);
        else if (!walk_attribute_others(w, root) && root)
            walk_attribute_both(w, d);
    }
    r->imports_s = r->imports_s > 0 ? r->imports_s : imported_s;
    return ERR_OK;
}

static enum err critical_path(struct run *r)
{
    if (r->last <= r->origin || !r->own.count || !r->moments.count)
        return ERR_OK;
    vector_sort(&r->moments, by_start);
    struct walk w = {.r = r, .step = (double)(r->last - r->origin) / MOMENTS};
    int *mains = calloc(r->processes.count + 1, sizeof *mains);
    w.threads = calloc(r->threads.count + 1, sizeof *w.threads);
    w.last = calloc(r->threads.count + 1, sizeof *w.last);
    enum err e =
        mains && w.threads && w.last ? ERR_OK : FAIL(ERR_MEMORY, "no memory for the critical path");
    for (size_t p = 0; p < r->processes.count && e == ERR_OK; p++)
        mains[p] = NO_THREAD;
    for (size_t i = 0; i < r->threads.count && e == ERR_OK; i++)
        if (r->threads.items[i].main)
            mains[r->threads.items[i].process] = (int)i;
    if (e == ERR_OK)
        e = walk_follow(&w, mains);
    free(mains);
    free(w.threads);
    free(w.last);
    vector_free(&w.active);
    vector_free(&w.rows);
    return e;
}

static int64_t walk_integer(double v)
{
    return v < 9e15 ? (int64_t)v : MODEL_UNKNOWN;
}

ARRAY_ORDER(by_time, struct own_work, COMPARE(y->ns, x->ns) ?: strcmp(x->what, y->what) ?: COMPARE(x->own, y->own));

static enum err build_works(struct run *r)
{
    double all = 0;
    size_t n = 0;
    for (size_t i = 0; i < r->works.count; i++)
        all += r->works.items[i].ns;
    vector_sort(&r->works, by_time);
    while (n < r->works.count && r->works.items[n].ns >= WORK_LEAST * all)
        n++;
    TRY(model_list(r->m, model_work, r->m, works, n));
    for (size_t i = 0; i < n; i++) {
        const struct own_work *w = &r->works.items[i];
        r->m->works[i] =
            (struct model_work){(int32_t)w->own, w->kind, w->what, walk_integer(w->ns)};
    }
    return ERR_OK;
}

enum err build_own(struct run *r)
{
    static const char *const names[WAITS] = {
        [WAITS_SLEEP] = "sleep", [WAITS_IO] = "io",      [WAITS_EVENTS] = "events",
        [WAITS_LOCK] = "lock",   [WAITS_POLL] = "sleep", [WAITS_REQUESTS] = "requests",
        [WAITS_CHILD] = "child"};
    TRY(critical_path(r));
    TRY(build_works(r));
    TRY(model_list(r->m, model_own, r->m, own, r->own.count));
    for (size_t i = 0; i < r->own.count; i++) {
        const struct own_node *n = &r->own.items[i];
        double wait = 0;
        int most = WAITS_SLEEP;
        for (int k = WAITS_SLEEP; k < WAITS; k++) { /* what the device did is told as such */
            wait += n->path_wait[k];
            most = n->path_wait[k] > n->path_wait[most] ? k : most;
        }
        const struct site *site = n->site >= 0 ? &r->sites.items[n->site] : NULL;
        r->m->own[i] = (struct model_own){
            .parent = n->parent == TABLE_NONE ? -1 : (int32_t)n->parent,
            .kind = n->kind,
            .file = site ? r->sources.items[site->file].path : NULL,
            .line = site ? site->line : MODEL_UNKNOWN,
            .function = n->name,
            .module = n->module,
            .cpu_ns = walk_integer(n->cpu),
            .samples = walk_integer(n->samples),
            .wait_ns = walk_integer(n->wait),
            .gpu_ns = walk_integer(n->gpu),
            .path_cpu_ns = walk_integer(n->path_cpu),
            .path_wait_ns = walk_integer(wait),
            .waits_for = wait > 0 ? names[most] : NULL,
        };
    }
    return ERR_OK;
}
