/* The functions of MPI that are seen: name, number of arguments, what the call does, and which
 * arguments say how much, to whom and in which communicator. -1: none. Arguments are one machine
 * word each under Open MPI and MPICH: handles are pointers or int, counts int, addresses words. */
#ifndef TP_CAPTURE_MPI_CALLS_H
#define TP_CAPTURE_MPI_CALLS_H

#include <stdint.h>

typedef uintptr_t word;

/* X(name, arguments, op, buffer, count, type, peer, tag, comm, status, more) */
enum call_more {
    ONCE,   /* count elements of type */
    EACH,   /* count for every rank of the communicator */
    LISTED, /* count is an array, one for every rank */
    INSTEAD =
        16,      /* with MPI_IN_PLACE for a buffer the numbers of what is received, 3 after, hold */
    LARGE = 32,  /* counts are of 64 bit */
    ROOT = 64,   /* the root alone gives */
    SENDS = 128, /* makes a request that Start sends with */
    RECEIVES = 256, /* or receives with */
    PARTS = 512,    /* of as many parts as argument 1 says */
};
/* Those with a twin for large counts, MPI_X_c of MPI 4, that is seen too. */
#define COUNT_LIST(X)                                                                              \
    X(Send, 6, SEND, -1, 1, 2, 3, 4, 5, -1, ONCE)                                                  \
    X(Ssend, 6, SEND, -1, 1, 2, 3, 4, 5, -1, ONCE)                                                 \
    X(Rsend, 6, SEND, -1, 1, 2, 3, 4, 5, -1, ONCE)                                                 \
    X(Bsend, 6, SEND, -1, 1, 2, 3, 4, 5, -1, ONCE)                                                 \
    X(Recv, 7, RECEIVE, -1, 1, 2, 3, 4, 5, 6, ONCE)                                                \
    X(Mrecv, 5, RECEIVE, -1, 1, 2, -1, -1, -1, -1, ONCE)                                           \
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
    X(Iexscan, 7, POST, -1, 2, 3, -1, -1, 5, -1, ONCE)
