/* Runs the program: signals and its terminal reach it as in a bare run, its end is measured. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "profiler/record/record.h"
#include "profiler/record/witness.h"

/* A stopped process cannot see that another one goes on, and a process may know nothing but the
 * program's own number when it sends SIGCONT. So a child watches both. */

#define WATCH_MS 20

/* Returns the letter that /proc shows for the process; 'X': there is none. Does not allocate. */
static char process_state(pid_t pid)
{
    char path[32], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    const char *name_end = n > 0 ? strrchr(text, ')') : NULL;
    return name_end && name_end[1] == ' ' ? name_end[2] : 'X';
}

/* Runs in the child, in a process group of its own: neither the terminal's signals nor those to
 * the group reach it. Waits until the parent is stopped, so that its SIGCONT cannot come too
 * early. */
static void watch_both(pid_t parent, pid_t program)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent) {
        if (process_state(parent) == 'T' && process_state(program) != 'T')
            kill(parent, SIGCONT);
        poll(NULL, 0, WATCH_MS);
    }
    _exit(0);
}

/* Returns when somebody continued this process, which then continues `program`, or when `program`
 * was continued, killed or has ended. Where no process can be added it returns at once: nothing
 * would wake this one. */
static void job_stop_with(pid_t program)
{
    pid_t self = getpid(), watcher = fork();
    if (watcher == 0)
        watch_both(self, program);
    if (watcher < 0)
        return;
    raise(SIGSTOP);
    kill(watcher, SIGKILL);
    while (waitpid(watcher, NULL, 0) < 0 && process_state(watcher) != 'X')
        continue;
    if (process_state(program) == 'T')
        kill(program, SIGCONT);
}

/* The kernel's account of one process that has ended, before it is waited for. */

/* CPU time of a process that has ended and is not yet waited for, without its children; 0, 0
 * unknown. /proc/PID/stat tells user and system time in ticks of 10 ms, the process's CPU clock
 * their exact sum. */
static void record_own_account(int pid, double *user_s, double *system_s)
{
    char path[32], text[1024];
    unsigned long long user = 0, system = 0;
    struct timespec sum;
    *user_s = *system_s = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = 0;
    const char *name_end = strrchr(text, ')');
    if (!name_end || sscanf(name_end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu",
                            &user, &system) != 2)
        return;
    if (clock_gettime((clockid_t)(~(unsigned)pid << 3 | 2), &sum))
        return;
    double all = (double)sum.tv_sec + 1e-9 * (double)sum.tv_nsec;
    double share = user + system ? (double)system / (double)(user + system) : 0;
    *system_s = share * all;
    *user_s = all - *system_s;
}

/* After the program ends its helpers (multiprocessing's resource tracker, a pool) get this long. */
#define LINGER_MS 1000

enum { CONTROL = 4 }; /* signals that end the analysis too */
static const int forwarded[] = {SIGINT,  SIGQUIT,   SIGTERM, SIGHUP, SIGUSR1, SIGUSR2,
                                SIGALRM, SIGVTALRM, SIGPROF, SIGIO,  SIGPWR};
#define FORWARDED (int)(sizeof forwarded / sizeof *forwarded)

static volatile pid_t program;

/* Some senders, `timeout` among them, signal a process and then its group: a bare program sees one
 * signal where both wait for it. So many ms are left for the second; and it is taken here when the
 * witness has it. */
#define GROUP_MS 50
#define OWN_MS   10

static int came_to_group(int number, int wait_ms)
{
    sigset_t one;
    const struct timespec moment = {0, OWN_MS * 1000000};
    if (!witness_saw(number)) {
        poll(NULL, 0, wait_ms);
        if (!wait_ms || !witness_saw(number))
            return 0;
    }
    sigemptyset(&one);
    sigaddset(&one, number);
    while (sigtimedwait(&one, NULL, &moment) == number)
        (void)witness_saw(number);
    return 1;
}

/* An orphan of the program, whose parent is this process (PR_SET_CHILD_SUBREAPER). What it sends to
 * its parent goes to init in a bare run, which ignores it. */
static int is_orphan(pid_t sender)
{
    siginfo_t unused;
    return sender > 0 && sender != program &&
           waitid(P_PID, (id_t)sender, &unused, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* A signal for the whole group, from the terminal (si_code > 0) or from a process, reached the
 * program too, while it is in this group. What came to this process alone is meant for it, as is
 * what a process sent to a group that the program has left. */
static void launch_forward_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    int saved = errno, terminal = info->si_code > 0;
    if (number == SIGALRM && terminal) /* set_alarm's, which ends a wait */
        return;
    if (program > 0 && (terminal || (info->si_pid != program && !is_orphan(info->si_pid)))) {
        int to_group = came_to_group(number, terminal ? 0 : GROUP_MS);
        if (!witness_is_there() && terminal)
            to_group = 1;
        if (!to_group || (!terminal && getpgid(program) != getpgrp()))
            kill(program, number);
    } else {
        (void)witness_saw(number);
    }
    errno = saved;
}

struct launch_signals {
    struct sigaction old[FORWARDED];
    sigset_t mask;
};

/* Blocks the signals until the program is there to get them. Those that we were started to ignore
 * (nohup, a job in the background) are handed on too: the program ignores them, or has a handler.
 */
static void signals_take(struct launch_signals *s)
{
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < FORWARDED; i++)
        sigaddset(&set, forwarded[i]);
    sigprocmask(SIG_BLOCK, &set, &s->mask);
    for (int i = 0; i < FORWARDED; i++) {
        const int restart = forwarded[i] == SIGALRM ? 0 : SA_RESTART;
        struct sigaction action = {.sa_sigaction = launch_forward_signal,
                                   .sa_flags = SA_SIGINFO | restart};
        sigfillset(&action.sa_mask);
        sigaction(forwarded[i], &action, &s->old[i]);
    }
}

