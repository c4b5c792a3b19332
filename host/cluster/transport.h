/* The seam between tomoprof and an MPI library: what libtomoprof_mpi.so, the only object that is
 * compiled with mpi.h, exports as a table. Functions return 0, or a code of the MPI library. */
#ifndef TP_CLUSTER_TRANSPORT_H
#define TP_CLUSTER_TRANSPORT_H

#include <stddef.h>

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

#endif
