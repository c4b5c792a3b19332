/* The recording: a look at all threads, so many times a second, until it is to end. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "profiler/capture/core/recorder.h"
#include "profiler/capture/core/stack.h"
#include "profiler/capture/raw/safe_read.h"
#include "profiler/capture/recorders/python/python.h"
#include "profiler/outside/outside.h"
#include "profiler/trace/secrets.h"
#include "profiler/outside/process.h"

#define RATE_HZ     100
#define FIND_NS     50000000u  /* between two searches for new threads */
#define IMAGES_NS   500000000u /* ... for libraries that came or went */
#define NAMES_BYTES 4096

const char outside_limits[] =
    "recorded from outside: allocations, copies, GPU work, NVTX ranges and child processes "
    "are not seen";

struct recording {
    const struct outside_settings *s;
    struct capture_thread us;
    char scratch[CAPTURE_SCRATCH]; /* its */
    struct threads threads;
    int process;     /* a descriptor of it; -1: none */
    sigset_t asleep; /* signals that are held back while it is awake are not in it */
    uint64_t begin_ns, interval_ns;
    struct process_stat begin, last;
};

char **outside_command(pid_t pid)
{
    char text[65536];
    size_t n = process_read(pid, 0, "cmdline", text, sizeof text), words = 0, at = 0;
    for (size_t i = 0; i < n; i++)
        words += !text[i];
    words += n && text[n - 1];     /* the last one is not ended */
    const size_t room = 4 * n + 1; /* an empty value becomes SECRET_MASK */
    char **out = malloc((words + 1) * sizeof *out + room);
    if (!out)
        return NULL;
    char *copy = (char *)(out + words + 1);
    int next = 0;
    for (size_t i = 0; i < words; i++, at += strlen(text + at) + 1) {
        out[i] = copy;
        copy += secrets_mask(text + at, &next, copy, room - (size_t)(copy - out[0])) + 1;
    }
    out[words] = NULL;
    return out;
}

static void recording_link_fact(struct recording *r, const char *key)
{
    char path[PROCESS_PATH], target[4096];
    process_path(path, r->s->pid, key);
    ssize_t n = readlink(path, target, sizeof target - 1);
    if (n <= 0)
        return;
    target[n] = 0;
    capture_meta(&r->us, key, target);
}

static void put_facts(struct recording *r)
{
    char text[NAMES_BYTES], words[NAMES_BYTES];
    struct utsname u;
    recording_link_fact(r, "exe");
    recording_link_fact(r, "cwd");
    size_t n = process_read(r->s->pid, 0, "cmdline", words, sizeof words);
    secrets_mask_words(words, n, text, sizeof text);
    capture_meta(&r->us, "cmdline", text);
    if (uname(&u) == 0)
        capture_meta(&r->us, "kernel", u.release);
    capture_meta(&r->us, "modes", "cpu,wait,python");
    snprintf(text, sizeof text, "%.10g", 1e9 / (double)r->interval_ns);
    capture_meta(&r->us, "cpu.hz", text);
    capture_meta(&r->us, "wait.hz", text);
    capture_note(&r->us, 0, "outside", "%s", outside_limits);
}

