/* OpenMP with 32 threads on every machine, in parallel regions that are short. */
#include <omp.h>
#include <stdio.h>

#include "truth.h"

enum { N = 20000, ROUNDS = 2500 };
static double image[N];

static void filter(int round)
{
#pragma omp parallel for num_threads(32)
    for (int i = 0; i < N; i++)                                   // truth: filter
        image[i] = image[i] * 0.99 + 1.0 / (1.0 + i % 7 + round); // truth: filter
}

int main(void)
{
    truth_begin("filter");
    for (int round = 0; round < ROUNDS; round++)
        filter(round);
    truth_end("filter");
    printf("%g\n", image[7]);
    return 0;
}
