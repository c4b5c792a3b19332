/* The program that the faults happen to: prints a line for each step and writes them to a file at
 * its end, the same for the same seed. target RESULT SEED FLAGS; flags: t threads, c a child, k a
 * child that waits to be killed, h handlers for signals, p a pause after each step, w waits for a
 * byte of input at its start, x executes itself at its end. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEPS 12

static volatile sig_atomic_t signals;
static char text[4096]; /* what the result file will hold */

static void on_signal(int number)
{
    (void)number;
    signals++;
}

__attribute__((noinline)) static unsigned long hash(unsigned long seed, int rounds)
{
    for (int i = 0; i < rounds; i++)
        seed = (seed ^ (unsigned long)i) * 0x9e3779b97f4a7c15ul + (seed >> 29);
    return seed;
}

static void *on_thread(void *p)
{
    unsigned long *value = p;
    for (int i = 0; i < 5; i++) {
        char *block = malloc(1000 + *value % 90000);
        *value = hash(*value, 100000) + (block != NULL);
        free(block);
    }
    return NULL;
}

static int write_result(const char *path)
{
    char part[4200];
    snprintf(part, sizeof part, "%s.part", path);
    FILE *f = fopen(part, "w");
    int bad = !f || fputs(text, f) < 0;
    bad |= f && fclose(f);
    bad |= !bad && rename(part, path);
    if (bad)
        fprintf(stderr, "result: %s\n", strerror(errno));
    return bad;
}

static void say(const char *what, unsigned long value)
{
    char line[64];
    snprintf(line, sizeof line, "%s %lx\n", what, value);
    strncat(text, line, sizeof text - strlen(text) - 1);
    fputs(line, stdout);
    fflush(stdout);
}

static void wait_for_child(pid_t pid)
{
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    say("child", (unsigned long)status);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 99;
    const char *flags = argv[3];
    unsigned long seed = strtoul(argv[2], NULL, 10), values[2] = {seed, seed + 1};
    static const int numbers[] = {SIGTERM, SIGHUP, SIGINT, SIGUSR1, SIGUSR2};
    struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && strchr(flags, 'h'); i++)
        sigaction(numbers[i], &act, NULL);
    say("ready", seed);
    if (strchr(flags, 'w'))
        getchar();
    pthread_t threads[2];
    int made = 0;
    for (; made < 2 && strchr(flags, 't'); made++)
        if (pthread_create(&threads[made], NULL, on_thread, &values[made]))
            return 98;
    pid_t child = strpbrk(flags, "ck") ? fork() : -1;
    if (child == 0) {
        for (int i = 0; strchr(flags, 'k') && i < 600; i++)
            nanosleep(&(struct timespec){0, 100000000}, NULL);
        _exit((int)(hash(seed, 300000) % 50));
    }
    for (unsigned long i = 0; i < STEPS; i++) {
        say("step", hash(seed + i, 60000));
        if (strchr(flags, 'p'))
            nanosleep(&(struct timespec){0, 3000000}, NULL);
    }
    for (int i = 0; i < made; i++) {
        pthread_join(threads[i], NULL);
        say("thread", values[i]);
    }
    if (child > 0)
        wait_for_child(child);
    if (strchr(flags, 'h')) {
        for (int i = 0; i < 3000 && !signals; i++) /* the one that is on its way */
            nanosleep(&(struct timespec){0, 10000000}, NULL);
        say("signals", (unsigned long)signals);
    }
    if (strchr(flags, 'x'))
        execl(argv[0], argv[0], argv[1], argv[2], "p", (char *)0);
    return write_result(argv[1]) ? 97 : (int)(seed % 90);
}
