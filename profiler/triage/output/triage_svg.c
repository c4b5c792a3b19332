/* triage.svg, which triage.md shows: speedups as ranges, and where each candidate lies under the
 * peaks of this machine and of the card that suits the first one best. */
#include <math.h>

#include "base/page/markup.h"
#include "profiler/triage/triage.h"

#define WIDTH  860
#define LEFT   200
#define RIGHT  840
#define STEP   22
#define TOP    34
#define PLOT_H 300

#define HERE "#0072b2"

static void svg_write_bar(FILE *out, const struct svg_axis *x, const struct candidate *c, int i)
{
    const double y = TOP + STEP * (i + 0.5);
    fprintf(out, "<text x=\"%d\" y=\"%.1f\" class=\"r\">%d %s</text>", LEFT - 8, y + 4, i + 1,
            c->primitive->name);
    if (c->speedup_rival.low > 0 && isfinite(c->speedup_rival.high)) {
        const double from = svg_at(x, c->speedup_rival.low), to = svg_at(x, c->speedup_rival.high),
                     middle = svg_at(x, bounds_middle(c->speedup_rival));
        fprintf(out,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"10\" fill=\"%s\"/><path "
                "d=\"M%.1f %.1fv16\" class=\"k\"/><text x=\"%.1f\" y=\"%.1f\">%s</text>",
                from, y - 5, fmax(2, to - from), svg_colours[c->verdict], middle, y - 8, to + 5,
                y + 4, verdict_name(c->verdict));
    } else {
        fprintf(out, "<text x=\"%d\" y=\"%.1f\">%s, no speedup known</text>", LEFT + 8, y + 4,
                verdict_name(c->verdict));
    }
    fputc('\n', out);
}

static void write_bars(const struct triage *t, FILE *out)
{
    struct svg_axis x = {-1, 1, LEFT, RIGHT - LEFT - 60, 1};
    const int bottom = TOP + STEP * t->candidates_count;
    for (int i = 0; i < t->candidates_count; i++) {
        svg_widen(&x, t->candidates[i]->speedup_rival.low);
        svg_widen(&x, t->candidates[i]->speedup_rival.high);
    }
    fputs("<text x=\"12\" y=\"18\" class=\"t\">Speedup over the best alternative, pessimistic to "
          "optimistic end</text>\n",
          out);
    svg_grid_x(out, &x, 1, TOP, bottom);
    fprintf(out, "<path d=\"M%.1f %dV%d\" class=\"k\"/>\n", svg_at(&x, 1), TOP, bottom);
    for (int i = 0; i < t->candidates_count; i++)
        svg_write_bar(out, &x, t->candidates[i], i);
}

/* Returns the highest rate at an intensity. */
static double peak_at_intensity(double gflops, double gbytes, double intensity)
{
    return fmin(gflops, gbytes * intensity);
}

static void draw_roofline(FILE *out, const struct svg_axis *x, const struct svg_axis *y,
                          double gflops, double gbytes, const char *colour, const char *name)
{
    const double ridge = gflops / gbytes, left = pow(10, x->low), right = pow(10, x->high);
    if (!(gflops > 0) || !(gbytes > 0) || !(ridge > left && ridge < right))
        return;
    fprintf(out,
            "<path d=\"M%.1f %.1fL%.1f %.1fH%.1f\" stroke=\"%s\" stroke-width=\"2\"/><text "
            "x=\"%.1f\" y=\"%.1f\" class=\"r\" fill=\"%s\">%s: %.3g G/s, %.3g GB/s</text>\n",
            svg_at(x, left), svg_at(y, peak_at_intensity(gflops, gbytes, left)), svg_at(x, ridge),
            svg_at(y, gflops), svg_at(x, right), colour, svg_at(x, right), svg_at(y, gflops) - 5,
            colour, name, gflops, gbytes);
}

