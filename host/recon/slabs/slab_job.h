/* Arrays of the host that pass through a device piece by piece: while one piece is computed with,
 * the next one goes up and the last result comes down, both through pinned memory. */
#ifndef TP_RECON_SLABS_SLAB_JOB_H
#define TP_RECON_SLABS_SLAB_JOB_H

#include "host/backend/streams.h"
#include "host/recon/slabs/out_of_core.h"
#include "host/recon/slabs/slab.h"

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

/* Shared by out_of_core.c, pieces.c and slab_plan.c: one operation on arrays in host memory. */

/* A call works through this, in pieces numbered from 0. */
struct slab_job {
    struct backend *be;
    enum recon_op op;
    struct ct_model m; /* borrowed; the Hessian's has no mask */
    struct pixel_set pixels;
    int32_t *indices;
    float *factors; /* of the slices of a helical scan, or NULL */
    struct slabs results, views;
    int64_t at; /* the next piece */
    int has_input, depth;
};

/* pieces.c */
enum err slab_job_create(struct backend *be, enum recon_op op, const struct ct_model *m,
                         int has_input, struct slab_job *out);
void slab_job_free(struct slab_job *j);
int64_t piece_count(const struct slab_job *j);
void piece_at(const struct slab_job *j, int64_t i, struct piece *p);

/* slab_plan.c: cuts the job into the fewest pieces that fit. */
enum err slab_job_plan(struct slab_job *j, size_t room);
/* Bounds the memory of an operation's calls on scans and volumes of this size. */
struct call_memory slab_calls_memory(const struct slab_job *j, enum recon_op op, struct scan s,
                                     struct volume v);
extern const char *const recon_op_names[];

/* The largest of everything over all pieces; numbers of floats. */
struct piece_sizes {
    int64_t in, out, views, rows, slices, uploaded;
};
struct piece_sizes piece_sizes_of(const struct slab_job *j);

#endif
