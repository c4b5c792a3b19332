/* Seconds against N, both axes logarithmic: one line for each operation with the most threads
 * measured, its growth beside its name. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/results/bench_report.h"
#include "host/suite/statistics/fit.h"
#include "host/suite/run/plan.h"

#define LEFT   70.0
#define TOP    20.0
#define WIDTH  430.0
#define HEIGHT 420.0
#define LINES  24

static const char *const colours[] = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd",
                                      "#ff7f0e", "#17becf", "#8c564b", "#e377c2"};
#define COLOURS (int)(sizeof colours / sizeof *colours)

struct curve {
    const char *operation;
    int64_t threads;
    int n;
    double size[PLAN_SIZES], seconds[PLAN_SIZES];
};

struct plot_frame {
    double x0, x1, y0, y1; /* log2 N, log10 s: whole numbers */
};

static double across(const struct plot_frame *f, double size)
{
    return LEFT + WIDTH * (log2(size) - f->x0) / (f->x1 - f->x0);
}

static double down(const struct plot_frame *f, double seconds)
{
    return TOP + HEIGHT * (f->y1 - log10(seconds)) / (f->y1 - f->y0);
}

/* Points of the row's operation and number of threads, by ascending size. */
static struct curve curve_of(const struct bench_results *r, const struct bench_row *like)
{
    struct curve c = {.operation = like->operation, .threads = like->threads};
    for (int i = 0; i < r->count && c.n < PLAN_SIZES; i++) {
        const struct bench_row *row = &r->rows[i];
        if (row->status != ROW_OK || row->threads != c.threads || !(row->min > 0) ||
            strcmp(row->operation, c.operation) != 0)
            continue;
        int at = c.n++;
        for (; at > 0 && c.size[at - 1] > (double)row->size; at--) {
            c.size[at] = c.size[at - 1];
            c.seconds[at] = c.seconds[at - 1];
        }
        c.size[at] = (double)row->size;
        c.seconds[at] = row->min;
    }
    return c;
}

/* Operations with at least two sizes, each with the most threads that it has. */
static int curves_of(const struct bench_results *r, struct curve out[LINES])
{
    int n = 0;
    for (int i = 0; i < r->count && n < LINES; i++) {
        const struct bench_row *row = &r->rows[i];
        int wanted = row->status == ROW_OK;
        for (int k = 0; k < r->count && wanted; k++)
            wanted = strcmp(r->rows[k].operation, row->operation) != 0 ||
                     r->rows[k].status != ROW_OK || r->rows[k].threads <= row->threads;
        for (int k = 0; k < n && wanted; k++)
            wanted = strcmp(out[k].operation, row->operation) != 0;
        if (!wanted)
            continue;
        out[n] = curve_of(r, row);
        n += out[n].n >= 2;
    }
    return n;
}

static struct plot_frame frame_of(const struct curve *c, int n)
{
    struct plot_frame f = {INFINITY, -INFINITY, INFINITY, -INFINITY};
    for (int i = 0; i < n; i++)
        for (int k = 0; k < c[i].n; k++) {
            f.x0 = fmin(f.x0, floor(log2(c[i].size[k])));
            f.x1 = fmax(f.x1, ceil(log2(c[i].size[k])));
            f.y0 = fmin(f.y0, floor(log10(c[i].seconds[k])));
            f.y1 = fmax(f.y1, ceil(log10(c[i].seconds[k])));
        }
    return f;
}

static void grid(FILE *out, const struct plot_frame *f)
{
    for (double x = f->x0; x <= f->x1; x++)
        fprintf(out,
                "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='#ddd'/>"
                "<text x='%.1f' y='%.1f' text-anchor='middle'>%.0f</text>\n",
                across(f, exp2(x)), TOP, across(f, exp2(x)), TOP + HEIGHT, across(f, exp2(x)),
                TOP + HEIGHT + 18, exp2(x));
    for (double y = f->y0; y <= f->y1; y++)
        fprintf(out,
                "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='#ddd'/>"
                "<text x='%.1f' y='%.1f' text-anchor='end'>%g s</text>\n",
                LEFT, down(f, pow(10, y)), LEFT + WIDTH, down(f, pow(10, y)), LEFT - 6,
                down(f, pow(10, y)) + 4, pow(10, y));
    fprintf(out, "<text x='%.1f' y='%.1f' text-anchor='middle'>N</text>\n", LEFT + WIDTH / 2,
            TOP + HEIGHT + 36);
}

static void draw(FILE *out, const struct plot_frame *f, const struct curve *c, int place)
{
    const char *colour = colours[place % COLOURS], *dash = place < COLOURS ? "" : "5 4";
    const double at = TOP + 14 + 19 * place;
    fprintf(out,
            "<polyline fill='none' stroke='%s' stroke-width='2' stroke-dasharray='%s' points='",
            colour, dash);
    for (int i = 0; i < c->n; i++)
        fprintf(out, "%.1f,%.1f ", across(f, c->size[i]), down(f, c->seconds[i]));
    fprintf(out, "'/>\n");
    for (int i = 0; i < c->n; i++)
        fprintf(out, "<circle cx='%.1f' cy='%.1f' r='3' fill='%s'/>\n", across(f, c->size[i]),
                down(f, c->seconds[i]), colour);
    fprintf(out,
            "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='%s' stroke-width='2' "
            "stroke-dasharray='%s'/><text x='%.1f' y='%.1f'>%s",
            LEFT + WIDTH + 16, at - 4, LEFT + WIDTH + 40, at - 4, colour, dash, LEFT + WIDTH + 46,
            at, c->operation);
    if (c->n >= 3)
        fprintf(out, ", N^%.2f", fit_power(c->size, c->seconds, c->n).p);
    fprintf(out, "</text>\n");
}

enum err bench_report_svg(FILE *out, const struct bench_results *r)
{
    static struct curve curves[LINES];
    const int n = curves_of(r, curves);
    FAIL_IF(!n, ERR_INPUT, "--svg: no operation was measured at two sizes");
    const struct plot_frame f = frame_of(curves, n);
    fprintf(
        out,
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 800 490' font-family='sans-serif' "
        "font-size='12'>\n<title>Seconds of an operation against the edge N</title>\n"
        "<rect width='800' height='490' fill='#fff'/>\n");
    grid(out, &f);
    for (int i = 0; i < n; i++)
        draw(out, &f, &curves[i], i);
    fprintf(out, "</svg>\n");
    return ERR_OK;
}
