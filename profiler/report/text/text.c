/* Tables of lines, functions, kernels and transfers for a terminal, with findings and data
 * quality below. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "profiler/findings/functions.h"
#include "profiler/report/text/text.h"

enum { FULL_LINE = 10000 };
enum { FUNCTIONS = 10 }; /* rows of functions beside rows of lines */

struct sheet {
    FILE *out;
    int width, colour, top;
    int full; /* no terminal: source lines are whole */
    const struct model *m;
    enum text_sort sort;
    int verbose;
};
struct text_row {
    const struct model_file *file;
    const struct model_line *line;
    double cost;
};

#define BOLD PLAIN_BOLD
#define RED  PLAIN_RED
#define DIM  PLAIN_DIM
#define END  PLAIN_END

static void sheet_styled(const struct sheet *s, const char *style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void sheet_styled(const struct sheet *s, const char *style, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (s->colour)
        fputs(style, s->out);
    plain_vprint(s->out, format, args);
    if (s->colour)
        fputs(END, s->out);
    va_end(args);
}

/* A text cut to `columns`, without control characters; columns are counted in code points. Returns
 * how many it took. */
static int sheet_clean(const struct sheet *s, const char *text, int columns)
{
    int used = 0;
    while (*text == ' ' || *text == '\t')
        text++;
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if ((c & 0xC0) != 0x80 && used == columns)
            break;
        used += (c & 0xC0) != 0x80;
        putc(c < 0x20 || c == 0x7F ? ' ' : c, s->out);
    }
    return used;
}

static double positive_or_zero(double v)
{
    return isfinite(v) && v > 0 ? v : 0;
}

/* `v` in `columns`, blank when unknown or nothing. */
static void sheet_number(const struct sheet *s, int columns, int digits, double v)
{
    if (!isfinite(v) || v * pow(10, digits) < 0.5)
        plain_print(s->out, "%*s", columns, isfinite(v) ? "." : "-");
    else
        fprintf(s->out, "%*.*f", columns, digits, v);
}

static void sheet_count(const struct sheet *s, int columns, int64_t v)
{
    char digits[JSON_DIGITS];
    plain_print(s->out, "%*s", columns, json_digits(v, "-", digits));
}

/* Prints the program's average use of CPUs; nothing where only one is there or the number is
 * unknown. */
static void cpus_used(const struct sheet *s, double cpu)
{
    for (int i = 0; i < s->m->environment_count; i++) {
        const struct model_fact *f = &s->m->environment[i];
        if (f->key && f->value && !strcmp(f->key, "launcher.cpus") && atoi(f->value) > 1 &&
            s->m->meta.wall_s > 0)
            plain_print(s->out, " on %s of %d CPUs", NUMBER(2, cpu / s->m->meta.wall_s),
                        atoi(f->value));
    }
}

/* Prints the times of `record --runs`. */
static void sheet_timed(const struct sheet *s)
{
    const struct model_timed *runs = s->m->timed_runs;
    const int n = s->m->timed_runs_count;
    double mean = 0, squares = 0;
    for (int i = 0; i < n; i++)
        mean += runs[i].wall_s / n;
    for (int i = 0; i < n; i++)
        squares += (runs[i].wall_s - mean) * (runs[i].wall_s - mean);
    if (n > 1)
        plain_print(s->out, "Without the recorder: %s s ± %s s wall (mean ± sd of %d runs)\n",
                    NUMBER(4, mean), NUMBER(2, sqrt(squares / (n - 1))), n);
}

/* Prints what `write` writes: on a terminal in lines of its width. */
static void sheet_sentences(const struct sheet *s, int indent, const void *of,
                            void (*write)(const struct sheet *s, const void *of))
{
    char *text = NULL;
    size_t bytes;
    struct sheet line = *s;
    line.out = s->full ? NULL : open_memstream(&text, &bytes);
    if (line.out) {
        write(&line, of);
        if (!fclose(line.out))
            text_wrapped(s->out, text, s->width, indent);
        free(text);
        return;
    }
    write(s, of); /* in one line, also without memory */
    fputs("\n", s->out);
}

