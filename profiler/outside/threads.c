/* The threads of the process: how much each ran, waited for a CPU and slept since the last look, by
 * the kernel's own account; and where it runs or sleeps now. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/capture/core/stack.h"
#include "profiler/capture/core/thread_poll.h"
#include "profiler/outside/process.h"

#define LEAST_NS 1000000u   /* shorter waits are gathered */
#define MOST_NS  250000000u /* longer ones are told piece by piece */
#define REST_NS  50000000u  /* at most between two looks at one that sleeps */
#define HELD_NS  50000000u  /* at most kept for a sample of the other mode */

struct thread_seen {
    pid_t tid;
    int alive, asleep, ticks_only; /* asleep: its place is known. ticks_only: no finer account */
    uint64_t seen_ns, look_ns, every_ns;
    uint64_t ran_ns, queued_ns, turns;         /* the kernel's account at the last look */
    uint64_t begin_user, begin_system, ran_at; /* what it ran before the recording */
    uint64_t user_ticks, system_ticks;
    uint64_t run_pending, sleep_pending, queue_pending; /* known and not written yet */
    uint64_t sampled_ns, given_ns[2]; /* all samples; those in user mode, in system calls */
    uint64_t stack;
    int16_t state, syscall;
    char name[16];
};

static void put_name(struct threads *s, struct capture_thread *t, struct thread_seen *h)
{
    char name[32] = "";
    struct trace_thread r = {
        .r.kind = TRACE_THREAD, .tid = (uint32_t)h->tid, .flags = h->tid == s->pid};
    name[process_read(s->pid, h->tid, "comm", name, sizeof name)] = 0;
    name[strcspn(name, "\n")] = 0;
    if (!strncmp(name, h->name, sizeof h->name))
        return;
    memcpy(h->name, name, sizeof h->name);
    h->name[sizeof h->name - 1] = 0;
    r.name_bytes = (uint32_t)strlen(h->name);
    trace_put(&t->stream, &r.r, sizeof r, h->name, r.name_bytes);
}

struct ran_account {
    uint64_t ran_ns, queued_ns, turns; /* turns: how many times it got a CPU */
};

/* By the scheduler's clock. 0: not known; kernels that keep no account write zeros. */
static int account_of_scheduler(struct threads *s, pid_t tid, struct ran_account *a)
{
    char text[96];
    if (!process_read(s->pid, tid, "schedstat", text, sizeof text))
        return 0;
    thread_poll_number(thread_poll_number(thread_poll_number(text, &a->ran_ns), &a->queued_ns),
                       &a->turns);
    return a->turns > 0;
}

/* Its account now: by the scheduler's clock, or in ticks. 0: the thread is gone. */
static int account(struct threads *s, struct thread_seen *h, struct process_stat *st,
                   struct ran_account *a)
{
    *a = (struct ran_account){0};
    if (!process_stat(s->pid, h->tid, st) || st->state == 'Z' || st->state == 'X')
        return 0;
    h->user_ticks = st->user_ticks;
    h->system_ticks = st->system_ticks;
    h->ticks_only = !account_of_scheduler(s, h->tid, a);
    if (h->ticks_only)
        a->ran_ns = process_ticks_ns(st->user_ticks + st->system_ticks);
    return 1;
}

static struct thread_seen *find(struct threads *s, pid_t tid)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].tid == tid)
            return &s->list[i];
    return NULL;
}

static void add(struct threads *s, struct capture_thread *t, pid_t tid, int first)
{
    struct process_stat st;
    struct thread_seen h = {.tid = tid, .alive = 1, .syscall = -1};
    struct ran_account a;
    if (!account(s, &h, &st, &a))
        return;
    if (s->count == s->room) {
        size_t room = s->room ? 2 * s->room : 64;
        struct thread_seen *list = realloc(s->list, room * sizeof *list);
        if (!list)
            return;
        s->list = list;
        s->room = room;
    }
    h.seen_ns = trace_now();
    if (first) { /* what it ran before is not of this recording */
        h.ran_at = h.ran_ns = a.ran_ns;
        h.queued_ns = a.queued_ns;
        h.begin_user = st.user_ticks;
        h.begin_system = st.system_ticks;
    }
    put_name(s, t, &h);
    s->list[s->count++] = h;
}

