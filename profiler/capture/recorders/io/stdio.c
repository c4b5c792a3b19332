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

static int64_t stream_pending(const FILE *f)
{
    return f->_IO_write_ptr > f->_IO_write_base ? f->_IO_write_ptr - f->_IO_write_base : 0;
}

struct io_stream io_stream_begin(FILE *f)
{
    return (struct io_stream){capture_is_on() && io_on ? io_stamp() : 0,
                              f->_IO_read_ptr,
                              f->_IO_read_end,
                              f->_IO_write_ptr,
                              f->_IO_write_base,
                              stream_pending(f)};
}

/* Asks the kernel now and then where time matters most: then wrong guesses are found. */
static int is_guessed(struct capture_thread *t)
{
    enum { ASK_ONE_IN = 16 };
    return __atomic_load_n(&io_lean, __ATOMIC_RELAXED) && capture_random(t) * ASK_ONE_IN > 1;
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

/* Nothing else was moved where the buffer's end stayed and its pointer moved by just what the call
 * gave or took. */
void io_stream_end(const struct io_stream *s, FILE *f, enum trace_io_op op, int64_t bytes,
                   const void *caller)
{
    int reads = op == TRACE_IO_READ;
    int buffered =
        reads ? f->_IO_read_end == s->read_end && f->_IO_read_ptr == s->read_at + bytes
              : f->_IO_write_base == s->write_base && f->_IO_write_ptr == s->write_at + bytes;
    if (!s->begin || !capture.on || buffered || f->_fileno < 0)
        return;
    int saved = errno;
    uint64_t end = trace_now();
    struct capture_thread *t = io_enter(0, 0);
    if (t) {
        int64_t guess = bytes;
        if (reads)
            guess += (f->_IO_read_end - f->_IO_read_ptr) - (s->read_end - s->read_at);
        else
            guess += s->pending - stream_pending(f);
        stream_record_move(t, f, op, guess, io_begin_ns(s->begin, end), end, caller);
        io_leave(t, 1, saved);
    }
    errno = saved;
}

/* A seek writes what is pending, and may fill the buffer at its new place. */
void io_stream_seeked(const struct io_stream *s, FILE *f, const void *caller)
{
    int saved = errno;
    uint64_t end = s->begin && capture.on ? trace_now() : 0;
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
    struct io_descriptor *d = s->begin && capture.on ? io_descriptor_known(f->_fileno) : NULL;
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
