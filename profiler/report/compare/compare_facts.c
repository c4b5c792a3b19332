/* Lists facts that make two runs an unfair pair, and writes the sentence that sums them up. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "profiler/report/compare/compare_parts.h"

/* Facts that must agree for times to be judged (`machine` 1), or that one should know (0): what a
 * person changes on purpose to see what it brings. */
static const struct fact {
    const char *key, *what;
    int machine;
} of_suite[] =
    {
        {"cpu", "CPU", 1},           {"devices", "devices", 1},
        {"driver", "GPU driver", 1}, {"backend", "back end", 0},
        {"threads", "threads", 0},   {"isa", "instruction set", 0},
        {"compiler", "compiler", 0}, {"cuda_version", "CUDA version", 0},
        {"kernel", "kernel", 0},     {"tomoprof_version", "version of tomoprof", 0},
},
  of_program[] = {
      {"launcher.cpu", "CPU", 1},        {"launcher.cpus", "CPUs", 1},
      {"kernel", "kernel", 0},           {"python", "Python", 0},
      {"modes", "what was recorded", 0}, {"cpu.hz", "samples per second of CPU time", 0},
};

enum { FACT_TEXT = 400 };

static enum err add_warning(struct comparison *c, int first, char *text)
{
    FAIL_IF(!text, ERR_MEMORY, "no memory left for the comparison");
    char **more = realloc(c->warnings, (size_t)(c->warnings_count + 1) * sizeof *more);
    if (!more) {
        free(text);
        return FAIL(ERR_MEMORY, "no memory left for the comparison");
    }
    c->warnings = more;
    memmove(more + (first ? 1 : c->warnings_count), more + (first ? 0 : c->warnings_count),
            first ? (size_t)c->warnings_count * sizeof *more : 0);
    more[first ? 0 : c->warnings_count] = text;
    c->warnings_count++;
    return ERR_OK;
}

__attribute__((format(printf, 1, 2))) static char *text(const char *format, ...)
{
    char *out;
    va_list list;
    va_start(list, format);
    int n = vasprintf(&out, format, list);
    va_end(list);
    return n < 0 ? NULL : out;
}

static enum err warn_of_fact(struct comparison *c, const struct fact *f, const char *a,
                             const char *b)
{
    if ((!a && !b) || (a && b && !strcmp(a, b)))
        return ERR_OK;
    int other = f->machine && a && b;      /* unknown on a side: not known to be another */
    char of_a[FACT_TEXT], of_b[FACT_TEXT]; /* the text of a program may have several lines */
    c->machines_differ |= other;
    plain_text(a ? a : "unknown", PLAIN_LINE, of_a, sizeof of_a);
    plain_text(b ? b : "unknown", PLAIN_LINE, of_b, sizeof of_b);
    return add_warning(c, other, text("%s differs: %s in A, %s in B", f->what, of_a, of_b));
}

static const char *environment_of_model(const struct model *m, const char *key)
{
    for (int i = 0; i < m->environment_count; i++)
        if (m->environment[i].key && !strcmp(m->environment[i].key, key))
            return m->environment[i].value;
    return NULL;
}

static char *command_text(const struct model *m)
{
    char *out = NULL;
    size_t bytes;
    FILE *f = open_memstream(&out, &bytes);
    for (int i = 0; f && i < m->meta.command_count; i++)
        fprintf(f, "%s%s", i ? " " : "", m->meta.command[i] ? m->meta.command[i] : "?");
    if (f && !fclose(f))
        return out;
    free(out);
    return NULL;
}

static enum err warn_of_programs(struct comparison *c, const struct model *a, const struct model *b)
{
    static const struct fact what = {"", "program", 0};
    int imported = compare_tool(a) || compare_tool(b); /* captures do not hold these facts */
    for (size_t i = 0; i < sizeof of_program / sizeof *of_program; i++) {
        const char *x = environment_of_model(a, of_program[i].key),
                   *y = environment_of_model(b, of_program[i].key);
        if (!imported || (x && y))
            TRY(warn_of_fact(c, &of_program[i], x, y));
    }
    char *x = command_text(a), *y = command_text(b);
    int known = a->meta.command_count && b->meta.command_count;
    enum err e = imported && !known ? ERR_OK : warn_of_fact(c, &what, x, y);
    free(x);
    free(y);
    return e;
}

/* `report --from`, `--until` and `--after` leave a profile of a part, `record --paused` begins with
 * one: its times are not those of the run. */
