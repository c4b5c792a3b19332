/* stdio's own reads and writes: the C library makes them inside itself, where no hook sees them. A
 * call on a stream that was answered from its buffer leaves the buffer's ends where they were;
 * after any other the kernel is asked for the descriptor's offset, and what it moved since it was
 * known last was read or written: also by functions that have no hook (getc, printf). */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/capture/core/asleep.h"
#include "profiler/capture/recorders/io/lean.h"

enum { PUTTING = 0x800 }; /* _IO_CURRENTLY_PUTTING of glibc's _flags */
#define STREAM_NS_LEAST 0.25

static int64_t stream_pending(const FILE *f)
{
    return f->_IO_write_ptr > f->_IO_write_base ? f->_IO_write_ptr - f->_IO_write_base : 0;
}

struct io_stream io_stream_begin(FILE *f)
{
    return (struct io_stream){capture.on ? (io_on ? io_stamp() : 0) : io_begin_asleep(),
                              f->_IO_read_ptr,
                              f->_IO_read_end,
                              f->_IO_write_ptr,
                              f->_IO_write_base,
                              stream_pending(f)};
}

/* Asks the kernel at calls that are timed where time matters most: then wrong guesses are found. */
static int is_guessed(const struct capture_thread *t)
{
    return __atomic_load_n(&io_lean, __ATOMIC_RELAXED) && t->io_weight == LEAN_UNTIMED;
}

/* Such a call as a wrapper that the buffer serves (hooks/io_stdio.c), and what it goes on to. */
static __attribute__((noinline)) int stream_served(const FILE *f, size_t bytes)
{
    (void)f;
    __asm__ volatile("");
    return (int)bytes;
}

static int (*volatile stream_next)(const FILE *, size_t) = stream_served;

static __attribute__((noinline)) int stream_wrapper(const FILE *f, size_t bytes)
{
    if (__builtin_expect(f->_IO_write_end - f->_IO_write_ptr > (ptrdiff_t)bytes, 1))
        return stream_next(f, bytes);
    return 0;
}

static double stream_calls_ns(int (*volatile call)(const FILE *, size_t))
{
    enum { LOOP = 150 };
    char buffer[LOOP];
    const FILE f = {._IO_write_ptr = buffer, ._IO_write_end = buffer + LOOP};
    const uint64_t begin = trace_now();
    for (int i = 0; i < LOOP; i++)
        call(&f, (size_t)(i & 7));
    return (double)(trace_now() - begin) / LOOP;
}

/* Returns ns that the wrapper adds to a call; the least of some loops, as in hooks/cost.c. */
static double stream_price(void)
{
    enum { ROUNDS = 6 };
    static double price; /* several threads may measure it at once, and come to the same */
    double bare = 1e9, own = 1e9, known;
    __atomic_load(&price, &known, __ATOMIC_RELAXED);
    for (int i = 0; i < ROUNDS && known == 0; i++) {
        const double a = stream_calls_ns(stream_served), b = stream_calls_ns(stream_wrapper);
        bare = a < bare ? a : bare;
        own = b < own ? b : own;
    }
    if (known == 0) {
        known = own - bare > STREAM_NS_LEAST ? own - bare : STREAM_NS_LEAST;
        __atomic_store(&price, &known, __ATOMIC_RELAXED);
    }
    return known;
}

/* A call of `bytes` at which a buffer of `moved` bytes ended: such a one ends it in bytes of moved
 * cases, so moved / bytes like it were served by the buffer on average, whatever the sizes of the
 * others and whatever else wrote into it. */
static void stream_count_calls(struct capture_thread *t, int64_t moved, int64_t bytes)
{
    if (bytes <= 0 || moved <= bytes)
        return;
    const double calls = (double)moved / (double)bytes - 1;
    t->cost_calls[TRACE_PART_STDIO] += (uint64_t)(calls + 0.5);
    t->cost_ns[TRACE_PART_STDIO] += (uint64_t)(calls * stream_price());
}

/* Records moved bytes by direction; `guess` where no offset is known. */
static void stream_record_move(struct capture_thread *t, FILE *f, enum trace_io_op op,
                               int64_t guess, uint64_t begin, uint64_t end, const void *caller)
{
    struct io_file *file;
    struct io_descriptor *d = io_descriptor(f->_fileno, &file);
    struct io_add a = {.op = op, .bytes = guess, .offset = -1, .begin = begin, .end = end};
    if (!d)
        return;
    d->stream = 1;
    if (d->seekable && guess > 0 && d->known && !d->shared && is_guessed(t)) {
        a.offset = (int64_t)d->offset;
        d->offset += (uint64_t)guess;
    } else if (d->seekable) {
        long now = syscall(SYS_lseek, f->_fileno, 0L, SEEK_CUR);
        if (now < 0)
            return;
        if (d->known)
            a.bytes = now - (int64_t)d->offset;
        a.offset = now - a.bytes;
        d->offset = (uint64_t)now;
        d->known = 1;
    }
    if (a.bytes > 0)
        io_add(t, d, file, &a, caller);
}

/* A call like many before it (lean.h): 150 ns less. 0: it goes the long way, with its time: of short
 * ones where one was drawn, each that may have waited for itself alone. */
