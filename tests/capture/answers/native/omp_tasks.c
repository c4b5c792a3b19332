/* OpenMP tasks: a tree of them with the work in its leaves. */
#include <stdio.h>

#include "spin.h"
#include "truth.h"

static double leaf(void)
{
    double x = 1;
    truth_begin("leaf");
    SPIN(x, 6000000L); // truth: leaf
    truth_end("leaf");
    return x;
}

static double tree(int depth)
{
    double a = 0, b = 0;
    if (!depth)
        return leaf();
#pragma omp task shared(a)
    a = tree(depth - 1);
#pragma omp task shared(b)
    b = tree(depth - 1);
#pragma omp taskwait
    return a + b;
}

int main(void)
{
    double s = 0;
#pragma omp parallel
#pragma omp single
    s = tree(7);
    printf("%g\n", s);
    return 0;
}
