/* Adds each sample, weighted by a product of taps, to those of GRID_TAPS x GRID_TAPS cells that lie
 * in the band. */
#include <math.h>

#include "host/cpu/fourier/grid_kernel.h"
#include "host/cpu/fourier/lanes_fft.h"

typedef float taps8 __attribute__((vector_size(4 * GRID_ROW), may_alias));

#define INLINE static inline __attribute__((always_inline))

/* Returns the first cell and the taps of a position: linear between rows of the table, 3e-6 off. */
INLINE int64_t taps_at(const float *table, double at, float *taps)
{
    const double edge = at - 0.5 * GRID_TAPS, first = ceil(edge);
    const double step = (first - edge) * GRID_STEPS;
    const int row = (int)step;
    const float part = (float)(step - row);
    const taps8 *low = (const taps8 *)(table + (int64_t)row * GRID_ROW);
    *(taps8 *)taps = low[0] + part * (low[1] - low[0]);
    return (int64_t)first;
}

static void add_run(const struct grid_band *b, const struct grid_run *run)
{
    const struct grid_line *l = &b->lines[run->view];
    const lanes sign = LANES_I;
    int64_t k = run->first, period = k / b->period, at = k % b->period;
    if (at < 0) {
        at += b->period;
        period--;
    }
    for (int64_t end = k + run->count; k < end; at = 0, period++) {
        const double whole = l->turn * (double)period;
        const double phase = 2 * M_PI * (whole - rint(whole));
        const float re = (float)cos(phase), im = (float)sin(phase);
        for (; k < end && at < b->period; k++, at++) {
            float down[GRID_ROW] __attribute__((aligned(32)));
            float across[GRID_ROW] __attribute__((aligned(32)));
            const int64_t row = taps_at(b->table, l->row * (double)k, down) - run->row_base;
            const int64_t col = taps_at(b->table, l->col * (double)k, across) - run->col_base;
            const int64_t low = row < 0 ? -row : 0;
            const int64_t high = row > GRID_BAND - GRID_TAPS ? GRID_BAND - row : GRID_TAPS;
            const float weight = l->weight[k < 0 ? -k : k];
            const lanes z = ((const lanes *)l->spectrum)[at];
            const lanes v = z * (weight * re) + turned(z) * (sign * (weight * im));
            lanes *to = (lanes *)b->cells + (row + low) * b->pitch + col + GRID_EDGE;
            for (int64_t i = low; i < high; i++, to += b->pitch) {
                const lanes part = v * down[i];
                for (int j = 0; j < GRID_TAPS; j++)
                    to[j] += part * across[j];
            }
        }
    }
}

static void grid_add(const struct grid_band *b, const struct grid_run *runs, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        add_run(b, runs + i);
}

const struct grid_kernels ISA_NAME(grid_kernels) = {grid_add};
