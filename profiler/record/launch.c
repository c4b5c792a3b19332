/* Runs the program: signals and its terminal reach it as in a bare run, its end is measured. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/base/clock.h"
#include "profiler/record/record.h"

/* After the program ends its helpers (multiprocessing's resource tracker, a pool) get this long. */
#define LINGER_MS 1000

static const int forwarded[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
#define FORWARDED (int)(sizeof forwarded / sizeof *forwarded)

static volatile pid_t program;

/* What the terminal sends (si_code > 0) reaches the whole foreground group, and the program with
 * it; what a process sends to this one is meant for the program. */
static void forward(int number, siginfo_t *info, void *context)
{
    (void)context;
    int saved = errno;
    if (info->si_code <= 0 && program > 0 && info->si_pid != program)
        kill(program, number);
    errno = saved;
}

struct launch_signals {
    struct sigaction old[FORWARDED];
    sigset_t mask;
};

/* Blocks the signals until the program is there to get them. */
static void signals_take(struct launch_signals *s)
{
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < FORWARDED; i++)
        sigaddset(&set, forwarded[i]);
    sigprocmask(SIG_BLOCK, &set, &s->mask);
    for (int i = 0; i < FORWARDED; i++) {
        struct sigaction action = {.sa_sigaction = forward, .sa_flags = SA_SIGINFO | SA_RESTART};
        sigaction(forwarded[i], NULL, &s->old[i]);
        if (s->old[i].sa_handler != SIG_IGN) /* nohup: the program ignores it too */
            sigaction(forwarded[i], &action, NULL);
    }
}

static void signals_give_back(const struct launch_signals *s)
{
    for (int i = 0; i < FORWARDED; i++)
        sigaction(forwarded[i], &s->old[i], NULL);
    sigprocmask(SIG_SETMASK, &s->mask, NULL);
}

static int is_text(const char *path)
{
    char head[4];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && read(fd, head, sizeof head) == sizeof head && memcmp(head, "\177ELF", 4);
}

/* In the child: never returns. */
static void become(const char *path, char *const *argv, char *const *environment, int silent,
                   const struct launch_signals *s, int report)
{
    for (int i = 0; i < FORWARDED; i++)
        if (s->old[i].sa_handler != SIG_IGN)
            signal(forwarded[i], SIG_DFL);
    if (silent) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        for (int fd = 0; null >= 0 && fd < 3; fd++)
            dup2(null, fd);
    }
    sigprocmask(SIG_SETMASK, &s->mask, NULL);
    execve(path, argv, environment);
    int why = errno;
    if (why == ENOEXEC && is_text(path))
        execvpe(path, argv, environment); /* hands a script without "#!" to sh, as shells do */
    while (write(report, &why, sizeof why) < 0 && errno == EINTR)
        ;
    _exit(127);
}

/* Forks; an exec that fails is an error here, told through a pipe that a good one closes. */
static enum err start(const char *path, char *const *argv, char *const *environment, int silent,
                      const struct launch_signals *s)
{
    int report[2], why = 0;
    FAIL_IF(pipe2(report, O_CLOEXEC), ERR_FAILED, "cannot make a pipe: %s", strerror(errno));
    program = fork();
    if (program == 0)
        become(path, argv, environment, silent, s, report[1]);
    int failed = program < 0 ? errno : 0;
    close(report[1]);
    ssize_t got = 0;
    while (!failed && (got = read(report[0], &why, sizeof why)) < 0 && errno == EINTR)
        ;
    close(report[0]);
    FAIL_IF(failed, ERR_FAILED, "cannot start a process: %s", strerror(failed));
    if (got == sizeof why) {
        waitpid(program, NULL, 0);
        program = 0;
        return FAIL(ERR_INPUT, "%s: cannot be executed: %s", path, strerror(why));
    }
    return ERR_OK;
}

/* Standard input and output are the program's alone: the other ends of its pipes must see them
 * closed when it closes them. */
static void let_go(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return;
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    close(null);
}

/* A program that stops itself stops us too, so that the shell sees it; continued by the terminal,
 * it is continued by us as well. */
static void stop_too(void)
{
    siginfo_t info = {0};
    poll(NULL, 0, 20); /* one that is being continued at this moment is stopped no more */
    if (waitid(P_PID, (id_t)program, &info, WSTOPPED | WNOHANG | WNOWAIT) || !info.si_pid)
        return;
    waitid(P_PID, (id_t)program, &info, WSTOPPED | WNOHANG);
    raise(SIGSTOP);
    kill(program, SIGCONT);
}

/* Waits for the program; orphans that end meanwhile are reaped for it. */
static enum err wait_for_it(struct record_end *out)
{
    for (;;) {
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
        if (wait4(info.si_pid, &status, WNOHANG, &use) != program)
            continue;
        out->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        out->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
        out->user_s = (double)use.ru_utime.tv_sec + (double)use.ru_utime.tv_usec * 1e-6;
        out->system_s = (double)use.ru_stime.tv_sec + (double)use.ru_stime.tv_usec * 1e-6;
        out->peak_rss_bytes = (int64_t)use.ru_maxrss * 1024;
        return ERR_OK;
    }
}

/* Number of processes that outlive the program, after a moment for those that are about to end. */
static int linger(void)
{
    int64_t begin = clock_ns();
    pid_t got;
    while ((got = waitpid(-1, NULL, WNOHANG)) >= 0 && clock_seconds_since(begin) < LINGER_MS * 1e-3)
        if (!got)
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
                       struct record_end *out)
{
    struct launch_signals signals;
    *out = (struct record_end){0};
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signals_take(&signals);
    int64_t begin = clock_ns();
    enum err e = start(path, argv, environment, silent, &signals);
    out->pid = program;
    sigprocmask(SIG_SETMASK, &signals.mask, NULL);
    if (!e && !silent)
        let_go();
    if (!e)
        e = wait_for_it(out);
    program = 0;
    out->wall_s = clock_seconds_since(begin);
    signals_give_back(&signals);
    if (!e)
        out->left_running = linger();
    return e;
}
