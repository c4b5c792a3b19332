/* Lists the samples of each view that fall into each part of the grid: worked out once for all
 * slices. */
#ifndef TP_CPU_FOURIER_GRID_PLAN_H
#define TP_CPU_FOURIER_GRID_PLAN_H

#include "host/cpu/fourier/grid_kernel.h"

/* Samples -reach .. reach of lines through the origin of a grid of rows x cols cells, which
 * repeats. lines: row and col are used. */
struct grid_shape {
    int64_t rows, cols, reach, views;
    const struct grid_line *lines;
};

/* Runs of band b: runs[first[b]] .. runs[first[b + 1] - 1], those of neighbouring columns together,
 * so that the cells stay in a cache. */
struct grid_plan {
    int64_t bands;
    int64_t *first;
    struct grid_run *runs;
};

enum err grid_plan_create(const struct grid_shape *s, int threads, struct grid_plan *out);
void grid_plan_free(struct grid_plan *p);

#endif
