/* The function that spreads a sample over the grid, and its transform: GRID_TAPS wide. */
#ifndef TP_CPU_FOURIER_TAPER_H
#define TP_CPU_FOURIER_TAPER_H

#include <stdint.h>

/* [GRID_STEPS + 1][GRID_ROW]: taps by fraction of a cell, for `finer` cells per voxel. */
void taper_table(double finer, float *table);

/* Computes the factors that undo the spreading at each of `voxels`, in a grid of `cells`. */
void taper_factors(double finer, float *factor, int64_t voxels, int64_t cells);

#endif
