/* Works at the bottom of 3,000 calls, from two lines of main. */
#include "spin.h"
#include "truth.h"
#include <stdio.h>

static volatile double sink;

__attribute__((noinline)) static int descend(int depth, long n)
{
    if (!depth) {
        double x = 1;
        SPIN(x, n);
        sink = x;
        return 1;
    }
    int below = descend(depth - 1, n);
    sink += below; /* or the compiler makes a loop of it */
    return below + 1;
}

int main(void)
{
    int n = 0;
    for (int i = 0; i < 250; i++) {
        truth_begin("seven");
        n += descend(3000, 7000000); /* inclusive: seven */
        truth_end("seven");
        truth_begin("three");
        n += descend(3000, 3000000); /* inclusive: three */
        truth_end("three");
    }
    printf("%d\n", n);
    return 0;
}