static enum err warn_of_part(struct comparison *c, const char *name, const struct compare_side *s)
{
    const struct model_meta *meta = s->profile ? &s->profile->meta : NULL;
    if (!meta || !isfinite(meta->from_s))
        return ERR_OK;
    char part[100];
    if (meta->paused)
        text_print(part, sizeof part, "%s begins at its first region, after %s s", name,
                   NUMBER(3, meta->from_s));
    else
        text_print(part, sizeof part, "%s holds seconds %s to %s of its run alone", name,
                   NUMBER(3, meta->from_s), NUMBER(3, meta->until_s));
    text_append(c->parts, sizeof c->parts, "%s. ", part);
    return add_warning(
        c, 0,
        meta->paused ? text("%s", part)
                     : text("%s: `tomoprof report %s` analyses all of it again", part, s->path));
}

/* Mean multiply-add rate of the calibrations of one run, 10^9 a second; 0: unknown. */
static double calibration_mean(const struct timing_file *t)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < t->measurements_count; i++) {
        const struct timing_calibration *c = t->measurements[i].calibration;
        if (c && c->gflops > 0) {
            sum += c->gflops;
            n++;
        }
    }
    return n ? sum / n : 0;
}

/* A shared machine's speed changes by the minute, and with it the times of the same code. */
static enum err warn_of_drift(struct comparison *c, const struct timing_file *a,
                              const struct timing_file *b)
{
    const double x = calibration_mean(a), y = calibration_mean(b);
    if (a->environment.threads != b->environment.threads || !(x > 0) || !(y > 0) ||
        fmax(x, y) <= (1 + COMPARE_CLOSE) * fmin(x, y))
        return ERR_OK;
    return add_warning(
        c, 0,
        text("the machine's speed differs: its calibrations reached %s GFLOP/s in A, "
             "%s in B",
             NUMBER(3, x), NUMBER(3, y)));
}

static int ran_on_cpu(const struct compare_side *s)
{
    const char *name = s->timing->environment.backend;
    return name && !strcmp(name, "cpu");
}

static enum err warn_of_loads(struct comparison *c, const struct compare_side *a,
                              const struct compare_side *b)
{
    static const struct fact facts[COMPARE_LOAD_FACTS] = {{"", "array", 0},
                                                          {"", "number of chunks", 0},
                                                          {"", "state of the page cache", 0},
                                                          {"", "destination", 0},
                                                          {"", "file system", 0}};
    for (int i = 0; i < COMPARE_LOAD_FACTS && a->load[0] && b->load[0]; i++)
        TRY(warn_of_fact(c, &facts[i], a->load[i], b->load[i]));
    return ERR_OK;
}

enum err compare_warnings(struct comparison *c, const struct compare_side *a,
                          const struct compare_side *b)
{
    int alone = 0;
    TRY(warn_of_part(c, "A", a));
    TRY(warn_of_part(c, "B", b));
    for (size_t i = 0; a->timing && b->timing && i < sizeof of_suite / sizeof *of_suite; i++) {
        if (!strcmp(of_suite[i].key, "devices") && ran_on_cpu(a) && ran_on_cpu(b))
            continue; /* the CPU, which has its row, and the number of threads */
        char *x = compare_environment(a, of_suite[i].key);
        char *y = compare_environment(b, of_suite[i].key);
        enum err e = warn_of_fact(c, &of_suite[i], x, y);
        free(x);
        free(y);
        TRY(e);
    }
    TRY(warn_of_loads(c, a, b));
    if (a->timing && b->timing)
        TRY(warn_of_drift(c, a->timing, b->timing));
    if (a->profile && b->profile && !(a->timing && b->timing))
        TRY(warn_of_programs(c, a->profile, b->profile));
    for (int i = 0; i < c->operations_count; i++)
        alone += c->operations[i].verdict == COMPARE_ONLY_A ||
                 c->operations[i].verdict == COMPARE_ONLY_B;
    if (alone)
        TRY(add_warning(c, 0,
                        text("%d of %d operations and sizes %s measured in one of the runs only",
                             alone, c->operations_count, alone == 1 ? "was" : "were")));
    return ERR_OK;
}

static int count_verdict(const struct comparison *c, enum compare_verdict v)
{
    int n = 0;
    for (int i = 0; i < c->operations_count; i++)
        n += c->operations[i].verdict == v;
    return n;
}

/* The operation that changed most in the direction of `v`; NULL: none. */
static const struct compare_operation *changed_most(const struct comparison *c,
                                                    enum compare_verdict v)
{
    const struct compare_operation *found = NULL;
    for (int i = 0; i < c->operations_count; i++) {
        const struct compare_operation *o = &c->operations[i];
        if (o->verdict == v &&
            (!found || (v == COMPARE_SLOWER ? o->ratio > found->ratio : o->ratio < found->ratio)))
            found = o;
    }
    return found;
}

void compare_operation_name(const struct compare_operation *o, char out[COMPARE_NAME])
{
    if (o->size)
        snprintf(out, COMPARE_NAME, "%.140s at size %d", o->name, o->size);
    else
        snprintf(out, COMPARE_NAME, "%.140s", o->name);
}

