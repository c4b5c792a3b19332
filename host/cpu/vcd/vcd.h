/* Entries of the back end's table for VCD. Contracts: host/backend/backend.h. */
#ifndef TP_CPU_VCD_VCD_H
#define TP_CPU_VCD_VCD_H

#include <stdint.h>

#include "host/backend/backend.h"
#include "host/backend/qggmrf.h"
#include "host/cpu/common/isa.h"

/* error_sinogram.c; e NULL: the quadratic sum alone */
enum err cpu_forward_dots(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                          const struct buffer *x, const struct buffer *e, const struct buffer *w,
                          struct vcd_sums *sums);
enum err cpu_update_back(struct backend *be, struct projector *p, const struct vcd_move *move,
                         struct buffer *e, const struct buffer *w, const struct pixel_set *pixels,
                         struct buffer *x);

/* prior.c */
enum err cpu_prior_terms(struct backend *be, const struct volume *v, const struct prior *prior,
                         const struct pixel_set *pixels, const struct buffer *x, struct buffer *g,
                         struct buffer *h);

/* update.c */
enum err cpu_vcd_direction(struct backend *be, const struct volume *v,
                           const struct pixel_set *pixels, double sigma_y, const float *damping,
                           const struct buffer *hessian, const struct buffer *g,
                           const struct buffer *h, struct buffer *d, struct vcd_sums *sums);
/* The same, and *data = <dP on entry, dP>. */
enum err cpu_vcd_direction_dot(struct backend *be, const struct volume *v,
                               const struct pixel_set *pixels, double sigma_y, const float *damping,
                               const struct buffer *hessian, const struct buffer *g,
                               const struct buffer *h, struct buffer *d, struct vcd_sums *sums,
                               double *data);
enum err cpu_weighted_dots(struct backend *be, const struct buffer *w, const struct buffer *e,
                           const struct buffer *d, struct vcd_sums *sums);
enum err cpu_clip_positive(struct backend *be, const struct volume *v,
                           const struct pixel_set *pixels, const struct buffer *x, double alpha,
                           struct buffer *d);
enum err cpu_add_cylinders(struct backend *be, const struct volume *v,
                           const struct pixel_set *pixels, double alpha, const struct buffer *d,
                           struct buffer *x, double *moved);

/* iteration.c */
enum err cpu_vcd_iteration(struct backend *be, struct projector *p, const struct vcd_iteration *s,
                           struct vcd_totals *totals);
int cpu_vcd_iteration_fits(const struct backend *be, const struct projector *p,
                           const struct vcd_iteration *s);

/* Element loops of VCD: a pass over the error sinogram, one detector column at a time, and what
 * happens to one cylinder of a subset. */

/* A cylinder's curvature of the data and prior terms; pull optional. */
struct direction_terms {
    const float *hessian, *g, *h, *pull;
    float inverse; /* 1 / sigma_y^2 */
};

struct vcd_kernels {
    /* Adds <w e, d> and <w d, d> of n elements to sums[0] and sums[1], then d = 0; w NULL = ones, e
     * NULL: the second sum alone. */
    void (*dots)(const float *w, const float *e, float *d, int64_t n, double sums[2]);
    /* e -= alpha d, then out = w e and d = 0. */
    void (*update)(const float *w, float *d, float alpha, int64_t n, float *e, float *out);
    /* d = (pull + d / sigma_y^2 - g) / (h + hessian / sigma_y^2); adds <g, d>, <h d, d> and <d on
     * entry, d> to sums. */
    void (*direction)(const struct direction_terms *t, int64_t n, float *d, double sums[3]);
    /* x += alpha d; returns sum |alpha d|. */
    double (*add)(float alpha, const float *d, int64_t n, float *x);
};
ISA_TABLES(vcd_kernels);

/* qGGMRF terms of one cylinder; host/backend/qggmrf.h has the formula. */

#define PRIOR_PAD 32 /* floats that a scratch row is longer than the cylinder */

/* Tables for t^c, 2^-23 <= t < 2^104, from the bits of t: 2^(c n) of the exponent's bits 2 to 6;
 * c-th power of what its bits 0 and 1 and the leading 3 of the mantissa say; 1 / those of the
 * mantissa, twice; series of (1 + r)^c for what is left, |r| <= 1/17. */
struct power_tables {
    float high[32], low[32], inverse[16], series[4];
};

struct prior_kernels {
    /* power: t^(q-p), where that is all there is to raise, or NULL; x: the cylinder; neighbour: those at row+1, row-1, col+1, col-1 (x itself beyond the grid);
     * scratch: 3 rows of slices + PRIOR_PAD floats; g, h: [slices], overwritten. */
    void (*cylinder)(const struct qggmrf *q, const struct power_tables *power, const float *x,
                     const float *const neighbour[4], int64_t slices, float *scratch, float *g,
                     float *h);
};
ISA_TABLES(prior_kernels);

#endif