static void put_clock(struct recording *r)
{
    struct timespec real;
    uint64_t before = trace_now();
    struct trace_clock c = {.r.kind = TRACE_CLOCK};
    clock_gettime(CLOCK_REALTIME, &real);
    c.bracket_ns = trace_now() - before;
    c.r.time_ns = before + c.bracket_ns / 2;
    c.realtime_ns = (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec;
    trace_put(&r->us.stream, &c.r, sizeof c, NULL, 0);
}

static void put_footprint(struct recording *r)
{
    char text[128];
    struct trace_footprint f = {.r.kind = TRACE_FOOTPRINT};
    unsigned long long pages;
    if (process_read(r->s->pid, 0, "statm", text, sizeof text) &&
        sscanf(text, "%*u %llu", &pages) == 1) {
        f.rss = pages * (uint64_t)sysconf(_SC_PAGESIZE);
        trace_put(&r->us.stream, &f.r, sizeof f, NULL, 0);
    }
}

static enum err recording_begin(struct recording *r)
{
    uint8_t id[16] = {0};
    (void)getrandom(id, sizeof id, 0);
    int why = trace_create(&capture.writer, r->s->folder, id, 0);
    FAIL_IF(why, ERR_IO, "%s: cannot write a trace there: %s", r->s->folder, strerror(why));
    capture.writer.header->pid = r->s->pid;
    capture.writer.header->parent = r->begin.parent;
    trace_stream_open(&r->us.stream, &capture.writer, (uint32_t)getpid());
    safe_read_process(r->s->pid);
    why = stack_start_outside();
    FAIL_IF(why, ERR_MEMORY, "no memory for stacks: %s", strerror(why));
    stack_add_frames(python_frames);
    put_facts(r);
    put_clock(r);
    images_refresh(&r->us, r->s->pid);
    return ERR_OK;
}

/* Until the next look; 0: the process has ended. */
static int recording_sleep(struct recording *r, uint64_t until)
{
    uint64_t now = trace_now(), left = until > now ? until - now : 0;
    struct timespec t = {(time_t)(left / 1000000000u), (long)(left % 1000000000u)};
    struct pollfd ended = {r->process, POLLIN, 0};
    if (ppoll(&ended, 1, &t, stop_any_late() ? NULL : &r->asleep) > 0)
        return 0;
    return r->process >= 0 || kill(r->s->pid, 0) == 0 || errno != ESRCH;
}

/* When the next look is due. +-50 %, so that no loop of the program keeps step: with +-10 %, shares
 * of a loop of 2 ms were twice as far off as so many independent samples are. Where threads wait
 * for CPUs, they begin to run when the last look lets them go: then the time to the next has an
 * exponential distribution, which does not know what went before. With +-50 % the first ms of each
 * turn was not seen, and turns begin where system calls end. */
static uint64_t next_poll(struct recording *r, uint64_t due, uint64_t began)
{
    uint64_t done = trace_now();
    double mean = (double)r->interval_ns, random = capture_random(&r->us);
    if (r->threads.crowded)
        return done + (uint64_t)(mean * -log(random));
    uint64_t next = due + (uint64_t)(mean * (0.5 + random)),
             least = done + (uint64_t)((double)(done - began) * (0.5 + random));
    return next > least ? next : least;
}

/* A look that took long leaves as much time to others before the next. */
static int poll_until_the_end(struct recording *r)
{
    uint64_t find = 0, image = 0, second = 0, next = r->begin_ns,
             end = r->s->seconds > 0 ? r->begin_ns + (uint64_t)(r->s->seconds * 1e9) : UINT64_MAX;
    for (uint64_t now; (now = trace_now()) < end && !*r->s->stop;) {
        struct process_stat st;
        if (now >= find) {
            threads_find(&r->threads, &r->us);
            find = now + FIND_NS;
        }
        if (now >= image) {
            images_refresh(&r->us, r->s->pid);
            put_footprint(r);
            image = now + IMAGES_NS;
        }
        if (now >= second) {
            put_clock(r);
            second = now + 1000000000u;
        }
        stop_late(0);
        threads_poll(&r->threads, &r->us, &(struct poll_moment){next, now, r->interval_ns});
        if (process_stat(r->s->pid, 0, &st))
            r->last = st;
        next = next_poll(r, next, now);
        if (!recording_sleep(r, next < end ? next : end) || st.state == 'Z')
            return 0;
    }
    return 1;
}

/* For those who may not have a class of their own: short turns come earlier, since Linux 6.12; on
 * other kernels things stay as they are. 0: as it was. */
static void set_turns(uint64_t turn_ns)
{
    struct {
        uint32_t bytes, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t turn_ns, unused[2];
    } turns = {.bytes = sizeof turns, .nice = getpriority(PRIO_PROCESS, 0), .turn_ns = turn_ns};
    (void)syscall(SYS_sched_setattr, 0, &turns, 0u);
}

/* Lets this process run at once: where another has the CPU, it would get it when that makes a
 * system call, and see it there too often: 27 % instead of 5 % on a machine with seven times more
 * to do than CPUs. A class of its own comes at once; its share of a CPU is bounded by
 * the rests between looks. */
static void be_on_time(int on)
{
    const struct sched_param first = {.sched_priority = on ? 1 : 0};
    prctl(PR_SET_TIMERSLACK, on ? 1ul : 0ul); /* 20 us late instead of 70; 0: as it was */
    if (sched_setscheduler(0, on ? SCHED_FIFO | SCHED_RESET_ON_FORK : SCHED_OTHER, &first) || !on)
        set_turns(on ? 100000 : 0);
}

/* Has Ctrl-Z wait until no thread of the process is stopped: it would stay so for as long as this
 * process does. */
static void hold_stops(struct recording *r)
{
    sigset_t stops;
    sigemptyset(&stops);
    sigaddset(&stops, SIGTSTP);
    sigaddset(&stops, SIGTTIN);
    sigaddset(&stops, SIGTTOU);
    sigprocmask(SIG_BLOCK, &stops, &r->asleep);
}

static int64_t process_peak_memory(pid_t pid)
{
    char text[4096];
    process_read(pid, 0, "status", text, sizeof text);
    const char *at = strstr(text, "\nVmHWM:");
    return at ? strtoll(at + 7, NULL, 10) * 1024 : 0;
}

enum err outside_record(const struct outside_settings *s, struct outside_end *out)
{
    static struct recording r;
    r = (struct recording){.s = s, .threads.pid = s->pid, .process = -1};
    r.interval_ns = (uint64_t)(1e9 / (s->rate_hz > 0 ? s->rate_hz : RATE_HZ));
    *out = (struct outside_end){0};
    TRY(outside_check(s->pid));
    r.process = (int)syscall(SYS_pidfd_open, s->pid, 0u);
    (void)process_stat(s->pid, 0, &r.begin);
    r.last = r.begin;
    r.us.tid = (uint32_t)getpid();
    r.us.random = trace_now() | 1;
    r.us.scratch = r.scratch;
    TRY(recording_begin(&r));
    r.begin_ns = trace_now();
    if (s->begun)
        s->begun(s);
    hold_stops(&r);
    be_on_time(1);
    out->still_runs = poll_until_the_end(&r);
    be_on_time(0);
    out->wall_s = (double)(trace_now() - r.begin_ns) * 1e-9;
    out->user_s = 1e-9 * (double)process_ticks_ns(r.last.user_ticks - r.begin.user_ticks);
    out->system_s = 1e-9 * (double)process_ticks_ns(r.last.system_ticks - r.begin.system_ticks);
    out->peak_rss_bytes = process_peak_memory(s->pid);
    threads_end(&r.threads, &r.us);
    stop_late(1);
    sigprocmask(SIG_SETMASK, &r.asleep, NULL);
    put_clock(&r);
    trace_finish(&capture.writer, TRACE_LEFT, 0);
    trace_stream_close(&r.us.stream);
    images_forget();
    if (r.process >= 0)
        close(r.process);
    FAIL_IF(capture.writer.failed, ERR_IO, "%s: the trace is incomplete: %s", s->folder,
            strerror(capture.writer.failed));
    return ERR_OK;
}
