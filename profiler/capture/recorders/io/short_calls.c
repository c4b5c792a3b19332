/* Short calls like many before them, without the clock, the entry into the library and a stack: a
 * pipe's read of 250 ns took 140 more. Their counts, bytes, sizes, times and places are as exact as
 * those of others; those that have a stack go the long way. */
#include <sys/resource.h>
#include <time.h>

#include "profiler/capture/raw/near.h"
#include "profiler/capture/recorders/cpu/phase.h"
#include "profiler/capture/recorders/io/lean.h"
#include "profiler/capture/recorders/io/weight.h"

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

/* The lean way (lean.c) begins where recording each call takes too much, and ends where few come. */
enum {
    FULL_NS = 100, /* of a call that is recorded in full */
    CHECK_NS = 1000000,
};
#define FREE_NS 3000000 /* taken beyond the share before it begins */

int io_lean CAPTURE_HOT;
static uint64_t begun;

void io_lean_set(int lean)
{
    __atomic_store_n(&io_lean, lean, __ATOMIC_RELAXED);
    __atomic_store_n(&capture_counts, lean && capture.on && !phase_on, __ATOMIC_RELAXED);
}

static uint64_t cpu_ns(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t))
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Returns what the thread could use of `ns` since the last look: its CPU time, where it did not sleep. A
 * share of the clock's time would be five times as much of the CPU time beside ten busy threads on
 * two CPUs. */
static uint64_t lean_usable(struct capture_thread *t, uint64_t ns)
{
    struct rusage u = {0};
    const uint64_t cpu_before = t->io_cpu, sleeps_before = t->io_sleeps;
    if (ns == UINT64_MAX || getrusage(RUSAGE_THREAD, &u))
        return ns;
    t->io_cpu = 1000 * ((uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000u +
                        (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec));
    t->io_sleeps = (uint64_t)u.ru_nvcsw;
    const uint64_t ran = t->io_cpu - cpu_before;
    if (!t->io_since || !cpu_before || t->io_sleeps != sleeps_before || ran >= ns)
        return ns;
    if (t->tid == (uint32_t)capture.pid)
        __atomic_fetch_add(&io_not_run, ns - ran, __ATOMIC_RELAXED);
    return ran;
}

/* Tells whether the thread has made many calls in the `ns` since the last look. */
static void lean_rate_set(struct capture_thread *t, uint64_t ns)
{
    const uint64_t calls = (t->io_draws - t->io_draws_seen) * io_lean_one_in(t);
    t->io_often = calls * (1000000000 / LEAN_OFTEN) > ns;
    t->io_draws_seen = t->io_draws;
}

void io_lean_check(struct capture_thread *t, uint64_t stamp)
{
    uint64_t ns = io_between(t->io_since, stamp);
    double share = capture.config.calls_share;
    if (ns < CHECK_NS)
        return;
    ns = lean_usable(t, ns);
    int64_t more = (int64_t)(t->io_ns - t->io_since_ns);
    int known = t->io_since && ns != UINT64_MAX;
    int64_t debt = (int64_t)t->io_debt + (known ? more - (int64_t)(share * (double)ns) : 0);
    t->io_debt = debt > 0 ? (uint64_t)debt : 0;
    if (known)
        lean_rate_set(t, ns);
    t->io_since = stamp;
    t->io_since_ns = t->io_ns;
    if (t->io_debt < FREE_NS || share >= 1 || __atomic_load_n(&io_lean, __ATOMIC_RELAXED))
        return;
    t->io_debt = 0;
    if (!begun)
        begun = cpu_ns() + 1;
    io_lean_set(1);
}

void io_lean_tick(void)
{
    static uint64_t cpu_before, calls_before;
    uint64_t cpu = cpu_ns(), calls = 0;
    for (struct thread_slot *s = thread_first(); s; s = s->next)
        calls += s->used ? s->t.cost_calls[TRACE_PART_IO] : 0;
    double full = (double)(calls - calls_before) * FULL_NS;
    if (calls < calls_before ||
        full < 0.5 * capture.config.calls_share * (double)(cpu - cpu_before))
        io_lean_set(0);
    cpu_before = cpu;
    calls_before = calls;
}

uint64_t io_lean_begun(void)
{
    return begun;
}

/* How often the thread has slept; all bits: not known. */
static uint64_t lean_sleeps(void)
{
    struct rusage u = {0};
    return getrusage(RUSAGE_THREAD, &u) ? UINT64_MAX : (uint64_t)u.ru_nvcsw;
}

/* By the kernel's count before each such call and after slow ones: 0.2 us of one in 64 to 1,024.
 * Read after slow ones alone, it let one that the kernel took the CPU from count for all, if the
 * thread had slept since in anything else. */
void io_lean_timed(struct capture_thread *t)
{
    t->io_slept = lean_sleeps();
    if (!t->io_credited)
        t->io_credited = trace_now();
}

uint64_t io_lean_weight(struct capture_thread *t, uint64_t ns, uint64_t now)
{
    const uint64_t sleeps = t->io_weight > LEAN_UNTIMED ? lean_sleeps() : UINT64_MAX;
    return sleeps == UINT64_MAX ? 1 : io_slow_weight(t, sleeps, t->io_weight, ns, now);
}

void io_lean_share_forked(void)
{
    begun = io_not_run = 0;
}

void io_lean_thread(struct capture_thread *t)
{
    static int threads;
    if (!t->ours && __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED))
        __atomic_store_n(&io_threaded, 1, __ATOMIC_RELAXED);
}

void io_lean_stop(void)
{
    io_lean_set(0);
    for (int fd = 0; fd < io_descriptor_count; fd++) {
        struct io_descriptor *d = io_descriptor_known(fd);
        if (d && io_run_waits(d))
            io_run_end(d);
        io_whole_end(&io->descriptors[fd].whole);
    }
}

void io_lean_forked(void)
{
    io_lean_share_forked();
    for (int fd = 0; fd < io_descriptor_count; fd++) {
        io->descriptors[fd].run = (struct io_pending){0};
        io->descriptors[fd].whole = (struct io_whole){0};
    }
}
