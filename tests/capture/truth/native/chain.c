/* Starts a program by vfork and by posix_spawn, then executes itself in place; each has its share
 * of the work. */
#define _GNU_SOURCE
#include "spin.h"
#include "truth.h"
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static double first(double x)
{
    truth_begin("first");
    SPIN(x, 400000000); /* truth: first */
    truth_end("first");
    return x;
}

static double child(double x)
{
    truth_begin("child");
    SPIN(x, 200000000); /* truth: child */
    truth_end("child");
    return x;
}

static double second(double x)
{
    truth_begin("second");
    SPIN(x, 300000000); /* truth: second */
    truth_end("second");
    return x;
}

int main(int argc, char **argv)
{
    int status;
    pid_t pid;
    if (argc > 1) {
        int is_child = strcmp(argv[1], "child") == 0;
        double x = is_child ? child(1) : second(1);
        printf("%s %.6f\n", argv[1], x);
        return is_child ? 3 : 4;
    }
    printf("first %.6f\n", first(1));
    fflush(stdout);
    pid = vfork();
    if (pid == 0) {
        execl(argv[0], argv[0], "child", (char *)NULL);
        _exit(1);
    }
    waitpid(pid, &status, 0);
    printf("%d\n", WEXITSTATUS(status));
    fflush(stdout);
    if (posix_spawn(&pid, argv[0], NULL, NULL, (char *[]){argv[0], "child", NULL}, environ))
        return 1;
    waitpid(pid, &status, 0);
    printf("%d\n", WEXITSTATUS(status));
    fflush(stdout);
    truth_write();
    execl(argv[0], argv[0], "second", (char *)NULL);
    return 1;
}
