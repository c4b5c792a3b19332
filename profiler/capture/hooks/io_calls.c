/* Calls on descriptors: each forwards to the C library's and reports what came of it
 * (recorders/io). Importers use any of a function's names. What the C library calls inside itself
 * does not come here: stdio's part of that is in io_stdio.c. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdarg.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "profiler/capture/hooks/hooks.h"
#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders/cpu/phase.h"
#include "profiler/capture/recorders/io/endpoints.h"
#include "profiler/capture/recorders/io/io.h"
#include "profiler/capture/recorders/io/lean.h"

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4 /* glibc 2.34 */
int close_range(unsigned first, unsigned last, int flags);
#endif

#define CALLER __builtin_return_address(0)

/* A call that is only counted goes straight on; NAME_long records any other. That is entered by a
 * jump, so its caller is the program's. */
#define IS_LEAN __builtin_expect(io_lean_takes(), 1)
#define MOVED(at, result, op)                                                                      \
    (__builtin_constant_p(at) ? io_lean_moved_here(result, fd, op)                                 \
                              : io_lean_moved_at(result, fd, op, at))

/* X(type, name, parameters, arguments, op, offset): the descriptor is called fd. */
#define DATA_CALLS(X)                                                                              \
    X(ssize_t, read, (int fd, void *b, size_t n), (fd, b, n), READ, IO_HERE)                       \
    X(ssize_t, __read, (int fd, void *b, size_t n), (fd, b, n), READ, IO_HERE)                     \
    X(ssize_t, __read_chk, (int fd, void *b, size_t n, size_t room), (fd, b, n, room), READ,       \
      IO_HERE)                                                                                     \
    X(ssize_t, readv, (int fd, const struct iovec *v, int n), (fd, v, n), READ, IO_HERE)           \
    X(ssize_t, pread, (int fd, void *b, size_t n, off_t at), (fd, b, n, at), READ, at)             \
    X(ssize_t, pread64, (int fd, void *b, size_t n, off64_t at), (fd, b, n, at), READ, at)         \
    X(ssize_t, __pread64, (int fd, void *b, size_t n, off64_t at), (fd, b, n, at), READ, at)       \
    X(ssize_t, __pread_chk, (int fd, void *b, size_t n, off_t at, size_t room),                    \
      (fd, b, n, at, room), READ, at)                                                              \
    X(ssize_t, __pread64_chk, (int fd, void *b, size_t n, off64_t at, size_t room),                \
      (fd, b, n, at, room), READ, at)                                                              \
    X(ssize_t, preadv, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at), READ, at) \
    X(ssize_t, preadv64, (int fd, const struct iovec *v, int n, off64_t at), (fd, v, n, at), READ, \
      at)                                                                                          \
    X(ssize_t, preadv2, (int fd, const struct iovec *v, int n, off_t at, int flags),               \
      (fd, v, n, at, flags), READ, at)                                                             \
    X(ssize_t, preadv64v2, (int fd, const struct iovec *v, int n, off64_t at, int flags),          \
      (fd, v, n, at, flags), READ, at)                                                             \
    X(ssize_t, write, (int fd, const void *b, size_t n), (fd, b, n), WRITE, IO_HERE)               \
    X(ssize_t, __write, (int fd, const void *b, size_t n), (fd, b, n), WRITE, IO_HERE)             \
    X(ssize_t, writev, (int fd, const struct iovec *v, int n), (fd, v, n), WRITE, IO_HERE)         \
    X(ssize_t, pwrite, (int fd, const void *b, size_t n, off_t at), (fd, b, n, at), WRITE, at)     \
    X(ssize_t, pwrite64, (int fd, const void *b, size_t n, off64_t at), (fd, b, n, at), WRITE, at) \
    X(ssize_t, __pwrite64, (int fd, const void *b, size_t n, off64_t at), (fd, b, n, at), WRITE,   \
      at)                                                                                          \
    X(ssize_t, pwritev, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at), WRITE,   \
      at)                                                                                          \
    X(ssize_t, pwritev64, (int fd, const struct iovec *v, int n, off64_t at), (fd, v, n, at),      \
      WRITE, at)                                                                                   \
    X(ssize_t, pwritev2, (int fd, const struct iovec *v, int n, off_t at, int flags),              \
      (fd, v, n, at, flags), WRITE, at)                                                            \
    X(ssize_t, pwritev64v2, (int fd, const struct iovec *v, int n, off64_t at, int flags),         \
      (fd, v, n, at, flags), WRITE, at)                                                            \
    X(int, fsync, (int fd), (fd), SYNC, IO_HERE)                                                   \
    X(int, fdatasync, (int fd), (fd), SYNC, IO_HERE)                                               \
    X(int, syncfs, (int fd), (fd), SYNC, IO_HERE)                                                  \
    X(int, sync_file_range, (int fd, off64_t at, off64_t n, unsigned flags), (fd, at, n, flags),   \
      SYNC, IO_HERE)

