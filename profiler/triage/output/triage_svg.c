/* triage.svg, which triage.md shows: speedups as ranges, and where each candidate lies under the
 * peaks of this machine and of the card that suits the first one best. */
#include <math.h>

#include "profiler/triage/triage.h"

#define WIDTH  860
#define LEFT   200
#define RIGHT  840
#define STEP   22
#define TOP    34
#define PLOT_H 300

/* Okabe and Ito 2008: told apart without red and green. */
static const char *const colours[] = {"#999999", "#56b4e9", "#e69f00", "#009e73"};
#define HERE "#0072b2"

struct axis {
    double low, high;     /* decades */
    double first, length; /* pixels */
};

static double at(const struct axis *a, double v)
{
    return a->first + a->length * (log10(v) - a->low) / (a->high - a->low);
}

/* Whole decades around what there is. */
static void widen(struct axis *a, double v)
{
    if (!(v > 0) || !isfinite(v))
        return;
    a->low = fmin(a->low, floor(log10(v)));
    a->high = fmax(a->high, ceil(log10(v)));
}

static const char *power(int p)
{
    static _Thread_local char text[16];
    snprintf(text, sizeof text, p >= -3 && p < 5 ? "%g" : "1e%.0f",
             p >= -3 && p < 5 ? pow(10, p) : (double)p);
    return text;
}

static void bar(FILE *out, const struct axis *x, const struct candidate *c, int i)
{
    const double y = TOP + STEP * (i + 0.5);
    fprintf(out, "<text x=\"%d\" y=\"%.1f\" class=\"r\">%d %s</text>", LEFT - 8, y + 4, i + 1,
            c->primitive->name);
    if (c->speedup_rival.low > 0 && isfinite(c->speedup_rival.high)) {
        const double from = at(x, c->speedup_rival.low), to = at(x, c->speedup_rival.high),
                     middle = at(x, bounds_middle(c->speedup_rival));
        fprintf(out,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"10\" fill=\"%s\"/><path "
                "d=\"M%.1f %.1fv16\" class=\"k\"/><text x=\"%.1f\" y=\"%.1f\">%s</text>",
                from, y - 5, fmax(2, to - from), colours[c->verdict], middle, y - 8, to + 5, y + 4,
                verdict_name(c->verdict));
    } else {
        fprintf(out, "<text x=\"%d\" y=\"%.1f\">%s, no speedup known</text>", LEFT + 8, y + 4,
                verdict_name(c->verdict));
    }
    fputc('\n', out);
}

static void write_bars(const struct triage *t, FILE *out)
{
    struct axis x = {-1, 1, LEFT, RIGHT - LEFT - 60};
    const int bottom = TOP + STEP * t->candidates_count;
    for (int i = 0; i < t->candidates_count; i++) {
        widen(&x, t->candidates[i]->speedup_rival.low);
        widen(&x, t->candidates[i]->speedup_rival.high);
    }
    fputs("<text x=\"12\" y=\"18\" class=\"t\">Speedup over the best alternative, pessimistic to "
          "optimistic end</text>\n",
          out);
    for (int p = (int)x.low; p <= (int)x.high; p++)
        fprintf(out,
                "<path d=\"M%.1f %dV%d\" class=\"%s\"/><text x=\"%.1f\" y=\"%d\" "
                "class=\"m\">%s</text>\n",
                at(&x, pow(10, p)), TOP, bottom, p ? "g" : "k", at(&x, pow(10, p)), bottom + 14,
                power(p));
    for (int i = 0; i < t->candidates_count; i++)
        bar(out, &x, t->candidates[i], i);
}

/* Returns the highest rate at an intensity. */
static double peak(double gflops, double gbytes, double intensity)
{
    return fmin(gflops, gbytes * intensity);
}

