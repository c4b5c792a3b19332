/* Draws sweeps as PREFIX.svg: for each primitive the error against the bits of each stage. */
#include <math.h>

#include "base/page/markup.h"
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

/* The colours of the stages. */
static const int colour[WIDTH_STAGES] = {4, 2, 3, 5, 6};

static const struct svg_axis bits_axis = {WIDTH_FEWEST, WIDTH_WIDEST, LEFT, PLOT_W, 0},
                             error_axis = {-DECADES, 0, TOP + PLOT_H, -PLOT_H, 1};

static double y_of(double error)
{
    return svg_at(&error_axis, fmax(fmin(error, 1), pow(10, -DECADES)));
}

static double sweep_worst(const struct width_sweep *s, int stage, int bits)
{
    double rmse = 0;
    for (int c = 0; c < s->cases; c++)
        rmse = fmax(rmse, s->alone[c][stage][bits].rmse);
    return rmse;
}

static void svg_grid(FILE *out, double limit)
{
    svg_grid_y(out, &error_axis, 2, LEFT, LEFT + PLOT_W);
    for (int b = 4; b <= WIDTH_WIDEST; b += 4)
        fprintf(out, "<text x=\"%.1f\" y=\"%d\" class=\"m\">%d</text>\n", svg_at(&bits_axis, b),
                TOP + PLOT_H + 14, b);
    fprintf(out, "<path class=\"l\" d=\"M%d %.1fh%d\"/>\n", LEFT, y_of(limit), PLOT_W);
}

static void svg_panel(FILE *out, const struct width_sweep *s, int i)
{
    fprintf(out,
            "<g transform=\"translate(%d %d)\">\n<text x=\"%d\" y=\"18\" class=\"t\">%s</text>\n",
            i % COLUMNS * PANEL_W, 24 + i / COLUMNS * PANEL_H, LEFT, s->primitive->name);
    svg_grid(out, s->limits.rmse);
    for (int k = 0; k < WIDTH_STAGES; k++) {
        if (!s->primitive->stages[k])
            continue;
        fprintf(out, "<polyline stroke=\"%s\" points=\"", svg_colours[colour[k]]);
        for (int b = WIDTH_FEWEST; b <= WIDTH_WIDEST; b++)
            fprintf(out, "%.1f,%.1f ", svg_at(&bits_axis, b), y_of(sweep_worst(s, k, b)));
        fprintf(out, "\"/>\n");
        if (s->reached)
            fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n",
                    svg_at(&bits_axis, s->bits[k]), y_of(sweep_worst(s, k, s->bits[k])),
                    svg_colours[colour[k]]);
    }
    fprintf(out, "</g>\n");
}

enum err width_write_svg(const struct width_sweep *s, int n, FILE *out)
{
    const int height = 24 + (n + COLUMNS - 1) / COLUMNS * PANEL_H;
    svg_begin(out, COLUMNS * PANEL_W, height,
              "Error of the picture against bits of each stage alone", SVG_FILE);
    for (int k = 0; k < WIDTH_STAGES; k++)
        fprintf(out,
                "<rect x=\"%d\" y=\"8\" width=\"10\" height=\"10\" fill=\"%s\"/><text x=\"%d\" "
                "y=\"17\">%s</text>\n",
                LEFT + 100 * k, svg_colours[colour[k]], LEFT + 14 + 100 * k,
                width_stage_name((enum width_stage)k));
    fprintf(
        out,
        "<text x=\"%d\" y=\"17\">dot: bits of all stages together; dashed: stated quality</text>\n",
        LEFT + 100 * WIDTH_STAGES);
    for (int i = 0; i < n; i++)
        svg_panel(out, &s[i], i);
    svg_end(out);
    FAIL_IF(fflush(out) || ferror(out), ERR_IO, "the plot of widths: cannot be written");
    return ERR_OK;
}
