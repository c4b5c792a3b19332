/* Functions of two profiles side by side, by name: what recordings of different tools have in
 * common. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/table.h"
#include "profiler/report/compare/compare_parts.h"

#define LEAST 0.01 /* of the CPU time: smaller ones of both sides are left out */

struct functions_of_two {
    struct compare_function *rows;
    int *seen; /* by row: the stack that was added last */
    size_t count, room, seen_room;
    struct table at;
};

static enum err row_of(struct functions_of_two *f, const char *name, uint32_t *at)
{
    uint64_t key = table_hash(name, strlen(name));
    *at = table_get(&f->at, key);
    if (*at != TABLE_NONE)
        return ERR_OK;
    TRY(array_room(&f->rows, &f->room, f->count + 1, sizeof *f->rows));
    TRY(array_room(&f->seen, &f->seen_room, f->count + 1, sizeof *f->seen));
    *at = (uint32_t)f->count;
    f->rows[*at] = (struct compare_function){.name = strdup(name)};
    f->seen[*at] = -1;
    FAIL_IF(!f->rows[*at].name, ERR_MEMORY, "no memory for the comparison");
    f->count++;
    return table_put(&f->at, key, *at);
}

/* Shares of CPU time with callees; recursion counts once. */
static enum err add(struct functions_of_two *f, const struct model *m, int side)
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
            TRY(row_of(f, name, &at));
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
    const char *tools[] = {compare_tool(a), compare_tool(b)};
    struct functions_of_two f = {0};
    if (!tools[0] && !tools[1]) /* both recorded here: their lines tell more */
        return ERR_OK;
    enum err e = add(&f, a, 0);
    if (!e)
        e = add(&f, b, 1);
    table_free(&f.at);
    free(f.seen);
    c->functions = f.rows;
    for (size_t i = 0; i < f.count; i++)
        if (!e && fmax(f.rows[i].a, f.rows[i].b) >= LEAST)
            f.rows[c->functions_count++] = f.rows[i];
        else
            free(f.rows[i].name);
    array_sort(f.rows, (size_t)c->functions_count, sizeof *f.rows, by_share);
    return e;
}
