/* stdio: calls that may read or write. Calls that the buffer answers cost a comparison. getc,
 * printf and their like have no hook: what they move is seen with the next of these calls. */
#include <stdio.h>

#include "profiler/capture/hooks/hooks.h"
#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders/io/lean.h"

#define CALLER __builtin_return_address(0)
#undef fread_unlocked
#undef fwrite_unlocked

/* The difference is 0 where a stream has no such buffer, and below 0 where it is written by lines. */
static int stdio_buffer_holds(const FILE *f, size_t bytes)
{
    return f->_IO_read_end - f->_IO_read_ptr >= (ptrdiff_t)bytes;
}

static int has_room(const FILE *f, size_t bytes)
{
    return f->_IO_write_end - f->_IO_write_ptr > (ptrdiff_t)bytes;
}

/* How long a line is shows when it was read. To look for its end took two thirds as long as reading
 * it, and the time before each call as long as that. So a buffer with room for four lines like the
 * longest of late holds one; only in the last of it the end is looked for (line_ends). Where it did
 * not, the next call that comes to its end has the bytes. */
enum { LINE_LEAST = 64, LINES = 4, LINE_FORGET = 16 };
static size_t line_room = LINE_LEAST; /* atomic */

static int holds_line(const FILE *f, size_t most)
{
    const size_t room = __atomic_load_n(&line_room, __ATOMIC_RELAXED);
    return stdio_buffer_holds(f, most < room ? most : room);
}

static int64_t line_seen(size_t bytes)
{
    const size_t room = __atomic_load_n(&line_room, __ATOMIC_RELAXED),
                 less = room - room / LINE_FORGET;
    const size_t now = bytes * LINES > less ? bytes * LINES : less;
    __atomic_store_n(&line_room, now > LINE_LEAST ? now : LINE_LEAST, __ATOMIC_RELAXED);
    return (int64_t)bytes;
}

/* Looks for the end: five lines of 13 bytes in 315 come to this, and to go on takes a tenth of what
 * a record of them takes. Beside other threads the two ends may be those of two buffers. */
static int line_ends(const FILE *f, int end)
{
    const char *at = f->_IO_read_ptr;
    const ptrdiff_t bytes =
        __atomic_load_n(&io_threaded, __ATOMIC_RELAXED) ? 0 : f->_IO_read_end - at;
    const char *last = bytes > 0 ? memchr(at, end, (size_t)bytes) : NULL;
    if (last)
        line_seen((size_t)(last - at) + 1);
    return last != NULL;
}

/* X(type, name, parameters, arguments, op, whether the buffer is enough, the same by a longer look,
 * bytes moved): the stream is called f, the result r. */
#define STREAM_CALLS(X)                                                                            \
    X(size_t, fread, (void *b, size_t s, size_t n, FILE *f), (b, s, n, f), READ,                   \
      stdio_buffer_holds(f, s *n), 0, (int64_t)(r * s))                                            \
    X(size_t, fread_unlocked, (void *b, size_t s, size_t n, FILE *f), (b, s, n, f), READ,          \
      stdio_buffer_holds(f, s *n), 0, (int64_t)(r * s))                                            \
    X(size_t, __fread_chk, (void *b, size_t room, size_t s, size_t n, FILE *f),                    \
      (b, room, s, n, f), READ, stdio_buffer_holds(f, s *n), 0, (int64_t)(r * s))                  \
    X(size_t, __fread_unlocked_chk, (void *b, size_t room, size_t s, size_t n, FILE *f),           \
      (b, room, s, n, f), READ, stdio_buffer_holds(f, s *n), 0, (int64_t)(r * s))                  \
    X(char *, fgets, (char *b, int n, FILE *f), (b, n, f), READ, holds_line(f, (size_t)n),         \
      line_ends(f, '\n'), r ? line_seen(strlen(r)) : 0)                                            \
    X(char *, fgets_unlocked, (char *b, int n, FILE *f), (b, n, f), READ,                          \
      holds_line(f, (size_t)n), line_ends(f, '\n'), r ? line_seen(strlen(r)) : 0)                  \
    X(char *, __fgets_chk, (char *b, size_t room, int n, FILE *f), (b, room, n, f), READ,          \
      holds_line(f, (size_t)n), line_ends(f, '\n'), r ? line_seen(strlen(r)) : 0)                  \
    X(ssize_t, getline, (char **b, size_t *n, FILE *f), (b, n, f), READ, holds_line(f, SIZE_MAX),  \
      line_ends(f, '\n'), r > 0 ? line_seen((size_t)r) : 0)                                        \
    X(ssize_t, getdelim, (char **b, size_t *n, int end, FILE *f), (b, n, end, f), READ,            \
      holds_line(f, SIZE_MAX), line_ends(f, end), r > 0 ? line_seen((size_t)r) : 0)                \
    X(ssize_t, __getdelim, (char **b, size_t *n, int end, FILE *f), (b, n, end, f), READ,          \
      holds_line(f, SIZE_MAX), line_ends(f, end), r > 0 ? line_seen((size_t)r) : 0)                \
    X(size_t, fwrite, (const void *b, size_t s, size_t n, FILE *f), (b, s, n, f), WRITE,           \
      has_room(f, s *n), 0, (int64_t)(r * s))                                                      \
    X(size_t, fwrite_unlocked, (const void *b, size_t s, size_t n, FILE *f), (b, s, n, f), WRITE,  \
      has_room(f, s *n), 0, (int64_t)(r * s))                                                      \
    X(int, fflush, (FILE * f), (f), WRITE, !f || f->_IO_write_ptr == f->_IO_write_base, 0, 0)      \
    X(int, fflush_unlocked, (FILE * f), (f), WRITE, !f || f->_IO_write_ptr == f->_IO_write_base,   \
      0, 0)