static void put_wait(struct capture_thread *t, struct thread_seen *h, uint64_t weight, int runnable)
{
    struct trace_wait r = {.r.kind = TRACE_WAIT,
                           .stack = runnable ? 0 : h->stack,
                           .weight_ns = weight,
                           .tid = (uint32_t)h->tid,
                           .state = runnable ? TRACE_RUNNABLE : h->state,
                           .syscall = runnable ? -1 : h->syscall};
    if (weight)
        trace_put(&t->stream, &r.r, sizeof r, NULL, 0);
}

/* Where it sleeps, without touching it. 0: it runs again. */
static int find_place(struct threads *s, struct capture_thread *t, struct thread_seen *h,
                      char state)
{
    char text[256];
    uint64_t call, unused, sp, pc;
    if (!process_read(s->pid, h->tid, "syscall", text, sizeof text) || text[0] == 'r')
        return 0;
    int none = text[0] == '-'; /* asleep, but in no call: a page fault */
    const char *p = thread_poll_number(text + none, &call);
    for (int i = 0; i < 6 && !none; i++)
        p = thread_poll_number(p, &unused);
    thread_poll_number(thread_poll_number(p, &sp), &pc);
    h->syscall = none ? -1 : (int16_t)call;
    h->state = state == 'D'                   ? TRACE_DISK
               : state == 'T' || state == 't' ? TRACE_STOPPED
                                              : TRACE_SLEEP;
    h->stack = capture_stack_of(t, h->tid, pc, sp);
    return 1;
}

/* What it ran in the recording, as the kernel divides it between modes. The sum is exact, its parts
 * are in the kernel's ticks. */
static uint64_t ran_in_system(const struct thread_seen *h)
{
    uint64_t user = h->user_ticks - h->begin_user, system = h->system_ticks - h->begin_system;
    double share = user + system ? (double)system / (double)(user + system) : 0;
    return (uint64_t)((double)(h->ran_ns - h->ran_at) * share);
}

/* Divides what it ran since its last sample, which was of mode `system`, between the modes. A
 * kernel that takes the CPU away does so where a system call ends: on a loaded machine 17 % of the
 * looks found a thread in calls that take 0.5 % of its time, and one that makes short calls all the
 * time is found in nothing else. So no mode gets more than the kernel's account gives it; the rest
 * waits for a sample of the other mode, and what waits too long belongs to this place in that mode.
 */
static void divide(const struct thread_seen *h, int system, uint64_t part[2])
{
    uint64_t in_system = ran_in_system(h),
             other = system ? h->ran_ns - h->ran_at - in_system : in_system,
             owed = other > h->given_ns[!system] ? other - h->given_ns[!system] : 0;
    owed = owed < h->run_pending ? owed : h->run_pending;
    part[system] = h->run_pending - owed;
    part[!system] = owed > HELD_NS ? owed - HELD_NS : 0;
}

/* Adds what it did since the last look; 1: it ran. The kernel brings the account up to date when a
 * thread leaves its CPU, at ticks (4 ms), and when the thread itself asks for its CPU time. So only
 * that of a thread that is off its CPU (`exact`) tells how long it slept; and weights of samples
 * from another one told a loop between two such questions 2.5 points low. */
static int advance(struct thread_seen *h, const struct ran_account *a, uint64_t now, int exact)
{
    uint64_t run = a->ran_ns - h->ran_ns, queue = a->queued_ns - h->queued_ns,
             wall = now - h->seen_ns, known = run + queue < wall ? run + queue : wall;
    h->run_pending += run;
    h->queue_pending += queue;
    h->sleep_pending += exact ? wall - known : 0;
    h->seen_ns = exact ? now : h->seen_ns + known;
    h->ran_ns = a->ran_ns;
    h->queued_ns = a->queued_ns;
    return run > 0;
}

