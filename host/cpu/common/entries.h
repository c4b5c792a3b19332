/* Inside the CPU back end: the entries of its table, one family per file. Contracts:
 * host/backend/backend.h. */
#ifndef TP_CPU_COMMON_ENTRIES_H
#define TP_CPU_COMMON_ENTRIES_H

#include "host/backend/backend.h"
#include "host/cpu/common/isa.h"

/* Threads for `elements` of work that streams through memory: waking the others and waiting for
 * them costs up to 100 us in a virtual machine, which 256 Ki elements outweigh (VCD at 64^3, half
 * as many: two threads took twice as long as one). One or all, because libgomp ends the threads
 * that a smaller team leaves over. */
extern int64_t cpu_team_least; /* tests want teams for less */
static inline int cpu_team(const struct backend *be, int64_t elements)
{
    return elements < cpu_team_least ? 1 : be->threads;
}

/* Threads for a projection: an update (voxel x view) is about 1/8 of such an element in time. */
static inline int cpu_projection_team(const struct backend *be, const struct scan *s,
                                      const struct volume *v, int64_t pixels)
{
    return cpu_team(be, pixels * v->slices * s->views / 8);
}

/* projector.c, project.c (with parallel*.c, cone*.c) */
enum err cpu_projector_create(struct backend *be, const struct scan *s, const struct volume *v,
                              struct projector **out);
void cpu_projector_free(struct backend *be, struct projector *p);
enum err cpu_forward(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                     const struct buffer *x, struct sinogram y);
enum err cpu_back(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                  struct sinogram y, struct sinogram w, int power, struct buffer *x);
enum err cpu_sino_reorder(struct backend *be, const struct scan *s, struct sinogram in,
                          struct sinogram out);

/* voxel_driven.c */
enum err cpu_back_voxel(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                        struct sinogram y, struct buffer *x);

/* error_sinogram.c */
enum err cpu_forward_dots(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                          const struct buffer *x, const struct buffer *e, const struct buffer *w,
                          struct vcd_sums *sums);
enum err cpu_update_back(struct backend *be, struct projector *p, const struct vcd_move *move,
                         struct buffer *e, const struct buffer *w, const struct pixel_set *pixels,
                         struct buffer *x);

/* filter.c */
enum err cpu_ramp_filter(struct backend *be, const struct scan *s, double scale,
                         const struct buffer *y, struct buffer *out);

/* median.c */
enum err cpu_median3(struct backend *be, int64_t rows, int64_t cols, int64_t slices,
                     const struct buffer *in, struct buffer *out);

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
enum err cpu_vcd_sweep(struct backend *be, struct projector *p, const struct vcd_sweep *s,
                       struct vcd_totals *totals);
int cpu_vcd_sweep_fits(const struct backend *be, const struct projector *p,
                       const struct vcd_sweep *s);

/* elementwise.c */
enum err cpu_scale(struct backend *be, double alpha, struct buffer *x);
enum err cpu_scale_slices(struct backend *be, const struct volume *v, const float *factor,
                          struct buffer *x);
enum err cpu_sum_abs(struct backend *be, const struct buffer *x, double *out);
enum err cpu_fingerprint(struct backend *be, const struct buffer *b, double *sum, double *l2,
                         double *min, double *max);

/* peak.c */
enum err cpu_measure_peak(struct backend *be, struct peak *out);

#endif
