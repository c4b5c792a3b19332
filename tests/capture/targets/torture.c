/* Threads, forks, signals, exec, early ends, spawns and a daemon at once. Prints the same for the
 * same seed. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static volatile int stop;
static volatile unsigned long sink;

static void work(int n)
{
    for (int i = 0; i < n * 1000; i++)
        sink += (unsigned long)i * sink + 1;
}

static void *churn(void *p)
{
    work(20);
    for (int i = 0; i < 20; i++)
        free(malloc(1000 + i * 1000));
    return p;
}

static void *spawner(void *p)
{
    while (!stop) {
        pthread_t t[4];
        int made = 0;
        for (int i = 0; i < 4; i++)
            made += pthread_create(&t[i], NULL, churn, NULL) == 0;
        for (int i = 0; i < made; i++)
            pthread_join(t[i], NULL);
    }
    return p;
}

static volatile sig_atomic_t alarms;
static void on_alarm(int n)
{
    (void)n;
    alarms++;
}

static void check(int ok, const char *what)
{
    if (ok)
        return;
    printf("failed: %s (errno %d)\n", what, errno);
    fflush(stdout);
    _exit(99);
}

static int wait_for(pid_t pid)
{
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static void forks(char *self, unsigned seed)
{
    pid_t pid = fork();
    if (!pid) {
        work(20000);
        _exit(17);
    }
    int status = wait_for(pid);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 17, "fork and _exit");

    pid = fork();
    if (!pid) {
        pthread_t t;
        check(pthread_create(&t, NULL, churn, NULL) == 0, "thread in a child");
        pthread_join(t, NULL);
        exit(18);
    }
    status = wait_for(pid);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 18, "fork and exit");

    pid = fork();
    if (!pid) {
        execl("/nonexistent/program", "x", (char *)0);
        check(errno == ENOENT, "failed exec");
        execl(self, self, "child", "19", (char *)0);
        _exit(98);
    }
    status = wait_for(pid);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 19, "fork and exec");

    pid = fork();
    if (!pid)
        kill(getpid(), seed % 2 ? SIGKILL : SIGTERM);
    status = wait_for(pid);
    check(WIFSIGNALED(status) && WTERMSIG(status) == (seed % 2 ? SIGKILL : SIGTERM),
          "killed child");

    pid = vfork();
    if (!pid) {
        execle(self, self, "child", "20", (char *)0, environ);
        _exit(97);
    }
    status = wait_for(pid);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 20, "vfork and exec");

    pid = vfork();
    if (!pid)
        _exit(21);
    status = wait_for(pid);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 21, "vfork and _exit");

    char *argv[] = {self, (char *)"child", (char *)"22", NULL};
    check(posix_spawn(&pid, self, NULL, NULL, argv, environ) == 0, "posix_spawn");
    status = wait_for(pid);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 22, "spawned child");

    char command[4200];
    snprintf(command, sizeof command, "'%s' child 23", self);
    status = system(command);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 23, "system");
    snprintf(command, sizeof command, "'%s' print", self);
    FILE *p = popen(command, "r");
    char line[64] = "";
    check(p && fgets(line, sizeof line, p) && !strcmp(line, "printed\n"), "popen");
    check(pclose(p) == 0, "pclose");
}

static void daemonise(char *self)
{
    int ends[2];
    char text[8] = "";
    check(pipe(ends) == 0, "pipe");
    pid_t pid = fork();
    if (!pid) {
        setsid();
        if (fork())
            _exit(0);
        for (int fd = 3; fd < 1024; fd++)
            if (fd != ends[1])
                close(fd);
        dup2(ends[1], 4);
        work(20000); /* some samples after all is closed */
        char digit[2] = "4";
        execl(self, self, "daemon", digit, (char *)0);
        _exit(96);
    }
    check(wait_for(pid) == 0, "daemon's parent");
    close(ends[1]);
    ssize_t n, got = 0;
    while ((n = read(ends[0], text + got, sizeof text - 1 - (size_t)got)) > 0)
        got += n;
    check(!strcmp(text, "daemon"), "daemon's answer");
    close(ends[0]);
}

int main(int argc, char **argv)
{
    if (argc > 2 && !strcmp(argv[1], "child")) {
        work(5000);
        if (atoi(argv[2]) % 2)
            return atoi(argv[2]);
        _Exit(atoi(argv[2]));
    }
    if (argc > 2 && !strcmp(argv[1], "daemon"))
        return write(atoi(argv[2]), "daemon", 6) == 6 ? 0 : 1;
    if (argc > 1 && !strcmp(argv[1], "print"))
        return puts("printed") < 0;

    unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
    struct sigaction act = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval every = {{0, 3000}, {0, 1000 + (int)(seed % 7) * 500}};
    sigaction(SIGALRM, &act, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        check(pthread_create(&t[i], NULL, spawner, NULL) == 0, "pthread_create");
    forks(argv[0], seed);
    daemonise(argv[0]);
    stop = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    work(20000);
    check(alarms > 0, "alarms");
    every = (struct itimerval){0}; /* it would survive exec */
    setitimer(ITIMER_REAL, &every, NULL);
    puts("all done");
    fflush(stdout);
    if (seed % 3 == 0)
        return 40;
    if (seed % 3 == 1)
        quick_exit(40);
    execl(argv[0], argv[0], "child", "41", (char *)0);
    return 95;
}