static void draw_candidate(FILE *out, const struct svg_axis *x, const struct svg_axis *y,
                           const struct candidate *c, int i)
{
    const struct evidence *e = &c->evidence;
    const double each = e->flops / primitive_units(c->primitive, e->size) * 1e-9;
    /* Numbers to either side: several lie on each other. */
    const double aside = i % 2 ? -7 : 7;
    const char *side = i % 2 ? "r" : "";
    if (e->intensity > 0 && e->gflops > 0)
        fprintf(out,
                "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"" HERE "\"/><text x=\"%.1f\" "
                "y=\"%.1f\" class=\"%s\" fill=\"" HERE "\">%d</text>\n",
                svg_at(x, e->intensity), svg_at(y, e->gflops), svg_at(x, e->intensity) + aside,
                svg_at(y, e->gflops) + 4, side, i + 1);
    if (c->best && c->best->intensity > 0 && each > 0)
        fprintf(out,
                "<path d=\"M%.1f %.1fV%.1f\" stroke=\"%s\" stroke-width=\"6\"/><text x=\"%.1f\" "
                "y=\"%.1f\" class=\"%s\">%d</text>\n",
                svg_at(x, c->best->intensity), svg_at(y, each * c->best->rate.low),
                svg_at(y, each * c->best->rate.high), svg_colours[c->verdict],
                svg_at(x, c->best->intensity) + aside, svg_at(y, each * c->best->rate.high) + 4,
                side, i + 1);
}

static void axes_scale(const struct triage *t, const struct card *card, struct svg_axis *x,
                       struct svg_axis *y)
{
    for (int i = 0; i < t->candidates_count; i++) {
        const struct candidate *c = t->candidates[i];
        const double each =
            c->evidence.flops / primitive_units(c->primitive, c->evidence.size) * 1e-9;
        if (!(c->evidence.flops > 0))
            continue;
        svg_widen(x, c->evidence.intensity);
        svg_widen(y, c->evidence.gflops);
        if (c->best) {
            svg_widen(x, c->best->intensity);
            svg_widen(y, each * c->best->rate.low);
            svg_widen(y, each * c->best->rate.high);
        }
    }
    svg_widen(y, 2e-3 * card->dsp * card->products * card->clock_mhz.high);
    svg_widen(y, t->timing.rows_count ? t->timing.gflops : (double)NAN);
}

static void write_roofline(const struct triage *t, const struct card *card, int top, FILE *out)
{
    struct svg_axis x = {-1, 2, LEFT - 130, RIGHT - LEFT + 110, 1};
    struct svg_axis y = {0, 3, top + PLOT_H, -(PLOT_H - 30), 1};
    axes_scale(t, card, &x, &y);
    fprintf(out,
            "<text x=\"12\" y=\"%d\" class=\"t\">Operations per byte of memory, and operations/s "
            "(1e9): measured here (dots), modelled on the best card (bars)</text>\n",
            top + 8);
    svg_grid_x(out, &x, 1, top + 30, top + PLOT_H);
    svg_grid_y(out, &y, 1, x.first, x.first + x.length);
    if (t->timing.rows_count)
        draw_roofline(out, &x, &y, t->timing.gflops, t->timing.gbytes_per_s, HERE, "this machine");
    draw_roofline(out, &x, &y, 2e-3 * card->dsp * card->products * card->clock_mhz.high,
                  card->memory_gb_s.high, "#d55e00", card->name);
    for (int i = 0; i < t->candidates_count; i++)
        draw_candidate(out, &x, &y, t->candidates[i], i);
}

enum err triage_write_svg(const struct triage *t, FILE *out)
{
    const struct candidate *first = t->candidates[0];
    const struct card *card = first && first->best ? first->best->card : t->cards[0];
    const int below = TOP + STEP * t->candidates_count + 40;
    svg_begin(out, WIDTH, below + PLOT_H + 24, "FPGA triage: speedups and rooflines", SVG_FILE);
    write_bars(t, out);
    write_roofline(t, card, below, out);
    svg_end(out);
    FAIL_IF(fflush(out) || ferror(out), ERR_IO, "writing triage.svg failed");
    return ERR_OK;
}
