/* Inner loop of gridding: samples of spectra, at any frequencies, are added to a periodic grid. */
#ifndef TP_CPU_FOURIER_GRID_KERNEL_H
#define TP_CPU_FOURIER_GRID_KERNEL_H

#include <stdint.h>

#include "host/cpu/common/isa.h"
#include "host/cpu/fourier/lanes_fft.h"

/* Lists the samples of each view that fall into each part of the grid: worked out once for all
 * slices. */

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

#define GRID_TAPS  5   /* cells in each direction that a sample adds to */
#define GRID_ROW   8   /* floats of a row of the table: the taps and zeros */
#define GRID_STEPS 256 /* rows of the table per cell */
#define GRID_EDGE  8   /* cells more on each side of a band's rows */
#define GRID_BAND  32  /* rows of the grid that one thread fills at a time */

/* The samples of one view: number k (any sign) at k * (row, col) cells from the grid's origin. */
struct grid_line {
    double row, col;
    double turn;           /* turns of phase over one period of the spectrum */
    const float *weight;   /* of sample |k| */
    const float *spectrum; /* [period][LANES] */
};

/* Samples first .. first + count - 1 of a line. Those of their cells that lie in the band are at
 * row - row_base, col - col_base of it. */
struct grid_run {
    int32_t view, first, count, row_base, col_base;
};

struct grid_band {
    int64_t period, pitch;         /* samples of a period; elements of a row of cells */
    const struct grid_line *lines; /* of all views */
    const float *table;            /* [GRID_STEPS + 1][GRID_ROW]: taps by fraction of a cell */
    float *cells;                  /* [GRID_BAND][pitch][LANES], cell 0 at GRID_EDGE */
};

struct grid_kernels {
    void (*add)(const struct grid_band *b, const struct grid_run *runs, int64_t count);
};
ISA_TABLES(grid_kernels);

#endif
