/* Shared by large.c, large_pieces.c and large_plan.c: one operation on arrays in host memory. */
#ifndef TP_RECON_SLABS_LARGE_JOB_H
#define TP_RECON_SLABS_LARGE_JOB_H

#include "host/recon/slabs/large.h"
#include "host/recon/slabs/slab.h"
#include "host/recon/slabs/stream.h"

/* What one call works through, in pieces numbered from 0. */
struct job {
    struct backend *be;
    enum recon_op op;
    struct model m; /* borrowed; the Hessian's has no mask */
    struct pixel_set pixels;
    int32_t *indices;
    float *factors; /* of the slices of a helical scan, or NULL */
    struct slabs results, views;
    int64_t at; /* the next piece */
    int has_input, depth;
};

/* large_pieces.c */
enum err job_create(struct backend *be, enum recon_op op, const struct model *m, int has_input,
                    struct job *out);
void job_free(struct job *j);
int64_t piece_count(const struct job *j);
void piece_at(const struct job *j, int64_t i, struct piece *p);

/* large_plan.c: cuts the job into the fewest pieces that fit. */
enum err job_plan(struct job *j, size_t room);

/* The largest of everything over all pieces; numbers of floats. */
struct sizes {
    int64_t in, out, views, rows, slices, uploaded;
};
struct sizes sizes_of(const struct job *j);

#endif
