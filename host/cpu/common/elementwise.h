/* Entries of the back end's table for whole buffers. Contracts: host/backend/backend.h. */
#ifndef TP_CPU_COMMON_ELEMENTWISE_H
#define TP_CPU_COMMON_ELEMENTWISE_H

#include "host/backend/backend.h"

enum err cpu_scale(struct backend *be, double alpha, struct buffer *x);
enum err cpu_scale_slices(struct backend *be, const struct volume *v, const float *factor,
                          struct buffer *x);
enum err cpu_move_slices(struct backend *be, const struct slices_move *move,
                         const struct pixel_set *pixels, struct buffer *x, struct buffer *packed);
enum err cpu_sum_abs(struct backend *be, const struct buffer *x, double *out);
enum err cpu_make_weights(struct backend *be, const struct weights_rule *rule,
                          const struct buffer *y, const struct buffer *metal, struct buffer *w);
enum err cpu_weigh_rays(struct backend *be, const struct scan *s, const float *factor,
                        const struct buffer *y, struct buffer *out);
enum err cpu_fingerprint(struct backend *be, const struct buffer *b, double *sum, double *l2,
                         double *min, double *max);

#endif
