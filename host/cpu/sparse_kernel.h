/* Inner loops of VCD over parallel beams: a subset of pixels scattered over the image against one
 * view and STRIP slices. */
#ifndef TP_CPU_SPARSE_KERNEL_H
#define TP_CPU_SPARSE_KERNEL_H

#include "host/cpu/project.h"

#define STRIP 64

/* Footprints of a subset in one view, two neighbouring channels each, by ascending channel. Every
 * channel but the last has an entry, a blank one of weight 0 where it is no pixel's first. */
struct sparse_view {
    int64_t count;
    const int32_t *pixel, *channel;
    const float *low, *high;
};

/* x: [pixels + 1][STRIP], the last one for blank entries; y, w, out: [channels][STRIP]. Slices
 * [0, width), a multiple of 16. */
struct sparse_kernels {
    void (*forward)(const struct sparse_view *v, int width, const float *x, float *y); /* sets */
    void (*back)(const struct sparse_view *v, int width, const float *y, float *x);    /* adds */
    /* Sum of w (A x)^2 over all columns and STRIP slices; w NULL = ones. */
    double (*norm)(const struct sparse_view *v, const float *x, const float *w);
    /* e += d, out = w e over n columns; d, w optional; out not written without w. */
    void (*update)(const float *w, const float *d, int64_t n, int width, float *e, float *out);
};
ISA_TABLES(sparse_kernels);

#endif