static int stream_is_counted(const struct io_stream *s, const FILE *f, enum trace_io_op op,
                             int64_t guess, int64_t bytes)
{
    const struct io_descriptor *d = io_descriptor_known(f->_fileno);
    if (!__atomic_load_n(&io_lean, __ATOMIC_RELAXED) || !capture.on || !d || !d->stream ||
        io_between(s->begin, io_stamp()) >= SHORT_NS)
        return 0;
    const uint64_t begin = io_lean_begin();
    if (begin > IO_LEAN_MEASURED || !io_lean_data(op, f->_fileno, guess, IO_HERE, begin))
        return 0;
    stream_count_calls(&thread_own->t, guess, bytes);
    return 1;
}

/* Nothing else was moved where the buffer's end stayed and its pointer moved by just what the call
 * gave or took. */
void io_stream_end(const struct io_stream *s, FILE *f, enum trace_io_op op, int64_t bytes,
                   const void *caller)
{
    int reads = op == TRACE_IO_READ;
    int buffered =
        reads ? f->_IO_read_end == s->read_end && f->_IO_read_ptr == s->read_at + bytes
              : f->_IO_write_base == s->write_base && f->_IO_write_ptr == s->write_at + bytes;
    if (!s->begin || !io_records() || buffered || f->_fileno < 0)
        return;
    int64_t guess = bytes;
    if (reads)
        guess += (f->_IO_read_end - f->_IO_read_ptr) - (s->read_end - s->read_at);
    else
        guess += s->pending - stream_pending(f);
    if (stream_is_counted(s, f, op, guess, bytes))
        return;
    int saved = errno;
    uint64_t end = trace_now();
    struct capture_thread *t = io_enter(0, 0);
    if (t) {
        if (capture.on) /* its price takes 4 us to measure */
            stream_count_calls(t, guess, bytes);
        stream_record_move(t, f, op, guess, io_begin_ns(s->begin, end), end, caller);
        io_leave(t, 1, saved);
    }
    errno = saved;
}

/* Counts what no hook has seen since the kernel was asked last, before the place is lost: of few
 * calls that would cost more than it is worth. */
struct io_stream io_stream_seeking(FILE *f, const void *caller)
{
    enum { ASK_FROM = 4 };
    int saved = errno;
    struct io_descriptor *d = io_on && io_records() ? io_descriptor_known(f->_fileno) : NULL;
    struct capture_thread *t = d && d->stream && d->run.calls >= ASK_FROM ? io_enter(0, 0) : NULL;
    if (t) {
        uint64_t now = trace_now();
        stream_record_move(t, f, f->_flags & PUTTING ? TRACE_IO_WRITE : TRACE_IO_READ, 0, now, now,
                           caller);
        io_leave(t, 0, saved);
    }
    errno = saved;
    return io_stream_begin(f);
}

/* A seek writes what is pending, and may fill the buffer at its new place. */
void io_stream_seeked(const struct io_stream *s, FILE *f, const void *caller)
{
    int saved = errno;
    uint64_t end = s->begin && io_records() ? trace_now() : 0;
    struct capture_thread *t = end && f->_fileno >= 0 ? io_enter(0, 0) : NULL;
    struct io_file *file;
    struct io_descriptor *d = t ? io_descriptor(f->_fileno, &file) : NULL;
    if (d && d->seekable) {
        long now = syscall(SYS_lseek, f->_fileno, 0L, SEEK_CUR);
        int64_t filled = f->_IO_read_end - f->_IO_read_base;
        struct io_add a = {
            .begin = io_begin_ns(s->begin, end), .end = end, .offset = -1, .op = TRACE_IO_SEEK};
        int else_where = now >= 0 && (!d->known || now != (int64_t)d->offset);
        if (s->pending > 0) {
            a.op = TRACE_IO_WRITE;
            a.bytes = s->pending;
            a.offset = d->known ? (int64_t)d->offset : -1;
        } else if (else_where && filled > 0 && filled <= now) {
            a.op = TRACE_IO_READ;
            a.bytes = filled;
            a.offset = now - filled;
        }
        if (now >= 0) {
            d->offset = (uint64_t)now;
            d->known = 1;
        }
        io_add(t, d, file, &a, caller);
    }
    if (t)
        io_leave(t, 1, saved);
    errno = saved;
}

/* Counts now the bytes that no hook has seen, and those that fclose will write. */
uint32_t io_stream_closing(const struct io_stream *s, FILE *f, const void *caller)
{
    int saved = errno, writes = (f->_flags & PUTTING) != 0;
    struct io_descriptor *d = s->begin && io_records() ? io_descriptor_known(f->_fileno) : NULL;
    struct capture_thread *t = d ? io_enter(0, 0) : NULL;
    uint32_t row = 0;
    if (t) {
        uint64_t now = trace_now();
        enum trace_io_op op = writes || d->writes ? TRACE_IO_WRITE : TRACE_IO_READ;
        stream_record_move(t, f, op, 0, now, now, caller);
        row = d->file;
        if (s->pending > 0 && writes) {
            int64_t at = d->seekable && d->known ? (int64_t)d->offset : -1;
            io_add(t, d, &io->files[row - 1],
                   &(struct io_add){.op = TRACE_IO_WRITE,
                                    .bytes = s->pending,
                                    .offset = at,
                                    .begin = now,
                                    .end = now},
                   caller);
        }
        io_forget(f->_fileno);
        io_leave(t, 1, saved);
    }
    errno = saved;
    return row;
}