static void write_summary(const struct sheet *s, const void *of)
{
    (void)of;
    const struct model_totals *t = &s->m->totals;
    double wall = s->m->meta.wall_s;
    if (isfinite(wall))
        sheet_styled(s, BOLD, "%s s", NUMBER(3, wall));
    fputs(isfinite(wall) ? " wall" : "unknown wall time", s->out);
    if (isfinite(t->cpu.user)) {
        double cpu = t->cpu.user + positive_or_zero(t->cpu.sys);
        plain_print(s->out, ", %s%s", model_cpu_text(s->m, cpu, (char[MODEL_PART]){0}),
                    model_counts_samples(s->m) ? "" : " CPU");
        if (isfinite(t->cpu.sys)) /* imported captures do not always tell */
            plain_print(s->out, " (%s user, %s system)", NUMBER(3, t->cpu.user),
                        NUMBER(3, t->cpu.sys));
        cpus_used(s, cpu);
    }
    if (isfinite(t->gpu_busy_s))
        plain_print(s->out, ", GPU busy %s s", NUMBER(3, t->gpu_busy_s));
    if (isfinite(t->gpu_busy_s) && wall > 0)
        fprintf(s->out, " (%.0f %% of wall)", 100 * t->gpu_busy_s / wall);
    if (isfinite(t->peak_rss_mb))
        plain_print(s->out, ", peak %s MiB", NUMBER(4, t->peak_rss_mb));
    if (isfinite(t->peak_device_mb) && t->peak_device_mb > 0)
        plain_print(s->out, ", device %s MiB", NUMBER(4, t->peak_device_mb));
}

static void write_headline(const struct sheet *s, const void *of)
{
    fputs(s->colour ? BOLD : "", s->out);
    sheet_clean(s, of, 400);
    fputs(s->colour ? END : "", s->out);
}

static void write_answer(const struct sheet *s, const void *of)
{
    const struct model_answer *a = of;
    fputs("  ", s->out);
    if (a->text && !text_begins(s->m->headline, a->text)) {
        sheet_clean(s, a->text, 400);
        fputs(text_ends(a->text, ".") ? " " : ". ", s->out);
    }
    if (isfinite(a->gain_s)) /* without wall time it is a capture without times */
        plain_print(s->out, "Fixing this saves up to %s s%s. ", NUMBER(2, a->gain_s),
                    isfinite(s->m->meta.wall_s) ? "" : " of CPU time");
    sheet_clean(s, a->advice ? a->advice : "", 400);
}

/* The headline, and what else could save much. */
static void sheet_answers(const struct sheet *s)
{
    if (!s->m->headline)
        return;
    fputs("\n", s->out);
    sheet_sentences(s, 0, s->m->headline, write_headline);
    for (int i = 0; i < s->m->answers_count && i < 3; i++)
        sheet_sentences(s, 4, &s->m->answers[i], write_answer);
}

static int most_expensive_first(const void *a, const void *b)
{
    const struct text_row *x = a, *y = b;
    double dx = positive_or_zero(x->line->cpu_incl.share),
           dy = positive_or_zero(y->line->cpu_incl.share);
    return x->cost != y->cost ? (x->cost < y->cost) - (x->cost > y->cost) : (dx < dy) - (dx > dy);
}

static int most_inclusive_first(const void *a, const void *b)
{
    const struct text_row *x = a, *y = b;
    const double dx = positive_or_zero(x->line->cpu_incl.share),
                 dy = positive_or_zero(y->line->cpu_incl.share);
    return dx != dy ? (dx < dy) - (dx > dy) : most_expensive_first(a, b);
}

ARRAY_ORDER(inclusive_functions_first, struct function_row, COMPARE(y->incl_s, x->incl_s));

static enum err rows_of(const struct model *m, struct text_row **out, size_t *count)
{
    size_t room = 0;
    double waits = summary_waits(m) ? 1 : 1e-6;
    *out = NULL;
    *count = 0;
    for (int f = 0; f < m->files_count; f++)
        for (int i = 0; i < m->files[f].lines_count; i++) {
            const struct model_line *line = &m->files[f].lines[i];
            double cost = positive_or_zero(line->cpu.user) + positive_or_zero(line->cpu.sys) +
                          positive_or_zero(line->gpu_self_s) +
                          waits * positive_or_zero(line->cpu.wait) +
                          1e-6 * positive_or_zero(line->mem.alloc_mb);
            if (cost <= 0 && !(m->files[f].user && positive_or_zero(line->cpu_incl.share) > 0.005))
                continue; /* of lines that merely call, own code's */
            TRY(array_room(out, &room, *count + 1, sizeof **out));
            (*out)[(*count)++] = (struct text_row){&m->files[f], line, cost};
        }
    array_sort(*out, *count, sizeof **out, most_expensive_first);
    return ERR_OK;
}

