/* Numbers of a back end on their way between two ranks. MPI is given the memory that they lie in:
 * the host's, or a GPU's where the MPI library says that it reads it; else they are staged. */
#ifndef TP_CLUSTER_WIRE_H
#define TP_CLUSTER_WIRE_H

#include "host/backend/backend.h"
#include "host/cluster/cluster.h"

struct wire {
    struct backend *be;
    struct cluster *c;
    struct buffer out, in;     /* where the numbers are: fill out before, read in after */
    float *host_out, *host_in; /* copies of both, where they are staged; mem_alloc */
};

/* Makes room for this many numbers each way. Close it also where open failed. */
enum err wire_open(struct backend *be, struct cluster *c, const char *what, int64_t numbers,
                   struct wire *w);
void wire_close(struct wire *w);

/* The first `sent` numbers of `out` to rank `to`, and `received` into `in` from rank `from`; 0:
 * nothing that way. */
enum err wire_exchange(struct wire *w, int to, int64_t sent, int from, int64_t received);

#endif
