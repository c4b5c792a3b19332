/* Draws the rows of a running process: a screen of a terminal, or tables for a pipe. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/live/live.h"

enum { HEAD = 4, FOOT = 1, TEXT = 2048 };

static const struct kind_row {
    const char *name, *column;
} kind_rows[LIVE_KINDS] = {
    [LIVE_LINES] = {"lines", "line"},
    [LIVE_FUNCTIONS] = {"functions", "function"},
    [LIVE_THREADS] = {"threads", "thread, where it is, and what it waits for"},
};
static const char *const sort_names[LIVE_SORTS] = {
    [SORT_NOW] = "CPU now", [SORT_SELF] = "self time", [SORT_INCLUSIVE] = "inclusive time"};

static const char *const help_lines[] = {
    "P  sort by CPU time in the last interval       l  lines",
    "T  sort by self time since the beginning       f  functions",
    "I  sort by inclusive time                      H  threads, and what each waits for",
    ">  F6: the next of these orders                Tab: the next of these tables",
    "Z  space: pause and go on; the process is not looked at meanwhile",
    "r  forget the sums, begin again                up, down, page up, page down: more rows",
    "q  F10: quit                                   h  ?  F1: this help",
    "",
    "now %: of one CPU, in the last interval. 200 means that two threads ran all the time.",
    "self %, incl %: of the CPU time since the beginning; incl: with all that it calls.",
};

ARRAY_ORDER(rows_by_now, struct live_row,
            COMPARE(y->now_s, x->now_s)
                ?: COMPARE(y->self_s, x->self_s) ?: strcmp(x->name, y->name));
ARRAY_ORDER(rows_by_self, struct live_row,
            COMPARE(y->self_s, x->self_s)
                ?: COMPARE(y->incl_s, x->incl_s) ?: strcmp(x->name, y->name));
ARRAY_ORDER(rows_by_inclusive, struct live_row,
            COMPARE(y->incl_s, x->incl_s)
                ?: COMPARE(y->self_s, x->self_s) ?: strcmp(x->name, y->name));

/* Returns a sorted copy of the rows of a kind; NULL: none, or no memory. To be freed. */
static struct live_row *screen_sorted(struct live_sums *l, enum live_kind kind, enum live_sort sort,
                                      size_t *count)
{
    static int (*const orders[LIVE_SORTS])(const void *, const void *) = {
        [SORT_NOW] = rows_by_now, [SORT_SELF] = rows_by_self, [SORT_INCLUSIVE] = rows_by_inclusive};
    struct live_rows *rows = &l->rows[kind];
    struct live_row *out = calloc(rows->list.count + 1, sizeof *out);
    *count = 0;
    for (size_t i = 0; out && i < rows->list.count; i++)
        if (!rows->list.items[i].gone)
            out[(*count)++] = rows->list.items[i];
    if (out)
        array_sort(out, *count, sizeof *out, orders[sort]);
    return out;
}

