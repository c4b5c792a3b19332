/* Pairs the operations and lines of two runs and judges each difference. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/report/compare/compare.h"
#include "profiler/report/compare/compare_read.h"

#define DRAWS 4000

const char *compare_verdict_name(enum compare_verdict v)
{
    static const char *const names[] = {"same",         "faster",    "slower",
                                        "too few runs", "only in A", "only in B"};
    return names[v];
}

static int ascending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double median(const double *x, int n)
{
    double *sorted = malloc((size_t)n * sizeof *sorted), m = NAN;
    if (sorted) {
        memcpy(sorted, x, (size_t)n * sizeof *sorted);
        qsort(sorted, (size_t)n, sizeof *sorted, ascending);
        m = n % 2 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
    }
    free(sorted);
    return m;
}

static const struct compare_times *find(const struct compare_side *s, const struct compare_times *t)
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
                                    .a = a ? median(a->seconds, a->count) : (double)NAN,
                                    .b = b ? median(b->seconds, b->count) : (double)NAN,
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
    o->verdict = COMPARE_UNSURE;
    if (a->count >= 3 && b->count >= 3) {
        compare_bootstrap(a->seconds, a->count, b->seconds, b->count, DRAWS, &o->low, &o->high);
        o->verdict = o->low > 1 ? COMPARE_SLOWER : o->high < 1 ? COMPARE_FASTER : COMPARE_SAME;
    }
    return ERR_OK;
}

static enum err add_operations(struct comparison *c, const struct compare_side *a,
                               const struct compare_side *b)
{
    c->operations = calloc((size_t)(a->times_count + b->times_count) + 1, sizeof *c->operations);
    FAIL_IF(!c->operations, ERR_MEMORY, "no memory left for the comparison");
    for (int i = 0; i < a->times_count; i++)
        TRY(add_operation(c, &a->times[i], find(b, &a->times[i])));
    for (int i = 0; i < b->times_count; i++)
        if (!find(a, &b->times[i]))
            TRY(add_operation(c, NULL, &b->times[i]));
    return ERR_OK;
}

static const struct model_line *find_line(const struct model *m, const char *path, int64_t line)
{
    for (int i = 0; i < m->files_count; i++)
        if (strcmp(m->files[i].path, path) == 0)
            for (int j = 0; j < m->files[i].lines_count; j++)
                if (m->files[i].lines[j].line == line)
                    return &m->files[i].lines[j];
    return NULL;
}

static double known(double x)
{
    return isfinite(x) ? x : 0;
}

static double cpu_of(const struct model_line *l)
{
    return l ? known(l->cpu.user) + known(l->cpu.sys) : 0;
}

static enum err add_line(struct comparison *c, const char *file, const struct model_line *a,
                         const struct model_line *b)
{
    const struct model_line *any = b ? b : a;
    struct compare_line *l = &c->lines[c->lines_count];
    *l = (struct compare_line){.file = strdup(file),
                               .text = any->text ? strdup(any->text) : NULL,
                               .line = any->line,
                               .a = cpu_of(a),
                               .b = cpu_of(b),
                               .error =
                                   hypot(a ? known(a->cpu.error) : 0, b ? known(b->cpu.error) : 0)};
    FAIL_IF(!l->file, ERR_MEMORY, "no memory left for the comparison");
    double d = l->b - l->a;
    l->verdict = fabs(d) <= 2 * l->error ? COMPARE_SAME : d > 0 ? COMPARE_SLOWER : COMPARE_FASTER;
    c->lines_count++;
    return ERR_OK;
}

static int by_difference(const void *x, const void *y)
{
    const struct compare_line *a = x, *b = y;
    double p = fabs(a->b - a->a), q = fabs(b->b - b->a);
    return (p < q) - (p > q);
}

static int lines_of(const struct model *m)
{
    int n = 0;
    for (int i = 0; i < m->files_count; i++)
        n += m->files[i].lines_count;
    return n;
}

static enum err add_lines(struct comparison *c, const struct model *a, const struct model *b)
{
    double least = 1e-3 * fmin(known(a->totals.cpu.user) + known(a->totals.cpu.sys),
                               known(b->totals.cpu.user) + known(b->totals.cpu.sys));
    c->lines = calloc((size_t)(lines_of(a) + lines_of(b)) + 1, sizeof *c->lines);
    FAIL_IF(!c->lines, ERR_MEMORY, "no memory left for the comparison");
    for (int side = 0; side < 2; side++) {
        const struct model *m = side ? b : a;
        for (int i = 0; i < m->files_count; i++)
            for (int j = 0; j < m->files[i].lines_count; j++) {
                const struct model_line *l = &m->files[i].lines[j];
                const struct model_line *other = find_line(side ? a : b, m->files[i].path, l->line);
                if ((side && other) || (cpu_of(l) < least && cpu_of(other) < least))
                    continue;
                TRY(add_line(c, m->files[i].path, side ? NULL : l, side ? l : other));
            }
    }
    qsort(c->lines, (size_t)c->lines_count, sizeof *c->lines, by_difference);
    return ERR_OK;
}

/* Facts that must agree for times to be judged (`weight` 1), or that one should know (0). */
static const struct fact {
    const char *key, *what;
    int weight;
} facts[] = {
    {"backend", "back end", 1},
    {"cpu", "CPU", 1},
    {"devices", "devices", 1},
    {"threads", "threads", 1},
    {"isa", "instruction set", 1},
    {"compiler", "compiler", 1},
    {"cuda_version", "CUDA version", 1},
    {"driver", "GPU driver", 1},
    {"kernel", "kernel", 0},
    {"tomoprof_version", "version of tomoprof", 0},
};

