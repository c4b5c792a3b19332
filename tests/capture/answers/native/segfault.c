/* Works, then reads through a null pointer. */
#include <stdio.h>

#include "spin.h"
#include "truth.h"

struct volume {
    double *voxels;
};

__attribute__((noinline)) static double first(const struct volume *v)
{
    return v->voxels[0]; // truth: first
}

int main(int argc, char **argv)
{
    double x = argc;
    struct volume v = {argv[argc] ? &x : NULL};
    truth_begin("work");
    SPIN(x, 200000000L); // truth: work
    truth_end("work");
    truth_write();
    printf("%g\n", first(&v));
    return 0;
}
