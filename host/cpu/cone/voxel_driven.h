/* Voxel-driven back projection of cone beams: an entry of the back end's table
 * (host/backend/backend.h). */
#ifndef TP_CPU_CONE_VOXEL_DRIVEN_H
#define TP_CPU_CONE_VOXEL_DRIVEN_H

#include "host/backend/backend.h"

enum err cpu_back_voxel(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                        struct sinogram y, struct buffer *x);

#endif
