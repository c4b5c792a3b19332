/* io_uring and AIO: through syscall() (Rust's crate, programs of their own), through the functions
 * of liburing and libaio, which make the instruction themselves, and POSIX AIO of the C library. */
#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "profiler/capture/hooks/hooks.h"
#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders/io/rings.h"

#define CALLER __builtin_return_address(0)

static __thread int in_library; /* libaio's function calls itself by an older name, or syscall() */

enum { REGISTER_FILES = 2, UNREGISTER_FILES, FILES_UPDATE = 6 };

long hook_ring(long number, long a, long b, long c, long d, long e, long f)
{
    static void *slot;
    call_fn *next = (call_fn *)raw_next(&slot, "syscall");
    uint32_t before = interrupts_seen();
    uint64_t begin = io_begin();
    long r;
    if (!next) {
        errno = ENOSYS;
        return -1;
    }
    do
        r = next(number, a, b, c, d, e, f);
    while (r < 0 && number == SYS_io_uring_enter && interrupted(errno, &before));
    if (!begin)
        return r;
    if (number == SYS_io_uring_setup && r >= 0)
        io_ring_setup((int)r, (const void *)b);
    if (number == SYS_io_uring_enter)
        io_ring_poll((int)a, begin, CALLER);
    if (number == SYS_io_uring_register && !r &&
        (b == REGISTER_FILES || b == UNREGISTER_FILES || b == FILES_UPDATE))
        io_ring_files((int)a, b == REGISTER_FILES ? (const int *)c : NULL, (unsigned)d);
    if ((number == SYS_io_getevents || number == SYS_io_pgetevents) && !in_library)
        io_events_done((const void *)d, r, begin, CALLER);
    return r;
}

/* The next definition of a function that is not the C library's. A library that was opened with a
 * scope of its own sees ours first: the one that it would have found is that of its own scope. NULL
 * where none is (a weak reference, a look by dlsym). */
