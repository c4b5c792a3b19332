/* Projection of cone beams: y = A x and x = A' (w y), as forward and back in
 * host/backend/backend.h. */
#ifndef TP_CPU_CONE_CONE_H
#define TP_CPU_CONE_CONE_H

#include "host/cpu/common/projection.h"
#include "host/backend/backend.h"

enum err cone_forward(struct backend *be, const struct projector *p, const struct pixel_set *pixels,
                      const float *x, struct sinogram y);
enum err cone_back(struct backend *be, const struct projector *p, const struct pixel_set *pixels,
                   struct sinogram y, struct sinogram w, int power, float *x);

/* Projects back by voxels: it is an entry of the back end's table for cone beams
 * (host/backend/backend.h). */

enum err cpu_back_voxel(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                        struct sinogram y, struct buffer *x);

#endif
