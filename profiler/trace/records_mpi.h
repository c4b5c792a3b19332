/* Calls of MPI (kind MPI of format.h): one record each. */
#ifndef TP_TRACE_RECORDS_MPI_H
#define TP_TRACE_RECORDS_MPI_H

#include "profiler/trace/format.h"

enum trace_mpi_op {                      /* numbers never change their meaning */
                    TRACE_MPI_SEND,      /* to `peer` */
                    TRACE_MPI_RECEIVE,   /* from `peer` */
                    TRACE_MPI_SEND_POST, /* Isend and its like: returns at once */
                    TRACE_MPI_RECEIVE_POST,
                    TRACE_MPI_WAIT, /* for posted ones */
                    TRACE_MPI_BARRIER,
                    TRACE_MPI_ALL,      /* all give, all get: Allreduce, Allgather, Alltoall */
                    TRACE_MPI_TO_ROOT,  /* Reduce, Gather; peer: the root */
                    TRACE_MPI_OF_ROOT,  /* Bcast, Scatter */
                    TRACE_MPI_PREFIX,   /* Scan, Exscan */
                    TRACE_MPI_START,    /* Init */
                    TRACE_MPI_END,      /* Finalize */
                    TRACE_MPI_EXCHANGE, /* Sendrecv: to `peer`, from rank sequence - 1 */
                    TRACE_MPI_FILE,     /* reads, writes, opens and closes files */
                    TRACE_MPI_WINDOW,   /* one-sided: moves data, or waits for what was moved */
                    TRACE_MPI_POST,     /* posts, prepares or starts what a later call waits for */
                    TRACE_MPI_OPS
};
enum trace_mpi_flags {
    TRACE_MPI_BYTES = 1, /* `bytes` is known */
    TRACE_MPI_GROUP = 2, /* `group` is known, and ranks are those of MPI_COMM_WORLD */
};
struct trace_mpi { /* time_ns: its end */
    struct trace_record r;
    uint64_t stack;           /* 0: too short for one */
    uint64_t name;            /* id of its STRING: "Allreduce" */
    uint64_t spent_ns, bytes; /* bytes: that this rank gives (a receive: that it has room for) */
    uint64_t group;           /* of the communicator: the same number on all its ranks */
    uint32_t sequence;        /* of collective calls of the group on this rank */
    uint32_t size;            /* of the group */
    int32_t peer, tag;        /* -1 none, or unknown */
    uint32_t tid;
    uint16_t op, flags;
};

#endif
