/* A comparison as text, as JSON and as a page. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/jsonw.h"
#include "base/text.h"
#include "profiler/report/compare/compare.h"
#include "profiler/report/compare/compare_parts.h"
#include "profiler/report/page/html.h"

static const char *time_text(double s, char out[32])
{
    const struct {
        double unit;
        const char *name;
    } units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    size_t i = 0;
    if (!isfinite(s))
        return "-";
    if (s == 0)
        return "0";
    while (i < 3 && s < units[i].unit)
        i++;
    snprintf(out, 32, "%s %s", NUMBER(3, s / units[i].unit), units[i].name);
    return out;
}

enum { WIDEST = 1000 }; /* high end of an interval over its low one: wider ones tell nothing */

static void operations_text(const struct comparison *c, FILE *out)
{
    char a[32], b[32], interval[48], size[16];
    int needed = 0;
    plain_print(out, "\n%-40s %5s %10s %10s %7s  %-15s %s\n", "operation", "size", "A", "B", "B/A",
                "99 %", "verdict");
    for (int i = 0; i < c->operations_count; i++) {
        const struct compare_operation *o = &c->operations[i];
        interval[0] = '\0';
        needed = o->size && o->runs_needed > needed ? o->runs_needed : needed;
        if (isfinite(o->low) && o->high > WIDEST * o->low)
            snprintf(interval, sizeof interval, "too few runs");
        else if (isfinite(o->low))
            snprintf(interval, sizeof interval, "%s to %s", NUMBER(4, o->low), NUMBER(4, o->high));
        if (o->size)
            snprintf(size, sizeof size, "%d", o->size);
        plain_print(out, "%-40s %5s %10s %10s ", o->name, o->size ? size : "", time_text(o->a, a),
                    time_text(o->b, b));
        if (isfinite(o->ratio))
            fprintf(out, "%7.3f", o->ratio);
        else
            plain_print(out, "%7s", "-");
        plain_print(out, "  %-15s %s\n", interval, compare_verdict_name(o->verdict));
    }
    if (needed)
        fprintf(out,
                "undecided: `tomoprof run --runs %d` on both sides should decide (the first run is "
                "cold and does "
                "not count)\n",
                needed + 1);
}

/* Pads by characters: "±" and "…" take more bytes than columns. */
static void padded_text(FILE *out, const char *text, int columns)
{
    for (const char *c = text; *c; c++)
        columns -= ((unsigned char)*c & 0xC0) != 0x80;
    plain_print(out, "%*s%s", columns > 0 ? columns : 0, "", text);
}

/* "2.41 s ± 0.03 s", and below it "2.38 s … 2.46 s". */
static void sample_text(const struct compare_sample *s, const char *unit, int range, char out[80])
{
    const double first = range ? s->min : s->mean, second = range ? s->max : s->sd;
    if (s->n < 2)
        snprintf(out, 80, "%s", "");
    else
        snprintf(out, 80, "%s %s %s %.*g %s", NUMBER(4, first), unit, range ? "…" : "±",
                 range ? 4 : 2, second, unit);
    if (s->n < 2 && !range)
        snprintf(out, 80, "%s %s", NUMBER(4, s->mean), unit);
}

static void totals_text(const struct comparison *c, FILE *out)
{
    char a[80], b[80], interval[48];
    int needed = 0;
    const int several = c->totals[0].a.n > 1 && c->totals[0].b.n > 1;
    plain_print(out, "\n%-12s%24s%24s %8s  %-15s %s\n", "", several ? "A, mean ± sd" : "A",
                several ? "B, mean ± sd" : "B", "B/A", "99 %", "verdict");
    for (int i = 0; i < c->totals_count; i++) {
        const struct compare_total *t = &c->totals[i];
        snprintf(interval, sizeof interval, "unknown");
        if (isfinite(t->low))
            snprintf(interval, sizeof interval, "%s to %s", NUMBER(4, t->low), NUMBER(4, t->high));
        needed = i == 0 ? t->runs_needed : needed;
        for (int range = 0; range < 1 + several; range++) {
            sample_text(&t->a, t->unit, range, a);
            sample_text(&t->b, t->unit, range, b);
            plain_print(out, "%-12s", range ? "  min … max" : t->name);
            padded_text(out, a, 24);
            padded_text(out, b, 24);
            if (!range)
                plain_print(out, " %8.3f  %-15s %s", t->ratio, interval, compare_total_verdict(t));
            fputs("\n", out);
        }
    }
    if (!several)
        fputs("One run a side: its noise is unknown. `tomoprof record --runs 5` measures it.\n",
              out);
    else if (needed)
        fprintf(out, "undecided: `tomoprof record --runs %d` on both sides should decide\n",
                needed);
}

