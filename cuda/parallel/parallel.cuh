/* Both directions of parallel beams for a batch of views: gather_views and spread_views of
 * projection.cuh. */
#ifndef TP_CUDA_PARALLEL_PARALLEL_CUH
#define TP_CUDA_PARALLEL_PARALLEL_CUH

#include "cuda/common/projection.cuh"

enum err parallel_gather(struct cuda_backend *be, const struct projector *p,
                         const struct pixel_list *pixels, const struct bins *bins, struct batch b,
                         const float *x, struct sample_sink sink);
enum err parallel_spread(struct cuda_backend *be, const struct projector *p,
                         const struct pixel_list *pixels, struct batch b, const float *y, int power,
                         int set, float *x);

/* tiles.cu: the same for lists of most of the image's pixels. */
int tiles_serve(const struct cuda_backend *be, const struct projector *p,
                const struct pixel_list *pixels);
enum err tiles_spread(struct cuda_backend *be, const struct projector *p,
                      const struct pixel_list *pixels, struct batch b, const float *y, int power,
                      int set, float *x);

#endif
