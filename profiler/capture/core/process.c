/* The process: how it ends, forks and becomes another program, in its trace and without loss. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/capture/core/asleep.h"
#include "profiler/capture/core/poll_thread.h"
#include "profiler/capture/core/signals.h"
#include "profiler/capture/core/thread_poll.h"
#include "profiler/capture/raw/errands.h"
#include "profiler/capture/raw/one_thread.h"
#include "profiler/capture/raw/system.h"
#include "profiler/trace/brief.h"

static int ended;     /* 1: one thread is at it or has done it */
static int exit_code; /* as quick_exit got it */

static void put_process(struct capture_thread *t, enum trace_process_op op, pid_t child,
                        const char *path)
{
    size_t n = path ? strnlen(path, 4096) : 0;
    struct trace_process r = {.r.kind = TRACE_PROCESS,
                              .child = child,
                              .op = op,
                              .tid = t->tid,
                              .path_bytes = (uint32_t)n};
    trace_put(&t->stream, &r.r, sizeof r, path, n);
}

enum { ATOMIC_ROUNDS = 4, ATOMIC_LOOP = 16 };

static uint64_t steps_ns(int are_atomic)
{
    volatile int word = 0;
    const uint64_t begin = trace_now();
    for (int i = 0; i < ATOMIC_LOOP; i++) {
        int none = 0;
        if (are_atomic) {
            __atomic_compare_exchange_n(&word, &none, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
            __atomic_fetch_sub(&word, 1, __ATOMIC_ACQ_REL);
        } else {
            word = word == none ? 1 : word;
            word = word - 1;
        }
    }
    return trace_now() - begin;
}

/* Returns ns that two atomic steps, as of lock and unlock, take more than those of one thread. */
static double atomic_steps_ns(void)
{
    uint64_t least[2] = {UINT64_MAX, UINT64_MAX};
    for (int r = 0; r < 2 * ATOMIC_ROUNDS; r++) {
        const uint64_t ns = steps_ns(r & 1);
        least[r & 1] = ns < least[r & 1] ? ns : least[r & 1];
    }
    return least[1] > least[0] ? (double)(least[1] - least[0]) / ATOMIC_LOOP : 0;
}

/* A program of one thread pays for the library's, where glibc was told (raw/one_thread.h). The first
 * step of a system call that may be cancelled is hidden by the call. */
static void second_thread_count(struct capture_thread *t)
{
    uint64_t since, calls = 0;
    const uint64_t cpu = thread_poll_cpu(0);
    if (thread_cost_take(t) || !one_thread_is_over(&since) || cpu == THREAD_POLL_UNKNOWN ||
        since >= cpu)
        return;
    for (const struct thread_slot *s = thread_first(); s; s = s->next)
        if (s->used)
            calls += s->t.cost_calls[TRACE_PART_IO] / 2 + s->t.cost_calls[TRACE_PART_LOCK_CALLS];
    const double share = 1 - (double)since / (double)cpu;
    t->cost_calls[TRACE_PART_SECOND] = (uint64_t)(share * (double)calls);
    t->cost_ns[TRACE_PART_SECOND] = (uint64_t)(share * (double)calls * atomic_steps_ns());
}

/* Most brief processes end before the library's thread has anything to say of itself. */
static void own_thread_count(struct capture_thread *t)
{
    uint32_t tid;
    const uint64_t cpu = poll_thread_tid(&tid) && tid ? thread_poll_cpu(tid) : THREAD_POLL_UNKNOWN;
    if (cpu == THREAD_POLL_UNKNOWN)
        return;
    t->cost_ns[TRACE_PART_WAIT] = cpu;
    t->cost_calls[TRACE_PART_WAIT] = 1;
}

/* The last records of all threads; those that still run can write after it. `quiet`: our own can
 * not. */
static void process_seal_trace(enum trace_end end, int detail, const char *path, int quiet)
{
    struct capture_thread *t = capture_enter();
    const int was = errands_needed(1);
    int ours = 0;
    if (t) {
        const uint64_t begin = thread_poll_cpu(0);
        recorders_stop();
        facts_clock(t);
        if (end == TRACE_EXEC)
            put_process(t, TRACE_EXECED, capture.pid, path);
        for (struct thread_slot *s = thread_first(); s; s = s->next)
            if (s->used && s->t.tid) {
                ours |= s->t.ours;
                if (quiet && !s->t.ours)
                    recorders_thread_pending(t, s);
                thread_put_end(t, s);
            }
        thread_cost_add(t, TRACE_PART_WRITER, begin);
        if (!ours)
            own_thread_count(t);
        second_thread_count(t);
        thread_cost(t, (struct thread_slot *)t);
        struct trace_account a = facts_account(TRACE_AT_END);
        trace_put(&t->stream, &a.r, sizeof a, NULL, 0);
    }
    trace_finish(&capture.writer, end, detail);
    errands_needed(was);
    if (t)
        capture_leave(t, TRACE_PART_WRITER, 0);
}

void process_filtered(int quiet)
{
    process_seal_trace(TRACE_FILTERED, 0, NULL, quiet);
}

void process_finish(enum trace_end end, int detail)
{
    if (asleep_finish(end, detail, NULL))
        return;
    if (!capture.on || !capture_is_here() || __atomic_exchange_n(&ended, 1, __ATOMIC_ACQUIRE))
        return;
    int quiet = poll_gate_keep(5000000u);
    process_seal_trace(end, detail, NULL, quiet);
    capture_off();
    thread_records_close(0);
    for (struct thread_slot *s = thread_first(); s; s = s->next)
        if (s->used && (s == thread_self() || (s->t.ours && quiet)))
            trace_stream_close(&s->t.stream);
}

int process_is_over(void)
{
    double until = capture.config.until_ns;
    return until > 0 && (double)trace_now() >= until;
}

/* Preloaded, the library registers this before anything else does, so it comes last of all. */
static void on_exit_code(int status, void *unused)
{
    (void)unused;
    process_finish(TRACE_EXIT, status);
}

void process_quick(int status)
{
    exit_code = status;
}

static void on_quick_exit(void)
{
    process_finish(TRACE_QUICK, exit_code);
}

static void errand_writer_job(struct errand *e)
{
    trace_job *job = (trace_job *)(uintptr_t)e->number[0];
    e->number[1] = (uint64_t)job(e->pointer, (uint32_t)e->number[1]);
}

static int process_job_elsewhere(struct trace_writer *w, trace_job *job, uint32_t bytes, long *out)
{
    struct errand *e = errands_wanted() ? errand_begin(errand_writer_job) : NULL;
    if (!e)
        return 0;
    e->pointer = w;
    e->number[0] = (uintptr_t)job;
    e->number[1] = bytes;
    if (!errand_do(e))
        return 0;
    *out = (long)e->number[1];
    errand_end(e);
    return 1;
}

/* `memory`: of a process that does not go on as it is. */
static int process_create_trace(void *memory)
{
    const struct capture_config *c = &capture.config;
    /* The program itself is recorded from its first moment on, killed or not. */
    int brief = c->launcher > 0 && (double)getppid() != c->launcher;
    int failed = brief ? trace_create_brief(&capture.writer, c->folder, c->run_id, c->byte_limit,
                                            asleep.since.r.time_ns, memory)
                       : trace_create(&capture.writer, c->folder, c->run_id, c->byte_limit);
    capture.writer.elsewhere = process_job_elsewhere;
    if (!memory)
        text_forget();
    for (struct thread_slot *s = thread_first(); s && !failed;
         s = s->next) /* those of a fork's parent */
        capture_count_memory(sizeof *s);
    return failed;
}

int process_new_trace(void)
{
    return process_create_trace(NULL);
}

/* Fork. Our own thread is kept out of libc, whose locks it would hold for ever in the child; the
 * signal is blocked, because a fork that takes longer than a period would start over and over. */
static __thread struct capture_thread *forking;

static void before_fork(void)
{
    if (!capture_is_on())
        return;
    int saved = errno;
    signals_hold(1);
    asleep_expect_fork();
    poll_thread_step_aside();
    poll_gate_lock();
    forking = capture_enter_in(NULL);
    recorders_fork_prepare();
    errno = saved;
}

static void in_parent(void)
{
    if (!capture.on)
        return;
    int saved = errno;
    recorders_fork_parent();
    if (forking)
        capture_leave(forking, TRACE_PART_WRITER, 0);
    poll_gate_unlock();
    poll_thread_return();
    signals_hold(0);
    errno = saved;
}

/* A trace of this process and what is told first in it. 0: there is none. */
static int process_open_trace(struct thread_slot *s, int forked, void *memory)
{
    struct trace_account a = asleep.since;
    if (forked) {
        s = thread_fork_child(memory != NULL);
        if (memory)
            trace_abandon_file(&capture.writer);
        else
            trace_abandon(&capture.writer);
    }
    if (process_create_trace(memory))
        return 0;
    if (!s)
        return 1;
    trace_stream_open(&s->t.stream, &capture.writer, s->t.tid);
    thread_name(&s->t, s, s->name);
    facts_write(&s->t, memory != NULL);
    facts_clock(&s->t);
    if (!forked)
        trace_put(&s->t.stream, &asleep.loaded.r, sizeof asleep.loaded, NULL, 0);
    if (!a.r.time_ns)
        a = facts_account(TRACE_AT_START);
    trace_put(&s->t.stream, &a.r, sizeof a, NULL, 0);
    return 1;
}

static void process_begin_forked(struct thread_slot *s)
{
    capture.on = 1;
    if (!s)
        return;
    recorders_fork_child();
    s->t.busy = 0;
}

static void in_child(void)
{
    if (!capture.on)
        return;
    int saved = errno;
    uint32_t others = thread_count() - 1;
    raw_files_alone(1);
    raw_chars[0] = raw_chars[1] = 0; /* as the kernel's counters of the child */
    capture.pid = getpid();
    asleep.since.r.time_ns = 0;
    asleep.has_timer = 0; /* timers are not inherited */
    asleep.counts = 0;
    poll_thread_forked(others);
    int is_asleep = asleep_begin(ASLEEP_FORKED, NULL);
    if (is_asleep && thread_self()) {
        thread_self()->t.busy = 0; /* it entered before the fork */
    } else if (!is_asleep) {
        capture_off();
        capture.on = process_open_trace(NULL, 1, NULL);
        if (capture.on)
            process_begin_forked(thread_self());
    }
    raw_files_alone(0);
    poll_gate_unlock();
    signals_hold(0);
    if (!is_asleep)
        poll_thread_begin_child();
    errno = saved;
}

/* Ends what a process that is asleep has put off. */
static void process_go_on(struct thread_slot *s, int forked)
{
    if (forked) {
        process_begin_forked(s);
        poll_thread_begin_child();
    } else {
        asleep.begin(&s->t);
    }
}

static void process_wake(struct thread_slot *s, int forked)
{
    raw_files_alone(1);
    if (process_open_trace(s, forked, NULL))
        process_go_on(s, forked);
    raw_files_alone(0);
}

static void process_put_asleep(struct thread_slot *s, int forked, enum trace_end end, int detail,
                               const char *path)
{
    static char memory[BRIEF_BYTES] __attribute__((aligned(TRACE_PAGE)));
    raw_files_alone(1);
    if (process_open_trace(s, forked, memory)) {
        recorders_asleep_stop(&s->t);
        if (end == TRACE_EXEC)
            put_process(&s->t, TRACE_EXECED, capture.pid, path);
        thread_put_end(&s->t, s);
        struct trace_account a = facts_account(TRACE_AT_END);
        trace_put(&s->t.stream, &a.r, sizeof a, NULL, 0);
        trace_finish(&capture.writer, end, detail);
    }
    raw_files_alone(0);
}

void process_made(enum trace_process_op op, pid_t child, const char *path)
{
    struct capture_thread *t = capture_enter();
    if (t) {
        put_process(t, op, child, path);
        capture_leave(t, TRACE_PART_WRITER, 0);
    }
}

void process_keep_trace(void)
{
    struct capture_thread *t = capture_enter();
    trace_clock_changes();
    if (t) {
        trace_to_file(&capture.writer);
        capture_leave(t, TRACE_PART_WRITER, 0);
    }
}

/* Ours steps aside. */
int process_alone(void)
{
    process_keep_trace();
    return capture.on && capture_is_here() && thread_count() == 1 && poll_thread_stop();
}

void process_alone_end(int alone)
{
    if (alone)
        poll_thread_begin();
}

int process_counted(void)
{
    return capture.on && capture_is_here() && thread_count() == 1 && poll_thread_leave();
}

/* A child of vfork, in its parent's memory and as the thread that made it. One that has a copy of
 * that memory finds the trace switched off. */
static int process_record_vfork(enum trace_process_op op, const char *path)
{
    struct capture_thread *t = capture_enter_handler(NULL);
    if (!t)
        return 0;
    put_process(t, op, getpid(), path);
    capture_leave(t, TRACE_PART_WRITER, 0);
    return 1;
}

enum { STAYED, LEFT, LEFT_BORROWED, LEFT_ASLEEP };

int process_leave(const char *path)
{
    int saved = errno, left = STAYED;
    if (!capture.on && !asleep.on)
        return STAYED;
    if (path && strchr(path, '/') && access(path, X_OK)) {
        /* it will fail: programs try one folder after the other */
    } else if (asleep_finish(TRACE_EXEC, 0, path)) {
        signals_leave(1);
        left = LEFT_ASLEEP;
    } else if (!capture_is_here()) {
        left = process_record_vfork(TRACE_SPAWNED, path) ? LEFT_BORROWED : STAYED;
    } else {
        process_seal_trace(TRACE_EXEC, 0, path, 0);
        signals_leave(1);
        left = LEFT;
    }
    errno = saved;
    return left;
}

void process_return(int left)
{
    int saved = errno;
    if (left == LEFT_BORROWED)
        process_record_vfork(TRACE_NOT_SPAWNED, NULL);
    if (left == LEFT || left == LEFT_ASLEEP) {
        signals_leave(0);
        trace_finish(&capture.writer, TRACE_RUNNING, 0);
    }
    if (left == LEFT_ASLEEP) {
        text_forget();
        asleep_return();
    }
    errno = saved;
}

int process_traced_begin(void)
{
    struct thread_slot *s = thread_self();
    if (!capture_is_on() || !capture_is_here() || !s || s->is_dropped)
        return 0;
    recorders_thread_lost(s);
    return 1;
}

void process_traced_end(int traced)
{
    struct thread_slot *s = thread_self();
    struct capture_thread *t = capture_enter();
    if (!t)
        return;
    if (!traced || signals_choose_traced(s))
        recorders_thread_traced(t, traced);
    else
        trace_lost(&capture.writer, TRACE_LOST_THREADS, 1);
    capture_leave(t, TRACE_PART_WRITER, 0);
}

static int end_in_time(void)
{
    if (!process_is_over())
        return 0;
    process_finish(TRACE_LEFT, 0);
    return 1;
}

int process_setup(void)
{
    static const struct asleep_calls calls = {process_wake, process_go_on, process_put_asleep};
    asleep_set_calls(&calls);
    poll_thread_ends_when(end_in_time);
    capture.pid = getpid();
    on_exit(on_exit_code, NULL);
    at_quick_exit(on_quick_exit);
    return pthread_atfork(before_fork, in_parent, in_child);
}
