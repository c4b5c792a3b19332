/* Both directions of cone beams for a batch of views: gather_views and spread_views of
 * projection.cuh. */
#ifndef TP_CUDA_CONE_CONE_CUH
#define TP_CUDA_CONE_CONE_CUH

#include "cuda/common/projection.cuh"

enum err cone_gather(struct cuda_backend *be, const struct projector *p,
                     const struct pixel_list *pixels, const struct bins *bins, struct batch b,
                     const float *x, struct sample_sink sink);
enum err cone_spread(struct cuda_backend *be, const struct projector *p,
                     const struct pixel_list *pixels, struct batch b, const float *y, int power,
                     int set, float *x);

#endif
