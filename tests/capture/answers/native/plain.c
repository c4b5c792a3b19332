/* Built without -g: two functions of its own over libm. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "truth.h"

__attribute__((noinline)) static double waves(double *v, int n)
{
    double s = 0;
    for (int k = 0; k < 60; k++)
        for (int i = 0; i < n; i++)
            s += v[i] = sin(i * 0.01 + k) + cos(v[i]);
    return s;
}

__attribute__((noinline)) static void order(double *v, int n)
{
    for (int gap = n / 2; gap; gap /= 2)
        for (int i = gap; i < n; i++)
            for (int j = i; j >= gap && v[j - gap] > v[j]; j -= gap) {
                double t = v[j];
                v[j] = v[j - gap];
                v[j - gap] = t;
            }
}

int main(void)
{
    enum { N = 500000 };
    double *v = calloc(N, sizeof *v);
    if (!v)
        return 1;
    truth_begin("waves");
    double s = waves(v, N);
    truth_end("waves");
    truth_begin("order");
    order(v, N);
    truth_end("order");
    printf("%g %g\n", s, v[7]);
    free(v);
    return 0;
}