/* The others. */
#define PLAIN_LIST(X)                                                                              \
    X(Iscatterv, 10, POST, -1, 1, 3, 7, -1, 8, -1, LISTED | ROOT)                                  \
    X(Igatherv, 10, POST, -1, 1, 2, 7, -1, 8, -1, ONCE)                                            \
    X(Ireduce_scatter, 7, POST, -1, 2, 3, -1, -1, 5, -1, LISTED)                                   \
    X(Iallgatherv, 9, POST, -1, 1, 2, -1, -1, 7, -1, ONCE)                                         \
    X(Ialltoallv, 10, POST, -1, 1, 3, -1, -1, 8, -1, LISTED)                                       \
    X(Ibarrier, 2, POST, -1, -1, -1, -1, -1, 0, -1, ONCE)                                          \
    X(Probe, 4, WAIT, -1, -1, -1, 0, 1, 2, -1, ONCE)                                               \
    X(Mprobe, 5, WAIT, -1, -1, -1, 0, 1, 2, -1, ONCE)                                              \
    X(Wait, 2, WAIT, -1, -1, -1, -1, -1, -1, -1, ONCE)                                             \
    X(Waitall, 3, WAIT, -1, -1, -1, -1, -1, -1, -1, ONCE)                                          \
    X(Waitany, 4, WAIT, -1, -1, -1, -1, -1, -1, -1, ONCE)                                          \
    X(Waitsome, 5, WAIT, -1, -1, -1, -1, -1, -1, -1, ONCE)                                         \
    X(Barrier, 1, BARRIER, -1, -1, -1, -1, -1, 0, -1, ONCE)                                        \
    X(Comm_free, 1, WAIT, -1, -1, -1, -1, -1, -1, -1, ONCE)                                        \
    X(File_open, 5, BARRIER, -1, -1, -1, -1, -1, 0, -1, ONCE)                                      \
    X(File_close, 1, FILE, -1, -1, -1, -1, -1, -1, -1, ONCE)                                       \
    X(File_sync, 1, FILE, -1, -1, -1, -1, -1, -1, -1, ONCE)                                        \
    X(File_set_view, 6, FILE, -1, -1, -1, -1, -1, -1, -1, ONCE)                                    \
    X(Win_free, 1, WINDOW, -1, -1, -1, -1, -1, -1, -1, ONCE)                                       \
    X(Win_fence, 2, WINDOW, -1, -1, -1, -1, -1, -1, -1, ONCE)                                      \
    X(Win_lock, 4, WINDOW, -1, -1, -1, -1, -1, -1, -1, ONCE)                                       \
    X(Win_unlock, 2, WINDOW, -1, -1, -1, -1, -1, -1, -1, ONCE)                                     \
    X(Win_lock_all, 2, WINDOW, -1, -1, -1, -1, -1, -1, -1, ONCE)                                   \
    X(Win_unlock_all, 1, WINDOW, -1, -1, -1, -1, -1, -1, -1, ONCE)                                 \
    X(Win_flush, 2, WINDOW, -1, -1, -1, -1, -1, -1, -1, ONCE)                                      \
    X(Win_flush_all, 1, WINDOW, -1, -1, -1, -1, -1, -1, -1, ONCE)                                  \
    X(Win_flush_local, 2, WINDOW, -1, -1, -1, -1, -1, -1, -1, ONCE)                                \
    X(Win_flush_local_all, 1, WINDOW, -1, -1, -1, -1, -1, -1, -1, ONCE)                            \
    X(Win_post, 3, WINDOW, -1, -1, -1, -1, -1, -1, -1, ONCE)                                       \
    X(Win_start, 3, WINDOW, -1, -1, -1, -1, -1, -1, -1, ONCE)                                      \
    X(Win_complete, 1, WINDOW, -1, -1, -1, -1, -1, -1, -1, ONCE)                                   \
    X(Win_wait, 1, WINDOW, -1, -1, -1, -1, -1, -1, -1, ONCE)                                       \
    X(Init, 2, START, -1, -1, -1, -1, -1, -1, -1, ONCE)                                            \
    X(Init_thread, 4, START, -1, -1, -1, -1, -1, -1, -1, ONCE)                                     \
    X(Finalize, 0, END, -1, -1, -1, -1, -1, -1, -1, ONCE)                                          \
    X(Psend_init, 9, POST, -1, 2, 3, 4, 5, 6, -1, ONCE | LARGE | PARTS | SENDS)                    \
    X(Precv_init, 9, POST, -1, 2, 3, 4, 5, 6, -1, ONCE | LARGE | PARTS | RECEIVES)                 \
    X(Start, 1, POST, -1, -1, -1, -1, -1, -1, -1, ONCE)                                            \
    X(Startall, 2, POST, -1, -1, -1, -1, -1, -1, -1, ONCE)                                         \
    X(Pready, 2, POST, -1, -1, -1, -1, -1, -1, -1, ONCE)                                           \
    X(Pready_range, 3, POST, -1, -1, -1, -1, -1, -1, -1, ONCE)                                     \
    X(Pready_list, 3, POST, -1, -1, -1, -1, -1, -1, -1, ONCE)                                      \
    X(Request_free, 1, POST, -1, -1, -1, -1, -1, -1, -1, ONCE)

#define CALL_NUMBER(name, ...)       CALL_##name,
#define CALL_NUMBER_LARGE(name, ...) CALL_##name##_c,
enum call_number {
    COUNT_LIST(CALL_NUMBER) PLAIN_LIST(CALL_NUMBER) COUNT_LIST(CALL_NUMBER_LARGE) CALLS
};
extern const struct mpi_row {
    const char *name;
    uint16_t op; /* enum trace_mpi_op */
    int arguments, buffer, count, type, peer, tag, comm, status, more;
} mpi_rows[CALLS];

/* What the library calls itself, by its second name. */
#define USED_LIST(X)                                                                               \
    X(Type_size)                                                                                   \
    X(Comm_rank)                                                                                   \
    X(Comm_size)                                                                                   \
    X(Comm_group)                                                                                  \
    X(Comm_test_inter)                                                                             \
    X(Group_translate_ranks)                                                                       \
    X(Group_free)                                                                                  \
    X(Get_library_version)

#endif
