/* Loops over spans of a volume, once per instruction set. */
#ifndef TP_CPU_VOLUME_VOLUME_KERNEL_H
#define TP_CPU_VOLUME_VOLUME_KERNEL_H

#include <stdint.h>

#include "host/backend/volume.h"
#include "host/cpu/common/isa.h"

/* Of n floats x, without NaN: how many, sum of x - k and of its square. */
struct volume_sums {
    double count, sum, squares;
};

/* out of any alignment; stream: past the caches, with `fence` at the end of a thread's work. n >=
 * 0.
 */
#define VOLUME_AHEAD 32
struct volume_kernels {
    struct volume_sums (*sums)(const float *x, int64_t n, double k);
    /* *low and *high are widened; NaN is passed over. */
    void (*range)(const float *x, int64_t n, float *low, float *high);
    void (*map)(const float *x, int64_t n, const struct volume_map *m, enum volume_dtype t,
                void *out, int stream);
    void (*copy)(const float *x, int64_t n, float *out, int stream);
    /* out[i] = x[n - 1 - i] */
    void (*reverse)(const float *x, int64_t n, float *out, int stream);
    void (*zero)(int64_t n, float *out, int stream);
    /* out = a + t (b - a) */
    void (*blend)(const float *a, const float *b, float t, int64_t n, float *out);
    /* out[i] = x[at[i]] + t[i] (x[at[i] + 1] - x[at[i]]); NULL t: x[at[i]]. With t, up to
     * VOLUME_AHEAD floats behind x[at[i]] are read, and not used. */
    void (*pick)(const float *x, const int32_t *at, const float *t, int64_t n, float *out,
                 int stream);
    /* Means of pairs along 1, 2 or 4 rows of n floats: (n + 1) / 2 of them. */
    void (*halve)(const float *const *rows, int count, int64_t n, float *out);
    void (*fence)(void);
};
ISA_TABLES(volume_kernels);

#endif
