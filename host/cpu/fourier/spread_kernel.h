/* Inner loop of gridding: samples of spectra at any frequencies are spread onto a periodic grid. */
#ifndef TP_CPU_FOURIER_SPREAD_KERNEL_H
#define TP_CPU_FOURIER_SPREAD_KERNEL_H

#include <stdint.h>

#include "host/cpu/common/isa.h"

#define SPREAD_WIDTH 6    /* taps in each direction */
#define SPREAD_ROW   8    /* floats of a row of the table: the taps and zeros */
#define SPREAD_STEPS 1024 /* rows of the table per cell of the grid */
#define SPREAD_LANES 8    /* real and imaginary parts of 4 spectra */

/* The grid's rows have `cols` cells and SPREAD_WIDTH more, which belong to the first ones. */
struct spread_grid {
    int64_t rows, cols;
    const float *table; /* [SPREAD_STEPS + 1][SPREAD_ROW]: taps by fraction of a cell */
    float *cells;       /* [rows][cols + SPREAD_WIDTH][SPREAD_LANES] */
};

/* Samples on a line through the grid's origin: number n at (row, col) * (n - middle), in cells. */
struct spread_line {
    double row, col;
    int64_t samples, middle;
    const float *values; /* [samples][SPREAD_LANES] */
};

struct spread_kernels {
    void (*line)(const struct spread_grid *g, const struct spread_line *l);
};
ISA_TABLES(spread_kernels);

#endif
