/* Synthetic objects made of ellipsoids, sampled at voxel centres, and their exact line integrals.
 */
#ifndef TP_GEOM_PHANTOM_H
#define TP_GEOM_PHANTOM_H

#include "base/err.h"
#include "host/geom/scan.h"

/* Centre and half axes in ALU in volume coordinates (x along columns, y along rows, z along
 * slices), rotated by `phi` radians about z, `value` per ALU added inside. */
struct ellipsoid {
    double x, y, z, a, b, c, phi, value;
};

enum phantom {
    PHANTOM_TWO_ELLIPSOIDS, /* the suite's: a body and one dense insert, attenuation ~ 1 over its
                               diameter */
    PHANTOM_SHEPP_LOGAN,    /* low dynamic range, 9 ellipsoids (MBIRJAX's) */
};

#define PHANTOM_NAMES "two-ellipsoids|shepp-logan"
#define PHANTOM_MAX   16

/* The ellipsoids of `kind` scaled to the extent of `v`; returns their number (<= PHANTOM_MAX). */
int phantom_ellipsoids(enum phantom kind, const struct volume *v,
                       struct ellipsoid out[PHANTOM_MAX]);

/* Sets out[(i*cols + j)*slices + k] at voxel centres. */
void phantom_fill(const struct ellipsoid *e, int n, const struct volume *v, float *out);
/* Sets one row of it, (cols, slices). */
void phantom_fill_row(const struct ellipsoid *e, int n, const struct volume *v, int64_t row,
                      float *out);

/* Computes exact line integrals through the ellipsoids at the detector cell centres of every view
 * (source to cell centre for cone; flat or curved; helical), into out (views, rows, channels). */
void phantom_project(const struct ellipsoid *e, int n, const struct scan *s, float *out);
/* Sets one view of it, (rows, channels). */
void phantom_project_view(const struct ellipsoid *e, int n, const struct scan *s, int64_t view,
                          float *out);

/* Gaussian noise of standard deviation `relative` * max|y[0..n)|: xoshiro256** seeded with `seed`,
 * Box-Muller; the same numbers on every machine. */
struct noise {
    double sigma;
    uint64_t state[4];
};
struct noise noise_begin(const float *y, int64_t n, double relative, uint64_t seed);
/* Adds it to the next samples; all calls but the last one: an even number of them. */
void noise_next(struct noise *r, float *y, int64_t n);
/* Both, for all samples. */
void noise_add(float *y, int64_t n, double relative, uint64_t seed);

#endif
