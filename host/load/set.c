/* Several files as one data set: how many of which shape and type, the time of each, and those that
 * differ from the others. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "base/text.h"
#include "host/load/against.h"

#define FILES_LEAST 5   /* for outliers in time and size: fewer say nothing of a spread */
#define FAR         3.5 /* robust standard deviations from the median */
#define TIMES       1.5 /* of the median at least */
#define LEAST_S     0.001

static enum err member_read(const struct load_request *r, struct arena *arena,
                            struct load_member *m)
{
    struct load_request one = *r;
    struct load_session s;
    struct load_run run;
    char dtype[16];
    one.path = m->path;
    one.chunks = one.box_dims = 0;
    one.to = TO_MEMORY;
    one.sweep = SWEEP_NONE;
    enum err e = load_begin(&one, &s);
    if (!e)
        e = load_once(&s, &one.options, r->cache, &run, NULL);
    if (!e) {
        const struct store_array *a = s.array;
        double part = 1;
        for (int d = 0; d < a->dims; d++)
            part *= (double)s.box.count[d] / (double)s.wanted.count[d];
        m->format = arena_text(arena, s.store->format);
        store_dtype_name(a->dtype, dtype);
        m->dtype = arena_text(arena, dtype);
        m->shape = arena_take(arena, sizeof a->shape);
        if (m->shape)
            memcpy(m->shape, a->shape, sizeof a->shape);
        m->shape_count = a->dims;
        m->bytes = store_elements(a) * a->dtype.bytes;
        m->bytes_stored = 0;
        for (int64_t i = 0; i < a->chunks_count; i++)
            m->bytes_stored += a->chunks[i].object >= 0 ? a->chunks[i].stored : 0;
        m->seconds = 1e-9 * (double)(s.open_ns + s.index_ns) + run.seconds / part;
        m->mpx_per_s = (double)m->bytes / a->dtype.bytes / m->seconds / 1e6;
        if (!m->format || !m->dtype || !m->shape)
            e = FAIL(ERR_MEMORY, "no memory left for the times");
    }
    load_end(&s);
    return e;
}

static int same_kind(const struct load_member *m, const struct load_kind *k)
{
    return m->shape_count == k->shape_count && !strcmp(m->dtype, k->dtype) &&
           !memcmp(m->shape, k->shape, (size_t)k->shape_count * sizeof *k->shape);
}

/* The most frequent kind comes first. */
static int by_files(const void *x, const void *y)
{
    const struct load_kind *a = x, *b = y;
    return (a->files < b->files) - (a->files > b->files);
}

static enum err set_kinds(struct loading *l)
{
    TRY(json_items(l->arena, &record_load_kind, (size_t)l->members_count, &l->set.kinds,
                   &l->set.kinds_count));
    l->set.kinds_count = 0;
    for (int i = 0; i < l->members_count; i++) {
        const struct load_member *m = &l->members[i];
        int k = 0;
        if (m->failure)
            continue;
        while (k < l->set.kinds_count && !same_kind(m, &l->set.kinds[k]))
            k++;
        if (k == l->set.kinds_count)
            l->set.kinds[l->set.kinds_count++] = (struct load_kind){
                .shape = m->shape, .shape_count = m->shape_count, .dtype = m->dtype};
        l->set.kinds[k].files++;
    }
    array_sort(l->set.kinds, (size_t)l->set.kinds_count, sizeof *l->set.kinds, by_files);
    return ERR_OK;
}

/* Returns the median of the readable files, or of their distances from `from`. */
static double member_median(const struct loading *l, double (*of)(const struct load_member *m),
                            double from, double *x)
{
    int n = 0;
    for (int i = 0; i < l->members_count; i++)
        if (!l->members[i].failure)
            x[n++] = isfinite(from) ? fabs(of(&l->members[i]) - from) : of(&l->members[i]);
    qsort(x, (size_t)n, sizeof *x, ascending_double);
    return n ? (x[(n - 1) / 2] + x[n / 2]) / 2 : (double)NAN;
}

static double member_seconds(const struct load_member *m)
{
    return m->seconds;
}

