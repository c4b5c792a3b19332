/* Compares two recordings of this program as a whole, by the runs that were timed, and function by
 * function. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/table.h"
#include "profiler/report/compare/compare_parts.h"

#define LEAST_SHARE 0.001 /* of the CPU time: smaller ones of both sides are left out */

static double number_or_zero(double x)
{
    return isfinite(x) ? x : 0;
}

/* Sorts x and sums it up. */
static struct compare_sample sample_of(double *x, int n)
{
    struct compare_sample s = {n, NAN, 0, NAN, INFINITY, -INFINITY};
    double squares = 0;
    if (!n)
        return (struct compare_sample){0, NAN, NAN, NAN, NAN, NAN};
    for (int i = 0; i < n; i++) {
        s.mean += x[i] / n;
        s.min = fmin(s.min, x[i]);
        s.max = fmax(s.max, x[i]);
    }
    for (int i = 0; i < n; i++)
        squares += (x[i] - s.mean) * (x[i] - s.mean);
    if (n > 1)
        s.sd = sqrt(squares / (n - 1));
    s.median = compare_median(x, n);
    return s;
}

enum total_kind { TOTAL_WALL, TOTAL_CPU, TOTAL_MEMORY, TOTALS };

static double total_of_run(const struct model_timed *t, enum total_kind kind)
{
    return kind == TOTAL_WALL  ? t->wall_s
           : kind == TOTAL_CPU ? number_or_zero(t->user_s) + number_or_zero(t->sys_s)
                               : t->peak_rss_mb;
}

static double total_of_recording(const struct model *m, enum total_kind kind)
{
    const struct model_cpu *cpu = &m->totals.cpu;
    return kind == TOTAL_WALL  ? m->meta.wall_s
           : kind == TOTAL_CPU ? number_or_zero(cpu->user) + number_or_zero(cpu->sys)
                               : m->totals.peak_rss_mb;
}

#define RUNS_MOST 1000

/* Values above 0 of one side's runs, or that of its recording. */
static int totals_side(const struct model *m, int timed, enum total_kind kind, double x[RUNS_MOST])
{
    int n = 0;
    for (int i = 0; timed && i < m->timed_runs_count && n < RUNS_MOST; i++)
        if (total_of_run(&m->timed_runs[i], kind) > 0)
            x[n++] = total_of_run(&m->timed_runs[i], kind);
    if (!timed && total_of_recording(m, kind) > 0)
        x[n++] = total_of_recording(m, kind);
    return n;
}

void compare_totals(struct comparison *c, const struct model *a, const struct model *b)
{
    static const char *const names[TOTALS] = {"wall time", "CPU time", "peak memory"};
    const int timed = a->timed_runs_count > 0 && b->timed_runs_count > 0;
    double of_a[RUNS_MOST], of_b[RUNS_MOST];
    for (int kind = 0; kind < TOTALS; kind++) {
        const int na = totals_side(a, timed, kind, of_a), nb = totals_side(b, timed, kind, of_b);
        struct compare_total *t = &c->totals[c->totals_count];
        if (!na || !nb)
            continue;
        *t = (struct compare_total){.name = names[kind], .unit = kind == TOTAL_MEMORY ? "MB" : "s"};
        compare_interval(of_a, na, of_b, nb, &t->low, &t->high); /* before they are sorted */
        t->a = sample_of(of_a, na);
        t->b = sample_of(of_b, nb);
        t->ratio = t->b.median / t->a.median;
        t->verdict = compare_judge(t->low, t->high);
        if (t->verdict == COMPARE_UNDECIDED)
            t->runs_needed = compare_runs_needed(t->ratio, t->low, t->high, na < nb ? na : nb);
        if (kind == TOTAL_CPU) {
            c->noise_a = number_or_zero(t->a.sd / t->a.mean);
            c->noise_b = number_or_zero(t->b.sd / t->b.mean);
        }
        c->totals_count++;
    }
}

const char *compare_total_verdict(const struct compare_total *t)
{
    const int memory = strcmp(t->unit, "s") != 0;
    return memory && t->verdict == COMPARE_SLOWER   ? "larger"
           : memory && t->verdict == COMPARE_FASTER ? "smaller"
                                                    : compare_verdict_name(t->verdict);
}

/* Holds both sides' functions by file and name. Methods of one name in one file are one row. */
struct own_rows {
    struct comparison *c;
    size_t room;
    struct table at;
};

static uint64_t own_key(const char *file, const char *name)
{
    return table_mix(table_hash(file, strlen(file)), table_hash(name, strlen(name)));
}

static enum err own_row(struct own_rows *r, const char *file, const char *name,
                        struct compare_function **out)
{
    struct comparison *c = r->c;
    const uint64_t key = own_key(file, name);
    uint32_t at = table_get(&r->at, key);
    if (at == TABLE_NONE) {
        TRY(array_room(&c->functions, &r->room, (size_t)c->functions_count + 1,
                       sizeof *c->functions));
        at = (uint32_t)c->functions_count++;
        c->functions[at] = (struct compare_function){.name = strdup(name), .file = strdup(file)};
        FAIL_IF(!c->functions[at].name || !c->functions[at].file, ERR_MEMORY,
                "no memory for the comparison");
        TRY(table_put(&r->at, key, at));
    }
    *out = &c->functions[at];
    return ERR_OK;
}

