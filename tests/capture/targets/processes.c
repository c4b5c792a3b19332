/* Makes N short children, one after another, and prints the least and the mean of what the kernel
 * says that one took, in us: `processes fork|write|exec|spawn N`. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void child(const char *kind)
{
    char *words[] = {"true", NULL};
    if (!strcmp(kind, "exec"))
        execv("/bin/true", words);
    if (!strcmp(kind, "write") && write(open("/dev/null", O_WRONLY), "line\n", 5) != 5)
        _exit(1);
    _exit(0);
}

int main(int n, char **arg)
{
    char *words[] = {"true", NULL};
    long rounds = n > 2 ? atol(arg[2]) : 0;
    double least = 1e9, sum = 0;
    for (long i = 0; i < rounds; i++) {
        struct rusage u;
        pid_t pid;
        int status;
        if (!strcmp(arg[1], "spawn")) {
            if (posix_spawn(&pid, "/bin/true", NULL, NULL, words, environ))
                return 1;
        } else if (!(pid = fork())) {
            child(arg[1]);
        }
        if (wait4(pid, &status, 0, &u) != pid || status)
            return 1;
        double us = 1e6 * (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
                    (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
        least = us < least ? us : least;
        sum += us;
    }
    if (!rounds)
        return 2;
    printf("{\"least\": %.0f, \"mean\": %.1f}\n", least, sum / (double)rounds);
    return 0;
}
