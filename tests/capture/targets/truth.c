/* CPU time of known shares in three functions, sleep beside work, two threads: prints what it did
 * as JSON. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The same loop under several names. */
#define WORKER(name)                                                                               \
    __attribute__((noinline, noclone)) unsigned name(unsigned x)                                   \
    {                                                                                              \
        for (int i = 0; i < 50000; i++)                                                            \
            x = x * 1664525u + 1013904223u;                                                        \
        __asm__ volatile("# " #name : "+r"(x));                                                    \
        return x;                                                                                  \
    }
WORKER(seventy)
WORKER(twenty)
WORKER(ten)
WORKER(alone)

static int shares(void)
{
    unsigned dice = 1, x = 0;
    int calls[3] = {0, 0, 0};
    double begin = seconds(CLOCK_THREAD_CPUTIME_ID), end = begin + 3;
    while (seconds(CLOCK_THREAD_CPUTIME_ID) < end) {
        for (int i = 0; i < 50;
             i++) { /* in random order: nothing keeps step with the kernel's tick */
            dice = dice * 1664525u + 1013904223u;
            unsigned percent = (dice >> 8) % 100;
            int which = percent < 70 ? 0 : percent < 90 ? 1 : 2;
            calls[which]++;
            x = which == 0 ? seventy(x) : which == 1 ? twenty(x) : ten(x);
        }
    }
    return printf("{\"cpu\": %.6f, \"calls\": [%d, %d, %d], \"x\": %u}\n",
                  seconds(CLOCK_THREAD_CPUTIME_ID) - begin, calls[0], calls[1], calls[2], x) < 0;
}

/* For which this thread waited for a CPU. */
static double queued(void)
{
    unsigned long long ns = 0;
    FILE *f = fopen("/proc/thread-self/schedstat", "r");
    if (f && fscanf(f, "%*u %llu", &ns) != 1)
        ns = 0;
    if (f)
        fclose(f);
    return 1e-9 * (double)ns;
}

/* usleep lasts longer by the time that one who is woken waits for a CPU: that is not sleep. */
static int sleeps(void)
{
    double cpu = 0, asleep = 0, before = queued();
    unsigned x = 0;
    for (int i = 0; i < 6; i++) {
        double begin = seconds(CLOCK_THREAD_CPUTIME_ID);
        while (seconds(CLOCK_THREAD_CPUTIME_ID) < begin + 0.1)
            x = alone(x);
        cpu += seconds(CLOCK_THREAD_CPUTIME_ID) - begin;
        double waited = queued();
        begin = seconds(CLOCK_MONOTONIC);
        usleep(150000);
        asleep += seconds(CLOCK_MONOTONIC) - begin;
        asleep -= queued() - waited;
    }
    return printf("{\"cpu\": %.6f, \"asleep\": %.6f, \"queued\": %.6f, \"x\": %u}\n", cpu, asleep,
                  queued() - before, x) < 0;
}

static void *one(void *p)
{
    unsigned x = 0;
    double end = seconds(CLOCK_THREAD_CPUTIME_ID) + 0.5;
    while (seconds(CLOCK_THREAD_CPUTIME_ID) < end)
        for (int i = 0; i < 20; i++)
            x = p ? seventy(x) : twenty(x);
    return (void *)syscall(SYS_gettid);
}

static int threads(void)
{
    pthread_t t[2];
    void *id[2];
    char name[] = "first";
    pthread_create(&t[0], NULL, one, name);
    pthread_setname_np(t[0], "named");
    pthread_create(&t[1], NULL, one, NULL);
    pthread_join(t[0], &id[0]);
    pthread_join(t[1], &id[1]);
    return printf("{\"seventy\": %ld, \"twenty\": %ld}\n", (long)id[0], (long)id[1]) < 0;
}

struct brief {
    double each, cpu; /* seconds */
};

static void *one_brief(void *p)
{
    struct brief *b = p;
    unsigned x = 0;
    double now;
    while ((now = seconds(CLOCK_THREAD_CPUTIME_ID)) < b->each)
        x = ten(x);
    b->cpu += now;
    return NULL;
}

static int brief(int n, double each)
{
    struct brief b = {each, 0};
    for (int i = 0; i < n; i++) {
        pthread_t t;
        pthread_create(&t, NULL, one_brief, &b);
        pthread_join(t, NULL);
    }
    return printf("{\"cpu\": %.6f}\n", b.cpu) < 0;
}

static void *wait_here(void *p)
{
    usleep(300000);
    return p;
}

static void *naps_here(void *slept)
{
    double begin = seconds(CLOCK_MONOTONIC);
    usleep(800000);
    *(double *)slept = seconds(CLOCK_MONOTONIC) - begin;
    return NULL;
}

/* A thread that ends after a sleep, and a program that does. */
static int naps(void)
{
    pthread_t t;
    double slept = 0, begin = seconds(CLOCK_MONOTONIC);
    pthread_create(&t, NULL, naps_here, &slept);
    pthread_join(t, NULL);
    usleep(800000);
    return printf("{\"thread\": %.6f, \"main\": %.6f}\n", slept, seconds(CLOCK_MONOTONIC) - begin) <
           0;
}

static int memory(void)
{
    pthread_t t[100];
    char line[128];
    long peak = 0; /* of this program: getrusage's is that of the one that made it, too */
    for (int i = 0; i < 100; i++)
        pthread_create(&t[i], NULL, wait_here, NULL);
    for (int i = 0; i < 100; i++)
        pthread_join(t[i], NULL);
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        sscanf(line, "VmHWM: %ld", &peak);
    return printf("{\"peak_kib\": %ld}\n", peak) < 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    return !strcmp(what, "shares")    ? shares()
           : !strcmp(what, "sleeps")  ? sleeps()
           : !strcmp(what, "threads") ? threads()
           : !strcmp(what, "brief")   ? brief(300, 0.002)
           : !strcmp(what, "blink")   ? brief(6000, 0.0004)
           : !strcmp(what, "naps")    ? naps()
           : !strcmp(what, "memory")  ? memory()
                                      : 2;
}