/* Rows of libraries matter where they changed; those of own code always. */
static int function_matters(const struct compare_function *f)
{
    return f->own || (f->verdict != COMPARE_SAME && f->verdict != COMPARE_UNDECIDED);
}

static void own_functions_text(const struct comparison *c, FILE *out, int top)
{
    char a[32], b[32], d[32], own[32];
    int few = 0, shown = 0;
    plain_print(out, "\n%10s %10s %10s %10s  %-9s %s\n", "A", "B", "B - A", "own lines", "verdict",
                "function, CPU time with callees");
    for (int i = 0; i < c->functions_count && shown < top; i++) {
        const struct compare_function *f = &c->functions[i];
        if (!function_matters(f))
            continue;
        shown++;
        few += f->verdict == COMPARE_UNDECIDED;
        const double all = f->b_s - f->a_s, lines = f->own_b_s - f->own_a_s;
        plain_print(out, "%10s %10s %c%9s %c%9s  %-9s %.60s  %s:%lld\n", time_text(f->a_s, a),
                    time_text(f->b_s, b), all < 0 ? '-' : '+', time_text(fabs(all), d),
                    lines < 0 ? '-' : '+', time_text(fabs(lines), own),
                    compare_verdict_name(f->verdict), f->name, f->file,
                    f->line_b ? f->line_b : f->line_a);
    }
    if (few)
        fputs("undecided: too few samples, or too much noise; `tomoprof record --rate 1000` "
              "takes more samples\n",
              out);
}

static void share_functions_text(const struct comparison *c, FILE *out, int top)
{
    plain_print(out, "\n%10s %10s  function, share of the CPU time with callees\n", "A", "B");
    for (int i = 0; i < c->functions_count && i < top; i++)
        plain_print(out, "%8.1f %% %8.1f %%  %.100s\n", 100 * c->functions[i].a,
                    100 * c->functions[i].b, c->functions[i].name);
}

static void edits_text(const struct comparison *c, FILE *out, int top)
{
    char a[32], b[32];
    fputs("\nedited lines, CPU time of the lines themselves:\n", out);
    for (int i = 0; i < c->edits_count && i < top; i++) {
        const struct compare_edit *e = &c->edits[i];
        plain_print(out, "%s:%d  %s -> %s  %s\n", e->file, e->b, time_text(e->a_s, a),
                    time_text(e->b_s, b), compare_verdict_name(e->verdict));
        for (const char *line = e->diff; *line;) {
            size_t n = strcspn(line, "\n");
            plain_print(out, "    %.*s\n", (int)n, line);
            line += n + (line[n] == '\n');
        }
    }
}

static void lines_text(const struct comparison *c, FILE *out, int top)
{
    char a[32], b[32], d[32];
    plain_print(out, "\n%10s %10s %10s  %-9s %s\n", "A", "B", "B - A", "verdict", "line");
    for (int i = 0; i < c->lines_count && i < top; i++) {
        const struct compare_line *l = &c->lines[i];
        double difference = l->b - l->a;
        plain_print(out, "%10s %10s %c%9s  %-9s %s:%lld\n", time_text(l->a, a), time_text(l->b, b),
                    difference < 0 ? '-' : '+', time_text(fabs(difference), d),
                    compare_verdict_name(l->verdict), l->file, l->line_b ? l->line_b : l->line_a);
    }
}

static void quantities_text(const struct comparison *c, FILE *out, int top)
{
    const char *group = "";
    int shown = 0;
    for (int i = 0; i < c->quantities_count; i++) {
        const struct compare_quantity *q = &c->quantities[i];
        const double values[] = {q->a, q->b};
        const long long counts[] = {q->count_a, q->count_b};
        if (strcmp(group, q->group))
            plain_print(out, "\n%10s %9s %10s %9s  %s\n", "A", "count", "B", "count", q->group);
        shown = strcmp(group, q->group) ? 1 : shown + 1;
        group = q->group;
        for (int k = 0; k < 2 && shown <= top; k++) {
            char value[32], count[32] = "-";
            if (counts[k] >= 0)
                snprintf(count, sizeof count, "%lld", counts[k]);
            if (!isfinite(values[k]))
                snprintf(value, sizeof value, "-");
            else if (strcmp(q->unit, "s"))
                snprintf(value, sizeof value, "%s MB", NUMBER(4, values[k] / 1048576));
            else
                time_text(values[k], value);
            plain_print(out, "%10s %9s ", value, count);
        }
        if (shown <= top)
            plain_print(out, " %.100s\n", q->name);
    }
}

