/* Footprints of pixels on detector channels: operators.md's tau(W, t), the overlap of a unit cell
 * with a box of width W. A channel coordinate near 1000 has an error of 6e-5 in float32: positions
 * are integers of 2^-shift channels, of which all kernels find the same bits. Parallel beams add
 * them up from the view's constants; cone beams work out the fan in float64, and what is no
 * position in float32, as weights are. */
#ifndef TP_CUDA_COMMON_FOOTPRINT_CUH
#define TP_CUDA_COMMON_FOOTPRINT_CUH

#include "cuda/common/cylinders.cuh"

/* A value that the compiler can neither see through nor work out again: it stays in a register. */
static __device__ inline int opaque_int(int x)
{
    asm("" : "+r"(x));
    return x;
}

struct footprint {
    int start;    /* first of the taps' channels, at most 1 + taps channels off the detector */
    float offset; /* of the position from it */
    float width, height; /* of the trapezoid: cells, and the path length through the voxel */
};

/* The vertical fan takes these from the horizontal one. */
struct fan_gain {
    double gain, inverse; /* magnification */
};

/* First channel of the taps around a position, to which 1 - taps / 2 is added already, and the
 * position from it on. */
static __device__ inline void footprint_place(const struct geometry &g, int64_t at,
                                              struct footprint *f)
{
    const int start = (int)(at >> 32) >> (g.shift - 32);
    const unsigned rest = (unsigned)((uint64_t)at >> (g.shift - 32));
    f->start = start < -g.taps ? -g.taps : start > g.channels ? g.channels : start;
    f->offset = (float)rest * 2.3283064365386963e-10f + g.first_offset; /* 2^-32 */
}

static __device__ inline struct footprint
parallel_footprint(const struct geometry &g, const struct parallel_pose &v, struct pixel_ij at)
{
    const uint64_t to = (uint64_t)v.from + (uint64_t)v.along_i * (unsigned)at.i +
                        (uint64_t)v.along_j * (unsigned)at.j;
    struct footprint f;
    f.width = v.width;
    f.height = v.height;
    footprint_place(g, (int64_t)to, &f);
    return f;
}

/* 1 / x and 1 / sqrt(x) of normal float32 numbers, within 1e-7. */
static __device__ inline float reciprocal_of(float x)
{
    const float y = reciprocal_approx(x);
    return (1 - x * y) * y + y;
}

static __device__ inline float inverse_root_of(float x)
{
    const float y = rsqrt_approx(x);
    return (0.5f - 0.5f * x * y * y) * y + y;
}

/* Finds the middle of a pixel's shadow, in channels from that of the detector. flat: on the flat detector
 * through the middle of a curved one. */
static __device__ inline double cone_channel(const struct geometry &g, const struct cone_pose &v,
                                             struct pixel_ij at, struct fan_gain *fan, double *flat)
{
    const double i = (double)at.i, j = (double)at.j;
    const double x = fma(v.x_j, j, fma(v.x_i, i, v.x)); /* in channels at magnification 1 */
    const double inverse = fma(v.gain_j, j, fma(v.gain_i, i, v.gain));
    const double gain = reciprocal_newton(inverse);
    *fan = fan_gain{gain, inverse};
    *flat = gain * x;
    return g.curved ? g.fan_channels * atan2(x * g.inverse_fan_channels, inverse) : *flat;
}

static __device__ inline struct footprint cone_footprint(const struct geometry &g,
                                                         const struct cone_pose &v,
                                                         struct pixel_ij at, struct fan_gain *fan)
{
    double flat;
    const double u = cone_channel(g, v, at, fan, &flat);
    const float tangent = (float)flat * g.cell_tangent;
    const float root = tangent * tangent + 1, cosine = inverse_root_of(root);
    const float along = fabsf(v.cos + v.sin * tangent) * g.delta;
    const float across = fabsf(v.cos * tangent - v.sin) * g.shadow_row;
    const float shadow = (along > across ? along : across) * cosine;
    struct footprint f;
    f.width = (float)fan->gain * shadow * g.inverse_cell * (g.curved ? 1 : root * cosine);
    f.height = g.pixel_area * reciprocal_of(shadow);
    if (g.tilted)
        f.height *= v.stretch;
    footprint_place(g, (int64_t)fmin(fmax((u + g.first_centre) * g.scale, -g.furthest), g.furthest),
                    &f);
    return f;
}

static __device__ inline struct footprint cone_footprint_of(const struct geometry &g, int view,
                                                            int pixel, struct fan_gain *fan)
{
    return cone_footprint(g, g.view[view].cone, pixel_ij_of(g, pixel), fan);
}

static __device__ inline struct footprint parallel_footprint_of(const struct geometry &g, int view,
                                                                int pixel)
{
    return parallel_footprint(g, g.view[view].parallel, pixel_ij_of(g, pixel));
}

/* Returns the entry of A (or its square) of the horizontal fan in the channel at this distance. */
static __device__ inline float footprint_entry(const struct footprint &f, float distance, int power)
{
    float overlap = 0.5f * (f.width + 1) - fabsf(distance);
    overlap = fminf(fmaxf(overlap, 0.f), fminf(f.width, 1.f)) * f.height;
    return power == 2 ? overlap * overlap : overlap;
}

#endif