/* The end of the path when it is too long for its place. */
static void sheet_place(const struct sheet *s, const char *path, int64_t line, int columns)
{
    char text[40] = "";
    int n = line > 0 ? snprintf(text, sizeof text, ":%lld", (long long)line) : 0;
    int length = (int)strlen(path), cut = length > columns - n ? 2 : 0, room = columns - n - cut;
    const char *from = path;
    while (length > room && *from) { /* whole code points */
        from++;
        length--;
        while ((*from & 0xC0) == 0x80) {
            from++;
            length--;
        }
    }
    fputs(cut ? ".." : "", s->out);
    sheet_clean(s, from, room);
    fputs(text, s->out);
    plain_print(s->out, "%*s", room > length ? room - length : 0, "");
}

static void lines_table(const struct sheet *s, const struct text_row *rows, size_t count)
{
    int gpu = isfinite(s->m->totals.gpu_sum_s), where = s->width >= 120 ? 32 : 22;
    int left = s->full ? FULL_LINE : s->width - where - (gpu ? 74 : 58);
    fputs("\nLines, by their CPU time: self, and inclusive (with all that they call)\n", s->out);
    sheet_styled(s, BOLD, "  self %%  incl %% python native system  wait s%s alloc MiB  %-*s%s\n",
                 gpu ? "   GPU s  GPU %" : "", where, "line", left > 10 ? " source" : "");
    for (size_t i = 0; i < count && (int)i < s->top; i++) {
        const struct model_line *l = rows[i].line;
        double cpu =
            positive_or_zero(s->m->totals.cpu.user) + positive_or_zero(s->m->totals.cpu.sys);
        int hot = positive_or_zero(l->cpu.share) > 0.2 || positive_or_zero(l->gpu.share) > 0.2;
        if (s->colour && hot)
            fputs(RED, s->out);
        sheet_number(s, 8, 1, 100 * l->cpu.share);
        if (s->colour && hot)
            fputs(END, s->out);
        sheet_number(s, 8, 1, 100 * l->cpu_incl.share);
        sheet_number(s, 7, 1, 100 * l->cpu.python / cpu);
        sheet_number(s, 7, 1, 100 * l->cpu.native / cpu);
        sheet_number(s, 7, 1, 100 * l->cpu.sys / cpu);
        sheet_number(s, 8, 2, l->cpu.wait);
        if (gpu) {
            sheet_number(s, 9, 3, l->gpu_self_s);
            sheet_number(s, 7, 1, 100 * l->gpu.share);
        }
        sheet_number(s, 10, 1, l->mem.alloc_mb);
        fputs("  ", s->out);
        sheet_place(s, rows[i].file->path, l->line, where);
        fputs(" ", s->out);
        if (l->text && left > 10)
            sheet_clean(s, l->text, left);
        fputs("\n", s->out);
    }
    if (count > (size_t)s->top)
        sheet_styled(s, DIM, "%8s %zu more lines\n", "", count - (size_t)s->top);
}

/* CPU time that cannot be attributed to a line: before the recorder was loaded, after its last
 * record. */
static void outside_rows(const struct sheet *s)
{
    for (int i = 0; i < s->m->unattributed_count; i++) {
        const struct model_module *row = &s->m->unattributed[i];
        if (*row->module != '[' || !(positive_or_zero(row->cpu.share) > 0.005))
            continue;
        sheet_number(s, 8, 1, 100 * row->cpu.share);
        plain_print(s->out, "%8s  %s\n", "", row->module);
    }
}

