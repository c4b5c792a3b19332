/* Footprints of one subset of VCD in all views, parallel beams. */
#ifndef TP_CPU_VCD_FOOTPRINT_TABLE_H
#define TP_CPU_VCD_FOOTPRINT_TABLE_H

#include "host/cpu/common/projection.h"

/* Inner loops of VCD over parallel beams: a subset of pixels scattered over the image against one
 * view and STRIP slices. */

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

struct footprint_table {
    int64_t channels, pixels, stride; /* stride: entries of a view, at most */
    int fixed;
    struct sparse_entry *entries; /* [views][stride] */
};

/* Threads that find footprints: scratch of `each` floats per thread, at least 2 x pixels and
 * channels + 2, each rounded up to 16, and batches of the subset's pixels. */
struct footprint_team {
    const struct backend *be; /* asked for the wish to end, which leaves the rest out */
    int threads;
    size_t each;
    float *scratch;
    struct pixel_batch *batches;
};

/* Sum of A over the two channels of any footprint (two taps hold every one whole). */
double footprint_whole(const struct projector *p);

/* Returns the table without its entries. */
struct footprint_table footprint_table_of(const struct projector *p, int64_t pixels);
size_t footprint_table_floats(const struct projector *p, int64_t pixels);
void footprint_table_fill(const struct projector *p, const int32_t *indices,
                          const struct footprint_team *team, struct footprint_table *t);
struct sparse_view footprint_table_at(const struct footprint_table *t, int64_t view);

#endif
