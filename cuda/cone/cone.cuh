/* Both directions of cone beams for a batch of views: gather_views and spread_views of
 * projection.cuh. */
#ifndef TP_CUDA_CONE_CONE_CUH
#define TP_CUDA_CONE_CONE_CUH

#include "cuda/common/footprint.cuh"
#include "cuda/common/projection.cuh"

enum err cone_gather(struct cuda_backend *be, const struct projector *p,
                     const struct pixel_list *pixels, const struct bins *bins, struct batch b,
                     const float *x, struct sample_sink sink);
enum err cone_spread(struct cuda_backend *be, const struct projector *p,
                     const struct pixel_list *pixels, struct batch b, const float *y, int power,
                     int set, float *x);

/* Voxel-driven (voxel_driven.cu), for cones that turn: views in frames of zeros, of so many bytes
 * each, and what the batch's add to x, or make of it. */
size_t voxel_frame_bytes(const struct geometry *g);
enum err voxel_frames_fill(struct cuda_backend *be, const struct projector *p, int views,
                           const float *y, enum sino_order order, float *frames);
enum err voxel_spread(struct cuda_backend *be, const struct projector *p,
                      const struct pixel_list *pixels, struct batch b, const float *frames, int set,
                      float *x);

/* The vertical fan of cones and multi-axis scans: the rows that slices of a pixel cover, and how
 * much longer rays are there. */

/* Vertical fan: slice k of a pixel covers rows [edge + width k, edge + width (k + 1)), cells
 * centred at integers. */
struct vertical {
    double edge, width;
    double slices; /* 1 / width */
    float slope;   /* tangent of the cone angle / z */
};

static __device__ inline struct vertical vertical_fan(const struct geometry &g, int view,
                                                      const struct fan_gain &fan, int pixel)
{
    const struct cone_pose &v = g.view[view].cone;
    struct vertical f;
    f.width = fan.gain * g.rows_per_slice;
    f.slices = fan.inverse * g.slices_per_row;
    f.slope = (float)fan.gain * g.inverse_d;
    if (g.tilted) {
        f.width = v.rows;
        f.slices = v.slices;
    }
    f.edge = fma(-f.width, v.bottom, g.row_centre);
    if (g.tilted) {
        const struct pixel_ij at = pixel_ij_of(g, pixel);
        f.edge += fma(v.rise_j, (double)at.j, fma(v.rise_i, (double)at.i, v.rise));
    }
    return f;
}

/* Rows under a voxel, and whether they are more than those of its slice: neighbouring voxels then
 * share rows, which the overlap of two grids does not know. */
static __device__ inline double vertical_rows_under(const struct geometry &g, int view,
                                                    const struct vertical &f)
{
    return g.tilted ? g.view[view].cone.under : f.width;
}

static __device__ inline bool vertical_is_shared(const struct geometry &g, int view)
{
    return g.tilted && g.view[view].cone.under > g.view[view].cone.rows;
}

/* Returns 1 and 2^-32 of it, within 2^-23: its upper bits behind the exponent of 1. */
static __device__ inline float one_and_fraction(unsigned rest)
{
    return __int_as_float((int)__funnelshift_r(rest, 0x3f800000u >> 23, 9));
}

/* In 2^-32 cells. As halves: before sm_100, ptxas adds those of 64-bit sums twice. */
struct position {
    unsigned rest;
    int cell;
};

static __device__ inline struct position position_of(int64_t at)
{
    return position{(unsigned)at, (int)(at >> 32)};
}

static __device__ inline void position_add(struct position *p, int64_t step)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ < 1000
    asm("add.cc.u32 %0, %0, %2;\n\taddc.u32 %1, %1, %3;"
        : "+r"(p->rest), "+r"(p->cell)
        : "r"((unsigned)step), "r"((int)(step >> 32)));
#else
    *p = position_of((int64_t)((uint64_t)(unsigned)p->cell << 32 | p->rest) + step);
#endif
}

/* 1/cos(psi) at its tangent, within 2e-7. */
static __device__ inline float inverse_cosine(float tangent)
{
    return root_approx(1 + tangent * tangent);
}

/* Tangents of the cone angle: that of slice `first` + i is zero + i * step. */
struct tilt {
    float zero, step;
};

static __device__ inline struct tilt tilt_at(const struct geometry &g, int view,
                                             const struct vertical &v, int first)
{
    const float z = (float)first * g.dz + g.view[view].cone.z;
    return tilt{v.slope * z, v.slope * g.dz};
}

static __device__ inline float tangent_of(const struct tilt &t, float i)
{
    return i * t.step + t.zero;
}

#endif