static void draw_roofline(FILE *out, const struct axis *x, const struct axis *y, double gflops,
                          double gbytes, const char *colour, const char *name)
{
    const double ridge = gflops / gbytes, left = pow(10, x->low), right = pow(10, x->high);
    if (!(gflops > 0) || !(gbytes > 0) || !(ridge > left && ridge < right))
        return;
    fprintf(out,
            "<path d=\"M%.1f %.1fL%.1f %.1fH%.1f\" stroke=\"%s\" stroke-width=\"2\"/><text "
            "x=\"%.1f\" y=\"%.1f\" class=\"r\" fill=\"%s\">%s: %.3g G/s, %.3g GB/s</text>\n",
            at(x, left), at(y, peak(gflops, gbytes, left)), at(x, ridge), at(y, gflops),
            at(x, right), colour, at(x, right), at(y, gflops) - 5, colour, name, gflops, gbytes);
}

static void draw_candidate(FILE *out, const struct axis *x, const struct axis *y,
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
                at(x, e->intensity), at(y, e->gflops), at(x, e->intensity) + aside,
                at(y, e->gflops) + 4, side, i + 1);
    if (c->best && c->best->intensity > 0 && each > 0)
        fprintf(out,
                "<path d=\"M%.1f %.1fV%.1f\" stroke=\"%s\" stroke-width=\"6\"/><text x=\"%.1f\" "
                "y=\"%.1f\" class=\"%s\">%d</text>\n",
                at(x, c->best->intensity), at(y, each * c->best->rate.low),
                at(y, each * c->best->rate.high), colours[c->verdict],
                at(x, c->best->intensity) + aside, at(y, each * c->best->rate.high) + 4, side,
                i + 1);
}

static void scale(const struct triage *t, const struct card *card, struct axis *x, struct axis *y)
{
    for (int i = 0; i < t->candidates_count; i++) {
        const struct candidate *c = t->candidates[i];
        const double each =
            c->evidence.flops / primitive_units(c->primitive, c->evidence.size) * 1e-9;
        if (!(c->evidence.flops > 0))
            continue;
        widen(x, c->evidence.intensity);
        widen(y, c->evidence.gflops);
        if (c->best) {
            widen(x, c->best->intensity);
            widen(y, each * c->best->rate.low);
            widen(y, each * c->best->rate.high);
        }
    }
    widen(y, 2e-3 * card->dsp * card->products * card->clock_mhz.high);
    widen(y, t->timing.rows_count ? t->timing.gflops : (double)NAN);
}

static void write_roofline(const struct triage *t, const struct card *card, int top, FILE *out)
{
    struct axis x = {-1, 2, LEFT - 130, RIGHT - LEFT + 110};
    struct axis y = {0, 3, top + PLOT_H, -(PLOT_H - 30)};
    scale(t, card, &x, &y);
    fprintf(out,
            "<text x=\"12\" y=\"%d\" class=\"t\">Operations per byte of memory, and operations/s "
            "(1e9): measured here (dots), modelled on the best card (bars); its peak: products in "
            "DSP blocks</text>\n",
            top + 8);
    for (int p = (int)x.low; p <= (int)x.high; p++)
        fprintf(out,
                "<path d=\"M%.1f %dV%d\" class=\"g\"/><text x=\"%.1f\" y=\"%d\" "
                "class=\"m\">%s</text>\n",
                at(&x, pow(10, p)), top + 30, top + PLOT_H, at(&x, pow(10, p)), top + PLOT_H + 14,
                power(p));
    for (int p = (int)y.low; p <= (int)y.high; p++)
        fprintf(out,
                "<path d=\"M%.1f %.1fh%.1f\" class=\"g\"/><text x=\"%.1f\" y=\"%.1f\" "
                "class=\"r\">%s</text>\n",
                x.first, at(&y, pow(10, p)), x.length, x.first - 5, at(&y, pow(10, p)) + 4,
                power(p));
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
    fprintf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
        "font-family=\"sans-serif\" font-size=\"11\">\n<title>FPGA triage: speedups and "
        "rooflines</title>\n<style>.g{stroke:#ddd}.k{stroke:#222;stroke-width:1.5}path{fill:none}"
        ".r{text-anchor:end}.m{text-anchor:middle}.t{font-size:13px;font-weight:bold}</style>\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
        WIDTH, below + PLOT_H + 24);
    write_bars(t, out);
    write_roofline(t, card, below, out);
    FAIL_IF(fputs("</svg>\n", out) == EOF || fflush(out) || ferror(out), ERR_IO,
            "writing triage.svg failed");
    return ERR_OK;
}
