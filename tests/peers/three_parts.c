/* A program whose truth is simple: three functions with fixed amounts of arithmetic (6 : 3 : 1),
 * one wait between them, an NVTX range around each. Every profiler that side_by_side.py compares
 * records it. */
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

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 1000000, rounds = argc > 2 ? atol(argv[2]) : 10;
    for (long i = 0; i < rounds; i++) {
        nvtxRangePushA("round");
        nvtxRangePushA("project");
        project(n);
        nvtxRangePop();
        nvtxRangePushA("filter");
        filter(n);
        nvtxRangePop();
        nvtxRangePushA("rest");
        rest(20);
        nvtxRangePop();
        correct(n);
        nvtxRangePop();
    }
    printf("%.3f\n", sink);
    return 0;
}
