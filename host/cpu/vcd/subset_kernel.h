/* Inner loops of VCD over parallel beams: a subset of pixels scattered over the image against one
 * view and STRIP slices. */
#ifndef TP_CPU_VCD_SUBSET_KERNEL_H
#define TP_CPU_VCD_SUBSET_KERNEL_H

#include "host/cpu/common/projection.h"

#define STRIP  64
#define BLANKS 8 /* pixels of blank entries: enough that none waits for the one before */

/* A pixel's footprint: the first of two neighbouring channels gets `share` of it, the second the
 * rest. */
struct sparse_entry {
    float share;
    int32_t pixel, more;
};

/* Footprints of a subset in one view by ascending first channel, from the one before the detector
 * on: `fixed` (1, 2 or 4) for every channel, blank ones among them, and behind those as many as
 * `more` of the channel's first entry says. */
struct sparse_view {
    int64_t channels; /* of the detector */
    int fixed;
    const struct sparse_entry *entries;
};

/* Updates a view: e += A x, sum += A' w e: A of the subset before, A' of this one, both in shares
 * of a footprint. x, sum: [pixels + BLANKS][STRIP], blank ones of x are 0; e, w: [channels][STRIP];
 * w optional. */
struct sparse_update {
    struct sparse_view taken, given;
    const float *x, *w;
    float *e, *sum;
    int64_t ahead; /* floats from e and w to those of the next view */
};

/* Slices [0, width), a multiple of 16. */
struct sparse_kernels {
    void (*update)(const struct sparse_update *s, int width);
    /* Sum of w (A x)^2 over all columns; w NULL = ones. */
    double (*norm)(const struct sparse_view *v, int width, const float *x, const float *w);
};
ISA_TABLES(sparse_kernels);

#endif
