/* A share of a tree of processes: built with glibc, statically, and with musl. */
#include "spin.h"
#include "truth.h"
#include <stdio.h>

int main(int argc, char **argv)
{
    double x = argc;
    truth_begin(argc > 1 ? argv[1] : "alone");
    SPIN(x, 300000000); /* truth: dynamic */
    truth_end(argc > 1 ? argv[1] : "alone");
    printf("%s %.6f\n", argc > 1 ? argv[1] : "", x);
    return 0;
}