/* Signals after the first four are left to launch_forward_signal(), which does nothing without a program: orphans
 * may outlive it. */
static void signals_restore(const struct launch_signals *s)
{
    for (int i = 0; i < FORWARDED; i++)
        if (i < CONTROL || s->old[i].sa_handler == SIG_IGN)
            sigaction(forwarded[i], &s->old[i], NULL);
    sigprocmask(SIG_SETMASK, &s->mask, NULL);
}

static int is_text(const char *path)
{
    char head[4];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && read(fd, head, sizeof head) == sizeof head && memcmp(head, "\177ELF", 4);
}

/* Becomes the program: in the child, where a failure is left in *why. */
static void launch_exec(const char *path, char *const *argv, char *const *environment, int silent,
                        const struct launch_signals *s, volatile int *why)
{
    for (int i = 0; i < FORWARDED; i++)
        signal(forwarded[i], s->old[i].sa_handler == SIG_IGN ? SIG_IGN : SIG_DFL);
    file_limit_restore();
    if (silent) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        for (int fd = 0; null >= 0 && fd < 3; fd++)
            dup2(null, fd);
    }
    sigprocmask(SIG_SETMASK, &s->mask, NULL);
    execve(path, argv, environment);
    *why = errno;
    if (*why == ENOEXEC && is_text(path))
        execvpe(path, argv, environment); /* hands a script without "#!" to sh, as shells do */
}

/* If no process may be added (ulimit -u) the program takes this one over: it runs, recorded, and
 * nobody is left to analyse. Returns where even that fails. */
static void take_over(const char *path, char *const *argv, char *const *environment,
                      const struct launch_signals *s, volatile int *why)
{
    const char *folder = "";
    for (char *const *row = environment; *row; row++)
        if (!strncmp(*row, "TOMOPROF_CAPTURE_DIR=", 21))
            folder = *row + 21;
    log_warn("cannot start a second process: %s. The program is recorded in this one; "
             "tomoprof report %.*s analyses the recording",
             strerror(*why), (int)(strlen(folder) - strlen("/trace")), folder);
    launch_exec(path, argv, environment, 0, s, why);
}

/* Forks; this side waits until the other is the program, and a failure is told in memory that both
 * see: where few descriptors are allowed there are none for a pipe. */
static enum err launch_fork(const char *path, char *const *argv, char *const *environment,
                            int silent, const struct launch_signals *s)
{
    volatile int *why =
        mmap(NULL, sizeof *why, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    FAIL_IF(why == MAP_FAILED, ERR_MEMORY, "no memory to start a process");
    program = (pid_t)syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);
    if (program == 0) {
        launch_exec(path, argv, environment, silent, s, why);
        _exit(127);
    }
    int failed = program < 0 ? errno : 0;
    *why = failed ? failed : *why;
    if (failed == EAGAIN && !silent)
        take_over(path, argv, environment, s, why);
    int error = *why;
    munmap((void *)why, sizeof *why);
    FAIL_IF(failed, ERR_FAILED, "cannot start a process: %s", strerror(failed));
    if (error) {
        waitpid(program, NULL, 0);
        program = 0;
        return FAIL(ERR_INPUT, "%s: cannot be executed: %s", path, strerror(error));
    }
    return ERR_OK;
}

/* Standard input and output are the program's alone: the other ends of its pipes must see them
 * closed when it closes them. */
static void launch_close_streams(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return;
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    close(null);
}

/* A program that stops itself stops us too, so that the shell sees it. SIGCONT to one of the two
 * continues both. */
static void stop_too(void)
{
    siginfo_t info = {0};
    poll(NULL, 0, 20); /* one that is being continued at this moment is stopped no more */
    if (waitid(P_PID, (id_t)program, &info, WSTOPPED | WNOHANG | WNOWAIT) || !info.si_pid)
        return;
    waitid(P_PID, (id_t)program, &info, WSTOPPED | WNOHANG);
    job_stop_with(program);
}

static void add_account(struct record_end *out, const struct rusage *use)
{
    out->user_s += (double)use->ru_utime.tv_sec + (double)use->ru_utime.tv_usec * 1e-6;
    out->system_s += (double)use->ru_stime.tv_sec + (double)use->ru_stime.tv_usec * 1e-6;
}

#define TICK_US 100000 /* the library looks at the clock 20 times a second */

