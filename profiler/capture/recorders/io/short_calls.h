/* Short calls, and the processor's counter by which they are timed. */
#ifndef TP_CAPTURE_RECORDERS_IO_SHORT_CALLS_H
#define TP_CAPTURE_RECORDERS_IO_SHORT_CALLS_H

#include "profiler/capture/core/core.h"
#include "profiler/capture/recorders/io/state.h"

/* short_calls.c */
extern uint64_t io_last_tick_ns; /* io_tick_ns before the counter was found unsteady */
static inline uint64_t io_between(uint64_t begin, uint64_t end) /* ns; UINT64_MAX: not known */
{
    int64_t ticks = (int64_t)((end & ~IO_TICKS) - (begin & ~IO_TICKS));
    uint64_t each = __atomic_load_n(&io_last_tick_ns, __ATOMIC_RELAXED);
    if ((begin ^ end) & IO_TICKS)
        return UINT64_MAX;
    if (!(begin & IO_TICKS))
        return end - begin;
    return ticks > 0 ? (uint64_t)((unsigned __int128)(uint64_t)ticks * each >> 32) : 0;
}
uint64_t io_begin_ns(uint64_t begin, uint64_t end); /* of a stamp; end: the clock, just now */
void io_ticks_follow(void);                         /* at ticks of the recorder */

/* calls.c: sizes, times and places of a read or write, under the lock of its file. */
void io_add_data(struct io_file *f, struct io_descriptor *d, const struct io_add *a,
                 const struct capture_thread *t);
/* The same of calls, of which each goes on from the one before, without their times. `bytes` and
 * `offset`: of all. */
void io_add_run(struct io_file *f, struct io_descriptor *d, const struct io_add *a, uint64_t calls);
/* Sizes that are told together: the least; how many there are. */
uint32_t io_size_from(uint64_t bytes, uint32_t *sizes);
/* Decides once by random bits if a call has its stack: io_drawn of its thread. IO_DRAWN + d: it is
 * taken, for 2^d calls. 0: not drawn. */
enum { IO_DRAWN_NONE = 1, IO_DRAWN };
extern int io_doublings;
static inline unsigned io_draw(uint64_t random)
{
    unsigned d = (unsigned)__atomic_load_n(&io_doublings, __ATOMIC_RELAXED);
    if (!d || capture.config.calls_share >= 1)
        return 0;
    return random & ((1ull << d) - 1) ? IO_DRAWN_NONE : IO_DRAWN + d;
}

enum {
    SHORT_NS = 20000, /* longer ones may have waited */
    COST_ONE_IN = 64, /* calls whose cost is measured, at random */
    COST_MOST = 20000,
};

/* lean.c: after a call that was measured, at `stamp`: begins to be lean where calls take too much.
 */
void io_lean_check(struct capture_thread *t, uint64_t stamp);

/* A call that is being recorded. */
struct quick {
    struct capture_thread *t;
    uint64_t end, ns, random;
};

/* 0: it goes the long way. */
static inline int quick_begin(struct quick *q, uint64_t begin)
{
    struct thread_slot *s = capture.on ? thread_own : NULL;
    q->end = io_stamp();
    q->ns = io_between(begin, q->end);
    if (q->ns >= SHORT_NS || !s || s->t.busy)
        return 0;
    struct capture_thread *t = q->t = &s->t;
    uint64_t x = t->random ? t->random : 1; /* as capture_random */
    x ^= x >> 12;
    x ^= x << 25;
    t->random = x ^= x >> 27;
    q->random = x * 0x2545f4914f6cdd1dull;
    return 1;
}

static inline int quick_has_stack(const struct quick *q)
{
    if (!q->t->io_weight) /* else lean.c has drawn */
        q->t->io_drawn = io_draw(q->random);
    return q->t->io_drawn != IO_DRAWN_NONE;
}

static inline void quick_end(const struct quick *q)
{
    struct capture_thread *t = q->t;
    t->io_drawn = t->io_weight = 0;
    t->cost_calls[TRACE_PART_IO]++;
    if (q->random / (UINT64_MAX / COST_ONE_IN) == 0) {
        uint64_t stamp = io_stamp(), ns = io_between(q->end, stamp);
        ns = ns == UINT64_MAX ? 0 : ns < COST_MOST ? ns : COST_MOST;
        ns = (ns + (uint64_t)io_call_ns) * COST_ONE_IN;
        t->cost_ns[TRACE_PART_IO] += ns;
        t->io_ns += ns;
        io_lean_check(t, stamp);
    }
}

/* 0: another call keeps the row, or one below this one. */
static inline int quick_lock(const struct quick *q, struct io_file *f)
{
    int none = 0;
    return __atomic_compare_exchange_n(&f->lock, &none, (int)q->t->tid, 0, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

static inline void quick_count(const struct quick *q, struct io_file *f, enum trace_io_op op)
{
    f->op[op].calls++;
    f->op[op].ns += q->ns * (q->t->io_weight ? q->t->io_weight : 1);
    f->changed = 1;
}

extern uint64_t io_between_ticks; /* of raw_ticks_between, with nothing between two */

/* short_calls.c: a call of op OPEN or SEEK, which moves nothing. */
int io_short_other(struct io_file *f, enum trace_io_op op, uint64_t begin);
/* Measures the cost of one, besides the measured part of it; at the start. */
void io_short_measure(void);

#endif
