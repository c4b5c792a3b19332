/* A thread of our own flushes CUPTI, so that a flush that never returns (driver gone, device lost)
 * hangs neither the target nor the waiting sampler. The library's other thread watches it. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "profiler/capture/core/poll_thread.h"
#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders/cuda/cuda.h"

enum { RUNNING = 1, ENDED = 2 };
static volatile int thread_state;
static volatile uint32_t wanted, answered; /* flushes asked for, done */
static uint32_t wanted_how;                /* atomic; FlushAll's flags, of all that wait */
static volatile uint64_t flushing_since;
static volatile int hung, managed; /* managed: such memory was asked for, not watched yet */

/* Records the tightest of several readings between two of the monotonic clock. */
void cuda_clock(struct capture_thread *t)
{
    struct trace_clock best = {.r.kind = TRACE_CLOCK};
    for (int i = 0; i < 5; i++) {
        struct trace_clock r = best;
        struct timespec real;
        uint64_t before = trace_now(), cupti = 0;
        int code = cuda.cupti.timestamp(&cupti);
        clock_gettime(CLOCK_REALTIME, &real);
        uint64_t after = trace_now();
        r.r.time_ns = before + (after - before) / 2;
        r.realtime_ns = (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec;
        r.cupti_ns = code ? 0 : cupti;
        r.bracket_ns = after - before;
        if (!i || r.bracket_ns < best.bracket_ns)
            best = r;
    }
    trace_put(&t->stream, &best.r, sizeof best, NULL, 0);
}

static void flush_now(struct capture_thread *t, uint32_t how)
{
    cuda.launched = 0;
    flushing_since = trace_now();
    if (how & CUPTI_FLUSH_FORCED)
        cuda_samples_end(t, NULL);
    int code = cuda.cupti.flush(how);
    flushing_since = 0;
    if (hung) /* it did return: the next one is tried again */
        capture_note(t, 1, "cuda.flush", "CUPTI answers again, after more than %d s",
                     CUDA_PATIENCE_S);
    hung = 0;
    cuda_check(t, code, "cuptiActivityFlushAll", "GPU work of this moment may be missing");
    cuda_count_dropped(NULL, 0);
    cuda_drain(t, 64);
}

/* Threads of the target left: a process whose main thread called pthread_exit ends with its last
 * thread, and ours must not be that. The state of a main thread that has ended is Z. */
static int target_has_threads(void)
{
    char text[512];
    const char *at =
        raw_read_file("/proc/self/stat", text, sizeof text) ? strrchr(text, ')') : NULL;
    if (!at)
        return 1;
    long ours = 0, count;
    char state = at[2];
    for (int field = 2; field < 20 && at; field++)
        at = strchr(at + 1, ' ');
    if (!at || state != 'Z')
        return 1;
    count = atol(at);
    for (struct thread_slot *s = thread_first(); s; s = s->next)
        ours += s->used && s->t.tid && s->t.ours;
    return count - 1 > ours;
}

/* Pages that move by themselves. It costs a session with the driver's module for managed memory, so
 * a program without such memory is spared it. Not from inside CUPTI's callback: up to a moment
 * later. */
static void watch_unified_memory(struct capture_thread *t)
{
    static const uint32_t counters[] = {1, 2, 3, 4}; /* to device, to host, faults of CPU, of GPU */
    struct cupti_memory_counter c[4];
    if (!cuda.cupti.memory_counters)
        return;
    for (int i = 0; i < 4; i++)
        c[i] = (struct cupti_memory_counter){2 /* all devices */, counters[i], 0, 1};
    int code = cuda.cupti.memory_counters(c, 4);
    if (!code)
        code = cuda.cupti.enable(CUPTI_UNIFIED_MEMORY);
    if (code)
        capture_note(t, 0, "cuda.unified_memory",
                     "page migrations of managed memory are not recorded: %d, %s", code,
                     cuda_sentence(code));
}

static void flush_turn(struct capture_thread *t, uint64_t *next_clock)
{
    uint64_t now = trace_now();
    uint32_t asked = wanted;
    if (!cuda.over && __atomic_exchange_n(&managed, 0, __ATOMIC_ACQ_REL))
        watch_unified_memory(t);
    if (asked != answered) {
        flush_now(t, __atomic_exchange_n(&wanted_how, 0, __ATOMIC_ACQ_REL));
        cuda_clock(t);
        answered = asked;
        raw_futex_wake(&answered, 1 << 30);
        return;
    }
    if (cuda.over)
        return;
    if (cuda.launched) {
        flush_now(t, 0);
    } else {
        cuda_drain(t, 64);
    }
    if (now >= *next_clock) {
        cuda_samples_take(t);
        cuda_clock(t);
        *next_clock = now + 1000000000u;
    }
}

static void *flush_thread_main(void *argument)
{
    struct thread_slot *s = argument;
    syscall(SYS_prctl, PR_SET_NAME, "tomoprof-cuda");
    if (!thread_register(s, (uint32_t)getpid()))
        return NULL;
    uint64_t next_clock = 0;
    for (int last = 0; cuda.on && !last;) {
        uint64_t now = trace_now();
        struct capture_thread *t = capture_enter();
        if (!t)
            break;
        last = !target_has_threads();
        if (last)
            flush_now(t, CUPTI_FLUSH_FORCED);
        flush_turn(t, &next_clock);
        capture_leave(t, TRACE_PART_CUDA, now);
        uint32_t seen = wanted;
        if (seen == answered && !managed && !last)
            raw_futex_wait(&wanted, seen, CUDA_FLUSH_MS * 1000000ull);
    }
    thread_state = ENDED;
    return NULL;
}

int cuda_flush_start(void)
{
    wanted = answered = wanted_how = 0;
    hung = 0;
    thread_state = RUNNING;
    int why = thread_begin_own(flush_thread_main, 256 * 1024);
    if (why)
        thread_state = 0;
    return why;
}

void cuda_flush_managed(void)
{
    static int asked; /* atomic */
    if (__atomic_exchange_n(&asked, 1, __ATOMIC_ACQ_REL))
        return;
    managed = 1;
    raw_futex_wake(&wanted, 1 << 30);
}

void cuda_flush_watch(struct capture_thread *t)
{
    uint64_t since = flushing_since;
    if (!since || hung || trace_now() - since < CUDA_PATIENCE_S * 1000000000ull)
        return;
    hung = 1;
    capture_note(
        t, 2, "cuda.flush",
        "CUPTI did not return from a flush within %d s: until it does, GPU work is missing",
        CUDA_PATIENCE_S);
}

void cuda_flush_now(struct capture_thread *t, uint32_t how)
{
    if (thread_state != RUNNING) {
        if (thread_state == 0)
            flush_now(t, how);
        return;
    }
    uint64_t deadline = trace_now() + CUDA_PATIENCE_S * 1000000000ull, now;
    __atomic_fetch_or(&wanted_how, how, __ATOMIC_ACQ_REL);
    uint32_t mine = __atomic_add_fetch(&wanted, 1, __ATOMIC_ACQ_REL);
    raw_futex_wake(&wanted, 1 << 30);
    while (!hung && thread_state == RUNNING && (now = trace_now()) < deadline) {
        uint32_t done = answered;
        if ((int32_t)(done - mine) >= 0)
            return;
        raw_futex_wait(&answered, done, deadline - now < 100000000 ? deadline - now : 100000000);
    }
    if (thread_state == RUNNING && !hung) {
        flushing_since = flushing_since ? 1 : 0; /* older than any patience */
        cuda_flush_watch(t);
    }
}

int cuda_flush_hangs(void)
{
    return hung;
}

void cuda_flush_abandon(void)
{
    thread_state = 0;
    flushing_since = 0;
}
