/* Entries of the back end's table for whole buffers. Contracts: host/backend/backend.h. */
#ifndef TP_CUDA_COMMON_ELEMENTWISE_CUH
#define TP_CUDA_COMMON_ELEMENTWISE_CUH

#include "cuda/common/device.cuh"

enum err cuda_scale(struct backend *be, double alpha, struct buffer *x);
enum err cuda_scale_slices(struct backend *be, const struct volume *v, const float *factor,
                           struct buffer *x);
enum err cuda_move_slices(struct backend *be, const struct slices_move *move,
                          const struct pixel_set *pixels, struct buffer *x, struct buffer *packed);
enum err cuda_sum_abs(struct backend *be, const struct buffer *x, double *out);
enum err cuda_make_weights(struct backend *be, const struct weights_rule *rule,
                           const struct buffer *y, const struct buffer *metal, struct buffer *w);
enum err cuda_weigh_rays(struct backend *be, const struct scan *s, const float *factor,
                         const struct buffer *y, struct buffer *out);
enum err cuda_fingerprint(struct backend *be, const struct buffer *b, double *sum, double *l2,
                          double *min, double *max);

/* Measured peak and ceilings of this GPU: entries of the back end's table (host/backend/backend.h).
 */

enum err cuda_measure_peak(struct backend *be, struct peak *out);
enum err cuda_measure_ceilings(struct backend *be, struct ceiling out[CEILINGS_MOST], int *count);

#endif
