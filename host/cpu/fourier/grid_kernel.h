/* Inner loop of gridding: samples of spectra, at any frequencies, are added to a periodic grid. */
#ifndef TP_CPU_FOURIER_GRID_KERNEL_H
#define TP_CPU_FOURIER_GRID_KERNEL_H

#include <stdint.h>

#include "host/cpu/common/isa.h"
#include "host/cpu/fourier/lanes_fft.h"

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
