#include <string.h>
#include <time.h>
#include <unistd.h>

#include "profiler/capture/core/core.h"
#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders/wait/thread_poll.h"

#pragma weak capture_stack_of

/* Waiting threads, seen from outside: no signal disturbs a sleeping thread. The kernel's counters
 * give the time asleep and the time spent waiting for a CPU exactly; where a thread sleeps is read
 * when it is found asleep. */
#define SLEEP_LEAST 1000000u   /* ns: shorter sleeps are gathered */
#define SLEEP_MOST  250000000u /* a longer one is told piece by piece */
#define BUDGET      50         /* a turn takes at most this part of the time between two */

static const char *number(const char *p, uint64_t *out)
{
    *out = 0;
    while (*p == ' ')
        p++;
    if (p[0] == '0' && p[1] == 'x') {
        for (p += 2; (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'f'); p++)
            *out = *out * 16 + (uint64_t)(*p <= '9' ? *p - '0' : *p - 'a' + 10);
        return p;
    }
    for (; *p >= '0' && *p <= '9'; p++)
        *out = *out * 10 + (uint64_t)(*p - '0');
    return p;
}

/* /proc/self/task/TID/NAME without printf. */
size_t look_read(uint32_t tid, const char *name, char *out, size_t bytes)
{
    char path[64] = "/proc/self/task/", digits[12], *d = digits + sizeof digits;
    size_t n = strlen(path);
    for (*--d = 0; tid || !*d; tid /= 10)
        *--d = (char)('0' + tid % 10);
    size_t k = (size_t)(digits + sizeof digits - 1 - d);
    memcpy(path + n, d, k);
    path[n + k] = '/';
    strcpy(path + n + k + 1, name);
    return raw_read_file(path, out, bytes);
}

uint64_t look_cpu(uint32_t tid)
{
    struct timespec t = {0};
    /* CPUCLOCK_PERTHREAD | CPUCLOCK_SCHED */
    clock_gettime(tid ? (clockid_t)(~tid << 3 | 6) : CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int look_state(uint32_t tid, uint64_t numbers[LOOK_STATS])
{
    char text[512];
    const char *p;
    if (!look_read(tid, "stat", text, sizeof text) || !(p = strrchr(text, ')')) || !p[1])
        return 0;
    int state = p[2];
    p += 3;
    for (int field = 4; *p && numbers && field <= 22; field++) {
        uint64_t n;
        const char *next = number(p, &n);
        numbers[LOOK_SYSTEM] = field == 15 ? n : numbers[LOOK_SYSTEM];
        numbers[LOOK_START] = field == 22 ? n : numbers[LOOK_START];
        p = next + strcspn(next, " ");
    }
    return state;
}

static int state_of(uint32_t tid)
{
    int state = look_state(tid, NULL);
    return state == 'D' ? TRACE_DISK : state == 'T' || state == 't' ? TRACE_STOPPED : TRACE_SLEEP;
}

static void put(struct capture_thread *t, struct slot *s, uint64_t weight, int runnable)
{
    struct trace_wait r = {.r.kind = TRACE_WAIT,
                           .r.time_ns = s->seen_ns,
                           .stack = s->wait_stack,
                           .weight_ns = weight,
                           .tid = s->t.tid,
                           .state = runnable ? TRACE_RUNNABLE : s->wait_state,
                           .syscall = runnable ? -1 : s->wait_syscall};
    if (runnable)
        r.stack = 0;
    trace_put(&t->stream, &r.r, sizeof r, NULL, 0);
}

/* Where the thread sleeps now; 0 when it runs. */
static int find_place(struct capture_thread *t, struct slot *s)
{
    char text[256];
    uint64_t call, unused, sp, pc;
    s->wait_stack = 0;
    if (!look_read(s->t.tid, "syscall", text, sizeof text) || text[0] == 'r')
        return 0;
    const char *p = text;
    int none = *p == '-'; /* asleep, but in no call: a page fault */
    p = number(p + none, &call);
    for (int i = 0; i < 6 && !none; i++)
        p = number(p, &unused);
    number(number(p, &sp), &pc);
    s->wait_syscall = none ? -1 : (int16_t)call;
    s->wait_state = (int16_t)state_of(s->t.tid);
    s->wait_stack = capture_stack_of ? capture_stack_of(t, (pid_t)s->t.tid, pc, sp) : 0;
    return 1;
}

/* A sleeper that has not run since: its clock says so in one call, the kernel's file takes three
 * and some 3 us. */
static int sleeps_on(const struct slot *s)
{
    return s->wait_known && s->seen_cpu && look_cpu(s->t.tid) == s->seen_cpu;
}

static void look(struct capture_thread *t, struct slot *s, uint64_t interval)
{
    char text[96];
    uint64_t cpu = s->seen_cpu, delay = s->seen_delay;
    if (!sleeps_on(s)) {
        if (!look_read(s->t.tid, "schedstat", text, sizeof text))
            return;
        number(number(text, &cpu), &delay);
    }
    uint64_t now = trace_now();
    uint64_t ran = cpu - s->seen_cpu, queued = delay - s->seen_delay, wall = now - s->seen_ns;
    int first = !s->seen_ns;
    s->seen_ns = now;
    s->seen_cpu = cpu;
    s->seen_delay = delay;
    if (first)
        return;
    uint64_t asleep = wall > ran + queued ? wall - ran - queued : 0, over = ran + queued - wall;
    if (!asleep) /* it was ready for a CPU already when its clock stood still */
        s->sleep_pending -= over < s->sleep_pending ? over : s->sleep_pending;
    s->runnable_pending += queued;
    if (s->runnable_pending >= SLEEP_LEAST) {
        put(t, s, s->runnable_pending, 1);
        s->runnable_pending = 0;
    }
    if (!ran && s->wait_known) { /* still there */
        s->sleep_pending += asleep;
        s->look_every = s->look_every * 2 < SLEEP_MOST ? s->look_every * 2 : SLEEP_MOST;
    } else {
        s->sleep_pending += asleep; /* where it was found asleep, if it was: there it woke */
        if (s->wait_known && s->sleep_pending) {
            put(t, s, s->sleep_pending, 0);
            s->sleep_pending = 0;
        }
        s->look_every = interval;
        s->wait_known = s->sleep_pending >= SLEEP_LEAST && find_place(t, s);
    }
    if (s->wait_known && s->sleep_pending >= SLEEP_MOST) {
        put(t, s, s->sleep_pending, 0);
        s->sleep_pending = 0;
    }
    s->look_at = now + s->look_every;
}

/* What is known of its sleep and not told yet. */
void look_last(struct capture_thread *t, struct slot *s)
{
    if (!s->wait_known)
        return;
    look(t, s, 0);
    if (s->wait_known && s->sleep_pending)
        put(t, s, s->sleep_pending, 0);
    s->sleep_pending = 0;
}

void look_at_threads(struct capture_thread *t, uint64_t interval)
{
    static struct slot *from; /* where the last turn ran out of time */
    uint64_t end = trace_now() + interval / BUDGET;
    struct slot *s = from ? from : thread_first(), *stop = s;
    do {
        uint64_t now = trace_now();
        if (now > end)
            break;
        if (s->used && s->t.tid && !s->t.ours && now >= s->look_at)
            look(t, s, interval);
        s = s->next ? s->next : thread_first();
    } while (s != stop);
    from = s;
}