/* A call that the buffer can serve goes on by a jump: no frame, no register kept. NAME_seen is
 * entered by one as well, so its caller is the program's; it comes first, and finds where to. */
#define STREAM(type, name, parameters, arguments, op, enough, holds, bytes)                        \
    static void *next_##name;                                                                      \
    type name parameters;                                                                          \
    static type name##_seen parameters;                                                            \
    static type(*fast_##name) parameters = name##_seen;                                            \
    static __attribute__((noinline, cold)) type name##_seen parameters                             \
    {                                                                                              \
        type(*real) parameters = (type(*) parameters)raw_next(&next_##name, #name);                \
        __atomic_store_n(&fast_##name, real, __ATOMIC_RELAXED);                                    \
        if (!io_on || (enough) || (holds))                                                         \
            return real arguments;                                                                 \
        struct io_stream s_ = io_stream_begin(f);                                                  \
        type r = real arguments;                                                                   \
        io_stream_end(&s_, f, TRACE_IO_##op, (bytes), CALLER);                                     \
        return r;                                                                                  \
    }                                                                                              \
    CAPTURE_HOT_CODE CAPTURE_API type name parameters                                              \
    {                                                                                              \
        if (__builtin_expect(enough, 1))                                                           \
            return __atomic_load_n(&fast_##name, __ATOMIC_RELAXED) arguments;                      \
        return name##_seen arguments;                                                              \
    }
STREAM_CALLS(STREAM)

#define POSITION_CALLS(X)                                                                          \
    X(int, fseek, (FILE * f, long at, int from), (f, at, from))                                    \
    X(int, fseeko, (FILE * f, off_t at, int from), (f, at, from))                                  \
    X(int, fseeko64, (FILE * f, off64_t at, int from), (f, at, from))
#define POSITION(type, name, parameters, arguments)                                                \
    static void *next_##name;                                                                      \
    type name parameters;                                                                          \
    CAPTURE_API type name parameters                                                               \
    {                                                                                              \
        type(*real) parameters = (type(*) parameters)raw_next(&next_##name, #name);                \
        struct io_stream s = io_stream_seeking(f, CALLER);                                         \
        type r = real arguments;                                                                   \
        io_stream_seeked(&s, f, CALLER);                                                           \
        return r;                                                                                  \
    }
POSITION_CALLS(POSITION)

static void *next_rewind, *next_fclose;

CAPTURE_API void rewind(FILE *f)
{
    struct io_stream s = io_stream_seeking(f, CALLER);
    ((void (*)(FILE *))raw_next(&next_rewind, "rewind"))(f);
    io_stream_seeked(&s, f, CALLER);
}

#define FOPEN_CALLS(X)                                                                             \
    X(fopen, (const char *path, const char *mode), (path, mode))                                   \
    X(fopen64, (const char *path, const char *mode), (path, mode))                                 \
    X(tmpfile, (void), ())                                                                         \
    X(tmpfile64, (void), ())                                                                       \
    X(freopen, (const char *path, const char *mode, FILE *old), (path, mode, old))                 \
    X(freopen64, (const char *path, const char *mode, FILE *old), (path, mode, old))
#define FOPEN(name, parameters, arguments)                                                         \
    static void *next_##name;                                                                      \
    FILE *name parameters;                                                                         \
    CAPTURE_API FILE *name parameters                                                              \
    {                                                                                              \
        FILE *(*real)parameters = (FILE * (*)parameters) raw_next(&next_##name, #name);            \
        uint64_t begin = io_begin_asleep();                                                        \
        FILE *f = real arguments;                                                                  \
        if (begin)                                                                                 \
            io_opened(f ? f->_fileno : -1, NULL, -1, begin, CALLER);                               \
        return f;                                                                                  \
    }
FOPEN_CALLS(FOPEN)

CAPTURE_API int fclose(FILE *f)
{
    int (*real)(FILE *) = (int (*)(FILE *))raw_next(&next_fclose, "fclose");
    if (!f || !io_on)
        return real(f);
    struct io_stream s = io_stream_begin(f);
    uint32_t file = io_stream_closing(&s, f, CALLER);
    int r = real(f);
    if (file)
        io_closed(file, s.begin, r, CALLER);
    return r;
}

void io_stdio_setup(void)
{
#define ROW(name)                {&next_##name, #name},
#define STREAM_ROW(t, name, ...) ROW(name)
#define OPEN_ROW(name, ...)      ROW(name)
    static const struct {
        void **slot;
        const char *name;
    } rows[] = {STREAM_CALLS(STREAM_ROW) POSITION_CALLS(STREAM_ROW) FOPEN_CALLS(OPEN_ROW)
                    ROW(rewind) ROW(fclose)};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        raw_next(rows[i].slot, rows[i].name);
}
