/* Lines of two recorded programs, followed through the edits of their files. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/report/compare/compare_parts.h"

#define DIFF_LINES 20

/* The profile's lines by number: [1, length]; NULL where a line cost nothing. */
struct numbered {
    const struct model_line **line;
    int length;
};

static double known_seconds(double x)
{
    return isfinite(x) ? x : 0;
}

static double line_cpu(const struct model_line *l)
{
    return l ? known_seconds(l->cpu.user) + known_seconds(l->cpu.sys) : 0;
}

/* Standard error of a line's time: of sampling, and `noise` of it from run to run. */
static double error_of(const struct model_line *l, double noise)
{
    return l ? hypot(known_seconds(l->cpu.error), noise * line_cpu(l)) : 0;
}

static enum err number_lines(const struct model_file *f, int length, struct numbered *out)
{
    *out = (struct numbered){calloc((size_t)length + 1, sizeof *out->line), length};
    FAIL_IF(!out->line, ERR_MEMORY, "no memory left for the comparison");
    for (int i = 0; f && i < f->lines_count; i++)
        if (f->lines[i].line >= 1 && f->lines[i].line <= length)
            out->line[f->lines[i].line] = &f->lines[i];
    return ERR_OK;
}

static const struct model_line *line_numbered(const struct numbered *n, int line)
{
    return line >= 1 && line <= n->length ? n->line[line] : NULL;
}

/* Data for the comparison of one file. */
struct pairing {
    struct comparison *c;
    const char *file, *file_a; /* B's path, or A's where there is none; A's */
    struct align texts;
    struct numbered a, b;
    double least; /* lines below it on both sides are left out */
    int edited;   /* the texts of both states are known */
};

static enum err compare_line(struct pairing *p, int a, int b)
{
    const struct model_line *before = line_numbered(&p->a, a), *after = line_numbered(&p->b, b);
    double most = fmax(line_cpu(before), line_cpu(after));
    if (!(most > 0) || most < p->least)
        return ERR_OK;
    const char *text = b ? p->texts.b[b] : p->texts.a[a];
    struct compare_line *l = &p->c->lines[p->c->lines_count++];
    *l = (struct compare_line){
        .file = strdup(b ? p->file : p->file_a),
        .text = text ? strdup(text) : NULL,
        .line_a = a,
        .line_b = b,
        .a = line_cpu(before),
        .b = line_cpu(after),
        .error = hypot(error_of(before, p->c->noise_a), error_of(after, p->c->noise_b))};
    FAIL_IF(!l->file, ERR_MEMORY, "no memory left for the comparison");
    l->verdict = !a   ? p->edited ? COMPARE_ADDED : COMPARE_ONLY_B
                 : !b ? p->edited ? COMPARE_REMOVED : COMPARE_ONLY_A
                      : compare_judge_difference(l->a, l->b, l->error);
    return ERR_OK;
}

static void diff_side(FILE *out, char sign, const char **text, int first, int count, int *room)
{
    for (int i = first; i < first + count; i++, --*room)
        if (*room > 0)
            fprintf(out, "%c%s\n", sign, text[i] ? text[i] : "");
}

static void edit_costs(const struct pairing *p, struct compare_edit *e)
{
    for (int i = 0; i < e->a_count; i++) {
        e->a_s += line_cpu(line_numbered(&p->a, e->a + i));
        e->error = hypot(e->error, error_of(line_numbered(&p->a, e->a + i), p->c->noise_a));
    }
    for (int i = 0; i < e->b_count; i++) {
        e->b_s += line_cpu(line_numbered(&p->b, e->b + i));
        e->error = hypot(e->error, error_of(line_numbered(&p->b, e->b + i), p->c->noise_b));
    }
    e->verdict = compare_judge_difference(e->a_s, e->b_s, e->error);
}

/* An edit that cost something before or after it. */
static enum err add_edit(struct pairing *p, struct compare_edit e)
{
    size_t bytes;
    int room = DIFF_LINES;
    edit_costs(p, &e);
    double most = fmax(e.a_s, e.b_s);
    if (!p->edited || !(most > 0) || most < p->least)
        return ERR_OK;
    FILE *out = open_memstream(&e.diff, &bytes);
    FAIL_IF(!out, ERR_MEMORY, "no memory left for the comparison");
    diff_side(out, '-', p->texts.a, e.a, e.a_count, &room);
    diff_side(out, '+', p->texts.b, e.b, e.b_count, &room);
    if (room < 0)
        fprintf(out, "... %d more lines\n", -room);
    int failed = fclose(out);
    e.file = strdup(p->file);
    p->c->edits[p->c->edits_count++] = e;
    FAIL_IF(failed || !e.file, ERR_MEMORY, "no memory left for the comparison");
    return ERR_OK;
}

