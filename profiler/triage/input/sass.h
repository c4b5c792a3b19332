/* Static mix of instructions of GPU kernels, as cuda/sass.py --json counts it: of the busiest inner
 * loop, how many of each kind. */
#ifndef TP_TRIAGE_INPUT_SASS_H
#define TP_TRIAGE_INPUT_SASS_H

#include "base/err.h"
#include "profiler/triage/model/primitive.h"

#define SASS_KINDS(X)                                                                              \
    X(float32)                                                                                     \
    X(float64)                                                                                     \
    X(special) X(loads) X(stores) X(shared) X(shuffles) X(branches) X(integer) X(other) X(flops)
struct sass_mix {
#define X(name) double name;
    SASS_KINDS(X)
#undef X
};

struct sass_kernel {
    char *kernel;
    double registers; /* NAN unknown */
    struct sass_mix loop;
};
struct sass {
    struct sass_kernel *kernels; /* NULL: none */
    int count;
    char arch[16]; /* "" unknown */
};

/* ERR_INPUT when it is not such a file. */
enum err sass_read(const char *path, struct sass *out);
void sass_free(struct sass *s);

/* Returns, of the kernels that fit a primitive's names, the one with most arithmetic; NULL none. */
const struct sass_kernel *sass_find(const struct sass *s, const struct primitive *p);
/* This project's own kernels for sm_90; *units: of the primitive in a trip of the loop, NAN
 * unknown. */
const struct sass_kernel *sass_own(const struct primitive *p, double *units);

double sass_total(const struct sass_mix *m); /* instructions */

#endif