static enum err warn(struct comparison *c, const char *what, const char *a, const char *b)
{
    char *text;
    FAIL_IF(asprintf(&text, "%s differs: %s in A, %s in B", what, a ? a : "unknown",
                     b ? b : "unknown") < 0,
            ERR_MEMORY, "no memory left for the comparison");
    c->warnings[c->warnings_count++] = text;
    return ERR_OK;
}

static enum err add_warnings(struct comparison *c, const struct compare_side *a,
                             const struct compare_side *b)
{
    size_t n = sizeof facts / sizeof *facts;
    c->warnings = calloc(n + 1, sizeof *c->warnings);
    FAIL_IF(!c->warnings, ERR_MEMORY, "no memory left for the comparison");
    enum err e = ERR_OK;
    int alone = 0;
    for (size_t i = 0; a->timing && b->timing && i < n && e == ERR_OK; i++) {
        char *x = compare_environment(a, facts[i].key), *y = compare_environment(b, facts[i].key);
        if ((x || y) && (!x || !y || strcmp(x, y) != 0)) {
            e = warn(c, facts[i].what, x, y);
            c->machines_differ |= facts[i].weight;
        }
        free(x);
        free(y);
    }
    for (int i = 0; i < c->operations_count; i++)
        alone += c->operations[i].verdict == COMPARE_ONLY_A ||
                 c->operations[i].verdict == COMPARE_ONLY_B;
    if (alone && e == ERR_OK) {
        char count[64];
        snprintf(count, sizeof count, "%d of %d", alone, c->operations_count);
        char *text;
        if (asprintf(&text, "%s operations and sizes were measured in one of the runs only",
                     count) < 0)
            return FAIL(ERR_MEMORY, "no memory left for the comparison");
        c->warnings[c->warnings_count++] = text;
    }
    return e;
}

enum err compare_runs(const char *a, const char *b, struct comparison **out)
{
    struct compare_side sides[2] = {{0}};
    struct comparison *c = calloc(1, sizeof *c);
    enum err e = ERR_OK;
    *out = NULL;
    if (!c || !(c->a = strdup(a)) || !(c->b = strdup(b))) {
        e = FAIL(ERR_MEMORY, "no memory left for the comparison");
        goto out;
    }
    TRY_OUT(compare_side_read(a, &sides[0]));
    TRY_OUT(compare_side_read(b, &sides[1]));
    int pair = (sides[0].timing && sides[1].timing) || (sides[0].profile && sides[1].profile);
    if (!pair) {
        e = FAIL(ERR_INPUT, "%s and %s have nothing in common: one has times, the other a profile",
                 a, b);
        goto out;
    }
    if (sides[0].timing && sides[1].timing)
        TRY_OUT(add_operations(c, &sides[0], &sides[1]));
    if (sides[0].profile && sides[1].profile)
        TRY_OUT(add_lines(c, sides[0].profile, sides[1].profile));
    e = add_warnings(c, &sides[0], &sides[1]);
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
    for (int i = 0; i < c->warnings_count; i++)
        free(c->warnings[i]);
    free(c->operations);
    free(c->lines);
    free(c->warnings);
    free(c->a);
    free(c->b);
    free(c);
}

const struct compare_operation *compare_over(const struct comparison *c, double limit)
{
    for (int i = 0; i < c->operations_count; i++) {
        const struct compare_operation *o = &c->operations[i];
        if (o->ratio > 1 + limit && (isnan(o->low) || o->low > 1))
            return o;
    }
    return NULL;
}
