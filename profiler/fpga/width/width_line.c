/* A sweep as a line of text. */
#include "profiler/fpga/width/width_sweep.h"

void width_write_line(const struct width_sweep *s, FILE *out)
{
    fprintf(out, "%-26s", s->primitive->name);
    for (int k = 0; k < WIDTH_STAGES; k++)
        if (!s->primitive->stages[k])
            fprintf(out, "  -");
        else
            fprintf(out, " %2d", s->bits[k]);
    for (int c = 0; c < s->cases; c++)
        fprintf(out, "  %.1e %.5f", s->together[c].rmse, s->together[c].ssim);
    for (int i = 0; i < s->formats_count; i++) {
        int keeps = 1;
        for (int c = 0; c < s->cases; c++)
            keeps &= width_keeps(&s->formats[i].at[c], s->limits);
        if (keeps)
            fprintf(out, "  %s%s", s->formats[i].name, s->formats[i].sums_wide ? "*" : "");
    }
    fprintf(out, "%s\n", s->reached ? "" : "  NOT REACHED");
}
