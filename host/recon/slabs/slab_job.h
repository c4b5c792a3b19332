/* Shared by out_of_core.c, pieces.c and slab_plan.c: one operation on arrays in host memory. */
#ifndef TP_RECON_SLABS_SLAB_JOB_H
#define TP_RECON_SLABS_SLAB_JOB_H

#include "host/recon/slabs/out_of_core.h"
#include "host/recon/slabs/slab.h"
#include "host/recon/slabs/pipeline.h"

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
