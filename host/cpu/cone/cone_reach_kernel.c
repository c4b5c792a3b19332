/* Cone beams: which slices and rows of a batch of pixels meet in a view, pixels in the lanes. */
#include <math.h>

#include "host/cpu/cone/cone_worker.h"

static double reach_clamp(double value, double most)
{
    return value < 0 ? 0 : value > most ? most : value;
}

/* Counts the taps that are 0 at one end of each footprint, at most all but one. */
static void reach_count_zeros(const float *weight, int64_t step, int taps, int n, int32_t *count)
{
    int32_t zero[BATCH];
    for (int q = 0; q < n; q++)
        count[q] = 0, zero[q] = 1;
    for (int t = 0; t < taps - 1; t++)
        for (int q = 0; q < n; q++) {
            zero[q] &= weight[t * step + q] == 0;
            count[q] += zero[q];
        }
}

static void reach_find(const struct projector *p, const struct footprints *f, int n,
                       struct cone_reach *out)
{
    const double slices = (double)p->volume.slices, rows = (double)p->scan.rows;
    const double first = -0.5 - f->spread, end = rows - 0.5 + f->spread;
    const int32_t last = (int32_t)(p->columns - p->taps);
    int32_t behind[BATCH];
    for (int q = 0; q < n; q++) {
        const double edge = f->edge[q], width = f->width[q], inverse = f->slices_per_row[q];
        const double low = reach_clamp(floor((first - edge) * inverse) - 1, slices);
        const double high = reach_clamp(ceil((end - edge) * inverse) + 1, slices);
        const double row_low = reach_clamp(floor(edge + width * low + first), rows);
        const double row_high = reach_clamp(ceil(edge + width * high - first) + 1, rows);
        out->low[q] = (int32_t)low;
        out->high[q] = (int32_t)high;
        out->row_low[q] = (int32_t)row_low;
        out->row_high[q] = (int32_t)row_high;
    }
    reach_count_zeros(f->weight, BATCH, p->taps, n, out->skip);
    reach_count_zeros(f->weight + (p->taps - 1) * BATCH, -BATCH, p->taps, n, behind);
    for (int q = 0; q < n; q++) {
        const int32_t left = p->taps - out->skip[q] - behind[q];
        const int miss = (out->low[q] >= out->high[q]) | (out->row_low[q] >= out->row_high[q]) |
                         (f->start[q] == 0) | (f->start[q] == last); /* all taps are guards */
        out->taps[q] = left < 1 ? 1 : left;
        out->high[q] = miss ? -1 : out->high[q];
    }
}

static void reach_widen(const struct projector *p, const struct footprints *f, int n,
                        struct cone_reach *out)
{
    int32_t before[BATCH], behind[BATCH];
    reach_count_zeros(f->weight, BATCH, p->taps, n, before);
    reach_count_zeros(f->weight + (p->taps - 1) * BATCH, -BATCH, p->taps, n, behind);
    for (int q = 0; q < n; q++) {
        const int32_t ended = out->skip[q] + out->taps[q], ends = p->taps - behind[q];
        out->skip[q] = before[q] < out->skip[q] ? before[q] : out->skip[q];
        out->taps[q] = (ends > ended ? ends : ended) - out->skip[q];
    }
}

const struct cone_reach_kernels ISA_NAME(cone_reach_kernels) = {reach_find, reach_widen};
