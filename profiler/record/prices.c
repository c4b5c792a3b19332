/* Measures what recording costs where no recorder can see it: before the library is loaded, after
 * its last record, in the kernel that copies and frees its pages, and on the way into a signal
 * handler and back. Pairs of runs of a shell, bare and recorded, on the machine of the run. */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "profiler/record/record.h"

extern char **environ;

enum { ROUNDS = 4, SIGNALS = 64, CHILDREN = 8 };
#define EIGHT(x) x x x x x x x x
#define LAUNCHER "TOMOPROF_CAPTURE_LAUNCHER="

/* A shell as the program that was started; as another process's child, which is asleep
 * (core/asleep.c); and started, with children. */
static const struct price_case {
    const char *script;
    int is_child;
} cases[] = {{":", 0}, {":", 1}, {EIGHT("(:);") ":", 0}};
enum { STARTED, LOADED, FORKING, CASES };

/* Returns CPU seconds of a shell with its children; below 0: it failed. */
static double script_run(const char *script, char *const *environment)
{
    char *const words[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)script, NULL};
    posix_spawn_file_actions_t files;
    struct rusage use;
    double spent = -1;
    pid_t pid;
    int status;
    if (posix_spawn_file_actions_init(&files))
        return -1;
    for (int fd = 0; fd < 3; fd++)
        posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
    if (!posix_spawn(&pid, "/bin/sh", &files, NULL, words, environment) &&
        wait4(pid, &status, 0, &use) == pid && !status)
        spent = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
    posix_spawn_file_actions_destroy(&files);
    return spent;
}

/* Names a launcher that is not the parent of what is run, or this process again. */
static void launcher_set(char *const *environment, int other)
{
    while (*environment && strncmp(*environment, LAUNCHER, strlen(LAUNCHER)))
        environment++;
    if (*environment && other)
        strcpy(*environment + strlen(LAUNCHER), getpid() == 1 ? "2" : "1");
    else if (*environment)
        sprintf(*environment + strlen(LAUNCHER), "%d", (int)getpid());
}

/* Returns 0 where a run failed. */
static int cases_measure(char *const *recorded, int count, double more[CASES])
{
    for (int i = 0; i < count; i++) {
        double least[2] = {1e9, 1e9};
        launcher_set(recorded, cases[i].is_child);
        for (int k = 0; k < 2 * ROUNDS; k++) {
            const double spent = script_run(cases[i].script, k & 1 ? recorded : environ);
            if (spent < 0)
                return 0;
            least[k & 1] = spent < least[k & 1] ? spent : least[k & 1];
        }
        more[i] = least[1] - least[0];
    }
    return 1;
}

static double at_least_nothing(double seconds)
{
    return seconds > 0 ? seconds : 0;
}

static void processes_measure(const struct record_settings *s, enum record_priced what,
                              struct record_prices *out)
{
    const int count = what == PRICED_START ? STARTED + 1 : CASES;
    double more[CASES];
    char **recorded, note[256];
    if (mkdir(s->folder, 0700))
        return;
    if (!record_environment(s, environ, &recorded, note)) {
        if (cases_measure(recorded, count, more)) {
            out->start_s = at_least_nothing(more[STARTED]);
            if (count == CASES) {
                out->fork_s = at_least_nothing((more[FORKING] - more[STARTED]) / CHILDREN);
                out->load_s = at_least_nothing(more[LOADED]);
            }
        }
        record_environment_free(recorded);
    }
    dir_remove(s->folder);
}

static void signal_ignore(int number)
{
    (void)number;
}

static double thread_seconds(void)
{
    struct timespec t = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double signal_measure(void)
{
    struct sigaction old, action = {.sa_handler = signal_ignore};
    const int number = SIGRTMAX;
    double least = 1e9;
    if (sigaction(number, &action, &old))
        return 0;
    for (int round = 0; round < ROUNDS; round++) {
        const double begin = thread_seconds();
        for (int i = 0; i < SIGNALS; i++)
            raise(number);
        const double each = (thread_seconds() - begin) / SIGNALS;
        least = each < least ? each : least;
    }
    sigaction(number, &old, NULL);
    return at_least_nothing(least);
}

void record_prices_measure(const struct record_settings *s, enum record_priced what,
                           struct record_prices *out)
{
    *out = (struct record_prices){.signal_s = signal_measure()};
    if (what != PRICED_SIGNALS)
        processes_measure(s, what, out);
}