void compare_text(const struct comparison *c, FILE *out, int top)
{
    plain_print(out, "%s\nA %s\nB %s\n", c->answer, c->a, c->b);
    for (int i = 0; i < c->warnings_count; i++)
        plain_print(out, "! %s\n", c->warnings[i]);
    if (c->causes_filled && isfinite(c->wall_a))
        plain_print(
            out,
            "rootcause.md of A now says what was measured; tomoprof report %s puts it into its "
            "page.\n",
            c->a);
    else if (c->causes_filled)
        fputs("rootcause.md of A now says what was measured.\n", out);
    if (c->operations_count)
        operations_text(c, out);
    if (c->totals_count)
        totals_text(c, out);
    quantities_text(c, out, top);
    if (c->functions_count && isfinite(c->functions[0].a_s))
        own_functions_text(c, out, top);
    if (c->edits_count)
        edits_text(c, out, top);
    if (c->lines_count)
        lines_text(c, out, top);
    if (c->functions_count && isnan(c->functions[0].a_s))
        share_functions_text(c, out, top);
}

/* The name of a run without the folders above it, which may name a person. */
static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return path[0] == '/' && slash && slash[1] ? slash + 1 : path;
}

static void number_or_null(struct jsonw *w, const char *key, long long line)
{
    jsonw_key(w, key);
    if (line)
        jsonw_int(w, line);
    else
        jsonw_null(w);
}

