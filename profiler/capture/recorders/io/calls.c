/* Counts a call on a descriptor: its file's counts, its place in the file, the place of the program
 * that made it. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/capture/core/stack.h"
#include "profiler/capture/recorders/io/endpoints.h"
#include "profiler/capture/recorders/io/lean.h"

/* Stacks may take STACK_SHARE of the time, after a burst; then one call in 2^doublings has its
 * stack taken and stands for as many. Large and slow calls always do, and the first read and write
 * of each file: after a start-up with many calls, a file that is read in two would have no line.
 * Of small files, these are stopped by a second burst: imports of Python open a thousand. */
enum { STACK_SHARE = 200, DOUBLINGS = 16, LARGE_DOUBLINGS = 4 };
enum { SITES_FIRST = 56, PROBES_FIRST = 2, SITES_FEW = 1024, PROBES_FEW = 10, PROBES = 42 };
#define STACK_BURST 1000000ull /* ns: of a program of 50 ms, 2 % */
#define FIRST_BURST 3000000ull
#define STACK_MOST  200000ull /* that one counts for: it may have waited for a CPU */
#define COST_MOST   200000ull /* the same of the rest of a call */
#define LARGE       (1ll << 20)
#define SLOW        1000000ull
#define SMALL       (64u << 10)

static uint64_t bucket_until, cost_since;

static void io_limit_share(uint64_t now, uint64_t cost)
{
    uint64_t full = __atomic_load_n(&bucket_until, __ATOMIC_RELAXED);
    int doubled = __atomic_load_n(&io_doublings, __ATOMIC_RELAXED);
    now -= __atomic_load_n(&io_not_run, __ATOMIC_RELAXED);
    cost = cost < STACK_MOST ? cost : STACK_MOST;
    uint64_t spent = __atomic_add_fetch(&cost_since, cost, __ATOMIC_RELAXED);
    if (full <= now && doubled)
        __atomic_store_n(&io_doublings, doubled - 1, __ATOMIC_RELAXED);
    full = (full > now ? full : now) + cost * STACK_SHARE;
    __atomic_store_n(&bucket_until, full, __ATOMIC_RELAXED);
    if (full - now > STACK_BURST * STACK_SHARE && spent >= STACK_BURST / 50 &&
        doubled < DOUBLINGS) {
        __atomic_store_n(&io_doublings, doubled + 1, __ATOMIC_RELAXED);
        __atomic_store_n(&cost_since, 0, __ATOMIC_RELAXED);
    }
}

/* Returns 1 if the first read of a file has its stack in any case. */
static int first_has(const struct io_file *f, const struct io_add *a)
{
    uint64_t full = __atomic_load_n(&bucket_until, __ATOMIC_RELAXED);
    uint64_t now = a->end - __atomic_load_n(&io_not_run, __ATOMIC_RELAXED);
    return f->kind != TRACE_TO_FILE || f->size > SMALL || a->bytes > SMALL || full <= now ||
           full - now <= FIRST_BURST * STACK_SHARE;
}

/* How many calls the stack of this one stands for; 0: none is taken. */
static double stands_for(struct capture_thread *t, const struct io_file *f, const struct io_add *a)
{
    int d = __atomic_load_n(&io_doublings, __ATOMIC_RELAXED);
    int large = d < LARGE_DOUBLINGS ? d : LARGE_DOUBLINGS;
    int drawn = t->io_weight != 0; /* by lean.c */
    if ((!d && !drawn) || capture.config.calls_share >= 1 || a->bytes >= LARGE << large ||
        a->end - a->begin + a->polled >= SLOW << large)
        return 1;
    if (a->op <= TRACE_IO_WRITE && a->bytes > 0 && f->begun[a->op] == 0 && first_has(f, a))
        return 1;
    if (drawn || t->io_drawn) /* by short_calls.c, which left the call to us */
        return t->io_drawn <= IO_DRAWN_NONE ? 0 : (double)(1ull << (t->io_drawn - IO_DRAWN));
    double times = (double)(1u << d);
    return capture_random(t) * times <= 1 ? times : 0;
}

/* A call from memory takes up to 20 us, or four times what copies of this size take. */
static int has_waited(uint64_t ns, uint64_t bytes)
{
    return ns > 20000 && ns > 4 * (220 + bytes / 16);
}

/* The offset at which a call began that moved `bytes`; below 0 unknown. */
static int64_t offset_of(int fd, struct io_descriptor *d, uint64_t bytes)
{
    if (d->known && !d->shared) {
        int64_t at = (int64_t)d->offset;
        d->offset += bytes;
        return at;
    }
    long now = syscall(SYS_lseek, fd, 0L, SEEK_CUR);
    if (now < 0)
        return -1;
    d->offset = (uint64_t)now;
    d->known = 1;
    return now - (int64_t)bytes;
}

