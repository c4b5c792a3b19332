/* Shared by crew.c and crew_send.c: orders of the first rank, and what each rank has of an
 * operation. */
#ifndef TP_CLUSTER_CREW_STATE_H
#define TP_CLUSTER_CREW_STATE_H

#include "host/cluster/crew.h"
#include "host/cluster/crew_plan.h"

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
