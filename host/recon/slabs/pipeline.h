/* Arrays of the host that pass through a device piece by piece: while one piece is computed with,
 * the next one goes up and the last result comes down, both through pinned memory. */
#ifndef TP_RECON_SLABS_PIPELINE_H
#define TP_RECON_SLABS_PIPELINE_H

#include "host/backend/streams.h"
#include "host/recon/slabs/tile.h"

/* Results come one after the other, each from one or more pieces of the input. */
struct piece {
    struct box in;           /* of the input array; may be empty */
    struct box out;          /* of the result array, to download after the last piece of a result */
    int64_t skip;            /* floats before it in the device's buffer: a halo */
    int first, last;         /* of its result */
    struct ct_model problem; /* what is computed: views, rows and slices of this piece */
};

struct slab_pipeline {
    struct backend *be;
    const float *in; /* host; NULL and 0 bytes: no input */
    float *out;
    size_t in_bytes, out_bytes; /* of the largest pieces */
    int depth;                  /* buffers of either: 2, or 1 without overlap */
    int sums;                   /* results of several pieces, added up in a buffer more */
    /* The next piece; 0 when there is none. */
    int (*next)(void *context, struct piece *p);
    /* Overwrites `out` with what the piece contributes. `in` is NULL where its box is empty. */
    enum err (*compute)(void *context, const struct piece *p, struct buffer *in,
                        struct buffer *out);
    /* After the last piece of a result (optional). */
    enum err (*complete)(void *context, const struct piece *p, struct buffer *out);
    void *context;
};

/* Device memory that a pipeline takes, without that of its calls. */
size_t pipeline_bytes(const struct slab_pipeline *s);
enum err pipeline_run(const struct slab_pipeline *s);

#endif