static void edits_json(const struct comparison *c, struct jsonw *w)
{
    jsonw_karray(w, "edits");
    for (int i = 0; i < c->edits_count; i++) {
        const struct compare_edit *e = &c->edits[i];
        jsonw_object(w);
        jsonw_kstring(w, "file", e->file);
        jsonw_kint(w, "line_a", e->a);
        jsonw_kint(w, "lines_a", e->a_count);
        jsonw_kint(w, "line_b", e->b);
        jsonw_kint(w, "lines_b", e->b_count);
        jsonw_knumber(w, "a", e->a_s);
        jsonw_knumber(w, "b", e->b_s);
        jsonw_knumber(w, "error", e->error);
        jsonw_kstring(w, "verdict", compare_verdict_name(e->verdict));
        jsonw_kstring(w, "diff", e->diff);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void lines_json(const struct comparison *c, struct jsonw *w)
{
    jsonw_karray(w, "lines");
    for (int i = 0; i < c->lines_count; i++) {
        const struct compare_line *l = &c->lines[i];
        jsonw_object(w);
        jsonw_kstring(w, "file", l->file);
        jsonw_kint(w, "line", l->line_b ? l->line_b : l->line_a);
        number_or_null(w, "line_a", l->line_a);
        number_or_null(w, "line_b", l->line_b);
        jsonw_kstring(w, "text", l->text);
        jsonw_knumber(w, "a", l->a);
        jsonw_knumber(w, "b", l->b);
        jsonw_knumber(w, "error", l->error);
        jsonw_kstring(w, "verdict", compare_verdict_name(l->verdict));
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void count_or_null(struct jsonw *w, const char *key, long long n)
{
    jsonw_key(w, key);
    if (n >= 0)
        jsonw_int(w, n);
    else
        jsonw_null(w);
}

static void quantities_json(const struct comparison *c, struct jsonw *w)
{
    jsonw_karray(w, "quantities");
    for (int i = 0; i < c->quantities_count; i++) {
        const struct compare_quantity *q = &c->quantities[i];
        jsonw_object(w);
        jsonw_kstring(w, "group", q->group);
        jsonw_kstring(w, "name", q->name);
        jsonw_kstring(w, "unit", q->unit);
        jsonw_knumber(w, "a", q->a);
        jsonw_knumber(w, "b", q->b);
        count_or_null(w, "count_a", q->count_a);
        count_or_null(w, "count_b", q->count_b);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void sample_json(struct jsonw *w, const char *key, const struct compare_sample *s)
{
    jsonw_key(w, key);
    jsonw_object(w);
    jsonw_kint(w, "runs", s->n);
    jsonw_knumber(w, "median", s->median);
    jsonw_knumber(w, "mean", s->mean);
    jsonw_knumber(w, "sd", s->sd);
    jsonw_knumber(w, "min", s->min);
    jsonw_knumber(w, "max", s->max);
    jsonw_end(w);
}

static void totals_json(const struct comparison *c, struct jsonw *w)
{
    jsonw_karray(w, "totals");
    for (int i = 0; i < c->totals_count; i++) {
        const struct compare_total *t = &c->totals[i];
        jsonw_object(w);
        jsonw_kstring(w, "name", t->name);
        jsonw_kstring(w, "unit", t->unit);
        sample_json(w, "a", &t->a);
        sample_json(w, "b", &t->b);
        jsonw_knumber(w, "ratio", t->ratio);
        jsonw_knumber(w, "low", t->low);
        jsonw_knumber(w, "high", t->high);
        jsonw_kint(w, "runs_needed", t->runs_needed);
        jsonw_kstring(w, "verdict", compare_total_verdict(t));
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void functions_json(const struct comparison *c, struct jsonw *w)
{
    jsonw_karray(w, "functions");
    for (int i = 0; i < c->functions_count; i++) {
        const struct compare_function *f = &c->functions[i];
        jsonw_object(w);
        jsonw_kstring(w, "name", f->name);
        jsonw_knumber(w, "a", f->a);
        jsonw_knumber(w, "b", f->b);
        jsonw_kstring(w, "file", f->file);
        number_or_null(w, "line_a", f->line_a);
        number_or_null(w, "line_b", f->line_b);
        jsonw_kstring(w, "text", f->text);
        jsonw_kbool(w, "own", f->own);
        jsonw_knumber(w, "a_s", f->a_s);
        jsonw_knumber(w, "b_s", f->b_s);
        jsonw_knumber(w, "own_a_s", f->own_a_s);
        jsonw_knumber(w, "own_b_s", f->own_b_s);
        jsonw_knumber(w, "error", f->error);
        jsonw_kstring(w, "verdict", isfinite(f->a_s) ? compare_verdict_name(f->verdict) : NULL);
        jsonw_end(w);
    }
    jsonw_end(w);
}

void compare_json(const struct comparison *c, FILE *out)
{
    struct jsonw w;
    jsonw_init(&w, out, 1);
    jsonw_object(&w);
    jsonw_kstring(&w, "schema", "tomoprof-compare/1");
    jsonw_kstring(&w, "a", last_part(c->a));
    jsonw_kstring(&w, "b", last_part(c->b));
    jsonw_kstring(&w, "answer", c->answer);
    jsonw_kbool(&w, "machines_differ", c->machines_differ);
    jsonw_knumber(&w, "wall_a", c->wall_a);
    jsonw_knumber(&w, "wall_b", c->wall_b);
    jsonw_knumber(&w, "cpu_a", c->cpu_a);
    jsonw_knumber(&w, "cpu_b", c->cpu_b);
    jsonw_karray(&w, "warnings");
    for (int i = 0; i < c->warnings_count; i++)
        jsonw_string(&w, c->warnings[i]);
    jsonw_end(&w);
    jsonw_karray(&w, "operations");
    for (int i = 0; i < c->operations_count; i++) {
        const struct compare_operation *o = &c->operations[i];
        jsonw_object(&w);
        jsonw_kstring(&w, "operation", o->name);
        jsonw_kint(&w, "volume_size", o->size);
        jsonw_knumber(&w, "a", o->a);
        jsonw_knumber(&w, "b", o->b);
        jsonw_knumber(&w, "ratio", o->ratio);
        jsonw_knumber(&w, "low", o->low);
        jsonw_knumber(&w, "high", o->high);
        jsonw_kint(&w, "runs_a", o->runs_a);
        jsonw_kint(&w, "runs_b", o->runs_b);
        jsonw_kint(&w, "runs_needed", o->runs_needed);
        jsonw_kstring(&w, "verdict", compare_verdict_name(o->verdict));
        jsonw_end(&w);
    }
    jsonw_end(&w);
    totals_json(c, &w);
    edits_json(c, &w);
    lines_json(c, &w);
    functions_json(c, &w);
    quantities_json(c, &w);
    compare_stacks_json(c, &w);
    jsonw_end(&w);
    fputc('\n', out);
}

enum err compare_html(const struct comparison *c, const char *path)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    FAIL_IF(!memory, ERR_MEMORY, "no memory left for %s", path);
    compare_json(c, memory);
    enum err e = fclose(memory) ? FAIL(ERR_MEMORY, "no memory left for %s", path)
                                : report_html_compare(text, bytes, path);
    free(text);
    return e;
}
