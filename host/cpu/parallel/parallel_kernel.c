/* Forward scatters a voxel column into detector columns, back gathers it; one multiply-add per tap
 * and slice. The column stays in registers over the views of the block, the detector columns come
 * from L1/L2. */
#include "host/cpu/parallel/parallel.h"
#include "host/cpu/common/vec.h"

#define FULL (SLICES / VEC)

/* `vectors` registers from slice `at` on; constant after inlining, as are taps where callers pass a
 * literal. */
VEC_INLINE void forward_pixel(const struct parallel_block *b, int q, const float *x, float *tile,
                              int vectors, int taps)
{
    vf column[FULL];
    for (int i = 0; i < vectors; i++)
        column[i] = vf_load(x + i * VEC);
    for (int v = 0; v < b->views; v++) {
        const struct footprints *f = &b->footprints[v];
        float *out = tile + v * b->view_stride + (int64_t)f->start[q] * b->ld;
        for (int t = 0; t < taps; t++, out += b->ld) {
            vf w = vf_set(f->weight[t * BATCH + q]);
            for (int i = 0; i < vectors; i++)
                vf_store(out + i * VEC, vf_load(out + i * VEC) + w * column[i]);
        }
    }
}

VEC_INLINE void back_pixel(const struct parallel_block *b, int q, const float *tile, int set,
                           float *x, int vectors, int taps)
{
    vf column[FULL];
    for (int i = 0; i < vectors; i++)
        column[i] = set ? (vf){0} : vf_load(x + i * VEC);
    for (int v = 0; v < b->views; v++) {
        const struct footprints *f = &b->footprints[v];
        const float *in = tile + v * b->view_stride + (int64_t)f->start[q] * b->ld;
        for (int t = 0; t < taps; t++, in += b->ld) {
            vf w = vf_set(f->weight[t * BATCH + q]);
            for (int i = 0; i < vectors; i++)
                column[i] += w * vf_load(in + i * VEC);
        }
    }
    for (int i = 0; i < vectors; i++)
        vf_store(x + i * VEC, column[i]);
}

/* A block of fewer slices goes through a padded copy, one register at a time, so that nothing
 * outside the volume is read or written. */
static void forward_partial(const struct parallel_block *b, const float *x, float *tile)
{
    for (int q = 0; q < b->pixels->n; q++) {
        float padded[SLICES] = {0};
        memcpy(padded, x + b->pixels->cylinder[q] + b->slice, (size_t)b->count * sizeof *x);
        for (int k = 0; k < b->count; k += VEC)
            forward_pixel(b, q, padded + k, tile + k, 1, b->taps);
    }
}

static void back_partial(const struct parallel_block *b, const float *tile, int set, float *x)
{
    for (int q = 0; q < b->pixels->n; q++) {
        float padded[SLICES] = {0}, *at = x + b->pixels->cylinder[q] + b->slice;
        memcpy(padded, at, (size_t)b->count * sizeof *x);
        for (int k = 0; k < b->count; k += VEC)
            back_pixel(b, q, tile + k, set, padded + k, 1, b->taps);
        memcpy(at, padded, (size_t)b->count * sizeof *x);
    }
}

/* Columns of 256 B at strides of a cylinder are more than the hardware foresees: without this, half
 * of the time at 512^3 is the wait for the first vector of a column. */
VEC_INLINE void prefetch(const struct parallel_block *b, int q, const float *x)
{
    enum { AHEAD = 6, LINE = 16 };
    if (q + AHEAD < b->pixels->n)
        for (int i = 0; i < SLICES; i += LINE)
            __builtin_prefetch(x + b->pixels->cylinder[q + AHEAD] + b->slice + i);
}

static void kernel_parallel_forward(const struct parallel_block *b, const float *x, float *tile)
{
    if (b->count < SLICES) {
        forward_partial(b, x, tile);
        return;
    }
    for (int q = 0; q < b->pixels->n; q++) {
        const float *at = x + b->pixels->cylinder[q] + b->slice;
        prefetch(b, q, x);
        if (b->taps == 2)
            forward_pixel(b, q, at, tile, FULL, 2);
        else
            forward_pixel(b, q, at, tile, FULL, b->taps);
    }
}

static void kernel_parallel_back(const struct parallel_block *b, const float *tile, int set,
                                 float *x)
{
    if (b->count < SLICES) {
        back_partial(b, tile, set, x);
        return;
    }
    for (int q = 0; q < b->pixels->n; q++) {
        float *at = x + b->pixels->cylinder[q] + b->slice;
        prefetch(b, q, x);
        if (b->taps == 2)
            back_pixel(b, q, tile, set, at, FULL, 2);
        else
            back_pixel(b, q, tile, set, at, FULL, b->taps);
    }
}

const struct parallel_kernels ISA_NAME(parallel_kernels) = {kernel_parallel_forward,
                                                            kernel_parallel_back};