/* SIGALRM ends the waiting below, again and again: one that comes just before it is not missed. */
static void set_alarm(double seconds)
{
    struct itimerval t = {0};
    if (seconds > 0) {
        t.it_interval.tv_usec = TICK_US;
        t.it_value.tv_sec = (time_t)seconds;
        t.it_value.tv_usec = (suseconds_t)(1e6 * (seconds - (double)(time_t)seconds)) + 1;
    }
    setitimer(ITIMER_REAL, &t, NULL);
}

/* Returns the use of the program and its ended children by now. */
static struct record_end used_by_now(double seconds)
{
    struct record_end e = {.wall_s = seconds, .pid = program};
    char path[64];
    unsigned long long ticks[4] = {0}, pages = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)program);
    FILE *f = fopen(path, "re");
    if (f &&
        fscanf(f, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu",
               &ticks[0], &ticks[1], &ticks[2], &ticks[3]) == 4) {
        e.user_s = (double)(ticks[0] + ticks[2]) / (double)sysconf(_SC_CLK_TCK);
        e.system_s = (double)(ticks[1] + ticks[3]) / (double)sysconf(_SC_CLK_TCK);
        e.own_user_s = (double)ticks[0] / (double)sysconf(_SC_CLK_TCK);
        e.own_system_s = (double)ticks[1] / (double)sysconf(_SC_CLK_TCK);
    }
    if (f)
        fclose(f);
    snprintf(path, sizeof path, "/proc/%d/statm", (int)program);
    f = fopen(path, "re");
    if (f && fscanf(f, "%*u %llu", &pages) == 1)
        e.peak_rss_bytes = (int64_t)(pages * (unsigned long long)sysconf(_SC_PAGESIZE));
    if (f)
        fclose(f);
    return e;
}

/* Waits for the program; orphans that end meanwhile are reaped for it. */
static enum err wait_for_it(const struct record_until *until, struct record_end *out)
{
    const int64_t begin = clock_ns();
    const int limited = until && until->seconds > 0;
    int over = 0; /* the recording */
    for (;;) {
        if (limited && !over && clock_seconds_since(begin) >= until->seconds + 3e-6 * TICK_US) {
            over = 1;
            set_alarm(0);
            *out = used_by_now(until->seconds);
            until->ended(until->context, out);
        }
        siginfo_t info = {0};
        struct rusage use;
        int status;
        if (waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOWAIT)) {
            FAIL_IF(errno != EINTR, ERR_FAILED, "cannot wait for the program: %s", strerror(errno));
            continue;
        }
        if (info.si_code == CLD_STOPPED || info.si_code == CLD_TRAPPED) {
            if (info.si_pid == program)
                stop_too();
            else
                waitid(P_PID, (id_t)info.si_pid, &info, WSTOPPED | WNOHANG);
            continue;
        }
        if (info.si_pid == program && !over)
            record_own_account(program, &out->own_user_s, &out->own_system_s);
        pid_t ended = wait4(info.si_pid, &status, WNOHANG, &use);
        if (ended > 0 && !over)
            add_account(out, &use);
        if (ended != program)
            continue;
        if (limited && !over)
            set_alarm(0);
        out->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        out->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
        if (over)
            return ERR_OK; /* times and memory are those of the recording */
        out->peak_rss_bytes = (int64_t)use.ru_maxrss * 1024;
        return ERR_OK;
    }
}

/* Number of processes that outlive the program, after a moment for those that are about to end. */
static int launch_wait_descendants(struct record_end *out)
{
    int64_t begin = clock_ns();
    struct rusage use;
    pid_t got;
    while ((got = wait4(-1, NULL, WNOHANG, &use)) >= 0 &&
           clock_seconds_since(begin) < LINGER_MS * 1e-3)
        if (got)
            add_account(out, &use);
        else
            poll(NULL, 0, 5);
    if (got < 0)
        return 0;
    char path[64];
    int left = 0, child;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "re");
    while (f && fscanf(f, "%d", &child) == 1)
        left++;
    if (f)
        fclose(f);
    return left ? left : 1;
}

enum err record_launch(const char *path, char *const *argv, char *const *environment, int silent,
                       const struct record_until *until, struct record_end *out)
{
    struct launch_signals signals;
    *out = (struct record_end){0};
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signals_take(&signals);
    if (until && until->stop && *until->stop) { /* from here on signals wait for the program */
        signals_restore(&signals);
        return FAIL(ERR_INTERRUPTED, "interrupted before %s began", path);
    }
    witness_begin();
    int64_t begin = clock_ns();
    enum err e = launch_fork(path, argv, environment, silent, &signals);
    out->pid = program;
    sigprocmask(SIG_SETMASK, &signals.mask, NULL);
    if (!e && !silent)
        launch_close_streams();
    if (!e && until)
        set_alarm(until->seconds);
    if (!e)
        e = wait_for_it(until, out);
    program = 0;
    struct record_end later,
        *account = out->wall_s > 0 ? &later : out; /* the recording ended first */
    if (account == out)
        out->wall_s = clock_seconds_since(begin);
    signals_restore(&signals);
    witness_end();
    if (!e)
        out->left_running = launch_wait_descendants(account);
    return e;
}
