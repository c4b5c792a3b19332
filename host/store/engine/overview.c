/* Slabs of an array as float64, along the dimension that is slowest in the file. */
#include <math.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "host/store/engine/engine.h"
#include "host/store/engine/overview.h"

/* Histograms in two passes. The edges are computed as numpy.linspace does, and decide. */

enum err histogram_open(struct histogram *h, int bins)
{
    *h = (struct histogram){.bins = bins, .low = INFINITY, .high = -INFINITY};
    h->edge = calloc((size_t)bins + 1, sizeof *h->edge);
    h->count = calloc((size_t)bins, sizeof *h->count);
    if (h->edge && h->count)
        return ERR_OK;
    histogram_close(h);
    return FAIL(ERR_MEMORY, "no memory left for a histogram of %d bins", bins);
}

void histogram_range(struct histogram *h, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (isfinite(x[i])) {
            h->finite++;
            h->low = x[i] < h->low ? x[i] : h->low;
            h->high = x[i] > h->high ? x[i] : h->high;
        } else if (isnan(x[i])) {
            h->nan++;
        } else {
            h->plus_infinity += x[i] > 0;
            h->minus_infinity += x[i] < 0;
        }
    }
}

static double histogram_step(double low, double high, int bins)
{
    return isfinite(high - low) ? (high - low) / bins : high / bins - low / bins;
}

void histogram_edges(struct histogram *h)
{
    if (!h->finite)
        h->low = 0, h->high = 1;
    double first = h->low, last = h->high;
    if (first == last) {
        const double half = fmax(0.5, fabs(first) * 0x1p-20);
        first -= half;
        last += half;
    }
    const double step = histogram_step(first, last, h->bins);
    for (int i = 0; i < h->bins; i++) {
        volatile double way = i * step; /* rounded before it is added, on every machine */
        h->edge[i] = way + first;
    }
    h->edge[h->bins] = last;
}

void histogram_count(struct histogram *h, const double *x, int64_t n)
{
    const double first = h->edge[0], last = h->edge[h->bins];
    const double half_step = 0.5 * histogram_step(first, last, h->bins);
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(x[i]))
            continue;
        const double at = half_step > 0 ? (0.5 * x[i] - 0.5 * first) / half_step : 0;
        int bin = at > 0 ? (int)fmin(at, h->bins - 1) : 0;
        while (bin > 0 && x[i] < h->edge[bin])
            bin--;
        while (bin < h->bins - 1 && x[i] >= h->edge[bin + 1])
            bin++;
        h->count[bin]++;
    }
}

void histogram_close(struct histogram *h)
{
    free(h->edge);
    free(h->count);
    h->edge = NULL;
    h->count = NULL;
}

#define SLAB      ((int64_t)4 << 20)  /* values; */
#define SLAB_MOST ((int64_t)32 << 20) /* as many where whole chunks are that large */

struct array_walk {
    struct store *s;
    struct store_array *a;
    struct engine_box box;
    double *slab;
    int64_t values; /* in the slab */
};

static void copy_section(const struct array_walk *w, struct section *p)
{
    const struct engine_box *b = &w->box;
    const int fixed = 3 - p->down - p->across;
    const int64_t cols = w->a->shape[p->across], at = p->index - b->start[fixed];
    const int64_t stride[] = {b->count[1] * b->count[2], b->count[2], 1};
    if (at < 0 || at >= b->count[fixed])
        return;
    for (int64_t i = 0; i < b->count[p->down]; i++)
        for (int64_t k = 0; k < b->count[p->across]; k++)
            p->values[(b->start[p->down] + i) * cols + b->start[p->across] + k] =
                (float)w->slab[at * stride[fixed] + i * stride[p->down] + k * stride[p->across]];
}

/* Slopes are facts of the file, which the engine leaves to its callers. */
static void walk_scale(const struct array_walk *w)
{
    if (w->a->slope == 1 && w->a->intercept == 0)
        return;
    for (int64_t i = 0; i < w->values; i++)
        w->slab[i] = w->a->slope * w->slab[i] + w->a->intercept;
}

static int64_t slab_thickness(const struct store_array *a, int slow)
{
    const int64_t total = a->dims ? a->shape[slow] : 1, all = store_elements(a);
    const int64_t plane = total > 0 && all > 0 ? all / total : 1;
    int64_t t = SLAB / plane > 1 ? SLAB / plane : 1;
    const int64_t chunk = a->dims && !a->tiles && a->chunk[slow] > 0 ? a->chunk[slow] : 1;
    const int64_t whole = (t + chunk - 1) / chunk * chunk;
    t = whole <= SLAB_MOST / plane ? whole : t;
    return t < total ? t : total;
}

enum pass { PASS_RANGE, PASS_REST };

static enum err walk_once(struct array_walk *w, enum pass pass, int slow, int64_t step,
                          struct histogram *h, struct section *section, int sections)
{
    const int64_t total = w->a->dims ? w->a->shape[slow] : 1;
    for (int64_t i = 0; i < total; i += step) {
        w->box = engine_all(w->a);
        w->values = 1;
        if (w->a->dims) {
            w->box.start[slow] = i;
            w->box.count[slow] = total - i < step ? total - i : step;
        }
        for (int d = 0; d < w->a->dims; d++)
            w->values *= w->box.count[d];
        progress(pass == PASS_RANGE ? "range" : "counting", (double)i, (double)total);
        TRY(engine_read(w->s, w->a, &w->box, (struct store_dtype){'f', 8, 0}, w->slab, NULL));
        walk_scale(w);
        if (h)
            (pass == PASS_RANGE ? histogram_range : histogram_count)(h, w->slab, w->values);
        for (int k = 0; k < sections && pass == PASS_REST; k++)
            copy_section(w, &section[k]);
    }
    return ERR_OK;
}

enum err overview_read(struct store *s, struct store_array *a, struct histogram *h,
                       struct section *section, int sections)
{
    const char kind = a->dtype.kind;
    char name[16];
    store_dtype_name(a->dtype, name);
    FAIL_IF(kind != 'b' && kind != 'i' && kind != 'u' && kind != 'f', ERR_INPUT,
            "%s: values of %s are %s; real numbers are accepted: choose another file", s->name,
            a->name, name);
    FAIL_IF(sections && a->dims != 3, ERR_INPUT, "%s: %s has %d dimensions, a volume has 3",
            s->name, a->name, a->dims);
    const int slow = a->dims ? a->order[0] : 0;
    const int64_t all = store_elements(a), step = slab_thickness(a, slow);
    struct array_walk w = {.s = s, .a = a};
    const int64_t total = a->dims ? a->shape[slow] : 1;
    void *slab;
    if (all > 0) {
        TRY(mem_alloc("a slab", (size_t)(all / total * step) * sizeof(double), &slab));
        w.slab = slab;
    }
    enum err e = ERR_OK;
    if (all > 0 && h)
        e = walk_once(&w, PASS_RANGE, slow, step, h, section, sections);
    if (h)
        histogram_edges(h);
    if (all > 0 && !e)
        e = walk_once(&w, PASS_REST, slow, step, h, section, sections);
    progress_end();
    mem_free(w.slab);
    return e;
}
