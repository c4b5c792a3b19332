/* Back projection of parallel beams through the plane of frequencies: what fourier.cu (transforms,
 * their order) and gather.cu (the plane's cells) share. The arithmetic is host/cpu/fourier's. */
#ifndef TP_CUDA_FOURIER_FOURIER_CUH
#define TP_CUDA_FOURIER_FOURIER_CUH

#include "cuda/common/device.cuh"

/* Implements the entry of the back end's table (host/backend/backend.h). */
enum err cuda_fourier_back(struct backend *be, const struct scan *s, const struct volume *v,
                           const struct buffer *y, struct buffer *x);
extern const struct device_cache fourier_cache;

#define TAPS  5            /* cells in each direction that a sample adds to */
#define FINER 1.5          /* cells per voxel */
#define PAIRS 8            /* at most: complex numbers of a cell, of two slices each */
#define BETA  10.157817f   /* of the taps: 0.97 pi TAPS (1 - 1 / (2 FINER)) */
#define CELL  4294967296.0 /* 2^32: cells, and turns, in fixed point */

/* A view: positions are exact however many times the line goes round the grid. */
struct fourier_line {
    int64_t row, col;         /* of one sample, in 2^-32 cells */
    uint64_t turns;           /* phase of one sample, in 2^-64 turns */
    float row_step, col_step; /* in cells */
    float width;              /* of the footprint, in channels */
};

struct fourier_sizes {
    int views, period, reach; /* samples of a spectrum, of a line on each side of frequency 0 */
    int rows, cols;           /* of the grid */
    int wraps;                /* repetitions of the grid's rows that a line reaches, each side */
    int pairs;                /* of slices, at a time */
    float scale;
};

/* exp(2 pi i t) of a phase in 2^-64 turns. */
static __device__ inline float2 root_of_turns(uint64_t turns)
{
    const float t = (float)(int32_t)(turns >> 32) * (float)(1 / CELL);
    float2 z;
#ifdef __CUDACC__
    sincospif(2 * t, &z.y, &z.x);
#else
    z = make_float2((float)cos(2 * M_PI * (double)t), (float)sin(2 * M_PI * (double)t));
#endif
    return z;
}

/* The taps: exp(beta (sqrt(1 - u^2) - 1)), u = 2 t / TAPS. */
static __device__ inline float fourier_taper(float t)
{
    const float u = t * (2.0f / TAPS), rest = 1 - u * u;
    return rest > 0 ? expf(BETA * (sqrtf(rest) - 1)) : 0;
}

/* weights [views][reach + 1]: spectrum of the footprint, times the scale of the transforms. */
enum err fourier_weights(struct cuda_backend *be, const struct fourier_sizes *n,
                         const struct fourier_line *lines, float *weights);
/* grid [pairs][rows][cols] from spectra [views][period][pairs]; all on the device. */
enum err fourier_gather(struct cuda_backend *be, const struct fourier_sizes *n,
                        const struct fourier_line *lines, const float *weights,
                        const float2 *spectra, float2 *grid);

#endif
