/* Steps on volumes around a reconstruction, as plain data that every back end computes: one array
 * in, one out. Compiles as C17 and as CUDA C++17. */
#ifndef TP_BACKEND_VOLUME_H
#define TP_BACKEND_VOLUME_H

#include <stdint.h>

/* NaN of the input are in no statistic, and stay NaN in float results. */
enum volume_kind {
    VOLUME_MAP,     /* of a box: (x - mean) / std, or x - low over the range, or x itself */
    VOLUME_PLACE,   /* crop, pad with 0, flip, exchange axes */
    VOLUME_NEAREST, /* resampling: voxels at half-pixel centres, edges repeated */
    VOLUME_LINEAR,
    VOLUME_HALVE /* means of 2x2x2 voxels, of those there are where a size is odd */
};
/* std is that of the population, 0: everything becomes 0. A range of 0: everything becomes `low`.
 */
enum volume_norm { VOLUME_AS_IS, VOLUME_Z_NORM, VOLUME_RESCALE };
/* Conversion rounds to the nearest, to even between two, and saturates; NaN becomes 0 in integers.
 */
enum volume_dtype { VOLUME_F32, VOLUME_F16, VOLUME_BF16, VOLUME_I16, VOLUME_U8 };

struct volume_step {
    enum volume_kind kind;
    int64_t in[3], out[3]; /* shapes, last dimension fastest */
    /* Along dimension a of the result, voxel i is voxel start[a] + turn[a] * i along dimension
     * from[a] of the input. MAP: from and turn are not read. */
    int64_t start[3];
    int from[3], turn[3]; /* turn: 1, or -1 */
    enum volume_norm norm;
    double low, high; /* of VOLUME_RESCALE */
    enum volume_dtype dtype;
};

static inline int64_t volume_step_voxels(const int64_t shape[3])
{
    return shape[0] * shape[1] * shape[2];
}

static inline int volume_dtype_bytes(enum volume_dtype t)
{
    return t == VOLUME_F32 ? 4 : t == VOLUME_U8 ? 1 : 2;
}

/* Bytes that must cross main memory at least once: of the input those that the result needs. */
double volume_step_bytes(const struct volume_step *s);
/* Floating-point operations of an ideal machine. */
double volume_step_flops(const struct volume_step *s);

/* Returns the value of element i of an array of that type. */
double volume_value(enum volume_dtype t, const void *array, int64_t i);
/* Reads the n voxels from `from` on. */
void volume_values(enum volume_dtype t, const void *array, int64_t from, int64_t n, double *out);

/* Numbers to subtract, multiply by and add, and the bounds: found by a first pass over a box. */
struct volume_map {
    float less, factor, plus, low, high;
};
struct volume_moments {
    double count, mean, squares; /* squares: sum of (x - mean)^2 */
};
/* Counts n values x with s = sum(x - k) and q = sum((x - k)^2) in. */
void volume_moments_add(struct volume_moments *m, double k, double n, double s, double q);
struct volume_map volume_map_z_norm(const struct volume_moments *m);
/* low > high: there was no value. */
struct volume_map volume_map_rescale(const struct volume_step *s, float low, float high);

/* `count` slices of an array of `slices`, from slice `first` on: copied to an array of them alone,
 * or that one put into their place, or added there (each pixel once then). */
enum slices_way { SLICES_TAKE, SLICES_PUT, SLICES_ADD };
struct slices_move {
    enum slices_way how;
    int64_t slices, first, count;
};

#endif
