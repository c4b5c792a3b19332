/* Divides the run into equal parts, and finds what each thread does in them. Waits for locks are recorded when they begin and
 * end; all else is sampled: what no sample covers is as the sample nearest to it. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "profiler/analyze/what_if/what_if.h"

enum { CELLS = 16384, CELLS_BYTES = 64 << 20 };
#define SAME 0.5 /* of a sampled wait: it is one of those that were recorded */

/* Sums over the samples of a cell. */
struct cell_sum {
    float works, line, locked, asks;
};
struct cell_fill {
    const struct run *r;
    const struct what_if *ask;
    struct cells *out;
    struct cell_sum *sum; /* of the thread that is filled */
    uint8_t *exact;       /* cells in which it waits for a lock */
};

int what_if_is_file(const struct what_if *ask, const char *path)
{
    const size_t n = path ? strlen(path) : 0, k = strlen(ask->file);
    return path && text_ends(path, ask->file) && (n == k || path[n - k - 1] == '/');
}

int what_if_is_below(const struct run *r, const struct what_if *ask, uint32_t own)
{
    for (; own != TABLE_NONE; own = r->own.items[own].parent) {
        const struct own_node *n = &r->own.items[own];
        if (n->site >= 0 && r->sites.items[n->site].line == ask->line &&
            what_if_is_file(ask, r->sources.items[r->sites.items[n->site].file].path))
            return 1;
    }
    return 0;
}

static int cell_of(const struct cells *c, double ns)
{
    const int at = (int)(ns / c->ns);
    return at < 0 ? 0 : at < c->count ? at : c->count - 1;
}

/* Marks the cells whose middle is in a wait for a lock that ended with it. */
static void fill_exact(struct cell_fill *f, int row)
{
    memset(f->exact, 0, (size_t)f->out->count);
    for (size_t i = 0; i < f->r->locks.spans.count; i++) {
        const struct lock_span *s = &f->r->locks.spans.items[i];
        const double half = f->out->ns / 2;
        if (s->thread != row || s->gave_up)
            continue;
        const int end = cell_of(f->out, (double)s->end + half);
        for (int k = cell_of(f->out, (double)s->start + half); k < end; k++)
            f->exact[k] = 1;
    }
}

/* 1: a sampled wait for a lock of which the recorded ones tell more. */
static int is_recorded_wait(const struct cell_fill *f, int from, int to)
{
    int n = 0;
    for (int k = from; k <= to; k++)
        n += f->exact[k];
    return n >= SAME * (to - from + 1);
}

static int is_at_line(const struct cell_fill *f, const struct moment_of *m,
                      const struct moment_of *computed)
{
    if (m->waiting && m->waits == WAITS_READY)
        return computed && what_if_is_below(f->r, f->ask, computed->own);
    return what_if_is_below(f->r, f->ask, m->own);
}

static void fill_moment(struct cell_fill *f, const struct moment_of *m, int at_line)
{
    const double length = m->end > m->start ? (double)(m->end - m->start) : 1;
    const double busy = (double)m->busy < length ? (double)m->busy : length;
    const int from = cell_of(f->out, (double)m->start), to = cell_of(f->out, (double)m->end);
    const int asleep = m->waiting && m->waits != WAITS_READY;
    if (asleep && m->waits == WAITS_LOCK && is_recorded_wait(f, from, to))
        return;
    for (int k = from; k <= to; k++) {
        const double left = k * f->out->ns, right = left + f->out->ns;
        const double a = left > (double)m->start ? left : (double)m->start;
        const double b = right < (double)m->end ? right : (double)m->end;
        const float part = (float)(b > a ? (b - a) * busy / length : 0);
        struct cell_sum *s = &f->sum[k];
        if (asleep && m->waits == WAITS_LOCK)
            s->locked += part;
        else if (asleep && m->waits >= WAITS_IO && m->waits != WAITS_POLL)
            s->asks += part;
        else
            s->works += part;
        s->line += at_line ? part : 0;
    }
}

/* Cells without a sample are as the nearest one. */
static void fill_gaps(struct cell_thread *t, const uint8_t *known)
{
    int before = -1;
    for (int k = t->first; k <= t->last; k++) {
        int next = k;
        if (known[k]) {
            before = k;
            continue;
        }
        while (next <= t->last && !known[next])
            next++;
        const int end = next;
        for (int i = k; i < end; i++) {
            const int from = before >= 0 && (end > t->last || i - before <= end - i) ? before : end;
            if (t->doing[i] == CELL_ABSENT)
                t->doing[i] = CELL_WORKS;
            if (from <= t->last)
                t->share[i] = t->share[from];
        }
        k = end - 1;
    }
}