static struct io_site *site_of(uint32_t file, uint64_t stack, uint32_t op)
{
    uint64_t key = (stack ^ ((uint64_t)file << 8 | op) * 0x9e3779b97f4a7c15ull) | 1;
    for (uint32_t i = 0; i < PROBES; i++) { /* few share pages: few stacks, few page faults */
        struct io_site *s = &io->sites[(key + i) % (i < PROBES_FIRST ? SITES_FIRST
                                                    : i < PROBES_FEW ? SITES_FEW
                                                                     : IO_SITES)];
        uint64_t none = 0;
        if (__atomic_load_n(&s->key, __ATOMIC_RELAXED) == key)
            return s;
        if (__atomic_compare_exchange_n(&s->key, &none, key, 0, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
            s->stack = stack;
            s->file = file;
            s->op = op;
            uint32_t at = __atomic_fetch_add(&io->site_count, 1, __ATOMIC_RELAXED);
            io->site[at < IO_SITES ? at : 0] = (uint32_t)(s - io->sites);
            return s;
        }
        if (none == key)
            return s;
    }
    return stack ? site_of(file, 0, op) : NULL;
}

static void add_site(struct capture_thread *t, struct io_file *f, const struct io_add *a,
                     double times, uint64_t stack, int waited)
{
    struct io_site *s = site_of((uint32_t)(f - io->files), stack, a->op);
    double ns = (double)(a->end - a->begin + a->polled);
    if (!s)
        return;
    s->tid = t->tid;
    s->taken++;
    s->calls += times;
    s->bytes += a->bytes > 0 ? times * (double)a->bytes : 0;
    s->ns += times * ns;
    s->waited_ns += waited ? times * ns : 0;
    s->changed = 1;
}

static void add_socket(struct io_file *f, struct io_descriptor *d, const struct io_add *a)
{
    if (a->op == TRACE_IO_WRITE) {
        if (!d->wrote_ns && !__atomic_fetch_add(&f->waiting, 1, __ATOMIC_RELAXED))
            f->waiting_since = a->end;
        d->wrote_ns = a->end;
    } else if (a->op == TRACE_IO_READ && d->wrote_ns) {
        f->cell[TRACE_IO_REQUESTS]++;
        f->cell[TRACE_IO_FIRST_BYTE] += a->end - d->wrote_ns;
        if (f->waiting && __atomic_fetch_sub(&f->waiting, 1, __ATOMIC_RELAXED) == 1 &&
            a->end > f->waiting_since)
            f->cell[TRACE_IO_IN_FLIGHT] += a->end - f->waiting_since;
        d->wrote_ns = 0;
    }
}

void io_add(struct capture_thread *t, struct io_descriptor *d, struct io_file *f,
            const struct io_add *a, const void *caller)
{
    uint64_t ns = a->end - a->begin + a->polled, bytes = a->bytes > 0 ? (uint64_t)a->bytes : 0,
             stack = 0, weight = t->io_weight ? t->io_weight : 1;
    double times = capture.on ? stands_for(t, f, a) : 0; /* no stack without all of the library */
    int waited = has_waited(ns, bytes);
    if (ns >= SHORT_NS)
        weight = io_lean_weight(t, ns, a->end);
    if (times > 0) {
        uint64_t begin = trace_now();
        stack = capture_stack(t, NULL, caller);
        uint64_t end = trace_now();
        io_limit_share(end, end - begin);
        t->io_stack_ns += end - begin;
    }
    if (!io_lock(f, t->tid)) {
        __atomic_fetch_add(&f->missed[a->op][0], 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&f->missed[a->op][1], bytes, __ATOMIC_RELAXED);
        __atomic_fetch_add(&f->missed[a->op][2], ns, __ATOMIC_RELAXED);
        __atomic_fetch_add(&io_unplaced, 1, __ATOMIC_RELAXED);
        f->changed = 1;
        return;
    }
    struct trace_io_count *c = &f->op[a->op];
    io_run_flush(f, d);
    c->calls += !a->more;
    c->bytes += bytes;
    c->ns += weight * ns;
    c->errors += a->bytes < 0;
    if (a->op <= TRACE_IO_WRITE && bytes)
        f->begun[a->op] = 1;
    if (waited) {
        c->waited += weight;
        c->waited_bytes += weight * bytes;
        c->waited_ns += weight * ns;
    }
    if (a->op <= TRACE_IO_WRITE && a->bytes >= 0) {
        io_add_data(f, d, a, t);
        if (f->kind == TRACE_TO_SOCKET && bytes)
            add_socket(f, d, a);
    }
    if (times > 0 || !capture.on)
        add_site(t, f, a, times > 0 ? times : 1, stack, waited);
    if (!capture.on && a->op <= TRACE_IO_WRITE)
        io_asleep_bytes[a->op] += bytes;
    f->changed = 1;
    io_unlock(f);
}

struct capture_thread *io_enter(int64_t bytes, int writes)
{
    uint64_t stamp = io_stamp();
    struct capture_thread *t = capture.on ? capture_enter() : asleep_enter();
    if (t) {
        t->io_entered = stamp;
        t->io_stack_ns = 0;
    } else if (bytes > 0 && capture_self() && capture_self()->busy) { /* of the library itself */
        __atomic_fetch_add(&io_own[writes], (uint64_t)bytes, __ATOMIC_RELAXED);
    }
    return t;
}

/* Stacks have a share of their own: for them no call is taken out of the program's way. */
void io_leave(struct capture_thread *t, unsigned calls, int saved_errno)
{
    uint64_t ns = io_between(t->io_entered, io_stamp()), stack = t->io_stack_ns;
    uint64_t besides = ns > stack && ns < UINT64_MAX ? ns - stack : 0;
    stack = stack < STACK_MOST ? stack : STACK_MOST;
    besides = (besides < COST_MOST ? besides : COST_MOST) + (uint64_t)(calls * io_call_ns);
    t->cost_calls[TRACE_PART_IO] += calls;
    t->cost_ns[TRACE_PART_IO] += besides + stack;
    t->io_ns += besides;
    t->io_drawn = t->io_weight = 0;
    io_lean_check(t, io_stamp());
    capture_leave(t, TRACE_PART_IO, 0);
    errno = saved_errno;
}

/* A call that is worth its stack, or of an endpoint, ends the sleep. */
static int io_call_wakes(const struct io_call *c, uint64_t ns)
{
    struct io_file *f = NULL;
    struct capture_thread *t = io_enter(0, 0);
    if (!t)
        return 0;
    const int known = io_descriptor(c->fd, &f) != NULL;
    io_leave(t, 0, errno);
    return c->result >= LARGE || (known && f->kind == TRACE_TO_SOCKET) ||
           (known && f->kind == TRACE_TO_FILE && ns >= SLOW);
}

void io_done(const struct io_call *c, const void *caller)
{
    int saved = errno;
    if (!io_records())
        return;
    uint64_t end = trace_now(), begin = c->begin;
    begin = io_begin_ns(begin, end);
    if (!capture.on && io_call_wakes(c, end - begin))
        capture_wake();
    struct capture_thread *t = io_enter(c->result, c->op == TRACE_IO_WRITE);
    struct io_file *f;
    if (!t) {
        errno = saved;
        return;
    }
    struct io_descriptor *d = io_descriptor(c->fd, &f);
    if (d) {
        struct io_add a = {
            .op = c->op, .bytes = c->result, .offset = c->offset, .begin = begin, .end = end};
        if (a.op <= TRACE_IO_WRITE && a.offset == IO_HERE && a.bytes > 0 && d->seekable)
            a.offset = offset_of(c->fd, d, (uint64_t)a.bytes);
        if (f->kind == TRACE_TO_SOCKET && a.op == TRACE_IO_READ && a.bytes > 0)
            a.polled = io_polled_for(t, c->fd, d);
        if (c->no_chars && a.bytes > 0)
            __atomic_fetch_add(&io_no_chars[c->op == TRACE_IO_WRITE], (uint64_t)a.bytes,
                               __ATOMIC_RELAXED);
        io_add(t, d, f, &a, caller);
    }
    io_leave(t, 1, saved);
}

void io_seeked(int fd, int64_t result, uint64_t begin, const void *caller)
{
    int saved = errno;
    if (!io_records())
        return;
    uint64_t end = trace_now();
    struct capture_thread *t = io_enter(0, 0);
    struct io_file *f;
    if (!t)
        return;
    begin = io_begin_ns(begin, end);
    struct io_descriptor *d = io_descriptor(fd, &f);
    if (d) {
        if (result >= 0 && d->seekable) {
            d->offset = (uint64_t)result;
            d->known = 1;
        }
        io_add(t, d, f,
               &(struct io_add){.op = TRACE_IO_SEEK,
                                .bytes = result < 0 ? -1 : 0,
                                .offset = -1,
                                .begin = begin,
                                .end = end},
               caller);
    }
    io_leave(t, 1, saved);
}