static void *ring_find_next(void **slot, const char *name, const void *caller)
{
    void *f = raw_next(slot, name);
    Dl_info from;
    if (f || !dladdr(caller, &from) || !from.dli_fname)
        return f;
    void *scope = dlopen(from.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
    f = scope ? dlsym(scope, name) : NULL;
    if (scope)
        dlclose(scope);
    __atomic_store_n(slot, f, __ATOMIC_RELAXED);
    return f;
}

/* struct io_uring of liburing, the same since its version 2.0. */
struct ring_queue {
    const unsigned *head, *tail, *mask, *entries, *flags, *dropped, *array;
    const uint8_t *sqes;
    unsigned sqe_head, sqe_tail;
    size_t ring_bytes;
    void *ring;
    unsigned pad[4];
};
struct ring_results {
    const unsigned *head, *tail, *mask, *entries, *flags, *overflow;
    const uint8_t *cqes;
    size_t ring_bytes;
    void *ring;
    unsigned pad[4];
};
struct io_uring {
    struct ring_queue sq;
    struct ring_results cq;
    unsigned flags;
    int fd;
};

static void ring_record_setup(const struct io_uring *ring)
{
    enum { SQE128 = 1 << 10, CQE32 = 1 << 11, NO_SQARRAY = 1 << 16 };
    const struct io_ring_parts parts = {.sq_head = ring->sq.head,
                                        .sq_array =
                                            ring->flags & NO_SQARRAY ? NULL : ring->sq.array,
                                        .cq_tail = ring->cq.tail,
                                        .sqes = ring->sq.sqes,
                                        .cqes = ring->cq.cqes,
                                        .sq_entries = *ring->sq.mask + 1,
                                        .cq_entries = *ring->cq.mask + 1,
                                        .sqe_bytes = ring->flags & SQE128 ? 128 : 64,
                                        .cqe_bytes = ring->flags & CQE32 ? 32 : 16};
    io_ring_made(ring->fd, &parts);
}

#define RING_CALLS(X)                                                                              \
    X(io_uring_queue_init, (unsigned n, struct io_uring *ring, unsigned flags), (n, ring, flags),  \
      if (!r) ring_record_setup(ring))                                                             \
    X(io_uring_queue_init_params, (unsigned n, struct io_uring *ring, void *p), (n, ring, p),      \
      if (!r) ring_record_setup(ring))                                                             \
    X(io_uring_queue_mmap, (int fd, void *p, struct io_uring *ring), (fd, p, ring),                \
      if (!r) ring_record_setup(ring))                                                             \
    X(io_uring_submit, (struct io_uring * ring), (ring), LOOK)                                     \
    X(io_uring_submit_and_wait, (struct io_uring * ring, unsigned n), (ring, n), LOOK)             \
    X(io_uring_submit_and_wait_timeout,                                                            \
      (struct io_uring * ring, void **cqe, unsigned n, void *time, void *set),                     \
      (ring, cqe, n, time, set), LOOK)                                                             \
    X(io_uring_submit_and_get_events, (struct io_uring * ring), (ring), LOOK)                      \
    X(io_uring_get_events, (struct io_uring * ring), (ring), LOOK)                                 \
    X(__io_uring_get_cqe,                                                                          \
      (struct io_uring * ring, void **cqe, unsigned submit, unsigned n, void *set),                \
      (ring, cqe, submit, n, set), LOOK)                                                           \
    X(io_uring_wait_cqes, (struct io_uring * ring, void **cqe, unsigned n, void *time, void *set), \
      (ring, cqe, n, time, set), LOOK)                                                             \
    X(io_uring_wait_cqe_timeout, (struct io_uring * ring, void **cqe, void *time),                 \
      (ring, cqe, time), LOOK)                                                                     \
    X(io_uring_register_files, (struct io_uring * ring, const int *files, unsigned n),             \
      (ring, files, n), if (!r) io_ring_files(ring->fd, files, n))                                 \
    X(io_uring_unregister_files, (struct io_uring * ring), (ring),                                 \
      if (!r) io_ring_files(ring->fd, NULL, 0))
#define LOOK io_ring_poll(ring->fd, begin, CALLER)
#define RING(name, parameters, arguments, report)                                                  \
    int name parameters;                                                                           \
    CAPTURE_API int name parameters                                                                \
    {                                                                                              \
        static void *slot;                                                                         \
        int(*real) parameters = (int(*) parameters)ring_find_next(&slot, #name, CALLER);           \
        uint64_t begin = io_begin();                                                               \
        if (!real)                                                                                 \
            return -ENOSYS;                                                                        \
        int r = real arguments;                                                                    \
        if (begin) {                                                                               \
            report;                                                                                \
        }                                                                                          \
        return r;                                                                                  \
    }
RING_CALLS(RING)

void io_uring_queue_exit(struct io_uring *ring);
CAPTURE_API void io_uring_queue_exit(struct io_uring *ring)
{
    static void *slot;
    void (*real)(struct io_uring *) =
        (void (*)(struct io_uring *))ring_find_next(&slot, "io_uring_queue_exit", CALLER);
    io_ring_gone(ring->fd);
    if (real)
        real(ring);
}

/* libaio's functions; another function of this name gets all that it was given in registers. */
#define EVENT_CALLS(X) X(io_getevents) X(io_pgetevents)
#define EVENTS(name)                                                                               \
    int name(long a, long b, long c, const void *events, long e, long f);                          \
    CAPTURE_API int name(long a, long b, long c, const void *events, long e, long f)               \
    {                                                                                              \
        static void *slot;                                                                         \
        typedef int (*fn)(long, long, long, const void *, long, long);                             \
        fn real = (fn)ring_find_next(&slot, #name, CALLER);                                        \
        uint64_t begin = io_begin();                                                               \
        if (!real)                                                                                 \
            return -ENOSYS;                                                                        \
        in_library++;                                                                              \
        int r = real(a, b, c, events, e, f);                                                       \
        in_library--;                                                                              \
        if (begin && r > 0 && !in_library)                                                         \
            io_events_done(events, r, begin, CALLER);                                              \
        return r;                                                                                  \
    }
EVENT_CALLS(EVENTS)

/* POSIX AIO: threads of the C library read and write inside it; the result is fetched once. */
static ssize_t aio_result(struct aiocb *b, const char *name, void **slot, const void *caller)
{
    ssize_t (*real)(struct aiocb *) = (ssize_t(*)(struct aiocb *))raw_next(slot, name);
    uint64_t begin = io_begin();
    struct io_call c = {.fd = b->aio_fildes, .offset = b->aio_offset, .begin = begin};
    int op = b->aio_lio_opcode;
    c.result = real(b);
    c.op = op == LIO_READ ? TRACE_IO_READ : op == LIO_WRITE ? TRACE_IO_WRITE : TRACE_IO_SYNC;
    if (begin)
        io_done(&c, caller);
    return c.result;
}

CAPTURE_API ssize_t aio_return(struct aiocb *b)
{
    static void *slot;
    return aio_result(b, "aio_return", &slot, CALLER);
}

ssize_t aio_return64(struct aiocb64 *b);
CAPTURE_API ssize_t aio_return64(struct aiocb64 *b)
{
    static void *slot;
    return aio_result((struct aiocb *)(void *)b, "aio_return64", &slot, CALLER);
}
