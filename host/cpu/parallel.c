/* Parallel beam: every detector row is its own slice. A view block's tile of SLICES rows stays in
 * L2 while the pixels stream past it; forward works on (view block, slice block) tasks that nobody
 * else writes, back on (pixel range, slice block) tasks, so no result depends on the number of
 * threads. */
#include <omp.h>
#include <string.h>

#include "host/base/mem.h"
#include "host/cpu/parallel_kernel.h"

#define TILE_BYTES (1 << 20) /* half of a 2 MiB L2 */

struct blocking {
    int views; /* of a block */
    int64_t view_blocks, slice_blocks, batches;
    int64_t view_stride; /* floats of one view's tile; odd number of lines, against aliasing */
};

static struct blocking blocking(const struct projector *p, const struct pixel_set *pixels)
{
    struct blocking b;
    b.view_stride = p->columns * SLICES + 16;
    int64_t fit = TILE_BYTES / (b.view_stride * (int64_t)sizeof(float));
    b.views = (int)(fit < 4 ? 4 : fit > MAX_VIEWS ? MAX_VIEWS : fit);
    b.view_blocks = (p->scan.views + b.views - 1) / b.views;
    b.slice_blocks = (p->volume.slices + SLICES - 1) / SLICES;
    b.batches = (pixels->count + BATCH - 1) / BATCH;
    return b;
}

/* Per-thread scratch of footprints: MAX_VIEWS records and their weights. */
struct feet {
    struct footprints views[MAX_VIEWS];
};

static void feet_init(struct feet *f, float *weights, int taps)
{
    for (int v = 0; v < MAX_VIEWS; v++)
        f->views[v].weight = weights + (int64_t)v * taps * BATCH;
}

static void feet_compute(struct feet *f, const struct projector *p, int64_t view, int views,
                         const struct pixel_batch *batch, int power)
{
    const struct footprint_kernels *k = ISA_PICK(footprint_kernels);
    for (int v = 0; v < views; v++)
        k->compute(p, view + v, batch, power, &f->views[v]);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

enum err parallel_forward(struct backend *be, const struct projector *p,
                          const struct pixel_set *pixels, const float *x, struct sinogram y)
{
    const struct parallel_kernels *kernels = ISA_PICK(parallel_kernels);
    const struct blocking b = blocking(p, pixels);
    const size_t tile_floats = (size_t)(b.views * b.view_stride);
    const size_t weight_floats = (size_t)(MAX_VIEWS * p->taps * BATCH);
    void *scratch;
    TRY(mem_alloc("forward projection tiles",
                  (size_t)be->threads * (tile_floats + weight_floats) * sizeof(float), &scratch));
#pragma omp parallel num_threads(be->threads)
    {
        float *tile =
            (float *)scratch + (size_t)omp_get_thread_num() * (tile_floats + weight_floats);
        struct feet feet;
        feet_init(&feet, tile + tile_floats, p->taps);
        struct pixel_batch batch;
#pragma omp for collapse(2) schedule(dynamic, 1)
        for (int64_t vb = 0; vb < b.view_blocks; vb++)
            for (int64_t kb = 0; kb < b.slice_blocks; kb++) {
                const int64_t view = vb * b.views, slice = kb * SLICES;
                const int views = (int)least(b.views, p->scan.views - view);
                const int64_t count = least(SLICES, p->volume.slices - slice);
                const struct parallel_block block = {&batch, feet.views, views,        p->taps,
                                                     slice,  count,      b.view_stride};
                memset(tile, 0, tile_floats * sizeof *tile);
                for (int64_t n = 0; n < b.batches; n++) {
                    batch_fill(p, pixels, n * BATCH, &batch);
                    feet_compute(&feet, p, view, views, &batch, 1);
                    kernels->forward(&block, x, tile);
                }
                for (int v = 0; v < views; v++)
                    tile_store(p, tile + v * b.view_stride, SLICES, view + v, slice, count, y);
            }
    }
    mem_free(scratch);
    return ERR_OK;
}

enum err parallel_back(struct backend *be, const struct projector *p,
                       const struct pixel_set *pixels, struct sinogram y, struct sinogram w,
                       int power, float *x)
{
    enum { GROUP = 8 }; /* batches of a task: 512 pixels */
    const struct parallel_kernels *kernels = ISA_PICK(parallel_kernels);
    const struct blocking b = blocking(p, pixels);
    const size_t tile_floats = (size_t)(b.views * b.view_stride);
    const size_t weight_floats = (size_t)(MAX_VIEWS * p->taps * BATCH);
    const int64_t groups = (b.batches + GROUP - 1) / GROUP;
    void *scratch;
    TRY(mem_alloc("back projection tiles",
                  ((size_t)b.slice_blocks * tile_floats + (size_t)be->threads * weight_floats) *
                      sizeof(float),
                  &scratch));
    float *tiles = scratch, *weights = tiles + (size_t)b.slice_blocks * tile_floats;
#pragma omp parallel num_threads(be->threads)
    {
        struct feet feet;
        feet_init(&feet, weights + (size_t)omp_get_thread_num() * weight_floats, p->taps);
        struct pixel_batch batch;
        for (int64_t view = 0; view < p->scan.views; view += b.views) {
            const int views = (int)least(b.views, p->scan.views - view);
#pragma omp for collapse(2) schedule(static)
            for (int64_t kb = 0; kb < b.slice_blocks; kb++)
                for (int v = 0; v < views; v++)
                    tile_load(p, y, w, view + v, kb * SLICES,
                              least(SLICES, p->scan.rows - kb * SLICES),
                              tiles + (size_t)kb * tile_floats + v * b.view_stride, SLICES);
#pragma omp for collapse(2) schedule(dynamic, 1)
            for (int64_t kb = 0; kb < b.slice_blocks; kb++)
                for (int64_t g = 0; g < groups; g++) {
                    const struct parallel_block block = {
                        &batch,       feet.views,  views,
                        p->taps,      kb * SLICES, least(SLICES, p->volume.slices - kb * SLICES),
                        b.view_stride};
                    for (int64_t n = g * GROUP; n < least(b.batches, (g + 1) * GROUP); n++) {
                        batch_fill(p, pixels, n * BATCH, &batch);
                        feet_compute(&feet, p, view, views, &batch, power);
                        kernels->back(&block, tiles + (size_t)kb * tile_floats, view == 0, x);
                    }
                }
        }
    }
    mem_free(scratch);
    return ERR_OK;
}
