/* Entries of the back end's table for VCD. Contracts: host/backend/backend.h. */
#ifndef TP_CPU_VCD_VCD_H
#define TP_CPU_VCD_VCD_H

#include "host/backend/backend.h"

/* error_sinogram.c */
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

#endif
