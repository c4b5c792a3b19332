/* Projection entries of the back end's table. Contracts: host/backend/backend.h. */
#ifndef TP_CUDA_PROJECTION_PROJECT_CUH
#define TP_CUDA_PROJECTION_PROJECT_CUH

#include "cuda/common/device.cuh"

/* projector.cu */
enum err cuda_projector_create(struct backend *be, const struct scan *s, const struct volume *v,
                               struct projector **out);
void cuda_projector_free(struct backend *be, struct projector *p);

/* project.cu */
enum err cuda_forward(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                      const struct buffer *x, struct sinogram y);
enum err cuda_back(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                   struct sinogram y, struct sinogram w, int power, struct buffer *x);
enum err cuda_back_voxel(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                         struct sinogram y, struct buffer *x);
enum err cuda_sino_reorder(struct backend *be, const struct scan *s, struct sinogram in,
                           struct sinogram out);

#endif
