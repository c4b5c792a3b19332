/* The processes that mpirun or srun started together: which one this is, and what they tell each
 * other. Without them everything here is done at once, and no MPI library is opened.
 *
 * Every function but cluster_end is called by all ranks alike, or they wait for each other. */
#ifndef TP_CLUSTER_CLUSTER_H
#define TP_CLUSTER_CLUSTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The seam between tomoprof and an MPI library: what libtomoprof_mpi.so, the only object that is
 * compiled with mpi.h, exports as a table. Functions return 0, or a code of the MPI library. */

struct cluster_place {
    int rank, size;             /* of all processes that were started together */
    int local_rank, local_size; /* of those on this machine */
};

struct cluster_transport {
    size_t bytes; /* sizeof of this struct: both sides were built from the same source */
    int (*join)(struct cluster_place *place);
    void (*leave)(void);
    void (*end_all)(int exit_code); /* of every process */
    /* Numbers of all ranks, one rank after the other, to all. */
    int (*gather_all)(const double *mine, int count, double *all);
    int (*broadcast)(void *data, size_t bytes, int root);
    /* Sends to `to` and receives from `from` at once; -1: nobody. */
    int (*exchange)(int to, const void *data, size_t bytes, int from, void *into, size_t room);
    void (*explain)(int code, char text[512]);
    int (*reads_devices)(void); /* messages may start and end in a GPU's memory */
};

#define CLUSTER_ENTRY_NAME "tomoprof_mpi"
typedef const struct cluster_transport *cluster_entry(void);

/* A rank of a job. Zeroes and size 1 for a program by itself. */
struct cluster {
    struct cluster_place place;
    const struct cluster_transport *calls; /* NULL for one rank */
    double seconds;                        /* in calls, waiting for the others included */
    uint64_t bytes, messages;              /* sent by this rank */
    uint64_t device_bytes;                 /* both ways, straight from and to a GPU's memory */
    uint64_t staged_bytes;                 /* or through copies in host memory */
};

/* Finds out whether a launcher started several ranks (its variables say so), opens MPI if it did,
 * and lets ranks after the first log errors alone. ERR_UNSUPPORTED with the reason where it cannot:
 * each of them would do all of the work else. All must be of one version: as cluster_agree. */
enum err cluster_join(struct cluster **out, int *silent);

/* The end of this process: leaves the others where exit_code is 0 or all agreed on it, else ends
 * them too, for they may wait. Safe without cluster_join. */
void cluster_end(int exit_code);

/* ERR_OK where all ranks have it; else the first failing rank returns its own error, with its
 * sentence, and the others the same code, with *silent set: nothing of theirs is to be told. */
enum err cluster_agree(struct cluster *c, enum err e, int *silent);

/* ERR_INPUT where a rank's text, lines, is not that of the first: as cluster_agree. */
enum err cluster_same(struct cluster *c, const char *text, int *silent);

/* Sums (in the order of ranks: the same bits on all), least and greatest numbers of all ranks. */
enum err cluster_sum(struct cluster *c, double *values, int count);
enum err cluster_least(struct cluster *c, double *values, int count);
enum err cluster_greatest(struct cluster *c, double *values, int count);

enum err cluster_broadcast(struct cluster *c, void *data, size_t bytes, int root);
/* `data` to rank `to` and `into` from rank `from` at once; -1: nobody. */
enum err cluster_exchange(struct cluster *c, int to, const void *data, size_t bytes, int from,
                          void *into, size_t room);
/* Returns 1 where the MPI library accepts `data` and `into` in a GPU's memory. */
int cluster_reads_devices(const struct cluster *c);
/* All are here. */
enum err cluster_barrier(struct cluster *c);

/* Chooses for each rank, where the launcher gave all CPUs to every rank, its share of `usable`
 * CPUs; and its GPU where there are several, through CUDA_VISIBLE_DEVICES. */
int cluster_threads(const struct cluster *c, int usable);
void cluster_choose_gpu(const struct cluster *c);
/* The value of CUDA_VISIBLE_DEVICES for this rank, of what was `given` (NULL: not set) or of
 * `count` GPUs, in turn. 0: it stays as it is. */
int cluster_gpu_of(const struct cluster_place *place, const char *given, int count, char *out,
                   size_t room);

/* Rank and number of ranks that a launcher's variables name, without any MPI; 0: none is named. */
int cluster_of_environment(int *rank, int *size);

/* "" where ranks can work together, else why not. */
const char *cluster_missing(void);

#endif