/* Writes at most `columns` code points of a text, as one line; 0 columns: all of it. */
static void screen_text(FILE *out, int columns, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void screen_text(FILE *out, int columns, const char *format, ...)
{
    char text[TEXT], plain[TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    plain_text(text, PLAIN_LINE, plain, sizeof plain);
    int used = 0;
    for (const char *p = plain; *p; p++) {
        used += (*p & 0xC0) != 0x80;
        if (columns && used > columns)
            break;
        putc(*p, out);
    }
}

/* Ends a line of a screen: what an earlier one left there is cleared. */
static void screen_end_line(FILE *out, const struct live_view *v)
{
    fputs(v->columns ? "\033[K\n" : "\n", out);
}

/* Shortens a path by folders from its beginning, so that name and line stay. */
static const char *screen_tail(const char *name, int columns)
{
    for (const char *slash; strlen(name) > (size_t)columns && (slash = strchr(name, '/'));)
        name = slash + 1;
    return name;
}

static double percent_of(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static void screen_row(FILE *out, const struct live_sums *l, const struct live_view *v,
                       enum live_kind kind, const struct live_row *r)
{
    const int where = kind == LIVE_LINES ? (v->columns >= 110 ? 40 : 24) : 0;
    char text[TEXT] = "";
    text_append(text, sizeof text, "%7.1f", percent_of(r->now_s, l->interval_s));
    if (kind != LIVE_THREADS)
        text_append(text, sizeof text, " %7.1f %7.1f", percent_of(r->self_s, l->cpu_s),
                    percent_of(r->incl_s, l->cpu_s));
    text_append(text, sizeof text, " %8.2f  ", r->self_s);
    if (kind == LIVE_LINES) {
        const char *source = r->text + strspn(r->text, " \t");
        text_append(text, sizeof text, "%-*s %s", where,
                    v->columns ? screen_tail(r->name, where) : r->name, source);
    } else if (kind == LIVE_THREADS) {
        text_append(text, sizeof text, "%s%s%s; %s", r->name, r->place && *r->place ? ": " : "",
                    r->place ? r->place : "", r->text);
    } else {
        text_append(text, sizeof text, "%s", r->name);
    }
    screen_text(out, v->columns, "%s", text);
}

static void screen_titles(FILE *out, const struct live_view *v, enum live_kind kind)
{
    if (v->colour)
        fputs(v->columns ? "\033[7m" : PLAIN_BOLD, out);
    screen_text(out, v->columns, "  now %%%s   self s  %-*s",
                kind == LIVE_THREADS ? "" : "  self %  incl %", v->columns ? v->columns : 1,
                kind_rows[kind].column);
    fputs(v->colour ? PLAIN_END : "", out);
    screen_end_line(out, v);
}

static void screen_head(FILE *out, struct live_sums *l, const struct live_view *v)
{
    size_t running = 0, threads = 0;
    for (size_t i = 0; i < l->rows[LIVE_THREADS].list.count; i++) {
        const struct live_row *r = &l->rows[LIVE_THREADS].list.items[i];
        threads += !r->gone;
        running += !r->gone && r->now_s > 0.5 * l->interval_s;
    }
    screen_text(out, v->columns, "Process %d: %s", (int)l->pid, l->command);
    screen_end_line(out, v);
    screen_text(out, v->columns,
                "CPU %.0f %% of a core, %zu thread%s (%zu busy), %.1f s seen, %.2f s CPU",
                percent_of(l->now_s, l->interval_s), threads, threads == 1 ? "" : "s", running,
                l->wall_s, l->cpu_s);
    screen_end_line(out, v);
}

void screen_draw(FILE *out, struct live_sums *l, struct live_view *v)
{
    const int room = v->rows > HEAD + FOOT ? v->rows - HEAD - FOOT : 1;
    size_t count;
    struct live_row *rows = screen_sorted(l, v->kind, v->sort, &count);
    if (v->first + 1 > count)
        v->first = count ? count - 1 : 0;
    fputs("\033[H", out);
    screen_head(out, l, v);
    screen_text(out, v->columns, "%s, by %s%s", kind_rows[v->kind].name, sort_names[v->sort],
                v->paused       ? "; PAUSED: space goes on"
                : l->wall_s > 0 ? ""
                                : "; the first interval is being recorded");
    screen_end_line(out, v);
    const int helps = (int)(sizeof help_lines / sizeof *help_lines);
    if (!v->help)
        screen_titles(out, v, v->kind);
    for (int i = 0; i < room + v->help; i++) {
        const size_t at = v->first + (size_t)i;
        if (v->help && i < helps)
            screen_text(out, v->columns, "%s", help_lines[i]);
        else if (!v->help && rows && at < count)
            screen_row(out, l, v, v->kind, &rows[at]);
        screen_end_line(out, v);
    }
    screen_text(out, v->columns, "%s",
                "q quit  P T I sort  l f H lines, functions, threads  Z pause  h help");
    fputs("\033[K", out);
    free(rows);
}

void screen_print(FILE *out, struct live_sums *l, const struct live_view *v, int top)
{
    const struct live_view plain = {.colour = v->colour};
    screen_head(out, l, &plain);
    for (int kind = 0; kind < LIVE_KINDS; kind++) {
        size_t count;
        struct live_row *rows = screen_sorted(l, kind, v->sort, &count);
        if (count) {
            putc('\n', out);
            screen_titles(out, &plain, kind);
        }
        for (size_t i = 0; rows && i < count && (int)i < top; i++) {
            screen_row(out, l, &plain, kind, &rows[i]);
            putc('\n', out);
        }
        free(rows);
    }
    fflush(out);
}
