/* 3x3x3 median of a volume: tiles for all threads, by the kernel that is fastest on this CPU. */
#include "host/backend/checks.h"
#include "host/backend/course.h"
#include "host/cpu/median/median.h"
#include "base/mark/mark.h"

/* min and max operations per voxel of the best known network (median_kernel.c): what an ideal
 * machine would do. Those of floats run at half the rate of fused multiply-adds counted as two, so
 * the share of the peak ends at 50 %; those of integers at up to 0.92 of it on Zen 4. */
#define OPERATIONS 77

/* A larger result would not be in a cache when it is read next: writing past the caches
 * saves reading the old contents first (1.3 x at 256^3). */
#define STREAM_BYTES ((size_t)16 << 20)

median_tile *median_best(void)
{
#ifdef TP_X86
    /* Elsewhere integer minima are not faster: one vector of 512 bits per cycle, or none in SSE2.
     */
    __builtin_cpu_init();
    if (cpu_isa() != ISA_PLAIN && __builtin_cpu_is("amd"))
        return ISA_PICK(median_key_kernels)->tile;
#endif
    return ISA_PICK(median_kernels)->tile;
}

void median_tiles(struct backend *be, median_tile *tile, const struct median_volume *v)
{
    const int threads = be->threads;
    const int64_t row_tiles = (v->rows + MEDIAN_ROWS - 1) / MEDIAN_ROWS;
    const int64_t slice_tiles = (v->slices + MEDIAN_SLICES - 1) / MEDIAN_SLICES;
    /* Neighbouring tiles of rows, which share a third of their lines, mostly go to the same thread.
     */
    const int64_t tiles = row_tiles * slice_tiles, chunk = tiles / (8 * threads) + 1;
    struct course way = {be, tiles, 0};
#pragma omp parallel for num_threads(threads) schedule(dynamic, chunk)
    for (int64_t t = 0; t < tiles; t++)
        if (course_next(&way))
            tile(v, t % row_tiles * MEDIAN_ROWS, t / row_tiles * MEDIAN_SLICES);
}

enum err cpu_median3(struct backend *be, int64_t rows, int64_t cols, int64_t slices,
                     const struct buffer *in, struct buffer *out)
{
    const int64_t voxels = rows * cols * slices;
    const size_t bytes = (size_t)voxels * sizeof(float);
    TRY(backend_check_buffers("a median filter", bytes, bytes, in, out));
    if (voxels == 0)
        return ERR_OK;
    const int stream = bytes >= STREAM_BYTES && slices % 16 == 0;
    const struct median_volume v = {rows, cols, slices, in->ptr, out->ptr, stream};
    mark_push("median3", bytes);
    median_tiles(be, median_best(), &v);
    mark_pop();
    backend_declare(be, OPERATIONS * (double)voxels, 2.0 * (double)bytes, 28.0 * (double)bytes);
    return ERR_OK;
}
