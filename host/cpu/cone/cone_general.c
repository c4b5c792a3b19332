/* Cone beams: the overlap of slices and rows by the contract's own enumeration, for voxels wider or
 * finer than the vector kernels serve, or wider than their window. */
#include <math.h>

#include "host/cpu/cone/cone_worker.h"

static int64_t cone_clamp(double value, int64_t low, int64_t high)
{
    return value < (double)low ? low : value > (double)high ? high : (int64_t)value;
}

void cone_back_general(const struct cone_block *b, struct cell_grid g, int64_t low, int64_t high,
                       const float *in, float *out)
{
    const int radius = b->projector->windows.back;
    const int64_t rows = b->projector->scan.rows;
    const double under = g.width + 2 * g.spread;
    for (int64_t k = low; k < high; k++) {
        double row = g.edge + g.width * ((double)k + 0.5), centre = rint(row), sum = 0;
        int64_t from = cone_clamp(centre - radius, 0, rows),
                to = cone_clamp(centre + radius + 1, 0, rows);
        for (int64_t m = from; m < to; m++) {
            double tau = fmin(0.5 * (under + 1) - fabs(row - (double)m), fmin(1, under));
            if (tau > 0)
                sum += (b->power == 2 ? tau * tau : tau) * (double)in[m];
        }
        out[k] = (float)sum;
    }
}

void cone_forward_general(const struct cone_block *b, struct cell_grid g, int64_t low, int64_t high,
                          const float *in, float *out)
{
    const int radius = b->projector->windows.forward;
    const int64_t slices = b->projector->volume.slices;
    const double under = g.width + 2 * g.spread;
    for (int64_t m = low; m < high; m++) {
        double slice = ((double)m - g.edge) / g.width - 0.5, centre = rint(slice), sum = 0;
        int64_t from = cone_clamp(centre - radius, 0, slices),
                to = cone_clamp(centre + radius + 1, 0, slices);
        for (int64_t k = from; k < to; k++) {
            double row = g.edge + g.width * ((double)k + 0.5);
            double tau = fmin(0.5 * (under + 1) - fabs(row - (double)m), fmin(1, under));
            if (tau > 0)
                sum += tau * (double)in[k];
        }
        out[m] = (float)sum;
    }
}
