/* Projection entries of the back end's table. Contracts: host/backend/backend.h. */
#ifndef TP_CPU_PROJECTION_PROJECT_H
#define TP_CPU_PROJECTION_PROJECT_H

#include "host/backend/backend.h"

/* projector.c */
enum err cpu_projector_create(struct backend *be, const struct scan *s, const struct volume *v,
                              struct projector **out);
void cpu_projector_free(struct backend *be, struct projector *p);

/* project.c */
enum err cpu_forward(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                     const struct buffer *x, struct sinogram y);
enum err cpu_back(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                  struct sinogram y, struct sinogram w, int power, struct buffer *x);
enum err cpu_sino_reorder(struct backend *be, const struct scan *s, struct sinogram in,
                          struct sinogram out);

#endif