#define DATA(type, name, parameters, arguments, kind, at)                                          \
    static void *next_##name;                                                                      \
    type name parameters;                                                                          \
    static __attribute__((noinline)) type name##_long parameters                                   \
    {                                                                                              \
        type(*real) parameters = (type(*) parameters)raw_next(&next_##name, #name);                \
        uint64_t begin = io_short_begin();                                                         \
        phase_pause();                                                                             \
        type r = real arguments;                                                                   \
        phase_resume();                                                                            \
        if (begin && !IO_SHORT(data, begin, TRACE_IO_##kind, fd, r, at))                           \
            io_done(&(struct io_call){TRACE_IO_##kind, fd, r, at, begin, 0}, CALLER);              \
        return r;                                                                                  \
    }                                                                                              \
    CAPTURE_HOT_CODE CAPTURE_API type name parameters                                              \
    {                                                                                              \
        type(*real) parameters =                                                                   \
            (type(*) parameters)__atomic_load_n(&next_##name, __ATOMIC_RELAXED);                   \
        if (!IS_LEAN)                                                                              \
            return name##_long arguments;                                                          \
        return (type)MOVED(at, real arguments, TRACE_IO_##kind);                                   \
    }
DATA_CALLS(DATA)

#define SEEK_CALLS(X) X(lseek, off_t) X(lseek64, off64_t) X(__lseek, off_t)
#define SEEK(name, type)                                                                           \
    static void *next_##name;                                                                      \
    type name(int fd, type offset, int from);                                                      \
    static __attribute__((noinline)) type name##_long(int fd, type offset, int from)               \
    {                                                                                              \
        type (*real)(int, type, int) = (type(*)(int, type, int))raw_next(&next_##name, #name);     \
        uint64_t begin = io_short_begin();                                                         \
        type r = real(fd, offset, from);                                                           \
        if (begin && !IO_SHORT(seek, begin, fd, r))                                                \
            io_seeked(fd, r, begin, CALLER);                                                       \
        return r;                                                                                  \
    }                                                                                              \
    CAPTURE_HOT_CODE CAPTURE_API type name(int fd, type offset, int from)                          \
    {                                                                                              \
        type (*real)(int, type, int) =                                                             \
            (type(*)(int, type, int))__atomic_load_n(&next_##name, __ATOMIC_RELAXED);              \
        if (!IS_LEAN)                                                                              \
            return name##_long(fd, offset, from);                                                  \
        return (type)io_lean_sought(real(fd, offset, from), fd);                                   \
    }
SEEK_CALLS(SEEK)
/* For programs built long ago: no search by dlsym finds that of the C library. */
off64_t llseek(int fd, off64_t offset, int from);
extern CAPTURE_API __typeof(llseek) llseek __attribute__((alias("lseek64"), copy(lseek64)));

/* Descriptors that come to be. */
#define OPEN_CALLS(X)                                                                              \
    X(creat, (const char *path, mode_t mode), (path, mode))                                        \
    X(creat64, (const char *path, mode_t mode), (path, mode))                                      \
    X(mkstemp, (char *path), (path))                                                               \
    X(mkstemp64, (char *path), (path))                                                             \
    X(mkostemp, (char *path, int flags), (path, flags))                                            \
    X(mkostemp64, (char *path, int flags), (path, flags))
#define OPEN(name, parameters, arguments)                                                          \
    static void *next_##name;                                                                      \
    int name parameters;                                                                           \
    CAPTURE_API int name parameters                                                                \
    {                                                                                              \
        int(*real) parameters = (int(*) parameters)raw_next(&next_##name, #name);                  \
        uint64_t begin = io_begin_asleep();                                                        \
        int fd = real arguments;                                                                   \
        if (begin)                                                                                 \
            io_opened(fd, NULL, -1, begin, CALLER);                                                \
        return fd;                                                                                 \
    }
OPEN_CALLS(OPEN)

/* Programs that were built with _FORTIFY_SOURCE, as those of distributions are, open files by these. */
#define CHECKED_CALLS(X)                                                                           \
    X(__open_2, (const char *path, int flags), (path, flags), AT_FDCWD)                            \
    X(__open64_2, (const char *path, int flags), (path, flags), AT_FDCWD)                          \
    X(__openat_2, (int folder, const char *path, int flags), (folder, path, flags), folder)        \
    X(__openat64_2, (int folder, const char *path, int flags), (folder, path, flags), folder)
#define OPENING(name, symbol, parameters, arguments, from)                                         \
    static void *next_##name;                                                                      \
    static __attribute__((noinline)) int name##_long parameters                                    \
    {                                                                                              \
        int(*real) parameters = (int(*) parameters)raw_next(&next_##name, symbol);                 \
        uint64_t begin = io_short_begin();                                                         \
        int fd = real arguments;                                                                   \
        const char *known = fd >= 0 && (from == AT_FDCWD || *path == '/') ? path : NULL;           \
        if (begin && !IO_SHORT(open, begin, fd, known, flags))                                     \
            io_opened(fd, known, flags, begin, CALLER);                                            \
        return fd;                                                                                 \
    }                                                                                              \
    CAPTURE_HOT_CODE CAPTURE_API int name parameters                                               \
    {                                                                                              \
        int(*real) parameters =                                                                    \
            (int(*) parameters)__atomic_load_n(&next_##name, __ATOMIC_RELAXED);                    \
        if (from != AT_FDCWD || !IS_LEAN)                                                          \
            return name##_long arguments;                                                          \
        return io_lean_opened(real arguments, path, flags);                                        \
    }
#define CHECKED(name, parameters, arguments, from)                                                 \
    int name parameters;                                                                           \
    OPENING(name, #name, parameters, arguments, from)
CHECKED_CALLS(CHECKED)

/* The mode is there only where a file may be made; else what lies in its place is handed on, which
 * nobody reads. So these take it as any argument: in registers, that is the same to their callers,
 * and they need not put them down. */
#define VARIADIC_CALLS(X)                                                                          \
    X(open, (const char *path, int flags, mode_t mode), (path, flags, mode), AT_FDCWD)             \
    X(open64, (const char *path, int flags, mode_t mode), (path, flags, mode), AT_FDCWD)           \
    X(__open, (const char *path, int flags, mode_t mode), (path, flags, mode), AT_FDCWD)           \
    X(__open64, (const char *path, int flags, mode_t mode), (path, flags, mode), AT_FDCWD)         \
    X(openat, (int folder, const char *path, int flags, mode_t mode), (folder, path, flags, mode), \
      folder)                                                                                      \
    X(openat64, (int folder, const char *path, int flags, mode_t mode),                            \
      (folder, path, flags, mode), folder)
#define VARIADIC(name, parameters, arguments, from)                                                \
    int open_by_##name parameters __asm__(#name);                                                  \
    OPENING(open_by_##name, #name, parameters, arguments, from)
VARIADIC_CALLS(VARIADIC)

#define DUPLICATE_CALLS(X)                                                                         \
    X(dup, (int fd), (fd))                                                                         \
    X(dup2, (int fd, int to), (fd, to))                                                            \
    X(__dup2, (int fd, int to), (fd, to))                                                          \
    X(dup3, (int fd, int to, int flags), (fd, to, flags))
#define DUPLICATE(name, parameters, arguments)                                                     \
    static void *next_##name;                                                                      \
    int name parameters;                                                                           \
    CAPTURE_API int name parameters                                                                \
    {                                                                                              \
        int r = ((int(*) parameters)raw_next(&next_##name, #name))arguments;                       \
        io_duplicated(fd, r);                                                                      \
        return r;                                                                                  \
    }
DUPLICATE_CALLS(DUPLICATE)

#define CONTROL_CALLS(X) X(fcntl) X(fcntl64)
#define CONTROL(name)                                                                              \
    static void *next_##name;                                                                      \
    int name(int fd, int what, ...);                                                               \
    CAPTURE_API int name(int fd, int what, ...)                                                    \
    {                                                                                              \
        va_list list;                                                                              \
        va_start(list, what);                                                                      \
        long given = va_arg(list, long);                                                           \
        va_end(list);                                                                              \
        int r = ((int (*)(int, int, long))raw_next(&next_##name, #name))(fd, what, given);         \
        if (what == F_DUPFD || what == F_DUPFD_CLOEXEC)                                            \
            io_duplicated(fd, r);                                                                  \
        return r;                                                                                  \
    }
CONTROL_CALLS(CONTROL)

#define CLOSE_CALLS(X) X(close) X(__close)
#define CLOSE(name)                                                                                \
    static void *next_##name;                                                                      \
    int name(int fd);                                                                              \
    static __attribute__((noinline)) int name##_long(int fd)                                       \
    {                                                                                              \
        int (*real)(int) = (int (*)(int))raw_next(&next_##name, #name);                            \
        uint64_t begin = io_close_begin();                                                         \
        int is_lean = begin - 1 < IO_LEAN_MEASURED && io_lean_close(fd, begin);                    \
        uint32_t file = begin && !is_lean ? io_closing(fd, begin) : 0;                             \
        int r = real(fd);                                                                          \
        if (file)                                                                                  \
            io_closed(file, begin, r, CALLER);                                                     \
        return r;                                                                                  \
    }                                                                                              \
    CAPTURE_HOT_CODE CAPTURE_API int name(int fd)                                                  \
    {                                                                                              \
        int (*real)(int) = (int (*)(int))__atomic_load_n(&next_##name, __ATOMIC_RELAXED);          \
        return IS_LEAN ? io_lean_closes(fd, real) : name##_long(fd);                               \
    }
CLOSE_CALLS(CLOSE)

static void *next_close_range, *next_closefrom, *next_sendfile, *next_copy, *next_splice,
    *next_getaddrinfo, *next_listen;

CAPTURE_API int close_range(unsigned first, unsigned last, int flags)
{
    int (*real)(unsigned, unsigned, int) =
        (int (*)(unsigned, unsigned, int))raw_next(&next_close_range, "close_range");
    if (!(flags & CLOSE_RANGE_CLOEXEC))
        io_closing_range(first, last);
    if (real)
        return real(first, last, flags);
    errno = ENOSYS;
    return -1;
}

void closefrom(int first);
CAPTURE_API void closefrom(int first)
{
    void (*real)(int) = (void (*)(int))raw_next(&next_closefrom, "closefrom");
    io_closing_range(first > 0 ? (unsigned)first : 0, ~0u);
    if (real)
        real(first);
}

/* From one descriptor to another; `from`, `to`: offsets, NULL where the descriptors stand. Its time
 * is that of the read. */
static ssize_t io_record_transfer(ssize_t r, uint64_t begin, int in, int64_t from, int out,
                                  int64_t to, int no_chars, const void *caller)
{
    phase_resume();
    if (!begin)
        return r;
    io_done(&(struct io_call){TRACE_IO_READ, in, r, from, begin, no_chars}, caller);
    if (r > 0)
        io_done(&(struct io_call){TRACE_IO_WRITE, out, r, to, trace_now(), no_chars}, caller);
    return r;
}

static ssize_t send_file(int out, int in, off64_t *offset, size_t n, const void *caller)
{
    ssize_t (*real)(int, int, off64_t *, size_t) =
        (ssize_t(*)(int, int, off64_t *, size_t))raw_next(&next_sendfile, "sendfile64");
    int64_t from = offset ? *offset : IO_HERE;
    uint64_t begin = io_begin();
    phase_pause();
    return io_record_transfer(real(out, in, offset, n), begin, in, from, out, IO_HERE, 0, caller);
}

CAPTURE_API ssize_t sendfile(int out, int in, off_t *offset, size_t n)
{
    return send_file(out, in, offset, n, CALLER);
}

CAPTURE_API ssize_t sendfile64(int out, int in, off64_t *offset, size_t n)
{
    return send_file(out, in, offset, n, CALLER);
}

CAPTURE_API ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t n,
                                    unsigned flags)
{
    ssize_t (*real)(int, off64_t *, int, off64_t *, size_t, unsigned) =
        (ssize_t(*)(int, off64_t *, int, off64_t *, size_t, unsigned))raw_next(&next_copy,
                                                                               "copy_file_range");
    int64_t first = from ? *from : IO_HERE, second = to ? *to : IO_HERE;
    uint64_t begin = io_begin();
    phase_pause();
    return io_record_transfer(real(in, from, out, to, n, flags), begin, in, first, out, second, 0,
                              CALLER);
}

CAPTURE_API ssize_t splice(int in, off64_t *from, int out, off64_t *to, size_t n, unsigned flags)
{
    ssize_t (*real)(int, off64_t *, int, off64_t *, size_t, unsigned) =
        (ssize_t(*)(int, off64_t *, int, off64_t *, size_t, unsigned))raw_next(&next_splice,
                                                                               "splice");
    int64_t first = from ? *from : IO_HERE, second = to ? *to : IO_HERE;
    uint64_t begin = io_begin();
    phase_pause();
    return io_record_transfer(real(in, from, out, to, n, flags), begin, in, first, out, second, 1,
                              CALLER);
}

CAPTURE_API int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                            struct addrinfo **found)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
        (int (*)(const char *, const char *, const struct addrinfo *, struct addrinfo **))raw_next(
            &next_getaddrinfo, "getaddrinfo");
    int r = real(host, service, hints, found);
    if (!r)
        io_named(host, *found);
    return r;
}

CAPTURE_API int listen(int fd, int waiting)
{
    int r = ((int (*)(int, int))raw_next(&next_listen, "listen"))(fd, waiting);
    if (!r && io_begin())
        io_listening(fd);
    return r;
}

/* Reads, writes and seeks by names that nobody replaces: what is taken out of the program's way. */
#define OWN(name)                                                                                  \
    extern __typeof(name) own_##name                                                               \
        __attribute__((alias(#name), copy(name), visibility("hidden")));
#define DATA_OWN(t, name, p, a, k, at) OWN(name)
#define SEEK_OWN(name, type)           OWN(name)
DATA_CALLS(DATA_OWN)
SEEK_CALLS(SEEK_OWN)

unsigned io_hooks_take_out(void)
{
#define REBIND(name)                      {(void *)own_##name, (void *const *)&next_##name},
#define DATA_REBIND(t, name, p, a, k, at) REBIND(name)
#define SEEK_REBIND(name, type)           REBIND(name)
    static const struct rebind rows[] = {DATA_CALLS(DATA_REBIND) SEEK_CALLS(SEEK_REBIND)};
    return rebind_all(rows, sizeof rows / sizeof *rows);
}

void io_hooks_setup(void)
{
#define ROW(name)                      {&next_##name, #name},
#define DATA_ROW(t, name, p, a, k, at) ROW(name)
#define SEEK_ROW(name, type)           ROW(name)
#define OPEN_ROW(name, ...)            ROW(name)
#define VARIADIC_ROW(name, ...)        {&next_open_by_##name, #name},
    static const struct {
        void **slot;
        const char *name;
    } rows[] = {DATA_CALLS(DATA_ROW) SEEK_CALLS(SEEK_ROW) OPEN_CALLS(OPEN_ROW)
                    CHECKED_CALLS(OPEN_ROW) VARIADIC_CALLS(VARIADIC_ROW) DUPLICATE_CALLS(OPEN_ROW)
                        CONTROL_CALLS(ROW) CLOSE_CALLS(ROW) ROW(close_range)
                            ROW(closefrom){&next_sendfile, "sendfile64"},
                {&next_copy, "copy_file_range"},
                ROW(splice) ROW(getaddrinfo) ROW(listen)};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        raw_next(rows[i].slot, rows[i].name);
    io_stdio_setup();
    io_names_setup();
}