/* It runs now, or is about to: what it ran since its last sample is attributed to this place. */
static void sample(struct threads *s, struct capture_thread *t, struct thread_seen *h)
{
    struct stopped at = {0};
    struct ran_account a;
    if (!stop_thread(h->tid, &at))
        return;
    if (!h->ticks_only && account_of_scheduler(s, h->tid, &a)) {
        advance(h, &a, trace_now(), 1);
        h->turns = a.turns;
    }
    uint64_t part[2], stack = capture_stack_stopped(t, h->tid, &at.registers);
    stop_go_on(h->tid, &at);
    divide(h, at.system, part);
    for (int system = 0; system < 2; system++) {
        struct trace_sample r = {.r.kind = TRACE_SAMPLE,
                                 .stack = stack,
                                 .weight_ns = part[system],
                                 .tid = (uint32_t)h->tid,
                                 .mode = system ? TRACE_SYSTEM : TRACE_USER};
        if (!r.weight_ns || !trace_put(&t->stream, &r.r, sizeof r, NULL, 0))
            continue;
        h->sampled_ns += r.weight_ns;
        h->given_ns[system] += r.weight_ns;
        h->run_pending -= r.weight_ns;
    }
    s->sampled++;
}

static void wake(struct capture_thread *t, struct thread_seen *h)
{
    if (h->asleep)
        put_wait(t, h, h->sleep_pending, 0);
    h->sleep_pending = h->asleep ? 0 : h->sleep_pending;
    h->asleep = 0;
}

static void look(struct threads *s, struct capture_thread *t, struct thread_seen *h,
                 uint64_t interval_ns)
{
    struct process_stat st;
    struct ran_account a;
    uint64_t now = trace_now(), wall = now - h->seen_ns;
    if (!account(s, h, &st, &a)) {
        h->alive = 0;
        return;
    }
    int run = advance(h, &a, now, st.state != 'R');
    if (h->queue_pending >= LEAST_NS) {
        put_wait(t, h, h->queue_pending, 1);
        h->queue_pending = 0;
    }
    if (run)
        wake(t, h);
    h->every_ns = interval_ns;
    if (st.state == 'R') {
        if (h->run_pending || a.turns != h->turns) /* else it waits for its first turn since */
            sample(s, t, h);
    } else if (!h->asleep) {
        if (h->sleep_pending >= LEAST_NS)
            h->asleep = find_place(s, t, h, st.state);
    } else {
        uint64_t twice = 2 * wall < REST_NS ? 2 * wall : REST_NS; /* it sleeps on */
        h->every_ns = twice > interval_ns ? twice : interval_ns;
    }
    if (h->asleep && h->sleep_pending >= MOST_NS) {
        put_wait(t, h, h->sleep_pending, 0);
        h->sleep_pending = 0;
    }
    h->look_ns = now + h->every_ns;
}

static void put_end(struct capture_thread *t, struct thread_seen *h)
{
    struct trace_thread_end r = {
        .r.kind = TRACE_THREAD_END, .tid = (uint32_t)h->tid, .sampled_ns = h->sampled_ns};
    wake(t, h);
    r.system_ns = ran_in_system(h);
    r.user_ns = h->ran_ns - h->ran_at - r.system_ns;
    trace_put(&t->stream, &r.r, sizeof r, NULL, 0);
}

void threads_find(struct threads *s, struct capture_thread *t)
{
    char path[PROCESS_PATH];
    struct dirent *e;
    int first = !s->count;
    process_path(path, s->pid, "task");
    DIR *d = opendir(path);
    while (d && (e = readdir(d))) {
        pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);
        struct thread_seen *h = tid > 0 ? find(s, tid) : NULL;
        if (h)
            put_name(s, t, h);
        else if (tid > 0)
            add(s, t, tid, first);
    }
    if (d)
        closedir(d);
}

void threads_look(struct threads *s, struct capture_thread *t, uint64_t interval_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++) {
        struct thread_seen *h = &s->list[i];
        if (trace_now() >= h->look_ns)
            look(s, t, h, interval_ns);
        if (h->alive)
            s->list[kept++] = *h;
        else
            put_end(t, h);
    }
    s->count = kept;
}

void threads_end(struct threads *s, struct capture_thread *t)
{
    for (size_t i = 0; i < s->count; i++) {
        struct thread_seen *h = &s->list[i];
        h->look_ns = 0;
        look(s, t, h, 0);
        put_end(t, h);
    }
    free(s->list);
    *s = (struct threads){0};
}
