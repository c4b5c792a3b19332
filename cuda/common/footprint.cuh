/* Footprints of pixels on detector channels: operators.md's tau(W, t), the overlap of a unit cell
 * with a box of width W. Positions in float64 (a channel coordinate near 1000 has an error of 6e-5
 * in float32), written with explicit fused operations so that every kernel finds the same bits;
 * weights in float32. */
#ifndef TP_CUDA_COMMON_FOOTPRINT_CUH
#define TP_CUDA_COMMON_FOOTPRINT_CUH

#include "cuda/common/projection.cuh"

/* A value that the compiler can neither see through nor work out again: it stays in a register. */
static __device__ inline int opaque(int x)
{
    asm("" : "+r"(x));
    return x;
}

struct footprint {
    double position;     /* on the axis of channels */
    float width, height; /* of the trapezoid: cells, and the path length through the voxel */
    double gain;         /* cone: magnification */
};

struct centre {
    double x, y;
};

static __device__ inline struct centre pixel_centre(const struct geometry &g, int pixel)
{
    const int i = pixel / g.cols, j = pixel - i * g.cols;
    return centre{g.delta * ((double)j - g.j0), g.delta_row * ((double)i - g.i0)};
}

static __device__ inline struct footprint
parallel_footprint(const struct geometry &g, const struct view_pose &v, struct centre at)
{
    const double c = v.cos * g.inverse_cell, s = v.sin * g.inverse_cell;
    const double along = fabs(v.cos) * g.delta, across = fabs(v.sin) * g.delta_row;
    const double shadow = along > across ? along : across;
    struct footprint f;
    f.position = fma(c, at.x, fma(-s, at.y, g.centre));
    f.width = (float)(shadow * g.inverse_cell);
    f.height = (float)(g.delta * g.delta_row * reciprocal(shadow));
    f.gain = 1;
    return f;
}

static __device__ inline struct footprint
cone_footprint(const struct geometry &g, const struct view_pose &v, struct centre at)
{
    const double x = fma(v.cos, at.x, -(v.sin * at.y)), y = fma(v.sin, at.x, v.cos * at.y);
    const double gain = reciprocal(fma(-y, g.inverse_d, g.inverse_m));
    const double tangent = g.curved ? x * reciprocal(g.source_iso - y) : gain * x * g.inverse_d;
    const double root = fma(tangent, tangent, 1.0);
    const double cosine = inverse_root(root), sine = tangent * cosine;
    const double along = fabs(fma(v.cos, cosine, v.sin * sine)) * g.delta;
    const double across = fabs(fma(v.sin, cosine, -(v.cos * sine))) * g.delta_row;
    const double shadow = along > across ? along : across;
    const double u = g.curved ? g.source_detector * atan2(x, g.source_iso - y) : gain * x;
    struct footprint f;
    f.position = fma(u, g.inverse_cell, g.centre);
    f.width = (float)(gain * shadow * g.inverse_cell * (g.curved ? 1 : root * cosine));
    f.height = (float)(g.delta * g.delta_row * reciprocal(shadow));
    f.gain = gain;
    return f;
}

template <int CONE>
static __device__ inline struct footprint footprint_of(const struct geometry &g, int view,
                                                       int pixel)
{
    const struct view_pose v = g.view[view];
    const struct centre at = pixel_centre(g, pixel);
    return CONE ? cone_footprint(g, v, at) : parallel_footprint(g, v, at);
}

/* First of the `taps` channels that hold every tap; -taps or channels when all of them miss. */
static __device__ inline int first_channel(const struct geometry &g, double position)
{
    const double first = floor(position + (1 - 0.5 * g.taps));
    return (int)fmin(fmax(first, -(double)g.taps), (double)g.channels);
}

/* Entry of A (or its square) of the horizontal fan in the channel at this distance. */
static __device__ inline float entry(const struct footprint &f, float distance, int power)
{
    float overlap = 0.5f * (f.width + 1) - fabsf(distance);
    overlap = fminf(fmaxf(overlap, 0.f), fminf(f.width, 1.f)) * f.height;
    return power == 2 ? overlap * overlap : overlap;
}

/* Vertical fan: slice k of a pixel covers rows [edge + width k, edge + width (k + 1)), cells
 * centred at integers. */
struct vertical {
    double edge, width;
    double slope; /* tangent of the cone angle / z */
};

static __device__ inline struct vertical vertical_fan(const struct geometry &g, int view,
                                                      double gain)
{
    struct vertical f;
    const double bottom = fma(g.view[view].z_shift, g.slices_per_shift, g.slice_zero);
    f.width = gain * g.rows_per_slice;
    f.edge = fma(-f.width, bottom, g.row_centre);
    f.slope = gain * g.inverse_d;
    return f;
}

/* 1/cos(psi) at its tangent, within 2e-7: two multiplications and one operation of the
 * special-function unit. */
static __device__ inline float inverse_cosine(float tangent)
{
    const float s = 1 + tangent * tangent;
    return s * rsqrt_approx(s);
}

/* Tangents of the cone angle: that of slice `first` + i is zero + i * step. */
struct tilt {
    float zero, step;
};

static __device__ inline struct tilt tilt_at(const struct geometry &g, int view,
                                             const struct vertical &v, int first)
{
    const double z = fma((double)first, g.dz, g.z_first - g.view[view].z_shift);
    return tilt{(float)(v.slope * z), (float)(v.slope * g.dz)};
}

static __device__ inline float tangent_of(const struct tilt &t, float i)
{
    return i * t.step + t.zero;
}

#endif
