/* Memory of each line over time, in 64 bins that double in length as the run goes on. */
#include <math.h>
#include <stdlib.h>

#include "profiler/analyze/heap/curves.h"

enum {
    CURVE_BINS = 64,
    CURVES_MAX = 16384, /* 4 MiB; lines beyond have none */
    FIRST_SHIFT = 14,   /* 16 us */
};
#define LEAST 0.01 /* of the largest heap: lines below it have no curve */

struct curves {
    int shift;
    uint32_t count;
    struct {
        float most[CURVE_BINS]; /* bytes */
    } of[CURVES_MAX];
};

static void curves_fold(struct curves *c)
{
    c->shift++;
    for (uint32_t k = 0; k < c->count; k++) {
        float *v = c->of[k].most;
        for (int i = 0; i < CURVE_BINS / 2; i++)
            v[i] = fmaxf(v[2 * i], v[2 * i + 1]);
        for (int i = CURVE_BINS / 2; i < CURVE_BINS; i++)
            v[i] = 0;
    }
}

enum err curves_reach(struct run *r, uint64_t end)
{
    if (!r->heap.curves) {
        r->heap.curves = calloc(1, sizeof *r->heap.curves);
        FAIL_IF(!r->heap.curves, ERR_MEMORY, "no memory for the analysis");
        r->heap.curves->shift = FIRST_SHIFT;
    }
    while (end >> r->heap.curves->shift >= CURVE_BINS)
        curves_fold(r->heap.curves);
    return ERR_OK;
}

void curve_raise(struct run *r, struct site *s, uint64_t from, uint64_t to, double bytes)
{
    struct curves *c = r->heap.curves;
    if (bytes <= 0 || !s->line || (!s->curve && c->count == CURVES_MAX))
        return;
    if (!s->curve)
        s->curve = ++c->count;
    uint64_t first = from >> c->shift, last = to >> c->shift;
    for (uint64_t i = first; i <= last && i < CURVE_BINS; i++)
        c->of[s->curve - 1].most[i] = fmaxf(c->of[s->curve - 1].most[i], (float)bytes);
}

enum err curve_row(struct run *r, const struct site *s, struct model_line *row)
{
    if (!s->curve || s->heap.peak < LEAST * r->heap.largest)
        return ERR_OK;
    uint64_t bins = ((r->last - r->origin) >> r->heap.curves->shift) + 1;
    row->live_mb_count = bins < CURVE_BINS ? (int)bins : CURVE_BINS;
    row->live_mb = arena_take(r->m->arena, (size_t)row->live_mb_count * sizeof *row->live_mb);
    FAIL_IF(!row->live_mb, ERR_MEMORY, "no memory for the profile");
    for (int i = 0; i < row->live_mb_count; i++) /* to 1 KiB: a picture needs no more */
        row->live_mb[i] = rint((double)r->heap.curves->of[s->curve - 1].most[i] / 1024) / 1024;
    return ERR_OK;
}

double curves_bin(const struct run *r)
{
    return r->heap.curves && r->heap.curves->count ? (double)(1ull << r->heap.curves->shift)
                                                   : (double)NAN;
}
