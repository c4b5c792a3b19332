/* Steps on volumes: an entry of the back end's table (host/backend/backend.h), and its parts. */
#ifndef TP_CUDA_VOLUME_VOLUME_CUH
#define TP_CUDA_VOLUME_VOLUME_CUH

#include "cuda/common/reduce.cuh"

extern "C" {
#include "host/backend/volume_math.h"
}

enum err cuda_volume_step(struct backend *be, const struct volume_step *step,
                          const struct buffer *in, struct buffer *out);

/* The parts: checked, in and out apart. */
enum err volume_map(struct cuda_backend *be, const struct volume_step *s, const float *in,
                    void *out);
enum err volume_place(struct cuda_backend *be, const struct volume_step *s, const float *in,
                      float *out);
enum err volume_resample(struct cuda_backend *be, const struct volume_step *s, const float *in,
                         float *out);
enum err volume_halve(struct cuda_backend *be, const struct volume_step *s, const float *in,
                      float *out);

/* A shape whose rows, and voxels of a row, are counted in 32 bits. */
struct extent {
    unsigned rows, cols, slices;
};

/* Start of a block's elements: one division in 64 bits, so that those of an element are of 32. */
struct chunk {
    int64_t first, row;
    unsigned slice;
    int n;
};

static __device__ inline struct chunk chunk_of(const struct extent &e, int64_t voxels)
{
    struct chunk c;
    c.first = (int64_t)blockIdx.x * SUM_CHUNK;
    c.row = c.first / e.slices;
    c.slice = (unsigned)(c.first - c.row * e.slices);
    c.n = (int)(voxels - c.first < SUM_CHUNK ? voxels - c.first : SUM_CHUNK);
    return c;
}

static __device__ inline void voxel_of(const struct extent &e, const struct chunk &c, int i,
                                       unsigned at[3])
{
    const unsigned ahead = c.slice + (unsigned)i, rows = ahead / e.slices;
    const unsigned row = (unsigned)c.row + rows;
    at[2] = ahead - rows * e.slices;
    at[0] = row / e.cols;
    at[1] = row - at[0] * e.cols;
}

static inline struct extent extent_of_shape(const int64_t n[3])
{
    const struct extent e = {(unsigned)n[0], (unsigned)n[1], (unsigned)n[2]};
    return e;
}

#endif
