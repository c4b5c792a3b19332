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
#define HELD_NS  50000000u  /* kept for a sample of the other mode; twice: for a better one */
#define EVEN_NS  16000000u  /* what is left over evens out in this time */
#define NEAR_NS  150000u    /* so late is on time: the way to a look takes 20 to 100 us */

struct thread_seen {
    pid_t tid;
    int alive, asleep, ticks_only; /* asleep: its place is known. ticks_only: no finer account */
    uint64_t seen_ns, poll_ns, every_ns;
    uint64_t ran_ns, queued_ns, turns;         /* the kernel's account at the last look */
    uint64_t begin_user, begin_system, ran_at; /* what it ran before the recording */
    uint64_t user_ticks, system_ticks;
    uint64_t run_pending, sleep_pending, queue_pending; /* known and not written yet */
    uint64_t sampled_ns, given_ns[2]; /* all samples; those in user mode, in system calls */
    uint64_t ran_at_stop, queued_at_stop, slept_at_stop, stop_end_ns;
    double lately_ran, lately_queued; /* of the last ten stops */
    uint64_t stack, run_stack;        /* where it slept, where it ran last */
    int run_system;
    int16_t state, syscall;
    char name[16];
};

static void threads_put_name(struct threads *s, struct capture_thread *t, struct thread_seen *h)
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

/* Reads the account from the scheduler's clock. 0: not known; kernels that keep no account write
 * zeros. */
static int account_of_scheduler(struct threads *s, pid_t tid, struct ran_account *a)
{
    char text[96];
    if (!process_read(s->pid, tid, "schedstat", text, sizeof text))
        return 0;
    thread_poll_number(thread_poll_number(thread_poll_number(text, &a->ran_ns), &a->queued_ns),
                       &a->turns);
    return a->turns > 0;
}

/* Returns its account now: by the scheduler's clock, or in ticks. 0: the thread is gone. */
static int threads_read_account(struct threads *s, struct thread_seen *h, struct process_stat *st,
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

static struct thread_seen *threads_slot_of(struct threads *s, pid_t tid)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].tid == tid)
            return &s->list[i];
    return NULL;
}

static void threads_add(struct threads *s, struct capture_thread *t, pid_t tid, int first)
{
    struct process_stat st;
    struct thread_seen h = {.tid = tid, .alive = 1, .syscall = -1};
    struct ran_account a;
    if (!threads_read_account(s, &h, &st, &a))
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
        h.ran_at = h.ran_at_stop = h.ran_ns = a.ran_ns;
        h.queued_at_stop = h.queued_ns = a.queued_ns;
        h.begin_user = st.user_ticks;
        h.begin_system = st.system_ticks;
    }
    threads_put_name(s, t, &h);
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

