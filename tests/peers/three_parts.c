/* A program whose truth is simple: three functions with fixed amounts of arithmetic (6 : 3 : 1),
 * one wait between them, an NVTX range around each. Every profiler that side_by_side.py compares
 * records it. With a third word it writes its own clock into that file: of each range the sum of
 * the times just within it and just around it, in ns, and how long main was asleep: neither on a
 * CPU nor ready for one, by the kernel's counts. */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile double sink;

__attribute__((noinline)) static void work(long n)
{
    double x = 1;
    for (long i = 0; i < n; i++)
        x = x * 1.0000001 + 1e-9;
    sink = x;
}

__attribute__((noinline)) void project(long n)
{
    work(6 * n);
    sink += 1; /* not a tail call */
}

__attribute__((noinline)) void filter(long n)
{
    work(3 * n);
    sink += 1;
}

__attribute__((noinline)) void correct(long n)
{
    work(n);
    sink += 1;
}

__attribute__((noinline)) static void rest(long milliseconds)
{
    const struct timespec t = {0, milliseconds * 1000000};
    nanosleep(&t, NULL);
    sink += 1;
}

enum { ROUND, PROJECT, FILTER, REST, RANGES };
static const char *const names[RANGES] = {"round", "project", "filter", "rest"};
static long long inside[RANGES], around[RANGES];

static long long clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long long now(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

static long long asleep_ns(void)
{
    long long on_cpu, waited = 0;
    FILE *f = fopen("/proc/thread-self/schedstat", "r");
    if (!f || fscanf(f, "%lld %lld", &on_cpu, &waited) != 2)
        exit(1);
    fclose(f);
    return now() - clock_ns(CLOCK_THREAD_CPUTIME_ID) - waited;
}

static void begin(int range)
{
    around[range] -= now();
    nvtxRangePushA(names[range]);
    inside[range] -= now();
}

static void end(int range)
{
    inside[range] += now();
    nvtxRangePop();
    around[range] += now();
}

static void own_clock(const char *path, long long asleep)
{
    FILE *f = fopen(path, "w");
    for (int i = 0; f && i < RANGES; i++)
        fprintf(f, "%s %lld %lld\n", names[i], inside[i], around[i]);
    if (!f || fprintf(f, "asleep %lld %lld\n", asleep, asleep) < 0 || fclose(f))
        exit(1);
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 1000000, rounds = argc > 2 ? atol(argv[2]) : 10;
    long long before = argc > 3 ? asleep_ns() : 0;
    for (long i = 0; i < rounds; i++) {
        begin(ROUND);
        begin(PROJECT);
        project(n);
        end(PROJECT);
        begin(FILTER);
        filter(n);
        end(FILTER);
        begin(REST);
        rest(20);
        end(REST);
        correct(n);
        end(ROUND);
    }
    if (argc > 3)
        own_clock(argv[3], asleep_ns() - before);
    printf("%.3f\n", sink);
    return 0;
}
