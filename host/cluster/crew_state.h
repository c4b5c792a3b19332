/* Shared by crew.c and crew_send.c: parts of an operation, orders of the first rank, and what each
 * rank has. */
#ifndef TP_CLUSTER_CREW_STATE_H
#define TP_CLUSTER_CREW_STATE_H

#include "host/cluster/ranks_backend.h"
#include "host/suite/catalogue/catalogue.h"
#include "host/cluster/crew.h"

/* Divides an operation between ranks: pure functions of the model. */

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

/* Shared by crew.c and crew_send.c: orders of the first rank, and what each rank has of an
 * operation. */

enum crew_what { CREW_SEND, CREW_RUN, CREW_RELEASE, CREW_DISMISS };
enum { CREW_ARRAYS = 4, CREW_NAME = 64, CREW_TEXT = 1024 };

struct crew_order {
    enum crew_what what;
    char op[CREW_NAME];
    struct ct_model m; /* its pointers mean nothing */
    struct mbir_options mbir;
    uint64_t seed;
    int64_t subsets;
    int has[CREW_ARRAYS], has_angles, has_shifts, has_moves;
};

/* Sent by a rank after a run. */
struct crew_answer {
    double seconds;
    struct work work;
};

struct crew {
    struct cluster *c;
    struct run_state part; /* op NULL: nothing is shared */
    struct ct_model whole;
    struct crew_part plan;
    struct shares shares; /* of MBIR */
    const char *axis, *why;
    struct crew_answer *told; /* [size] of the first rank: of the latest run */
    double *first, *later;
    int64_t runs;
    int agreed; /* an error that all ranks know of */
};

/* ERR_OK where all have it; else the first error, with its sentence, on all. */
enum err crew_agree(struct crew *w, enum err e);
/* in, weights, initial, prox. */
struct array_pair *crew_array(struct run_state *s, int i);
/* On all ranks, `s` on the first alone: the part of each, ready to run. */
enum err crew_take_part(struct crew *w, const struct crew_order *o, const struct run_state *s);

#endif
