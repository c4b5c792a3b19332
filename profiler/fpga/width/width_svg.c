/* Draws sweeps as PREFIX.svg: for each primitive the error against the bits of each stage. */
#include <math.h>

#include "profiler/fpga/width/width_sweep.h"

/* Panels, one for each primitive, three in a row: log10 of the error against bits. */
#define PANEL_W 320
#define PANEL_H 220
#define COLUMNS 3
#define LEFT    44
#define TOP     30
#define PLOT_W  256
#define PLOT_H  150
#define DECADES 8 /* 1 down to 1e-8 */

/* Okabe and Ito 2008: told apart without red and green. */
static const char *const colours[WIDTH_STAGES] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                                  "#d55e00"};

static double x_of(int bits)
{
    return LEFT + (double)PLOT_W * (bits - WIDTH_FEWEST) / (WIDTH_WIDEST - WIDTH_FEWEST);
}

static double y_of(double error)
{
    const double decades = -log10(fmax(fmin(error, 1), pow(10, -DECADES)));
    return TOP + PLOT_H * decades / DECADES;
}

static double worst(const struct width_sweep *s, int stage, int bits)
{
    double rmse = 0;
    for (int c = 0; c < s->cases; c++)
        rmse = fmax(rmse, s->alone[c][stage][bits].rmse);
    return rmse;
}

static void grid(FILE *out, double limit)
{
    for (int d = 0; d <= DECADES; d += 2) {
        const double y = y_of(pow(10, -d));
        fprintf(out,
                "<path class=\"g\" d=\"M%d %.1fh%d\"/><text x=\"%d\" y=\"%.1f\" "
                "class=\"r\">1e-%d</text>\n",
                LEFT, y, PLOT_W, LEFT - 4, y + 3, d);
    }
    for (int b = 4; b <= WIDTH_WIDEST; b += 4)
        fprintf(out, "<text x=\"%.1f\" y=\"%d\" class=\"m\">%d</text>\n", x_of(b),
                TOP + PLOT_H + 14, b);
    fprintf(out, "<path class=\"l\" d=\"M%d %.1fh%d\"/>\n", LEFT, y_of(limit), PLOT_W);
}

static void panel(FILE *out, const struct width_sweep *s, int i)
{
    fprintf(out,
            "<g transform=\"translate(%d %d)\">\n<text x=\"%d\" y=\"18\" class=\"t\">%s</text>\n",
            i % COLUMNS * PANEL_W, 24 + i / COLUMNS * PANEL_H, LEFT, s->primitive->name);
    grid(out, s->limits.rmse);
    for (int k = 0; k < WIDTH_STAGES; k++) {
        if (!s->primitive->stages[k])
            continue;
        fprintf(out, "<polyline stroke=\"%s\" points=\"", colours[k]);
        for (int b = WIDTH_FEWEST; b <= WIDTH_WIDEST; b++)
            fprintf(out, "%.1f,%.1f ", x_of(b), y_of(worst(s, k, b)));
        fprintf(out, "\"/>\n");
        if (s->reached)
            fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n",
                    x_of(s->bits[k]), y_of(worst(s, k, s->bits[k])), colours[k]);
    }
    fprintf(out, "</g>\n");
}

enum err width_write_svg(const struct width_sweep *s, int n, FILE *out)
{
    const int height = 24 + (n + COLUMNS - 1) / COLUMNS * PANEL_H;
    fprintf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
        "font-family=\"sans-serif\" font-size=\"9\">\n<title>Error of the picture against bits "
        "of each stage alone</title>\n<style>.g{stroke:#ddd}.l{stroke:#444;stroke-dasharray:4 3}"
        "path,polyline{fill:none}.r{text-anchor:end}.m{text-anchor:middle}"
        ".t{font-size:11px;font-weight:bold}</style>\n<rect width=\"100%%\" height=\"100%%\" "
        "fill=\"#fff\"/>\n",
        COLUMNS * PANEL_W, height);
    for (int k = 0; k < WIDTH_STAGES; k++)
        fprintf(out,
                "<rect x=\"%d\" y=\"8\" width=\"10\" height=\"10\" fill=\"%s\"/><text x=\"%d\" "
                "y=\"17\">%s</text>\n",
                LEFT + 100 * k, colours[k], LEFT + 14 + 100 * k,
                width_stage_name((enum width_stage)k));
    fprintf(
        out,
        "<text x=\"%d\" y=\"17\">dot: bits of all stages together; dashed: stated quality</text>\n",
        LEFT + 100 * WIDTH_STAGES);
    for (int i = 0; i < n; i++)
        panel(out, &s[i], i);
    FAIL_IF(fprintf(out, "</svg>\n") < 0 || ferror(out), ERR_IO,
            "the plot of widths: cannot be written");
    return ERR_OK;
}
