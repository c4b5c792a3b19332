/* Operations on arrays that do not fit into a device's memory. The functions of recon.h come here
 * by themselves when their arrays lie in host memory and the back end computes elsewhere. */
#ifndef TP_RECON_SLABS_OUT_OF_CORE_H
#define TP_RECON_SLABS_OUT_OF_CORE_H

#include "host/backend/streams.h"
#include "host/geom/scan.h"
#include "host/recon/recon.h"

/* `in` and `out` are whole arrays in host memory; in NULL: ones, for the Hessian alone. */
enum err out_of_core_run(struct backend *be, enum recon_op op, const struct ct_model *m,
                         const float *in, float *out);

/* How it is done: pieces, and device memory that they take, calls included. */
struct out_of_core_plan {
    int64_t thickness; /* slices, rows (forward, median) or views (filter) of a result */
    int64_t views;     /* of a piece */
    int64_t results, pieces;
    int depth;
    size_t bytes;
};
/* ERR_MEMORY with the numbers when the smallest pieces need more than `room`. */
enum err out_of_core_plan(struct backend *be, enum recon_op op, const struct ct_model *m,
                          int has_input, size_t room, struct out_of_core_plan *out);

static inline int is_out_of_core(const struct backend *be, const struct buffer *b)
{
    return be->ops->streams && b->place == PLACE_HOST;
}

#endif
