/* Views of the error sinogram and of tiles, for the passes of VCD that take whole views. */
#ifndef TP_CPU_VCD_ERROR_VIEWS_H
#define TP_CPU_VCD_ERROR_VIEWS_H

#include "host/cpu/common/projection.h"

#define L2_FLOATS (1 << 18) /* 1 MiB */

struct planes {
    int64_t ld, stride; /* floats between columns, of a view */
    int64_t columns;    /* of the detector, without guards */
    int64_t plane;      /* floats of a view of the sinogram */
    int64_t group; /* views of a thread's own tiles: 1 MiB of L2, so that the pixels are read once
                      for them */
};

struct planes planes_of(const struct projector *p);

/* Adds <w e, d> and <w d, d> of a view's tile to sums, and leaves it 0; e NULL: the second alone. */
void error_view_dots(const struct projector *p, const struct planes *s, float *tile,
                     const struct buffer *e, const struct buffer *w, int64_t view, double sums[2]);
/* e -= alpha d, which is left 0, and tile = w e for back projection, guards 0. */
void error_update_view(const struct projector *p, double alpha, struct buffer *e,
                       const struct buffer *w, int64_t view, const struct planes *s, float *d,
                       float *tile);
/* Declares the work of `pixels` in all of the projections together. */
void error_declare_work(struct backend *be, const struct projector *p, int64_t pixels,
                        int projections, double sinograms);

#endif
