/* Functions of MPI with a twin for large counts, MPI_X_c of MPI 4, that is seen too: rows of
 * calls.h. */
#ifndef TP_CAPTURE_MPI_CALLS_COUNTED_H
#define TP_CAPTURE_MPI_CALLS_COUNTED_H

#define COUNT_LIST(X)                                                                              \
    X(Send, 6, SEND, -1, 1, 2, 3, 4, 5, -1, ONCE)                                                  \
    X(Ssend, 6, SEND, -1, 1, 2, 3, 4, 5, -1, ONCE)                                                 \
    X(Rsend, 6, SEND, -1, 1, 2, 3, 4, 5, -1, ONCE)                                                 \
    X(Bsend, 6, SEND, -1, 1, 2, 3, 4, 5, -1, ONCE)                                                 \
    X(Recv, 7, RECEIVE, -1, 1, 2, 3, 4, 5, 6, ONCE)                                                \
    X(Mrecv, 5, WAIT, -1, 1, 2, -1, -1, -1, -1, ONCE)                                              \
    X(Sendrecv_replace, 9, EXCHANGE, -1, 1, 2, 3, 4, 7, -1, ONCE)                                  \
    X(Isend, 7, SEND_POST, -1, 1, 2, 3, 4, 5, -1, ONCE)                                            \
    X(Issend, 7, SEND_POST, -1, 1, 2, 3, 4, 5, -1, ONCE)                                           \
    X(Irsend, 7, SEND_POST, -1, 1, 2, 3, 4, 5, -1, ONCE)                                           \
    X(Ibsend, 7, SEND_POST, -1, 1, 2, 3, 4, 5, -1, ONCE)                                           \
    X(Irecv, 7, RECEIVE_POST, -1, 1, 2, 3, 4, 5, -1, ONCE)                                         \
    X(Bcast, 5, OF_ROOT, -1, 1, 2, 3, -1, 4, -1, ONCE)                                             \
    X(Scatter, 8, OF_ROOT, -1, 1, 2, 6, -1, 7, -1, EACH)                                           \
    X(Scatterv, 9, OF_ROOT, -1, 1, 3, 7, -1, 8, -1, LISTED)                                        \
    X(Reduce, 7, TO_ROOT, -1, 2, 3, 5, -1, 6, -1, ONCE)                                            \
    X(Gather, 8, TO_ROOT, 0, 1, 2, 6, -1, 7, -1, ONCE | INSTEAD)                                   \
    X(Gatherv, 9, TO_ROOT, -1, 1, 2, 7, -1, 8, -1, ONCE)                                           \
    X(Allreduce, 6, ALL, -1, 2, 3, -1, -1, 5, -1, ONCE)                                            \
    X(Reduce_scatter, 6, ALL, -1, 2, 3, -1, -1, 5, -1, LISTED)                                     \
    X(Reduce_scatter_block, 6, ALL, -1, 2, 3, -1, -1, 5, -1, EACH)                                 \
    X(Allgather, 7, ALL, 0, 1, 2, -1, -1, 6, -1, ONCE | INSTEAD)                                   \
    X(Allgatherv, 8, ALL, -1, 1, 2, -1, -1, 7, -1, ONCE)                                           \
    X(Alltoall, 7, ALL, 0, 1, 2, -1, -1, 6, -1, EACH | INSTEAD)                                    \
    X(Alltoallv, 9, ALL, -1, 1, 3, -1, -1, 8, -1, LISTED)                                          \
    X(Scan, 6, PREFIX, -1, 2, 3, -1, -1, 5, -1, ONCE)                                              \
    X(Exscan, 6, PREFIX, -1, 2, 3, -1, -1, 5, -1, ONCE)                                            \
    X(Sendrecv, 12, EXCHANGE, -1, 1, 2, 3, 4, 10, -1, ONCE)                                        \
    X(File_read, 5, FILE, -1, 2, 3, -1, -1, -1, -1, ONCE)                                          \
    X(File_write, 5, FILE, -1, 2, 3, -1, -1, -1, -1, ONCE)                                         \
    X(File_read_all, 5, FILE, -1, 2, 3, -1, -1, -1, -1, ONCE)                                      \
    X(File_write_all, 5, FILE, -1, 2, 3, -1, -1, -1, -1, ONCE)                                     \
    X(File_read_shared, 5, FILE, -1, 2, 3, -1, -1, -1, -1, ONCE)                                   \
    X(File_write_shared, 5, FILE, -1, 2, 3, -1, -1, -1, -1, ONCE)                                  \
    X(File_iread, 5, FILE, -1, 2, 3, -1, -1, -1, -1, ONCE)                                         \
    X(File_iwrite, 5, FILE, -1, 2, 3, -1, -1, -1, -1, ONCE)                                        \
    X(File_read_at, 6, FILE, -1, 3, 4, -1, -1, -1, -1, ONCE)                                       \
    X(File_write_at, 6, FILE, -1, 3, 4, -1, -1, -1, -1, ONCE)                                      \
    X(File_read_at_all, 6, FILE, -1, 3, 4, -1, -1, -1, -1, ONCE)                                   \
    X(File_write_at_all, 6, FILE, -1, 3, 4, -1, -1, -1, -1, ONCE)                                  \
    X(File_iread_at, 6, FILE, -1, 3, 4, -1, -1, -1, -1, ONCE)                                      \
    X(File_iwrite_at, 6, FILE, -1, 3, 4, -1, -1, -1, -1, ONCE)                                     \
    X(Win_create, 6, BARRIER, -1, -1, -1, -1, -1, 4, -1, ONCE)                                     \
    X(Win_allocate, 6, BARRIER, -1, -1, -1, -1, -1, 3, -1, ONCE)                                   \
    X(Put, 8, WINDOW, -1, 1, 2, -1, -1, -1, -1, ONCE)                                              \
    X(Get, 8, WINDOW, -1, 1, 2, -1, -1, -1, -1, ONCE)                                              \
    X(Accumulate, 9, WINDOW, -1, 1, 2, -1, -1, -1, -1, ONCE)                                       \
    X(Rput, 9, WINDOW, -1, 1, 2, -1, -1, -1, -1, ONCE)                                             \
    X(Rget, 9, WINDOW, -1, 1, 2, -1, -1, -1, -1, ONCE)                                             \
    X(Get_accumulate, 12, WINDOW, -1, 1, 2, -1, -1, -1, -1, ONCE)                                  \
    X(Send_init, 7, POST, -1, 1, 2, 3, 4, 5, -1, ONCE | SENDS)                                     \
    X(Bsend_init, 7, POST, -1, 1, 2, 3, 4, 5, -1, ONCE | SENDS)                                    \
    X(Ssend_init, 7, POST, -1, 1, 2, 3, 4, 5, -1, ONCE | SENDS)                                    \
    X(Rsend_init, 7, POST, -1, 1, 2, 3, 4, 5, -1, ONCE | SENDS)                                    \
    X(Recv_init, 7, POST, -1, 1, 2, 3, 4, 5, -1, ONCE | RECEIVES)                                  \
    X(Ibcast, 6, POST, -1, 1, 2, 3, -1, 4, -1, ONCE | ROOT)                                        \
    X(Iscatter, 9, POST, -1, 1, 2, 6, -1, 7, -1, EACH | ROOT)                                      \
    X(Ireduce, 8, POST, -1, 2, 3, 5, -1, 6, -1, ONCE)                                              \
    X(Igather, 9, POST, 0, 1, 2, 6, -1, 7, -1, ONCE | INSTEAD)                                     \
    X(Iallreduce, 7, POST, -1, 2, 3, -1, -1, 5, -1, ONCE)                                          \
    X(Ireduce_scatter_block, 7, POST, -1, 2, 3, -1, -1, 5, -1, EACH)                               \
    X(Iallgather, 8, POST, 0, 1, 2, -1, -1, 6, -1, ONCE | INSTEAD)                                 \
    X(Ialltoall, 8, POST, 0, 1, 2, -1, -1, 6, -1, EACH | INSTEAD)                                  \
    X(Iscan, 7, POST, -1, 2, 3, -1, -1, 5, -1, ONCE)                                               \
    X(Iexscan, 7, POST, -1, 2, 3, -1, -1, 5, -1, ONCE)                                             \
    X(Iscatterv, 10, POST, -1, 1, 3, 7, -1, 8, -1, LISTED | ROOT | KEPT)                           \
    X(Igatherv, 10, POST, -1, 1, 2, 7, -1, 8, -1, ONCE | KEPT)                                     \
    X(Ireduce_scatter, 7, POST, -1, 2, 3, -1, -1, 5, -1, LISTED | KEPT)                            \
    X(Iallgatherv, 9, POST, -1, 1, 2, -1, -1, 7, -1, ONCE | KEPT)                                  \
    X(Ialltoallv, 10, POST, -1, 1, 3, -1, -1, 8, -1, LISTED | KEPT)

#endif
