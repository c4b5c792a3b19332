/* MBIR larger than the device, with all buffers in host memory (recon.h, mbir_recon): what place.c
 * chooses from. */
#ifndef TP_RECON_MBIR_LARGE_H
#define TP_RECON_MBIR_LARGE_H

#include "host/recon/recon.h"
#include "host/recon/slabs/slab.h"

/* The two passes of a subset over e, where e does not lie on the device (mbir_streamed.c).
 * Contracts: update_back and forward_dots of struct backend_ops. */
struct vcd_passes {
    enum err (*update_back)(void *context, const struct vcd_move *move,
                            const struct pixel_set *pixels, struct buffer *x);
    enum err (*forward_dots)(void *context, const struct pixel_set *pixels, const struct buffer *x,
                             struct vcd_sums *sums);
    void *context;
};

/* Reconstructs parallel beams in groups of slices. */
enum err mbir_in_groups(struct backend *be, const struct ct_model *m, const struct buffer *y,
                        const struct mbir_options *o, struct buffer *x, struct mbir_report *report);
struct mbir_groups_plan {
    struct slabs groups; /* of slices */
    size_t bytes;        /* of the device, at a time */
};
/* With weights and a proximal prior, which need most. ERR_MEMORY when one slice is too much. */
enum err mbir_groups_plan(struct backend *be, const struct ct_model *m, int64_t pixels, size_t room,
                          struct mbir_groups_plan *out);

/* Cone beams: e and w pass through the device in blocks of views, twice for each subset. */
enum err mbir_streamed(struct backend *be, const struct ct_model *m, const struct buffer *y,
                       const struct mbir_options *o, struct buffer *x, struct mbir_report *report);
struct mbir_streamed_plan {
    struct slabs blocks;            /* of views */
    size_t bytes;                   /* of the device, at a time */
    double seconds, seconds_on_cpu; /* of an iteration of 128 subsets, by the model */
};
/* With weights and a proximal prior; the CPU with so many threads. ERR_MEMORY when one view is too
 * much. */
enum err mbir_streamed_plan(struct backend *be, const struct ct_model *m, int64_t pixels,
                            size_t room, int threads, struct mbir_streamed_plan *out);

#endif
