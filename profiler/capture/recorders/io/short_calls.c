/* Short calls like many before them, without the clock, the entry into the library and a stack: a
 * pipe's read of 250 ns took 140 more. Their counts, bytes, sizes, times and places are as exact as
 * those of others; those that have a stack go the long way. */
#include "profiler/capture/recorders/io/lean.h"

#define FOLLOW_NS 40000000u /* before it is known how fast the counter counts */
#define READ_NS   2000u     /* clock and counter are read together within this time */
#define OFF       0.02      /* a counter whose rate changes by more is not used */

enum { LARGE = 1 << 20 };

/* Its time for the list of moments is the clock's. */
static int has_moment(const struct io_file *f, const struct io_descriptor *d)
{
    return d->seekable && !(f->seen & (f->stride ? f->stride - 1 : 0));
}

int io_short_data(enum trace_io_op op, int fd, int64_t result, int64_t offset, uint64_t begin)
{
    struct quick q;
    struct io_descriptor *d = io_descriptor_known(fd);
    if (op > TRACE_IO_WRITE || result <= 0 || result >= LARGE || !d || !quick_begin(&q, begin))
        return 0;
    struct io_file *f = &io->files[d->file - 1];
    int here = offset == IO_HERE && d->seekable;
    if (!f->begun[op] || f->kind == TRACE_TO_SOCKET || (here && (!d->known || d->shared)) ||
        quick_has_stack(&q) || !quick_lock(&q, f))
        return 0;
    io_run_flush(f, d);
    struct io_add a = {.op = op, .bytes = result, .offset = offset};
    a.begin = has_moment(f, d) ? trace_now() - q.ns : 0;
    a.end = a.begin + q.ns;
    if (here) {
        a.offset = (int64_t)d->offset;
        d->offset += (uint64_t)result;
    }
    quick_count(&q, f, op);
    f->op[op].bytes += (uint64_t)result;
    io_add_data(f, d, &a, q.t);
    io_unlock(f);
    quick_end(&q);
    return 1;
}

int io_short_other(struct io_file *f, enum trace_io_op op, uint64_t begin)
{
    struct quick q;
    if (!quick_begin(&q, begin) || quick_has_stack(&q) || !quick_lock(&q, f))
        return 0;
    quick_count(&q, f, op);
    io_unlock(f);
    quick_end(&q);
    return 1;
}

int io_short_seek(int fd, int64_t result, uint64_t begin)
{
    struct io_descriptor *d = io_descriptor_known(fd);
    if (result < 0 || !d || !d->seekable ||
        !io_short_other(&io->files[d->file - 1], TRACE_IO_SEEK, begin))
        return 0;
    d->offset = (uint64_t)result;
    d->known = 1;
    return 1;
}

/* Two stamps in a loop, and as much again for the wrapper and what its caller keeps for it: the
 * rest is measured with each call. */
void io_short_measure(void)
{
    enum { ROUNDS = 5, LOOP = 16 };
    uint64_t least = UINT64_MAX;
    io_between_ticks = UINT64_MAX;
    for (int r = 0; r < ROUNDS; r++) {
        uint64_t begin = trace_now();
        for (int i = 0; i < LOOP; i++) {
            uint64_t stamp = io_stamp();
            __asm__ volatile("" : : "r"(io_between(stamp, io_stamp())));
        }
        uint64_t ns = trace_now() - begin;
        least = ns < least ? ns : least;
        const uint64_t ticks = raw_ticks_between(), more = raw_ticks_between() - ticks;
        io_between_ticks = more < io_between_ticks ? more : io_between_ticks;
    }
    io_call_ns = (double)least / LOOP;
}

/* How fast the processor's counter counts, by the clock. A counter that does not keep its rate is
 * not used. */

uint64_t io_begin_ns(uint64_t begin, uint64_t end)
{
    if (begin <= IO_LEAN_MEASURED)
        return end;
    return begin & IO_TICKS ? end - io_between(begin, IO_TICKS | raw_ticks()) : begin;
}

void io_ticks_follow(void)
{
    static struct {
        uint64_t ns, ticks;
    } first, last;
    static int unsteady;
    uint64_t before = trace_now(), ticks = raw_ticks() & ~IO_TICKS, now = trace_now();
    if (raw_ticks_trapped)
        __atomic_store_n(&io_tick_ns, 0, __ATOMIC_RELEASE);
    if (!raw_ticks() || unsteady || now - before > READ_NS)
        return;
    if (!first.ns) {
        first.ns = last.ns = now;
        first.ticks = last.ticks = ticks;
        return;
    }
    if (now - last.ns < FOLLOW_NS)
        return;
    double rate = (double)(now - first.ns) / (double)(ticks - first.ticks);
    double lately = (double)(now - last.ns) / (double)(ticks - last.ticks);
    unsteady = ticks <= last.ticks || !(rate > 0) || rate > 1e6 || lately > rate * (1 + OFF) ||
               lately < rate * (1 - OFF);
    last.ns = now;
    last.ticks = ticks;
    if (!unsteady)
        __atomic_store_n(&io_last_tick_ns, (uint64_t)(rate * 0x1p32), __ATOMIC_RELAXED);
    __atomic_store_n(&io_tick_ns, unsteady ? 0 : (uint64_t)(rate * 0x1p32), __ATOMIC_RELEASE);
}
