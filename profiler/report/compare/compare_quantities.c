/* What two profiles of different tools say of the same things: times in all, ranges, kernels,
 * copies. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "profiler/report/compare/compare_parts.h"

#define RANGES_SHOWN  200
#define KERNELS_SHOWN 200

/* The row of a name in its group, new where it is not there. */
static enum err row_of(struct comparison *c, const char *group, const char *name, const char *unit,
                       struct compare_quantity **out)
{
    for (int i = 0; i < c->quantities_count; i++)
        if (!strcmp(c->quantities[i].group, group) && !strcmp(c->quantities[i].name, name)) {
            *out = &c->quantities[i];
            return ERR_OK;
        }
    struct compare_quantity *more =
        realloc(c->quantities, ((size_t)c->quantities_count + 1) * sizeof *more);
    FAIL_IF(!more, ERR_MEMORY, "no memory for the comparison");
    c->quantities = more;
    *out = &more[c->quantities_count];
    **out = (struct compare_quantity){group, strdup(name), unit, NAN, NAN, -1, -1};
    FAIL_IF(!(*out)->name, ERR_MEMORY, "no memory for the comparison");
    c->quantities_count++;
    return ERR_OK;
}

static enum err put(struct comparison *c, const char *group, const char *name, const char *unit,
                    int side, double value, long long count)
{
    struct compare_quantity *q = NULL;
    TRY(row_of(c, group, name, unit, &q));
    double *to = side ? &q->b : &q->a;
    long long *n = side ? &q->count_b : &q->count_a;
    *to = isfinite(*to) ? *to + value : value; /* of a name that has two rows, their sum */
    if (count >= 0)
        *n = (*n < 0 ? 0 : *n) + count;
    return ERR_OK;
}

static double bytes(int64_t n)
{
    return n == MODEL_UNKNOWN ? (double)NAN : (double)n;
}

static enum err totals(struct comparison *c, const struct model *m, int side)
{
    const struct model_totals *t = &m->totals;
    double sys = isfinite(t->cpu.sys) ? t->cpu.sys : 0;
    const struct {
        const char *name, *unit;
        double value;
        long long count;
    } rows[] = {
        {"CPU time", "s", t->cpu.user + sys, t->cpu.samples},
        {"waiting", "s", t->cpu.wait, -1},
        {"GPU time", "s", t->gpu_sum_s, -1},
        {"kernels", "s", t->kernel_s, t->kernels},
        {"copied to the device", "bytes", bytes(t->h2d_bytes), -1},
        {"copied from the device", "bytes", bytes(t->d2h_bytes), -1},
        {"allocated", "bytes", t->alloc_mb * 1048576, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        TRY(put(c, "total", rows[i].name, rows[i].unit, side, rows[i].value,
                rows[i].count == MODEL_UNKNOWN ? -1 : rows[i].count));
    return ERR_OK;
}

static enum err named(struct comparison *c, const struct model *m, int side)
{
    for (int i = 0; i < m->ranges_count && i < RANGES_SHOWN; i++)
        if (m->ranges[i].name && m->ranges[i].style && strcmp(m->ranges[i].style, "mark"))
            TRY(put(c, "range", m->ranges[i].name, "s", side, m->ranges[i].time.total_s,
                    m->ranges[i].time.n));
    for (int i = 0; i < m->kernels_count && i < KERNELS_SHOWN; i++)
        if (m->kernels[i].name)
            TRY(put(c, "kernel", m->kernels[i].name, "s", side, m->kernels[i].time.total_s,
                    m->kernels[i].time.n));
    return ERR_OK;
}

enum err compare_quantities(struct comparison *c, const struct model *a, const struct model *b)
{
    if (!compare_tool(a) && !compare_tool(b)) /* both recorded here: their lines tell more */
        return ERR_OK;
    TRY(totals(c, a, 0));
    TRY(totals(c, b, 1));
    TRY(named(c, a, 0));
    TRY(named(c, b, 1));
    int kept = 0;
    for (int i = 0; i < c->quantities_count; i++) /* what neither side knows is left out */
        if (isfinite(c->quantities[i].a) || isfinite(c->quantities[i].b))
            c->quantities[kept++] = c->quantities[i];
        else
            free(c->quantities[i].name);
    c->quantities_count = kept;
    return ERR_OK;
}