static void fill_thread(struct cell_fill *f, int row, uint8_t *known)
{
    struct cell_thread *t = &f->out->threads[row];
    const struct moment_of *computed = NULL;
    memset(f->sum, 0, (size_t)f->out->count * sizeof *f->sum);
    memset(known, 0, (size_t)f->out->count);
    fill_exact(f, row);
    for (size_t i = 0; i < f->r->moments.count; i++) {
        const struct moment_of *m = &f->r->moments.items[i];
        if (m->thread != row)
            continue;
        computed = m->waiting ? computed : m;
        fill_moment(f, m, is_at_line(f, m, computed));
    }
    for (int k = t->first; k <= t->last; k++) {
        const struct cell_sum s = f->sum[k];
        const float all = s.works + s.locked + s.asks;
        if (all > 0)
            t->share[k] = (uint8_t)(255 * s.line / all + 0.5f);
        known[k] = all > 0;
        t->doing[k] = f->exact[k]                   ? CELL_LOCKED
                      : s.locked > s.works + s.asks ? CELL_LOCKED
                      : s.asks > s.works + s.locked ? CELL_ASKS
                      : all > 0                     ? CELL_WORKS
                                                    : CELL_ABSENT;
    }
    fill_gaps(t, known);
}

static void life_extend(struct cells *c, int thread, uint64_t start, uint64_t end)
{
    struct cell_thread *t = &c->threads[thread];
    const int from = cell_of(c, (double)start), to = cell_of(c, (double)end);
    t->first = from < t->first ? from : t->first;
    t->last = to > t->last ? to : t->last;
}

/* A thread lives from the first that is known of it to the last; a main thread as long as its
 * process. */
static void cells_lives(const struct run *r, struct cells *c)
{
    for (size_t i = 0; i < c->threads_count; i++) {
        const struct model_thread *t = &r->threads.items[i];
        const struct model_process *p = &r->processes.items[t->process];
        struct cell_thread *out = &c->threads[i];
        out->process = t->process;
        out->is_main = t->main;
        out->first = t->main ? cell_of(c, 1e9 * p->start_s) : c->count;
        out->last = t->main ? cell_of(c, 1e9 * p->end_s) : -1;
    }
    for (size_t i = 0; i < r->moments.count; i++) {
        const struct moment_of *m = &r->moments.items[i];
        life_extend(c, m->thread, m->start, m->end);
    }
    for (size_t i = 0; i < r->locks.spans.count; i++) {
        const struct lock_span *s = &r->locks.spans.items[i];
        life_extend(c, s->thread, s->start, s->end);
    }
}

enum err cells_make(const struct run *r, const struct what_if *ask, struct cells *out)
{
    const size_t n = r->threads.count;
    *out = (struct cells){.threads_count = n, .count = CELLS};
    while (out->count > 256 && n * 2 * (size_t)out->count > CELLS_BYTES)
        out->count /= 2;
    out->ns = (double)(r->last - r->origin) / out->count;
    const size_t count = (size_t)out->count;
    struct cell_fill f = {.r = r, .ask = ask, .out = out};
    out->threads = calloc(n + 1, sizeof *out->threads);
    out->room = calloc(2 * n + 1, count);
    f.sum = calloc(count, sizeof *f.sum);
    f.exact = calloc(2, count);
    const int missing = !out->threads || !out->room || !f.sum || !f.exact;
    for (size_t i = 0; i < n && !missing; i++) {
        out->threads[i].doing = out->room + 2 * i * count;
        out->threads[i].share = out->room + (2 * i + 1) * count;
    }
    if (!missing)
        cells_lives(r, out);
    for (size_t i = 0; i < n && !missing; i++)
        fill_thread(&f, (int)i, f.exact + count);
    free(f.sum);
    free(f.exact);
    FAIL_IF(missing, ERR_MEMORY, "no memory to replay the run's %zu threads", n);
    return ERR_OK;
}

void cells_free(struct cells *c)
{
    free(c->threads);
    free(c->room);
}
