/* Short reads and writes like many before them, without the clock, the entry into the library and
 * the draw in doubles: a pipe's read of 250 ns took 140 more. Their counts, bytes, sizes, times and
 * places are as exact as those of others; those that have a stack go the long way. */
#include "profiler/capture/recorders/io/short_calls.h"

enum {
    SHORT_NS = 20000, /* longer ones may have waited */
    LARGE = 1 << 20,
};

static unsigned short_ns; /* what one costs */

/* 0: another call keeps the row, or one below this one. */
static int add(struct capture_thread *t, struct io_descriptor *d, struct io_file *f,
               const struct io_add *a)
{
    int none = 0;
    if (!__atomic_compare_exchange_n(&f->lock, &none, (int)t->tid, 0, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        return 0;
    struct trace_io_count *c = &f->op[a->op];
    c->calls++;
    c->bytes += (uint64_t)a->bytes;
    c->ns += a->end - a->begin;
    io_add_data(f, d, a, t->tid);
    f->changed = 1;
    io_unlock(f);
    t->cost_calls[TRACE_PART_IO]++;
    t->cost_ns[TRACE_PART_IO] += short_ns;
    t->io_ns += short_ns;
    return 1;
}

/* Its time for the list of moments is the clock's. */
static int has_moment(const struct io_file *f, const struct io_descriptor *d)
{
    return d->seekable && !(f->seen & (f->stride ? f->stride - 1 : 0));
}

int io_short(enum trace_io_op op, int fd, int64_t result, int64_t offset, uint64_t begin)
{
    if (!(begin & IO_TICKS) || op > TRACE_IO_WRITE || result <= 0 || result >= LARGE)
        return 0;
    uint64_t ns = io_ticks_since(begin);
    struct capture_thread *t = capture.on ? capture_self() : NULL;
    struct io_descriptor *d = io_descriptor_known(fd);
    if (ns >= SHORT_NS || !t || t->busy || !d)
        return 0;
    struct io_file *f = &io->files[d->file - 1];
    if (!f->begun[op] || f->kind == TRACE_TO_SOCKET || has_moment(f, d))
        return 0;
    if (offset == IO_HERE && d->seekable && (!d->known || d->shared))
        return 0;
    t->io_drawn = io_draw(t);
    if (t->io_drawn != IO_DRAWN_NONE)
        return 0;
    struct io_add a = {.op = op, .bytes = result, .offset = offset, .end = ns};
    int here = offset == IO_HERE && d->seekable;
    if (here)
        a.offset = (int64_t)d->offset;
    if (!add(t, d, f, &a))
        return 0;
    if (here)
        d->offset += (uint64_t)result;
    t->io_drawn = 0;
    return 1;
}

/* The least of some rounds, on row 0. */
void io_short_measure(struct capture_thread *t)
{
    enum { ROUNDS = 5, LOOP = 16 };
    struct io_file kept = io->files[0];
    struct io_descriptor d = {.file = 1};
    uint64_t least = UINT64_MAX, io_ns = t->io_ns, cost = t->cost_calls[TRACE_PART_IO];
    for (int r = 0; r < ROUNDS; r++) {
        uint64_t begin = trace_now();
        for (int i = 0; i < LOOP; i++) {
            uint64_t ticks = raw_ticks(), ns = io_ticks_since(ticks);
            (void)capture_random(t);
            add(t, &d, &io->files[0],
                &(struct io_add){.op = TRACE_IO_WRITE, .bytes = 1, .end = ns});
        }
        uint64_t ns = trace_now() - begin;
        least = ns < least ? ns : least;
    }
    io->files[0] = kept;
    t->io_ns = io_ns;
    t->cost_calls[TRACE_PART_IO] = cost;
    short_ns = (unsigned)((least + LOOP / 2) / LOOP);
}
