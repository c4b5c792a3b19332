/* Exponential of semicircle: exp(beta (sqrt(1 - u^2) - 1)), beta as FINUFFT has it. */
#include <math.h>

#include "host/cpu/fourier/grid_kernel.h"
#include "host/cpu/fourier/taper.h"

static double taper_value(double finer, double t)
{
    const double beta = 0.97 * M_PI * GRID_TAPS * (1 - 1 / (2 * finer));
    const double u = 2 * t / GRID_TAPS;
    return fabs(u) >= 1 ? 0 : exp(beta * (sqrt(1 - u * u) - 1));
}

void taper_table(double finer, float *table)
{
    for (int s = 0; s <= GRID_STEPS; s++)
        for (int k = 0; k < GRID_ROW; k++) {
            const double t = (double)s / GRID_STEPS + k - 0.5 * GRID_TAPS;
            table[s * GRID_ROW + k] = k < GRID_TAPS ? (float)taper_value(finer, t) : 0;
        }
}

/* 1 / the taper's transform; Simpson's rule. */
void taper_factors(double finer, float *factor, int64_t voxels, int64_t cells)
{
    enum { STEPS = 200 };
    double value[STEPS + 1];
    for (int s = 0; s <= STEPS; s++) {
        const double t = GRID_TAPS * ((double)s / STEPS - 0.5);
        value[s] = (s == 0 || s == STEPS ? 1 : 2 + 2 * (s % 2)) * taper_value(finer, t);
    }
    for (int64_t i = 0; i < voxels; i++) {
        const double f = (double)(i - voxels / 2) / (double)cells;
        double sum = 0;
        for (int s = 0; s <= STEPS; s++)
            sum += value[s] * cos(2 * M_PI * f * GRID_TAPS * ((double)s / STEPS - 0.5));
        factor[i] = (float)(3 * STEPS / (GRID_TAPS * sum));
    }
}
