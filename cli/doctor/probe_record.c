/* Probes the machine's support for recording. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/cli.h"
#include "base/child.h"
#include "cli/doctor/probes.h"
#include "host/cluster/cluster.h"
#include "profiler/import/read/sqlite.h"
#include "profiler/record/record.h"

extern char **environ;

#define SPIN_NS 100000000 /* long enough for 25 ticks of the slowest kernel clock, 250 Hz */

/* This program under its own recorder: the one proof that loading works here. */
enum state probe_library(struct found *f)
{
    const char *program;
    char library[RUN_PATH], folder[] = "/tmp/tomoprof-doctor-XXXXXX", note[256], **environment;
    int traces = 0;
    struct record_end end;
    if (cli_program(&program) || record_library(program, library)) {
        SAY(f, "%s", err_text());
        return MISSING;
    }
    if (!mkdtemp(folder)) {
        SAY(f, "cannot make a folder in /tmp: %s", strerror(errno));
        return LIMITED;
    }
    const struct record_settings s = {
        .library = library, .folder = folder, .modes = "cpu", .preload = 1};
    char *const argv[] = {"tomoprof", "--version", NULL};
    enum err e = record_environment(&s, environ, &environment, note);
    if (!e) {
        e = record_launch(program, argv, environment, 1, NULL, &end);
        record_environment_free(environment);
    }
    DIR *d = opendir(folder);
    for (struct dirent *entry; d && (entry = readdir(d));) {
        if (!strstr(entry->d_name, ".tpt"))
            continue;
        traces++;
        unlinkat(dirfd(d), entry->d_name, 0);
    }
    if (d)
        closedir(d);
    rmdir(folder);
    if (e)
        SAY(f, "%s", err_text());
    else
        SAY(f, "%.200s: a trial left %s", base_name(library), traces ? "a trace" : "no trace");
    return !e && traces ? OK : MISSING;
}

static volatile sig_atomic_t ticks, overruns;

static void probe_on_tick(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    ticks++;
    overruns += info->si_overrun;
}

/* Returns the CPU time of this thread: where others have the CPU, no timer of it runs. */
static int64_t probe_cpu_ns(void)
{
    struct timespec t = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

enum state probe_timers(struct found *f)
{
    struct sigaction old,
        action = {.sa_sigaction = probe_on_tick, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMAX - 2};
    struct itimerspec every = {{0, 1000000}, {0, 1000000}};
    timer_t timer;
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer)) {
        SAY(f, "timer_create: %s", strerror(errno));
        return MISSING;
    }
    ticks = overruns = 0;
    sigaction(SIGRTMAX - 2, &action, &old);
    const int64_t begin = clock_ns(), cpu = probe_cpu_ns();
    timer_settime(timer, 0, &every, NULL);
    while (clock_ns() - begin < SPIN_NS)
        ;
    const double seconds = 1e-9 * (double)(probe_cpu_ns() - cpu);
    timer_delete(timer);
    sigaction(SIGRTMAX - 2, &old, NULL);
    SAY(f, "%.0f samples a second of CPU time%s", ticks / seconds,
        ticks / seconds > 900 ? ""
                              : " (1000 asked for): the kernel's tick merges some, and each stands "
                                "for the time since the last");
    return ticks ? OK : MISSING;
}

enum state probe_limits(struct found *f)
{
    struct rlimit l;
    if (getrlimit(RLIMIT_SIGPENDING, &l))
        return MISSING;
    if (l.rlim_cur == RLIM_INFINITY)
        SAY(f, "no limit");
    else
        SAY(f, "%llu", (unsigned long long)l.rlim_cur);
    return l.rlim_cur < 1024 ? LIMITED : OK;
}

enum state probe_reads(struct found *f)
{
    char from = 1, to = 0;
    struct iovec a = {&to, 1}, b = {&from, 1};
    if (process_vm_readv(getpid(), &a, 1, &b, 1, 0) == 1 && to == from) {
        SAY(f, "process_vm_readv of the own process works");
        return OK;
    }
    SAY(f, "process_vm_readv: %s", strerror(errno));
    return LIMITED;
}

enum state probe_tasks(struct found *f)
{
    char path[64], line[64];
    int all = 1;
    static const char *const names[] = {"stat", "syscall", "schedstat"};
    SAY(f, "/proc/self/task:");
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "/proc/self/task/%d/%s", (int)getpid(), names[i]);
        int here = *probe_line(path, line, sizeof line) != 0;
        all &= here;
        found_add(f, " %s%s", names[i], here ? "" : " unreadable");
    }
    return all ? OK : LIMITED;
}

/* Interpreters in PATH, by name: python3, python3.9 to python3.14. */
enum state probe_python(struct found *f)
{
    int known = 0, seen = 0;
    char older[80] = "";
    for (int minor = 0; minor < 30; minor++) {
        static struct record_target target;
        char name[24];
        snprintf(name, sizeof name, minor ? "python3.%d" : "python3", minor);
        if (record_target(name, &target))
            continue;
        const int lines = minor >= 9 && minor <= 14;
        if (lines)
            found_add(f, "%s3.%d", seen ? ", " : "", minor);
        else if (minor)
            text_append(older, sizeof older, "%s3.%d", *older ? ", " : "", minor);
        seen += lines;
        known += !minor || lines;
    }
    if (!seen)
        SAY(f, known ? "python3" : "none in PATH whose lines are known");
    if (*older)
        found_add(f, "; without lines: %s", older);
    return known ? OK : LIMITED;
}

enum state probe_others(struct found *f)
{
    static const char *const names[] = {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH",
                                        "LD_PRELOAD"};
    for (int i = 0; i < 3; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            found_add(f, "%s=%.80s ", names[i], value);
    }
    const char *cuda = getenv(names[0]);
    if (!*f->text)
        SAY(f, "none");
    return cuda && *cuda ? LIMITED : OK;
}

/* Ranks of mpirun and srun: what recon needs for them, and what record does. */
enum state probe_ranks(struct found *f)
{
    const char *why = cluster_missing();
    SAY(f, "%s", *why ? why : "recon works with the ranks of mpirun and srun");
    return *why ? LIMITED : OK;
}

/* Lists the captures that import can read; .nsys-rep, .ncu-rep and perf.data go through their own
 * tools. */
enum state probe_captures(struct found *f)
{
    const int sqlite = database_available();
    const char *install = strstr(database_why(), "install ");
    SAY(f, "libsqlite3 %s, nsys %s, ncu %s, perf %s",
        sqlite    ? "found"
        : install ? "cannot be opened"
                  : "not in this build",
        in_path("nsys") ? "found" : "not in PATH", in_path("ncu") ? "found" : "not in PATH",
        in_path("perf") ? "found" : "not in PATH");
    f->fix = sqlite ? NULL : install; /* NULL: the table's, which builds again */
    return sqlite ? OK : LIMITED;
}
