/* Sums a matrix column by column, so that each number comes from another cache line.
 *
 *     cc -O2 -g examples/transpose.c -o transpose */
#include <stdio.h>
#include <stdlib.h>

enum { N = 3000 };

static double column_sums(const double *a)
{
    double sum = 0;
    for (int c = 0; c < N; c++)
        for (int r = 0; r < N; r++)      /* slow */
            sum += a[(size_t)r * N + c]; /* slow */
    return sum;
}

int main(void)
{
    double *a = malloc(sizeof *a * N * N), sum = 0;
    if (!a)
        return 1;
    for (size_t i = 0; i < (size_t)N * N; i++)
        a[i] = (double)(i % 7);
    for (int k = 0; k < 30; k++)
        sum += column_sums(a);
    printf("%g\n", sum);
    free(a);
    return 0;
}