static double member_stored(const struct load_member *m)
{
    return (double)m->bytes_stored;
}

/* `least`: smaller differences are those of the clock. */
static int is_far(double value, double middle, double spread, double least)
{
    return fabs(value - middle) > fmax(least, FAR * 1.4826 * spread) &&
           (value > TIMES * middle || value < middle / TIMES);
}

static enum err set_outliers(struct loading *l)
{
    const struct load_set *c = &l->set;
    double *x = calloc((size_t)l->members_count + 1, sizeof *x);
    FAIL_IF(!x, ERR_MEMORY, "no memory left for the times");
    const double time = member_median(l, member_seconds, (double)NAN, x),
                 time_spread = member_median(l, member_seconds, time, x),
                 stored = member_median(l, member_stored, (double)NAN, x),
                 stored_spread = member_median(l, member_stored, stored, x);
    free(x);
    const int many = c->files - c->failed >= FILES_LEAST;
    for (int i = 0; i < l->members_count; i++) {
        struct load_member *m = &l->members[i];
        char text[200] = "";
        if (m->failure)
            continue;
        const struct load_kind *k = &c->kinds[0];
        if (!same_kind(m, k))
            text_append(text, sizeof text, "%s",
                        strcmp(m->dtype, k->dtype) ? "another type" : "another shape");
        if (many && is_far(m->seconds, time, time_spread, LEAST_S))
            text_append(text, sizeof text, "%s%.2g times the median time", *text ? ", " : "",
                        m->seconds / time);
        if (many && is_far((double)m->bytes_stored, stored, stored_spread, 0))
            text_append(text, sizeof text, "%s%.2g times the median stored bytes",
                        *text ? ", " : "", (double)m->bytes_stored / stored);
        if (*text && !(m->outlier = arena_text(l->arena, text)))
            return FAIL(ERR_MEMORY, "no memory left for the times");
    }
    return ERR_OK;
}

static const char *median_path(const struct loading *l)
{
    const struct load_member *best = NULL;
    double *x = calloc((size_t)l->members_count + 1, sizeof *x);
    const double middle = x ? member_median(l, member_seconds, (double)NAN, x) : (double)NAN;
    free(x);
    for (int i = 0; i < l->members_count; i++) {
        const struct load_member *m = &l->members[i];
        if (!m->failure && (!best || fabs(m->seconds - middle) < fabs(best->seconds - middle)))
            best = m;
    }
    return best ? best->path : NULL;
}

enum err load_set(const struct load_request *r, char **paths, int n, struct loading *l)
{
    struct load_set *c = &l->set;
    TRY(json_items(l->arena, &record_load_member, (size_t)n, &l->members, &l->members_count));
    c->files = n;
    c->failed = c->bytes = c->bytes_stored = 0;
    c->seconds = 0;
    double elements = 0;
    enum err first = ERR_OK;
    for (int i = 0; i < n; i++) {
        struct load_member *m = &l->members[i];
        if (r->stop && *r->stop) {
            l->interrupted = 1;
            l->members_count = i;
            c->files = i;
            break;
        }
        progress("files", i, n);
        m->path = arena_text(l->arena, paths[i]);
        FAIL_IF(!m->path, ERR_MEMORY, "no memory left for the times");
        const enum err e = member_read(r, l->arena, m);
        if (e == ERR_INPUT || e == ERR_UNSUPPORTED) {
            m->failure = arena_text(l->arena, err_text());
            FAIL_IF(!m->failure, ERR_MEMORY, "no memory left for the times");
            c->failed++;
            first = first ? first : e;
            continue;
        }
        TRY(e);
        c->bytes += m->bytes;
        c->bytes_stored += m->bytes_stored;
        c->seconds += m->seconds;
        elements += m->mpx_per_s * m->seconds;
    }
    progress_end();
    c->median = median_path(l);
    FAIL_IF(!c->median && l->interrupted, ERR_INTERRUPTED, "stopped before a file was read");
    FAIL_IF(!c->median, first, "none of %d files can be read; the first: %s", n,
            l->members[0].failure);
    c->mpx_per_s = elements / c->seconds;
    TRY(set_kinds(l));
    return set_outliers(l);
}