static const char *file_line_text(const struct model_file *f, int64_t line)
{
    for (int i = 0; i < f->lines_count; i++)
        if (f->lines[i].line == line)
            return f->lines[i].text;
    for (int i = 0; i < f->source_count; i++)
        if (f->source[i].line == line)
            return f->source[i].text;
    return NULL;
}

/* Adds a function's times to a side of its row. `key`: the file's path, of two that are paired B's. A
 * row is shown in B's file, or in A's where B has no such function. */
static enum err own_add(struct own_rows *r, const struct model_file *f, const char *key,
                        const struct model_function *x, int side)
{
    struct compare_function *row = NULL;
    if (!x->name)
        return ERR_OK;
    TRY(own_row(r, key, x->name, &row));
    if (strcmp(row->file, f->path)) {
        free(row->file);
        row->file = strdup(f->path);
        FAIL_IF(!row->file, ERR_MEMORY, "no memory for the comparison");
    }
    row->own |= f->user;
    *(side ? &row->b_s : &row->a_s) +=
        number_or_zero(x->cpu_incl.user) + number_or_zero(x->cpu_incl.sys);
    *(side ? &row->own_b_s : &row->own_a_s) +=
        number_or_zero(x->cpu.user) + number_or_zero(x->cpu.sys);
    long long *line = side ? &row->line_b : &row->line_a;
    if (*line || x->line == MODEL_UNKNOWN)
        return ERR_OK;
    *line = x->line;
    const char *text = file_line_text(f, x->line);
    if (!text)
        return ERR_OK;
    free(row->text);
    row->text = strdup(text);
    FAIL_IF(!row->text, ERR_MEMORY, "no memory for the comparison");
    return ERR_OK;
}

static enum err own_add_side(struct own_rows *r, const struct model *m, const struct model *other,
                             int side)
{
    for (int i = 0; i < m->files_count; i++) {
        const struct model_file *f = &m->files[i], *in_b = side ? f : compare_file_of(m, other, f);
        for (int k = 0; k < f->functions_count; k++)
            TRY(own_add(r, f, in_b ? in_b->path : f->path, &f->functions[k], side));
    }
    return ERR_OK;
}

/* CPU time that one sample stands for, s. */
static double sample_period(const struct model *m)
{
    const struct model_cpu *cpu = &m->totals.cpu;
    return cpu->samples > 0
               ? (number_or_zero(cpu->user) + number_or_zero(cpu->sys)) / (double)cpu->samples
               : 0;
}

static enum compare_verdict function_judge(const struct compare_function *f)
{
    if (f->b_s == 0)
        return f->a_s > 3 * f->error ? COMPARE_GONE : COMPARE_UNDECIDED;
    if (f->a_s == 0)
        return f->b_s > 3 * f->error ? COMPARE_NEW : COMPARE_UNDECIDED;
    return compare_judge_difference(f->a_s, f->b_s, f->error);
}

/* First those whose own lines changed most: a caller changes with its callees. */
ARRAY_ORDER(by_own_change, struct compare_function,
            COMPARE(fabs(y->own_b_s - y->own_a_s), fabs(x->own_b_s - x->own_a_s))
            ?: COMPARE(fabs(y->b_s - y->a_s), fabs(x->b_s - x->a_s))
            ?: strcmp(x->name, y->name));

/* Judges the rows and drops those that take next to nothing on both sides. */
static void own_judge(struct comparison *c, const struct model *a, const struct model *b)
{
    const double of_a = sample_period(a), of_b = sample_period(b);
    int count = 0;
    for (int i = 0; i < c->functions_count; i++) {
        struct compare_function *f = &c->functions[i];
        f->a = c->cpu_a > 0 ? f->a_s / c->cpu_a : 0;
        f->b = c->cpu_b > 0 ? f->b_s / c->cpu_b : 0;
        if (fmax(f->a, f->b) < LEAST_SHARE || (f->a_s == 0 && f->b_s == 0)) {
            free(f->name);
            free(f->file);
            free(f->text);
            continue;
        }
        f->error = hypot(hypot(sqrt(f->a_s * of_a), c->noise_a * f->a_s),
                         hypot(sqrt(f->b_s * of_b), c->noise_b * f->b_s));
        f->verdict = function_judge(f);
        c->functions[count++] = *f;
    }
    c->functions_count = count;
    array_sort(c->functions, (size_t)count, sizeof *c->functions, by_own_change);
}

enum err compare_own_functions(struct comparison *c, const struct model *a, const struct model *b)
{
    struct own_rows r = {.c = c};
    enum err e = own_add_side(&r, a, b, 0);
    if (!e)
        e = own_add_side(&r, b, a, 1);
    table_free(&r.at);
    if (!e)
        own_judge(c, a, b);
    return e;
}
