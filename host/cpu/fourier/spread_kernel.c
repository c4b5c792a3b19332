/* Adds each sample, weighted by a product of taps, to SPREAD_WIDTH x SPREAD_WIDTH cells. */
#include <math.h>

#include "host/cpu/fourier/spread_kernel.h"

/* The first cell and the taps of a position. */
static int64_t taps_at(const struct spread_grid *g, double at, int64_t size, float taps[SPREAD_ROW])
{
    const double first = ceil(at - 0.5 * SPREAD_WIDTH);
    const double step = (first - (at - 0.5 * SPREAD_WIDTH)) * SPREAD_STEPS;
    const int row = (int)step;
    const float part = (float)(step - row);
    const float *low = g->table + (int64_t)row * SPREAD_ROW, *high = low + SPREAD_ROW;
    for (int k = 0; k < SPREAD_ROW; k++)
        taps[k] = low[k] + part * (high[k] - low[k]);
    const int64_t cell = (int64_t)first % size;
    return cell < 0 ? cell + size : cell;
}

static void line(const struct spread_grid *g, const struct spread_line *l)
{
    const int64_t pitch = (g->cols + SPREAD_WIDTH) * SPREAD_LANES;
    for (int64_t n = 0; n < l->samples; n++) {
        float down[SPREAD_ROW], across[SPREAD_ROW];
        const double place = (double)(n - l->middle);
        int64_t row = taps_at(g, l->row * place, g->rows, down);
        const int64_t col = taps_at(g, l->col * place, g->cols, across);
        const float *v = l->values + n * SPREAD_LANES;
        for (int i = 0; i < SPREAD_WIDTH; i++) {
            float *to = g->cells + row * pitch + col * SPREAD_LANES;
            for (int j = 0; j < SPREAD_WIDTH; j++) {
                const float weight = down[i] * across[j];
                for (int k = 0; k < SPREAD_LANES; k++)
                    to[j * SPREAD_LANES + k] += weight * v[k];
            }
            row = row + 1 == g->rows ? 0 : row + 1;
        }
    }
}

const struct spread_kernels ISA_NAME(spread_kernels) = {line};
