/* Operations on arrays that do not fit into a device's memory. The functions of recon.h come here
 * by themselves when their arrays lie in host memory and the back end computes elsewhere. */
#ifndef TP_RECON_SLABS_LARGE_H
#define TP_RECON_SLABS_LARGE_H

#include "host/backend/streams.h"
#include "host/geom/scan.h"
#include "host/recon/recon.h"

/* `in` and `out` are whole arrays in host memory; in NULL: ones, for the Hessian alone. */
enum err large_run(struct backend *be, enum recon_op op, const struct model *m, const float *in,
                   float *out);

/* How it is done: pieces, and device memory that they take, calls included. */
struct large_plan {
    int64_t thickness; /* slices, rows (forward, median) or views (filter) of a result */
    int64_t views;     /* of a piece */
    int64_t results, pieces;
    int depth;
    size_t bytes;
};
/* ERR_MEMORY with the numbers when the smallest pieces need more than `room`. */
enum err large_plan(struct backend *be, enum recon_op op, const struct model *m, int has_input,
                    size_t room, struct large_plan *out);

/* direct.c: what the filter multiplies with; slice weights of helical scans, NULL for others
 * (malloc'ed). */
double direct_scale(const struct model *m);
enum err direct_slice_factors(const struct model *m, float **out);

static inline int is_large(const struct backend *be, const struct buffer *b)
{
    return be->ops->lanes && b->place == PLACE_HOST;
}

#endif