/* "work 75 %, main 25 %"; callers with less than 1 %, and those that find no room, are left out. */
static void sheet_callers(const struct sheet *s, const struct function_row *row, int columns)
{
    for (int i = 0; i < row->callers_count; i++) {
        int percent = (int)lround(100 * row->callers[i].share);
        char name[NAME_TEXT];
        int length = (int)strlen(name_text(row->callers[i].name, name)) + 8;
        if (!percent || (i && length > columns))
            break;
        fputs(i ? ", " : "", s->out);
        columns -= sheet_clean(s, name, columns - 8) + 8;
        fprintf(s->out, " %d %%", percent);
    }
}

/* Functions, those of libraries included; few where lines tell the same. */
static enum err functions_table(const struct sheet *s)
{
    struct function_row *rows;
    size_t count;
    double cpu = positive_or_zero(s->m->totals.cpu.user) + positive_or_zero(s->m->totals.cpu.sys);
    int most = s->top < FUNCTIONS || summary_lacks_lines(s->m) ? s->top : FUNCTIONS;
    int where = s->width >= 120 ? 50 : 38, counts = model_counts_samples(s->m);
    TRY(functions_find(s->m, &rows, &count));
    if (count) {
        if (s->sort == TEXT_INCLUSIVE)
            array_sort(rows, count, sizeof *rows, inclusive_functions_first);
        fputs(s->sort == TEXT_INCLUSIVE ? "\nFunctions, by their inclusive CPU time\n"
                                        : "\nFunctions, by their CPU time\n",
              s->out);
        sheet_styled(s, BOLD, "  self %%  incl %% %s  %-*s called by\n",
                     counts ? "samples" : " self s", where, "function");
    }
    for (size_t i = 0; i < count && (int)i < most; i++) {
        const struct function_row *r = &rows[i];
        sheet_number(s, 8, 1, 100 * r->self_s / cpu);
        sheet_number(s, 8, 1, 100 * r->incl_s / cpu);
        sheet_number(s, 8, counts ? 0 : 2, counts ? 1e9 * r->self_s : r->self_s);
        fputs("  ", s->out);
        int used = sheet_clean(s, name_text(r->name, (char[NAME_TEXT]){0}), where - 3);
        if (*r->place && where - used > 6) {
            fputs(" (", s->out);
            used += sheet_clean(s, r->place, where - used - 4) + 3;
            fputs(")", s->out);
        }
        plain_print(s->out, "%*s ", where > used ? where - used : 0, "");
        sheet_callers(s, r, s->width - where - 27);
        fputs("\n", s->out);
    }
    if (count > (size_t)most)
        sheet_styled(s, DIM, "%8s %zu more functions\n", "", count - (size_t)most);
    free(rows);
    return ERR_OK;
}

static void kernels_table(const struct sheet *s)
{
    const struct model *m = s->m;
    if (!m->kernels_count)
        return;
    fputs("\n", s->out);
    sheet_styled(s, BOLD, "  kernel s kernel %%  launches median us queue us  occ %%  kernel\n");
    for (int i = 0; i < m->kernels_count && i < s->top; i++) {
        const struct model_kernel *k = &m->kernels[i];
        sheet_number(s, 10, 4, k->time.total_s);
        sheet_number(s, 9, 1, 100 * k->share_of_kernel_time);
        sheet_count(s, 10, k->time.n);
        sheet_number(s, 10, 1, 1e6 * k->time.median_s);
        sheet_number(s, 9, 1, 1e6 * k->queue_delay_s);
        sheet_number(s, 7, 0, k->variants_count ? 100 * k->variants[0].occupancy : (double)NAN);
        fputs("  ", s->out);
        sheet_clean(s, k->name ? k->name : "", s->width - 57 > 20 ? s->width - 57 : 20);
        fputs("\n", s->out);
    }
}

static void transfers_table(const struct sheet *s)
{
    const struct model *m = s->m;
    if (!m->transfers_count)
        return;
    fputs("\n", s->out);
    sheet_styled(s, BOLD, "    copy s       MiB     GB/s    copies  transfer\n");
    for (int i = 0; i < m->transfers_count; i++) {
        const struct model_transfer *t = &m->transfers[i];
        sheet_number(s, 10, 4, t->time.total_s);
        sheet_number(s, 10, 1, json_real(t->bytes) / 1048576);
        sheet_number(s, 9, 2, t->gb_s);
        sheet_count(s, 10, t->time.n);
        plain_print(s->out, "  %s, %s to %s%s\n", t->direction, t->from, t->to,
                    t->asynchronous ? ", asynchronous" : "");
    }
}