static void write_operations(const struct comparison *c, FILE *out)
{
    static const enum compare_verdict order[] = {COMPARE_SLOWER,    COMPARE_FASTER, COMPARE_SAME,
                                                 COMPARE_UNDECIDED, COMPARE_ONLY_A, COMPARE_ONLY_B};
    const struct compare_operation *slower = changed_most(c, COMPARE_SLOWER),
                                   *faster = changed_most(c, COMPARE_FASTER);
    char name[COMPARE_NAME];
    if (slower) {
        compare_operation_name(slower, name);
        fprintf(out, "%s takes %.2f times as long. ", name, slower->ratio);
    }
    if (faster) {
        compare_operation_name(faster, name);
        fprintf(out, "%s takes %.2f of its time. ", name, faster->ratio);
    }
    fprintf(out, "Of %d %s:", c->operations_count,
            c->operations[0].size ? "operations and sizes" : "ways to load");
    const char *comma = "";
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (count_verdict(c, order[i])) {
            fprintf(out, "%s %d %s", comma, count_verdict(c, order[i]),
                    compare_verdict_name(order[i]));
            comma = ",";
        }
    fputs(".", out);
}

/* The runs' times where there are several a side, else those of the recordings. */
static void write_total(const struct comparison *c, FILE *out)
{
    const struct compare_total *t = c->totals_count ? &c->totals[0] : NULL;
    if (!t || isnan(t->low)) {
        fprintf(out, "The program took %s s instead of %s s (CPU time %s s instead of %s s).",
                NUMBER(3, c->wall_b), NUMBER(3, c->wall_a), NUMBER(3, c->cpu_b),
                NUMBER(3, c->cpu_a));
        return;
    }
    fprintf(out,
            "The program's wall time is %s: %s s instead of %s s (%.2f times as long, 99 %% "
            "interval %.2f to %.2f; %d and %d runs).",
            compare_verdict_name(t->verdict), NUMBER(3, t->b.median), NUMBER(3, t->a.median),
            t->ratio, t->low, t->high, t->a.n, t->b.n);
}

/* The function whose own lines changed most, of those that are decided. 0: none. */
static int write_function(const struct comparison *c, FILE *out)
{
    for (int i = 0; i < c->functions_count; i++) {
        const struct compare_function *f = &c->functions[i];
        const long long line = f->line_b ? f->line_b : f->line_a;
        if (f->verdict == COMPARE_SAME || f->verdict == COMPARE_UNDECIDED)
            continue;
        fprintf(out, " %s (%s:%lld)", f->name, f->file, line);
        if (f->verdict == COMPARE_GONE)
            fprintf(out, " is gone: it took %s s of CPU time.", NUMBER(3, f->a_s));
        else if (f->verdict == COMPARE_NEW)
            fprintf(out, " is new: it takes %s s of CPU time.", NUMBER(3, f->b_s));
        else
            fprintf(out, " takes %s s of CPU time instead of %s s.", NUMBER(3, f->b_s),
                    NUMBER(3, f->a_s));
        return 1;
    }
    return 0;
}

static void write_program(const struct comparison *c, FILE *out)
{
    const struct compare_line *line = NULL;
    write_total(c, out);
    const int named = write_function(c, out);
    if (c->edits_count &&
        (c->edits[0].verdict == COMPARE_SLOWER || c->edits[0].verdict == COMPARE_FASTER))
        fprintf(out, " The edit at %s:%d changed %s s to %s s.", c->edits[0].file, c->edits[0].b,
                NUMBER(3, c->edits[0].a_s), NUMBER(3, c->edits[0].b_s));
    for (int i = 0; i < c->lines_count && !line && !named; i++)
        if (c->lines[i].verdict == COMPARE_SLOWER || c->lines[i].verdict == COMPARE_FASTER)
            line = &c->lines[i];
    if (line)
        fprintf(out, " The line that changed most: %s:%lld, %s s instead of %s s.", line->file,
                line->line_b, NUMBER(3, line->b), NUMBER(3, line->a));
}

enum err compare_answer(struct comparison *c)
{
    size_t bytes;
    FILE *out = open_memstream(&c->answer, &bytes);
    FAIL_IF(!out, ERR_MEMORY, "no memory left for the comparison");
    if (c->machines_differ)
        fprintf(out,
                "These runs are from different machines (%s): their times do not show what a "
                "change brought. ",
                c->warnings[0]);
    fputs(c->parts, out);
    if (c->operations_count)
        write_operations(c, out);
    else if (isfinite(c->wall_a) && isfinite(c->wall_b))
        write_program(c, out);
    FAIL_IF(fclose(out), ERR_MEMORY, "no memory left for the comparison");
    return ERR_OK;
}
