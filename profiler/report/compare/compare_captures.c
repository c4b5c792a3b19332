/* Compares two profiles of different tools: functions by name, times in all, ranges, kernels, copies. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/table.h"
#include "profiler/report/compare/compare_parts.h"

#define LEAST_SHARE 0.01 /* of the CPU time: smaller ones of both sides are left out */

struct functions_of_two {
    struct compare_function *rows;
    int *seen; /* by row: the stack that was added last */
    size_t count, room, seen_room;
    struct table at;
};

static enum err function_row(struct functions_of_two *f, const char *name, uint32_t *at)
{
    uint64_t key = table_hash(name, strlen(name));
    *at = table_get(&f->at, key);
    if (*at != TABLE_NONE)
        return ERR_OK;
    TRY(array_room(&f->rows, &f->room, f->count + 1, sizeof *f->rows));
    TRY(array_room(&f->seen, &f->seen_room, f->count + 1, sizeof *f->seen));
    *at = (uint32_t)f->count;
    f->rows[*at] = (struct compare_function){.name = strdup(name),
                                             .a_s = NAN,
                                             .b_s = NAN,
                                             .own_a_s = NAN,
                                             .own_b_s = NAN,
                                             .error = NAN,
                                             .verdict = COMPARE_UNDECIDED};
    f->seen[*at] = -1;
    FAIL_IF(!f->rows[*at].name, ERR_MEMORY, "no memory for the comparison");
    f->count++;
    return table_put(&f->at, key, *at);
}

/* Shares of CPU time with callees; recursion counts once. */
static enum err functions_add(struct functions_of_two *f, const struct model *m, int side)
{
    double all = 0;
    for (int i = 0; i < m->stacks_count; i++)
        all += m->stacks[i].cpu_ns > 0 ? (double)m->stacks[i].cpu_ns : 0;
    for (size_t i = 0; i < f->count; i++)
        f->seen[i] = -1;
    for (int i = 0; i < m->stacks_count; i++)
        for (int32_t s = i; m->stacks[i].cpu_ns > 0 && s >= 0; s = m->stacks[s].parent) {
            const char *name =
                m->stacks[s].frame >= 0 ? m->frames[m->stacks[s].frame].function : NULL;
            uint32_t at;
            if (!name)
                continue;
            TRY(function_row(f, name, &at));
            if (f->seen[at] == i)
                continue;
            f->seen[at] = i;
            *(side ? &f->rows[at].b : &f->rows[at].a) += (double)m->stacks[i].cpu_ns / all;
        }
    return ERR_OK;
}

static int by_share(const void *x, const void *y)
{
    const struct compare_function *a = x, *b = y;
    double p = fmax(a->a, a->b), q = fmax(b->a, b->b);
    return (p < q) - (p > q);
}

const char *compare_tool(const struct model *m)
{
    for (int i = 0; i < m->environment_count; i++)
        if (m->environment[i].key && !strcmp(m->environment[i].key, "import.tool"))
            return m->environment[i].value;
    return NULL;
}

enum err compare_functions(struct comparison *c, const struct model *a, const struct model *b)
{
    struct functions_of_two f = {0};
    enum err e = functions_add(&f, a, 0);
    if (!e)
        e = functions_add(&f, b, 1);
    table_free(&f.at);
    free(f.seen);
    c->functions = f.rows;
    for (size_t i = 0; i < f.count; i++)
        if (!e && fmax(f.rows[i].a, f.rows[i].b) >= LEAST_SHARE)
            f.rows[c->functions_count++] = f.rows[i];
        else
            free(f.rows[i].name);
    array_sort(f.rows, (size_t)c->functions_count, sizeof *f.rows, by_share);
    return e;
}

#define RANGES_SHOWN  200
#define KERNELS_SHOWN 200

/* The row of a name in its group, new where it is not there. */
static enum err quantity_row(struct comparison *c, const char *group, const char *name,
                             const char *unit, struct compare_quantity **out)
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

static enum err quantity_set(struct comparison *c, const char *group, const char *name,
                             const char *unit, int side, double value, long long count)
{
    struct compare_quantity *q = NULL;
    TRY(quantity_row(c, group, name, unit, &q));
    double *to = side ? &q->b : &q->a;
    long long *n = side ? &q->count_b : &q->count_a;
    *to = isfinite(*to) ? *to + value : value; /* of a name that has two rows, their sum */
    if (count >= 0)
        *n = (*n < 0 ? 0 : *n) + count;
    return ERR_OK;
}

static double bytes_or_unknown(int64_t n)
{
    return n == MODEL_UNKNOWN ? (double)NAN : (double)n;
}

static enum err add_totals(struct comparison *c, const struct model *m, int side)
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
        {"copied to the device", "bytes", bytes_or_unknown(t->h2d_bytes), -1},
        {"copied from the device", "bytes", bytes_or_unknown(t->d2h_bytes), -1},
        {"allocated", "bytes", t->alloc_mb * 1048576, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        TRY(quantity_set(c, "total", rows[i].name, rows[i].unit, side, rows[i].value,
                         rows[i].count == MODEL_UNKNOWN ? -1 : rows[i].count));
    return ERR_OK;
}

static enum err add_ranges_and_kernels(struct comparison *c, const struct model *m, int side)
{
    for (int i = 0; i < m->ranges_count && i < RANGES_SHOWN; i++)
        if (m->ranges[i].name && m->ranges[i].style && strcmp(m->ranges[i].style, "mark"))
            TRY(quantity_set(c, "range", m->ranges[i].name, "s", side, m->ranges[i].time.total_s,
                             m->ranges[i].time.n));
    for (int i = 0; i < m->kernels_count && i < KERNELS_SHOWN; i++)
        if (m->kernels[i].name)
            TRY(quantity_set(c, "kernel", m->kernels[i].name, "s", side, m->kernels[i].time.total_s,
                             m->kernels[i].time.n));
    return ERR_OK;
}

enum err compare_quantities(struct comparison *c, const struct model *a, const struct model *b)
{
    TRY(add_totals(c, a, 0));
    TRY(add_totals(c, b, 1));
    TRY(add_ranges_and_kernels(c, a, 0));
    TRY(add_ranges_and_kernels(c, b, 1));
    int kept = 0;
    for (int i = 0; i < c->quantities_count; i++) /* what neither side knows is left out */
        if (isfinite(c->quantities[i].a) || isfinite(c->quantities[i].b))
            c->quantities[kept++] = c->quantities[i];
        else
            free(c->quantities[i].name);
    c->quantities_count = kept;
    return ERR_OK;
}