/* Both states from the top: equal lines in step, between them what was removed and added. */
static enum err compare_file(struct pairing *p)
{
    int i = 1, j = 1, na = p->texts.length_a, nb = p->texts.length_b;
    while (i <= na || j <= nb) {
        int a = i, b = j;
        for (; i <= na && !p->texts.to_b[i]; i++)
            TRY(compare_line(p, i, 0));
        for (; j <= nb && !p->texts.to_a[j]; j++)
            TRY(compare_line(p, 0, j));
        if (i > a || j > b)
            TRY(add_edit(
                p, (struct compare_edit){.a = a, .a_count = i - a, .b = b, .b_count = j - b}));
        for (; i <= na && j <= nb && p->texts.to_b[i] == j; i++, j++)
            TRY(compare_line(p, i, j));
    }
    return ERR_OK;
}

static const struct model_file *file_at_path(const struct model *m, const char *path)
{
    for (int i = 0; i < m->files_count; i++)
        if (!strcmp(m->files[i].path, path))
            return &m->files[i];
    return NULL;
}

/* The one own file of that language in `m` which `other` lacks; NULL: none, or several. */
static const struct model_file *file_alone(const struct model *m, const struct model *other,
                                           const char *language)
{
    const struct model_file *found = NULL;
    for (int i = 0; i < m->files_count; i++) {
        const struct model_file *f = &m->files[i];
        if (!f->user || !f->language || strcmp(f->language, language) ||
            file_at_path(other, f->path))
            continue;
        if (found)
            return NULL;
        found = f;
    }
    return found;
}

const struct model_file *compare_file_of(const struct model *m, const struct model *other,
                                         const struct model_file *f)
{
    const struct model_file *same = file_at_path(other, f->path);
    if (same || !f->user || !f->language || file_alone(m, other, f->language) != f)
        return same;
    return file_alone(other, m, f->language);
}

/* Makes room for a line or an edit more for each line of the file, at most. */
static enum err room_for_lines(struct comparison *c, int lines)
{
    struct compare_line *more =
        realloc(c->lines, (size_t)(c->lines_count + lines + 1) * sizeof *more);
    c->lines = more ? more : c->lines;
    struct compare_edit *edits =
        realloc(c->edits, (size_t)(c->edits_count + lines + 1) * sizeof *edits);
    c->edits = edits ? edits : c->edits;
    FAIL_IF(!more || !edits, ERR_MEMORY, "no memory left for the comparison");
    return ERR_OK;
}

static enum err pair_files(struct comparison *c, const struct model_file *a,
                           const struct model_file *b, double least)
{
    struct pairing p = {
        .c = c, .file = b ? b->path : a->path, .least = least, .file_a = a ? a->path : b->path};
    TRY(align_files(a, b, &p.texts));
    p.edited = p.texts.by_text;
    enum err e = room_for_lines(c, p.texts.length_a + p.texts.length_b);
    if (!e)
        e = number_lines(a, p.texts.length_a, &p.a);
    if (!e)
        e = number_lines(b, p.texts.length_b, &p.b);
    if (!e)
        e = compare_file(&p);
    free(p.a.line);
    free(p.b.line);
    align_free(&p.texts);
    return e;
}

static int by_difference(const void *x, const void *y)
{
    const struct compare_line *a = x, *b = y;
    double p = fabs(a->b - a->a), q = fabs(b->b - b->a);
    return (p < q) - (p > q);
}

static int by_change(const void *x, const void *y)
{
    const struct compare_edit *a = x, *b = y;
    double p = fabs(a->b_s - a->a_s), q = fabs(b->b_s - b->a_s);
    return (p < q) - (p > q);
}

enum err compare_profiles(struct comparison *c, const struct model *a, const struct model *b)
{
    c->wall_a = a->meta.wall_s;
    c->wall_b = b->meta.wall_s;
    c->cpu_a = known_seconds(a->totals.cpu.user) + known_seconds(a->totals.cpu.sys);
    c->cpu_b = known_seconds(b->totals.cpu.user) + known_seconds(b->totals.cpu.sys);
    double least = 1e-3 * fmin(known_seconds(c->cpu_a), known_seconds(c->cpu_b));
    for (int i = 0; i < a->files_count; i++)
        TRY(pair_files(c, &a->files[i], compare_file_of(a, b, &a->files[i]), least));
    for (int i = 0; i < b->files_count; i++)
        if (!compare_file_of(b, a, &b->files[i]))
            TRY(pair_files(c, NULL, &b->files[i], least));
    if (c->lines_count)
        qsort(c->lines, (size_t)c->lines_count, sizeof *c->lines, by_difference);
    if (c->edits_count)
        qsort(c->edits, (size_t)c->edits_count, sizeof *c->edits, by_change);
    return ERR_OK;
}
