/* Momentum between the iterations of MBIR (options->fast). */
#ifndef TP_RECON_MBIR_MOMENTUM_H
#define TP_RECON_MBIR_MOMENTUM_H

#include "host/recon/mbir.h"

/* The image and the error sinogram before the last iteration; empty before the second. */
struct momentum {
    struct buffer image, error;
    struct buffer given;  /* the caller's image, which must hold the result */
    double moved, before; /* sum |change| of the last iteration, and of the one before */
    int64_t iterations;
};

/* Bytes that it needs. */
size_t momentum_bytes(const struct ct_model *m);
/* Before an iteration: x and t->error go on in the direction of the last one. They may lie in other
 * buffers then. */
enum err momentum_apply(struct momentum *p, struct vcd *t, struct buffer *x);
/* After an iteration that changed the image by `moved`. */
void momentum_note(struct momentum *p, double moved);
/* Puts the image into the caller's buffer. */
enum err momentum_end(struct momentum *p, struct vcd *t, struct buffer *x);

#endif
