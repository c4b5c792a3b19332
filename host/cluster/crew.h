/* Runs an operation of the suite on all ranks. The first holds the whole arrays and leads: it gives
 * each rank its part, has all of them run theirs at once, and puts the results together. The others
 * follow it until it is done. */
#ifndef TP_CLUSTER_CREW_H
#define TP_CLUSTER_CREW_H

#include "host/cluster/cluster.h"
#include "host/suite/catalogue/state.h"

struct crew;
enum err crew_create(struct cluster *c, struct crew **out);
void crew_free(struct crew *w);

/* The first rank. crew_send: arrays, model and options of `s` are ready to run; what cannot be
 * shared is left to crew_run on this rank alone. crew_run: the time until the last rank was done,
 * without transfers; the result in s as if one process had made it, its work in *work. */
enum err crew_send(struct crew *w, struct run_state *s);
enum err crew_run(struct crew *w, struct run_state *s, double *seconds, struct work *work);
/* Ends this operation; the crew is ready for another. */
enum err crew_release(struct crew *w);
/* The others may go; `e`: what the end of the call is. All ranks return the same (cluster_agree).
 */
enum err crew_dismiss(struct crew *w, enum err e, int *silent);

/* The others, until crew_dismiss; computes with `be`. */
enum err crew_follow(struct crew *w, struct backend *be, int *silent);

/* Describes, on the first rank, how the latest operation was shared: "slices" and the like, NULL
 * with *why where it was not; and for each rank which of them, and its mean time after the first
 * run (of the first where there was only one). */
const char *crew_shared(const struct crew *w, const char **why);
struct crew_rank {
    int64_t first, count;
    double seconds;
};
int crew_rank_at(const struct crew *w, int rank, struct crew_rank *out);

#endif
