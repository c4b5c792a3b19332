/* Loops over spans of a volume, once per instruction set. */
#ifndef TP_CPU_VOLUME_VOLUME_KERNEL_H
#define TP_CPU_VOLUME_VOLUME_KERNEL_H

#include <stdint.h>

#include "host/backend/volume.h"
#include "host/cpu/common/isa.h"

/* Sums over floats x, without NaN: how many, sum of x - k and of its square. */
struct volume_sums {
    double count, sum, squares;
};

/* How one thread writes its rows, one after another. Past the caches, a vector in which a row ends
 * waits here for the row that follows: a line that is written in parts costs many times its time.
 */
struct volume_line {
    float v[16];
    int first;     /* of them, those from here on are the writer's own */
    int stream;    /* past the caches */
    int64_t ahead; /* floats from what is read now to what is read soon */
};

/* Prefetches this far `ahead` where rows of the source lie behind each other: the hardware
 * prefetcher stops at the end of each page, and where rows are left out. Nearest voxels at 256^3,
 * one thread: 4.2 ms in place of 14. */
#define VOLUME_FETCH 1024

/* Places and weights that `pick` reads behind the last one: repetitions of it. */
#define VOLUME_AHEAD 16

/* `count` rows of the result that lie between two slices of `columns` rows of n floats: `t` behind
 * the first slice, and weight[k] behind row at[k]. */
struct volume_between {
    const float *slice[2];
    float t;
    int count;
    int64_t columns, n, ahead; /* ahead: floats to what is read soon */
    const int32_t *at;
    const float *weight;
};

/* out of any alignment. n >= 0. */
struct volume_kernels {
    struct volume_sums (*sums)(const float *x, int64_t n, double k);
    /* *low and *high are widened; NaN is passed over. */
    void (*range)(const float *x, int64_t n, float *low, float *high);
    /* stream: past the caches. */
    void (*map)(const float *x, int64_t n, const struct volume_map *m, enum volume_dtype t,
                void *out, int stream);
    /* Rows of one thread's part of the result, each where the last one ended: begin, rows, end. */
    void (*begin)(struct volume_line *line, const float *out);
    void (*copy)(const float *x, int64_t n, float *out, struct volume_line *line);
    /* out[i] = x[n - 1 - i] */
    void (*reverse)(const float *x, int64_t n, float *out, struct volume_line *line);
    void (*zero)(int64_t n, float *out, struct volume_line *line);
    /* out[i] = x[at[i]] + t[i] (x[at[i] + 1] - x[at[i]]); NULL t: x[at[i]]. `at` ascends. */
    void (*pick)(const float *x, const int32_t *at, const float *t, int64_t n, float *out,
                 struct volume_line *line);
    /* The same where at[i] - at[i / 16 * 16], `behind`, is at most 30 and x has 32 floats more. */
    void (*pick_close)(const float *x, const int32_t *at, const int32_t *behind, const float *t,
                       int64_t n, float *out, struct volume_line *line);
    /* The same of rows between others, one behind the other, where at[i + width - 1] - at[i] is at
     * most width - 2. stream: past the caches; rows begin a vector then. */
    void (*between)(const struct volume_between *b, const int32_t *at, const float *t, int64_t n,
                    float *out, int stream);
    int width; /* floats of a vector; 0: `between` is not to be called */
    void (*end)(struct volume_line *line, float *out);
    /* a + t (b - a) */
    void (*blend)(const float *a, const float *b, float t, int64_t n, float *out);
    /* Means of pairs along 1, 2 or 4 rows of n floats: (n + 1) / 2 of them. */
    void (*halve)(const float *const *rows, int count, int64_t n, float *out);
    void (*fence)(void);
};
ISA_TABLES(volume_kernels);

/* Short rows of a box, once per instruction set. */

#define BOX_LEAST 16 /* floats of a row: a vector of any set */

struct box_kernels {
    /* `count` rows of n floats, n >= BOX_LEAST, each `step` behind the one before it, to rows one
     * behind the other. */
    void (*rows)(const float *x, int64_t step, int64_t count, int64_t n, float *out);
};
ISA_TABLES(box_kernels);

#endif
