/* Built with -pg: the timer and the counters of gprof run beside. */
#include "spin.h"
#include "truth.h"
#include <stdio.h>

__attribute__((noinline)) static double small(double x, int n)
{
    SPIN(x, n);
    return x;
}

int main(void)
{
    double x = 1;
    truth_begin("calls");
    for (int i = 0; i < 20000000; i++)
        x = small(x, 4); /* inclusive: calls */
    truth_end("calls");
    truth_begin("loop");
    SPIN(x, 400000000); /* truth: loop */
    truth_end("loop");
    printf("%.6f\n", x);
    return 0;
}