/* Finds the place where it sleeps, without touching it. 0: it runs again. */
static int threads_find_place(struct threads *s, struct capture_thread *t, struct thread_seen *h,
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

/* Returns the time that it ran in the recording, as the kernel divides it between modes. The sum is
 * exact, its parts are in the kernel's ticks. */
static uint64_t ran_in_system(const struct thread_seen *h)
{
    uint64_t user = h->user_ticks - h->begin_user, system = h->system_ticks - h->begin_system;
    double share = user + system ? (double)system / (double)(user + system) : 0;
    return (uint64_t)((double)(h->ran_ns - h->ran_at) * share);
}

/* Divides what it ran and no sample has between the modes, at a sample of mode `system`: one that
 * makes short calls all the time is found in nothing else. So no mode gets more than the kernel's
 * account gives it; the rest waits for a sample of the other mode, and what waits too long belongs
 * to this place in that mode. Where threads share CPUs, each moment at random stands for the same
 * time, `mean_ns`; what remains evens out over the next ones. */
static void threads_divide_modes(const struct threads *s, const struct thread_seen *h, int system,
                                 uint64_t mean_ns, uint64_t part[2])
{
    uint64_t in_system = ran_in_system(h),
             other = system ? h->ran_ns - h->ran_at - in_system : in_system,
             owed = other > h->given_ns[!system] ? other - h->given_ns[!system] : 0;
    owed = owed < h->run_pending ? owed : h->run_pending;
    part[!system] = owed > HELD_NS ? owed - HELD_NS : 0;
    part[system] = h->run_pending - owed;
    if (s->crowded && part[system] > mean_ns && mean_ns < EVEN_NS)
        part[system] = mean_ns + (part[system] - mean_ns) * mean_ns / EVEN_NS;
}

/* Adds what it did since the last look; 1: it ran. The kernel brings the account up to date when a
 * thread leaves its CPU, at ticks (4 ms), and when the thread itself asks for its CPU time. So only
 * that of a thread that is off its CPU (`exact`) tells how long it slept; and weights of samples
 * from another one told a loop between two such questions 2.5 points low. */
static int threads_advance(struct thread_seen *h, const struct ran_account *a, uint64_t now,
                           int exact)
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

/* How often it left a CPU, and how often of these to sleep. 0: not known. */
static int switches_of(struct threads *s, pid_t tid, uint64_t *left, uint64_t *slept)
{
    char text[4096] = "";
    process_read(s->pid, tid, "status", text, sizeof text);
    const char *a = strstr(text, "\nvoluntary_ctxt_switches:"),
               *b = a ? strstr(a, "\nnonvoluntary_ctxt_switches:") : NULL;
    if (!b)
        return 0;
    *slept = strtoull(strchr(a, ':') + 1, NULL, 10);
    *left = *slept + strtoull(strchr(b, ':') + 1, NULL, 10);
    return 1;
}

/* Returns 1 where it has been waiting for a CPU since before the look was due, as far as that can
 * be known without a stop, which would take until it gets one. Since the last stop it then ran and
 * waited all the time, and this wait is not in the account yet. */
static int waits_anyway(struct threads *s, const struct thread_seen *h, const struct poll_moment *k,
                        const struct ran_account *a)
{
    uint64_t left, slept, known = a->ran_ns - h->ran_at_stop + a->queued_ns - h->queued_at_stop;
    return s->crowded && h->stop_end_ns && h->run_pending < 2 * HELD_NS &&
           h->stop_end_ns + known + known / 64 + NEAR_NS / 2 < k->due_ns &&
           switches_of(s, h->tid, &left, &slept) && left == a->turns && slept == h->slept_at_stop;
}

enum found { AT_RANDOM, WAITED, ELSEWHERE };

/* How it was found: where it was when the look was due (a random moment), waiting for a CPU then
 * already, or at a later place. On a busy machine a thread loses its CPU at ticks (4 ms) and where
 * system calls end, and this process gets one at the same moments: samples of such places keep step
 * with loops of the program, and a line of 24 % was told as 12 to 15 %. `a`: its account when the
 * look began, `b`: when it had stopped. */
static enum found how_found(const struct poll_moment *k, const struct ran_account *a,
                            const struct ran_account *b, uint64_t stopped)
{
    uint64_t late = k->due_ns + NEAR_NS;
    if (b->turns == a->turns) /* it kept its CPU until it was stopped */
        return k->began_ns <= late ? AT_RANDOM : ELSEWHERE;
    uint64_t waited = b->queued_ns - a->queued_ns, lost = stopped > waited ? stopped - waited : 0;
    if (lost < k->due_ns)
        return WAITED;
    return lost <= late || k->began_ns <= late ? AT_RANDOM : ELSEWHERE;
}

static void put_sample(struct capture_thread *t, struct thread_seen *h, int system, uint64_t weight)
{
    struct trace_sample r = {.r.kind = TRACE_SAMPLE,
                             .stack = h->run_stack,
                             .weight_ns = weight,
                             .tid = (uint32_t)h->tid,
                             .mode = system ? TRACE_SYSTEM : TRACE_USER};
    if (!weight || !trace_put(&t->stream, &r.r, sizeof r, NULL, 0))
        return;
    h->run_system = system;
    h->sampled_ns += weight;
    h->given_ns[system] += weight;
    h->run_pending -= weight;
}

/* It runs now, or is about to: what it ran is attributed to this place. */
static void threads_sample(struct threads *s, struct capture_thread *t, struct thread_seen *h,
                           const struct poll_moment *k, const struct ran_account *before)
{
    struct stopped at = {0};
    struct ran_account a;
    enum found found = AT_RANDOM;
    if (!stop_thread(h->tid, &at))
        return;
    if (!h->ticks_only && account_of_scheduler(s, h->tid, &a)) {
        uint64_t now = trace_now(), left;
        found = how_found(k, before, &a, now);
        threads_advance(h, &a, now, 1);
        h->turns = a.turns;
        h->lately_ran = 0.9 * h->lately_ran + (double)(a.ran_ns - h->ran_at_stop);
        h->lately_queued = 0.9 * h->lately_queued + (double)(a.queued_ns - h->queued_at_stop);
        h->ran_at_stop = a.ran_ns;
        h->queued_at_stop = a.queued_ns;
        if (s->crowded)
            (void)switches_of(s, h->tid, &left, &h->slept_at_stop);
    }
    /* A stop in user mode is better than nothing; where a system call ends, turns do. */
    int poor =
        found != AT_RANDOM && h->run_pending < (at.system ? 4 : 2) * HELD_NS + 4 * k->interval_ns;
    if (!poor)
        h->run_stack = capture_stack_stopped(t, h->tid, &at.registers);
    stop_go_on(h->tid, &at);
    h->stop_end_ns = trace_now();
    if (poor) /* a better one will come */
        return;
    uint64_t part[2];
    threads_divide_modes(s, h, at.system, k->interval_ns, part);
    put_sample(t, h, !at.system, part[!at.system]);
    put_sample(t, h, at.system, part[at.system]);
    s->sampled++;
}

static void threads_wake(struct capture_thread *t, struct thread_seen *h)
{
    if (h->asleep)
        put_wait(t, h, h->sleep_pending, 0);
    h->sleep_pending = h->asleep ? 0 : h->sleep_pending;
    h->asleep = 0;
}

static void thread_poll_one(struct threads *s, struct capture_thread *t, struct thread_seen *h,
                            const struct poll_moment *k)
{
    struct process_stat st;
    struct ran_account a;
    uint64_t now = trace_now(), wall = now - h->seen_ns;
    if (!threads_read_account(s, h, &st, &a)) {
        h->alive = 0;
        return;
    }
    int run = threads_advance(h, &a, now, st.state != 'R');
    if (h->queue_pending >= LEAST_NS) {
        put_wait(t, h, h->queue_pending, 1);
        h->queue_pending = 0;
    }
    if (run)
        threads_wake(t, h);
    h->every_ns = k->interval_ns;
    if (st.state == 'R') {
        int had_a_turn = h->run_pending || a.turns != h->turns;
        if (had_a_turn && !waits_anyway(s, h, k, &a))
            threads_sample(s, t, h, k, &a);
    } else if (!h->asleep) {
        if (h->sleep_pending >= LEAST_NS)
            h->asleep = threads_find_place(s, t, h, st.state);
    } else {
        uint64_t twice = 2 * wall < REST_NS ? 2 * wall : REST_NS; /* it sleeps on */
        h->every_ns = twice > k->interval_ns ? twice : k->interval_ns;
    }
    if (h->asleep && h->sleep_pending >= MOST_NS) {
        put_wait(t, h, h->sleep_pending, 0);
        h->sleep_pending = 0;
    }
    h->poll_ns = now + h->every_ns;
}

static void put_end(struct threads *s, struct capture_thread *t, struct thread_seen *h)
{
    struct trace_thread_end r = {.r.kind = TRACE_THREAD_END, .tid = (uint32_t)h->tid};
    threads_wake(t, h);
    if (s->crowded && h->sampled_ns) /* what was to even out */
        put_sample(t, h, h->run_system, h->run_pending);
    r.sampled_ns = h->sampled_ns;
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
        struct thread_seen *h = tid > 0 ? threads_slot_of(s, tid) : NULL;
        if (h)
            threads_put_name(s, t, h);
        else if (tid > 0)
            threads_add(s, t, tid, first);
    }
    if (d)
        closedir(d);
}

void threads_poll(struct threads *s, struct capture_thread *t, const struct poll_moment *k)
{
    size_t kept = 0;
    double ran = 0, queued = 0;
    for (size_t i = 0; i < s->count; i++) {
        struct thread_seen *h = &s->list[i];
        if (trace_now() >= h->poll_ns)
            thread_poll_one(s, t, h, k);
        ran += h->lately_ran;
        queued += h->lately_queued;
        if (h->alive)
            s->list[kept++] = *h;
        else
            put_end(s, t, h);
    }
    s->count = kept;
    s->crowded = queued > 0.1 * ran; /* looks alone make it 0.02 at 500 Hz */
}

void threads_end(struct threads *s, struct capture_thread *t)
{
    const uint64_t now = trace_now();
    const struct poll_moment last = {now, now, 0};
    for (size_t i = 0; i < s->count; i++) {
        struct thread_seen *h = &s->list[i];
        h->poll_ns = 0;
        thread_poll_one(s, t, h, &last);
        put_end(s, t, h);
    }
    free(s->list);
    *s = (struct threads){0};
}
