/* Two uniform grids, one laid over the other. */
#ifndef TP_CPU_COMMON_CELL_GRID_H
#define TP_CPU_COMMON_CELL_GRID_H

/* A grid of intervals [edge + width*i, edge + width*(i+1)) laid over unit cells centred at
 * integers. */
struct cell_grid {
    double edge, width, inverse; /* inverse = 1 / width */
    double spread;               /* how far a voxel reaches beyond its interval, on either side */
};

/* Cells of one grid per cell of the other that a window of 32 floats serves for a whole vector. */
#define NARROW 1.9

#endif