int text_is_note(const struct model_item *q)
{
    return !q->severity || !strcmp(q->severity, "info");
}

static void write_finding(const struct sheet *s, const void *of)
{
    const struct model_finding *f = of;
    sheet_styled(s, BOLD, "  %s", f->title ? f->title : "");
    if (isfinite(f->gain_low_s) && isfinite(f->gain_s))
        plain_print(s->out, " (%s to %s s)", NUMBER(2, f->gain_low_s), NUMBER(2, f->gain_s));
    else if (isfinite(f->gain_s))
        plain_print(s->out, " (up to %s s)", NUMBER(2, f->gain_s));
    fputs(": ", s->out);
    sheet_clean(s, f->evidence ? f->evidence : "", 400);
    fputs(" ", s->out);
    sheet_clean(s, f->advice ? f->advice : "", 400);
    if (f->refuted_by && f->test) {
        fputs(" ", s->out);
        sheet_clean(s, f->refuted_by, 400);
        fputs(" ", s->out);
        sheet_clean(s, f->test, 400);
    }
}

static void write_item(const struct sheet *s, const void *of)
{
    const struct model_item *q = of;
    plain_print(s->out, "  %s: ", q->severity ? q->severity : "info");
    sheet_clean(s, q->text ? q->text : "", 400);
    fputs(" ", s->out);
    sheet_clean(s, q->effect ? q->effect : "", 400);
    fputs(q->fix ? " " : "", s->out);
    sheet_clean(s, q->fix ? q->fix : "", 400);
}

static void sheet_notes(const struct sheet *s)
{
    const struct model *m = s->m;
    if (m->findings_count || m->quality.items_count)
        fputs("\n", s->out);
    for (int i = 0; i < m->findings_count; i++)
        sheet_sentences(s, 4, &m->findings[i], write_finding);
    for (int i = 0; i < m->quality.items_count; i++)
        if (s->verbose || !text_is_note(&m->quality.items[i]))
            sheet_sentences(s, 4, &m->quality.items[i], write_item);
    for (int i = 0; i < m->quality.checks_count; i++)
        if (!m->quality.checks[i].ok)
            plain_print(s->out, "  broken law: %s (%g, found %g)\n", m->quality.checks[i].text,
                        m->quality.checks[i].expected, m->quality.checks[i].found);
}

enum err report_text(const struct model *m, FILE *out, const struct text_view *v)
{
    const struct sheet s = {.out = out,
                            .width = v->width > 40 ? v->width : 100,
                            .colour = v->colour,
                            .top = v->top > 0 ? v->top : 20,
                            .full = !v->width,
                            .m = m,
                            .sort = v->sort,
                            .verbose = v->verbose};
    struct text_row *rows;
    size_t count;
    enum err e = rows_of(m, &rows, &count);
    if (e == ERR_OK) {
        if (s.sort == TEXT_INCLUSIVE)
            array_sort(rows, count, sizeof *rows, most_inclusive_first);
        sheet_sentences(&s, 2, NULL, write_summary);
        sheet_timed(&s);
        sheet_answers(&s);
        if (count)
            lines_table(&s, rows, count);
        if (count)
            outside_rows(&s);
        e = functions_table(&s);
    }
    if (e == ERR_OK)
        e = text_ranges(m, out, s.colour, s.top);
    if (e == ERR_OK && s.sort == TEXT_CALLS)
        e = text_calls(m, out, s.colour, s.top);
    if (e == ERR_OK) {
        kernels_table(&s);
        text_inside(m, out, s.colour, s.top);
        transfers_table(&s);
        text_io(m, out, s.colour, s.top < 10 ? s.top : 10);
        e = text_locks(
            m, out,
            &(struct text_view){.width = s.full ? 0 : s.width, .colour = s.colour, .top = s.top});
    }
    if (e == ERR_OK) {
        text_ranks(m, out, s.colour, s.top);
        sheet_notes(&s);
        if (ferror(out))
            e = FAIL(ERR_IO, "the report could not be written");
    }
    free(rows);
    return e;
}
