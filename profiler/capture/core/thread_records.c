/* The records THREAD, THREAD_END and COST, and the kernel's account of a thread that they tell. */
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "profiler/capture/core/core.h"
#include "profiler/capture/core/thread_poll.h"

/* Threads that record nothing else share a stream, for many live for less than a millisecond: a
 * chunk of its own would cost each of them six system calls and 8 KiB of the trace. Its records say
 * whose they are. A thread that meets another one here has its own chunk. */
static struct trace_stream common;
static uint32_t held;

static struct trace_stream *common_stream_acquire(struct capture_thread *writer)
{
    uint32_t free = 0;
    if (writer->stream.chunk || writer->ours || writer->tid == (uint32_t)capture.pid ||
        !__atomic_compare_exchange_n(&held, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return &writer->stream;
    if (!common.writer)
        trace_stream_open(&common, &capture.writer, 0);
    return &common;
}

static void common_stream_release(const struct trace_stream *to)
{
    if (to == &common)
        __atomic_store_n(&held, 0, __ATOMIC_RELEASE);
}

/* Sums what begins and ends of threads took, until somebody writes it. */
static struct {
    uint64_t ns, calls;
} later;
static int several; /* the program has had more than one */

void thread_records_close(int forked)
{
    uint32_t free = 0;
    if (!__atomic_compare_exchange_n(&held, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED) &&
        !forked)
        return;
    if (common.writer)
        trace_stream_close(&common);
    if (forked)
        later.ns = later.calls = several = 0;
    common_stream_release(&common);
}

void thread_name(struct capture_thread *writer, struct thread_slot *s, const char *name)
{
    struct trace_thread r = {.r.kind = TRACE_THREAD, .tid = s->t.tid, .parent_tid = s->parent_tid};
    if (name != s->name)
        strncpy(s->name, name, sizeof s->name - 1);
    r.name_bytes = (uint32_t)strlen(s->name);
    r.flags = (s->t.tid == (uint32_t)capture.pid) | (s->t.ours ? 2u : 0u);
    struct trace_stream *to = common_stream_acquire(writer);
    trace_put(to, &r.r, sizeof r, s->name, r.name_bytes);
    common_stream_release(to);
}

static uint64_t in_ns(uint64_t ticks)
{
    return ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* Returns the system time by the kernel, by its own clock or (others) in ticks. */
static uint64_t system_time(const struct thread_slot *s, int own)
{
    struct rusage u;
    uint64_t stat[THREAD_POLL_STATS] = {0};
    if (!own)
        return thread_poll_state(s->t.tid, stat) ? in_ns(stat[THREAD_POLL_SYSTEM]) : 0;
    if (getrusage(RUSAGE_THREAD, &u))
        return 0;
    return (uint64_t)u.ru_stime.tv_sec * 1000000000u + (uint64_t)u.ru_stime.tv_usec * 1000u;
}

/* The sum is exact, its division is the kernel's. Both 0: unknown. */
static void cpu_times(const struct thread_slot *s, int own, uint64_t *user, uint64_t *system)
{
    uint64_t all = thread_poll_cpu(own ? 0 : s->t.tid);
    all = all == THREAD_POLL_UNKNOWN ? 0 : all;
    /* The library's own does little else than system calls. Its file in /proc is not read: by that
     * the end of the process takes milliseconds (recorders/io/records.c). */
    uint64_t in = s->t.ours && !own ? all : system_time(s, own);
    *system = in < all ? in : all;
    *user = all - *system;
}

/* Older than this trace, by more than a tick of its start time. */
static int is_older(uint32_t tid)
{
    struct timespec boot;
    uint64_t stat[THREAD_POLL_STATS] = {0};
    if (!thread_poll_state(tid, stat) || clock_gettime(CLOCK_BOOTTIME, &boot))
        return 1;
    uint64_t now = (uint64_t)boot.tv_sec * 1000000000u + (uint64_t)boot.tv_nsec;
    return in_ns(stat[THREAD_POLL_START] + 2) + (trace_now() - capture.writer.header->start_ns) <
           now;
}

/* The main thread may have run another program before; a child of fork begins at zero. */
void thread_account(struct thread_slot *s, int own)
{
    s->whole = s->start || s->t.ours || (s->t.tid != (uint32_t)getpid() && !is_older(s->t.tid));
    if (!s->whole)
        cpu_times(s, own, &s->begin_user, &s->begin_system);
}

static void put_cost(struct trace_stream *to, const struct thread_slot *s)
{
    for (uint32_t i = 0; i < TRACE_PARTS; i++) {
        struct trace_cost r = {.r.kind = TRACE_COST,
                               .tid = s->t.tid,
                               .part = i,
                               .ns = s->t.cost_ns[i],
                               .calls = s->t.cost_calls[i]};
        if (r.calls)
            trace_put(to, &r.r, sizeof r, NULL, 0);
    }
}

void thread_cost(struct capture_thread *writer, struct thread_slot *s)
{
    put_cost(&writer->stream, s);
}

uint64_t thread_cost_add(struct capture_thread *t, enum trace_part part, uint64_t since)
{
    const uint64_t now = thread_poll_cpu(0);
    const int known = now != THREAD_POLL_UNKNOWN && since != THREAD_POLL_UNKNOWN && now > since;
    t->cost_calls[part]++;
    t->cost_ns[part] += known ? now - since : 0;
    return known ? now - since : 0;
}

void thread_cost_later(uint64_t since, int begins)
{
    const uint64_t now = thread_poll_cpu(0);
    if (now != THREAD_POLL_UNKNOWN && since != THREAD_POLL_UNKNOWN && now > since)
        __atomic_fetch_add(&later.ns, now - since, __ATOMIC_RELAXED);
    __atomic_fetch_add(&later.calls, (uint64_t)begins, __ATOMIC_RELAXED);
    if (begins)
        __atomic_store_n(&several, 1, __ATOMIC_RELAXED);
}

int thread_cost_take(struct capture_thread *t)
{
    t->cost_ns[TRACE_PART_THREADS] += __atomic_exchange_n(&later.ns, 0, __ATOMIC_RELAXED);
    t->cost_calls[TRACE_PART_THREADS] += __atomic_exchange_n(&later.calls, 0, __ATOMIC_RELAXED);
    return __atomic_load_n(&several, __ATOMIC_RELAXED);
}

void thread_put_end(struct capture_thread *writer, struct thread_slot *s)
{
    struct trace_thread_end r = {.r.kind = TRACE_THREAD_END,
                                 .tid = s->t.tid,
                                 .start_ns =
                                     s->before < UINT32_MAX ? (uint32_t)s->before : UINT32_MAX,
                                 .sampled_ns = s->sampled_ns};
    cpu_times(s, writer == &s->t, &r.user_ns, &r.system_ns);
    r.user_ns -= r.user_ns > s->begin_user ? s->begin_user : 0;
    r.system_ns -= r.system_ns > s->begin_system ? s->begin_system : 0;
    struct trace_stream *to = common_stream_acquire(writer);
    trace_put(to, &r.r, sizeof r, NULL, 0);
    put_cost(to, s);
    common_stream_release(to);
}
