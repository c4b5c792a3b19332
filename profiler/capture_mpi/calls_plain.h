/* The other functions of MPI that are seen: rows of calls.h. */
#ifndef TP_CAPTURE_MPI_CALLS_PLAIN_H
#define TP_CAPTURE_MPI_CALLS_PLAIN_H

#define PLAIN_LIST(X)                                                                              \
    X(Ibarrier, 2, POST, -1, -1, -1, -1, -1, 0, -1, ONCE)                                          \
    X(Barrier_init, 3, POST, -1, -1, -1, -1, -1, 0, -1, ONCE | AGAIN)                              \
    X(Probe, 4, WAIT, -1, -1, -1, 0, 1, 2, -1, ONCE)                                               \
    X(Mprobe, 5, RECEIVE, -1, -1, -1, 0, 1, 2, 4, ONCE)                                            \
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

#endif
