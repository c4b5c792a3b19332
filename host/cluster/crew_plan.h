/* Divides an operation between ranks: pure functions of the model. */
#ifndef TP_CLUSTER_CREW_PLAN_H
#define TP_CLUSTER_CREW_PLAN_H

#include "host/cluster/ranks_backend.h"
#include "host/suite/catalogue/catalogue.h"

struct crew_part {
    struct index_range range;         /* of what is shared out; empty: the rank has nothing to do */
    struct ct_model m;                /* its problem; borrows angles and shifts */
    struct box sinogram, volume, out; /* of the whole arrays: what it reads, what it makes */
    int64_t skip;                     /* floats before the latter in its own result */
};

/* Names the axis that is divided ("slices"), NULL with the reason in *why where this cannot be. */
const char *crew_plan_axis(const struct operation *op, const struct ct_model *m, int size,
                           const char **why);
/* ERR_MEMORY alone. */
enum err crew_plan_part(const struct operation *op, const struct ct_model *m, int size, int rank,
                        struct crew_part *out);

#endif
