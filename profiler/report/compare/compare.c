/* Pairs the operations and lines of two runs and judges each difference. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "profiler/findings/causes.h"
#include "profiler/report/compare/compare.h"
#include "profiler/report/compare/compare_parts.h"

static const struct compare_times *find_times(const struct compare_side *s,
                                              const struct compare_times *t)
{
    for (int i = 0; i < s->times_count; i++)
        if (s->times[i].size == t->size && strcmp(s->times[i].name, t->name) == 0)
            return &s->times[i];
    return NULL;
}

static enum err add_operation(struct comparison *c, const struct compare_times *a,
                              const struct compare_times *b)
{
    struct compare_operation *o = &c->operations[c->operations_count];
    *o = (struct compare_operation){.name = strdup(a ? a->name : b->name),
                                    .size = a ? a->size : b->size,
                                    .a = a ? compare_median(a->seconds, a->count) : (double)NAN,
                                    .b = b ? compare_median(b->seconds, b->count) : (double)NAN,
                                    .ratio = NAN,
                                    .low = NAN,
                                    .high = NAN,
                                    .runs_a = a ? a->count : 0,
                                    .runs_b = b ? b->count : 0,
                                    .verdict = !b ? COMPARE_ONLY_A : COMPARE_ONLY_B};
    FAIL_IF(!o->name, ERR_MEMORY, "no memory left for the comparison");
    c->operations_count++;
    if (!a || !b)
        return ERR_OK;
    o->ratio = o->b / o->a;
    compare_interval(a->seconds, a->count, b->seconds, b->count, &o->low, &o->high);
    o->verdict = compare_judge(o->low, o->high);
    if (o->verdict == COMPARE_UNDECIDED)
        o->runs_needed = compare_runs_needed(o->ratio, o->low, o->high,
                                             o->runs_a < o->runs_b ? o->runs_a : o->runs_b);
    return ERR_OK;
}

static enum err compare_operations(struct comparison *c, const struct compare_side *a,
                                   const struct compare_side *b)
{
    c->operations = calloc((size_t)(a->times_count + b->times_count) + 1, sizeof *c->operations);
    FAIL_IF(!c->operations, ERR_MEMORY, "no memory left for the comparison");
    for (int i = 0; i < a->times_count; i++)
        TRY(add_operation(c, &a->times[i], find_times(b, &a->times[i])));
    for (int i = 0; i < b->times_count; i++)
        if (!find_times(a, &b->times[i]))
            TRY(add_operation(c, NULL, &b->times[i]));
    return ERR_OK;
}

/* In A's folder, which may not be ours to write: the comparison is whole without. */
static void fill_causes(struct comparison *c, const struct compare_side *a,
                        const struct compare_side *b)
{
    const char *name = strrchr(b->path, '/');
    name = name && name[1] ? name + 1 : b->path;
    if (a->profile
            ? causes_compare(a->path, a->profile, b->path, b->profile, name, &c->causes_filled)
            : compare_load_causes(a, b, name, &c->causes_filled))
        log_warn("rootcause.md of %s was not filled: %s", a->path, err_text());
}

static enum err compare_programs(struct comparison *c, const struct model *a, const struct model *b)
{
    const int ours = !compare_tool(a) && !compare_tool(b);
    if (ours && !c->operations_count) /* of a suite its operations are judged */
        compare_totals(c, a, b);
    TRY(compare_profiles(c, a, b));
    TRY(compare_stacks(c, a, b));
    if (ours)
        return compare_own_functions(c, a, b);
    TRY(compare_functions(c, a, b));
    return compare_quantities(c, a, b);
}

enum err compare_runs(const char *a, const char *b, struct comparison **out)
{
    struct compare_side sides[2] = {{0}};
    struct comparison *c = calloc(1, sizeof *c);
    enum err e = ERR_OK;
    *out = NULL;
    if (c)
        c->wall_a = c->wall_b = c->cpu_a = c->cpu_b = NAN;
    if (!c || !(c->a = strdup(a)) || !(c->b = strdup(b))) {
        e = FAIL(ERR_MEMORY, "no memory left for the comparison");
        goto out;
    }
    TRY_OUT(compare_side_read(a, &sides[0]));
    TRY_OUT(compare_side_read(b, &sides[1]));
    const int loads = sides[0].load[0] && sides[1].load[0];
    const int timed = loads || (sides[0].timing && sides[1].timing);
    if (!timed && !(sides[0].profile && sides[1].profile)) {
        e = FAIL(
            ERR_INPUT,
            "%s and %s have nothing in common: give two runs of `run`, two of `record`, or two "
            "of `load`",
            a, b);
        goto out;
    }
    if (timed)
        TRY_OUT(compare_operations(c, &sides[0], &sides[1]));
    if (sides[0].profile && sides[1].profile)
        TRY_OUT(compare_programs(c, sides[0].profile, sides[1].profile));
    TRY_OUT(compare_warnings(c, &sides[0], &sides[1]));
    TRY_OUT(compare_answer(c));
    int ours = sides[0].profile && sides[1].profile && !compare_tool(sides[0].profile) &&
               !compare_tool(sides[1].profile);
    if (loads || ours) /* another tool does not measure what a cause predicts */
        fill_causes(c, &sides[0], &sides[1]);
out:
    compare_side_free(&sides[0]);
    compare_side_free(&sides[1]);
    if (e == ERR_OK)
        *out = c;
    else
        compare_free(c);
    return e;
}

void compare_free(struct comparison *c)
{
    if (!c)
        return;
    for (int i = 0; i < c->operations_count; i++)
        free(c->operations[i].name);
    for (int i = 0; i < c->lines_count; i++) {
        free(c->lines[i].file);
        free(c->lines[i].text);
    }
    for (int i = 0; i < c->edits_count; i++) {
        free(c->edits[i].file);
        free(c->edits[i].diff);
    }
    for (int i = 0; i < c->functions_count; i++) {
        free(c->functions[i].name);
        free(c->functions[i].file);
        free(c->functions[i].text);
    }
    free(c->functions);
    for (int i = 0; i < c->quantities_count; i++)
        free(c->quantities[i].name);
    free(c->quantities);
    for (int i = 0; i < c->warnings_count; i++)
        free(c->warnings[i]);
    compare_stacks_free(c);
    free(c->edits);
    free(c->answer);
    free(c->operations);
    free(c->lines);
    free(c->warnings);
    free(c->a);
    free(c->b);
    free(c);
}

const struct compare_operation *compare_over(const struct comparison *c, double limit)
{
    const struct compare_operation *worst = NULL;
    for (int i = 0; i < c->operations_count; i++) {
        const struct compare_operation *o = &c->operations[i];
        if (o->ratio > 1 + limit && (isnan(o->low) || o->low > 1) &&
            (!worst || o->ratio > worst->ratio))
            worst = o;
    }
    return worst;
}

const struct compare_total *compare_total_over(const struct comparison *c, double limit)
{
    const struct compare_total *wall = c->totals_count ? &c->totals[0] : NULL;
    return wall && wall->ratio > 1 + limit && (isnan(wall->low) || wall->low > 1) ? wall : NULL;
}
