/* Collective calls that are described once and started many times, and their twins for large
 * counts: rows of calls.h. Open MPI 4 has them as MPIX_X. */
#ifndef TP_CAPTURE_MPI_CALLS_AGAIN_H
#define TP_CAPTURE_MPI_CALLS_AGAIN_H

#define AGAIN_LIST(X)                                                                              \
    X(Bcast_init, 7, POST, -1, 1, 2, 3, -1, 4, -1, ONCE | ROOT | AGAIN)                            \
    X(Scatter_init, 10, POST, -1, 1, 2, 6, -1, 7, -1, EACH | ROOT | AGAIN)                         \
    X(Scatterv_init, 11, POST, -1, 1, 3, 7, -1, 8, -1, LISTED | ROOT | KEPT | AGAIN)               \
    X(Reduce_init, 9, POST, -1, 2, 3, 5, -1, 6, -1, ONCE | AGAIN)                                  \
    X(Gather_init, 10, POST, 0, 1, 2, 6, -1, 7, -1, ONCE | INSTEAD | AGAIN)                        \
    X(Gatherv_init, 11, POST, -1, 1, 2, 7, -1, 8, -1, ONCE | KEPT | AGAIN)                         \
    X(Allreduce_init, 8, POST, -1, 2, 3, -1, -1, 5, -1, ONCE | AGAIN)                              \
    X(Reduce_scatter_init, 8, POST, -1, 2, 3, -1, -1, 5, -1, LISTED | KEPT | AGAIN)                \
    X(Reduce_scatter_block_init, 8, POST, -1, 2, 3, -1, -1, 5, -1, EACH | AGAIN)                   \
    X(Allgather_init, 9, POST, 0, 1, 2, -1, -1, 6, -1, ONCE | INSTEAD | AGAIN)                     \
    X(Allgatherv_init, 10, POST, -1, 1, 2, -1, -1, 7, -1, ONCE | KEPT | AGAIN)                     \
    X(Alltoall_init, 9, POST, 0, 1, 2, -1, -1, 6, -1, EACH | INSTEAD | AGAIN)                      \
    X(Alltoallv_init, 11, POST, -1, 1, 3, -1, -1, 8, -1, LISTED | KEPT | AGAIN)                    \
    X(Scan_init, 8, POST, -1, 2, 3, -1, -1, 5, -1, ONCE | AGAIN)                                   \
    X(Exscan_init, 8, POST, -1, 2, 3, -1, -1, 5, -1, ONCE | AGAIN)

#endif
