/* Cone beam: every pixel and view has its own vertical magnification, so the unit of work is a
 * whole cylinder in one view. Forward: each task owns the tiles of a few views and streams the
 * volume past them. Back: all threads share the tiles of a view block and own ranges of pixels. No
 * result depends on the number of threads. */
#include <omp.h>
#include <string.h>

#include "host/base/mem.h"
#include "host/cpu/cone_kernel.h"

#define OWN_TILE_BYTES                                                                             \
    (5 << 18) /* forward: views per task whose tiles fit 1.25 MiB of a 2 MiB L2 */
#define SHARED_TILE_BYTES (4 << 20) /* back: at least this much, else a sixteenth of the sinogram  \
                                     */

/* Scratch of one thread, carved from one allocation. */
struct scratch {
    size_t detector, cylinder, copy, fraction, cell, weights, total; /* offsets in floats */
};

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static struct scratch scratch_layout(const struct projector *p)
{
    struct scratch s;
    const size_t rows = (size_t)round_up(p->scan.rows, 16),
                 slices = (size_t)round_up(p->volume.slices, 16);
    const size_t blocks = (rows > slices ? rows : slices) / 4 + 16;
    size_t at = 0;
    s.detector = at, at += rows + 2 * CONE_PAD;
    s.cylinder = at, at += slices + 2 * CONE_PAD;
    s.copy = at, at += slices;
    s.fraction = at, at += blocks;
    s.cell = at, at += blocks;
    s.weights = at, at += (size_t)(MAX_VIEWS * p->taps * BATCH);
    s.total = (at + 63) / 64 * 64;
    return s;
}

/* One thread's place: its block description, footprints and batch. */
struct worker {
    struct cone_block block;
    struct footprints feet[MAX_VIEWS];
    struct pixel_batch batch;
};

static void worker_init(struct worker *w, const struct projector *p, float *at,
                        const struct scratch *s, int64_t ld, int64_t view_stride, int power)
{
    memset(at, 0, s->weights * sizeof *at);
    for (int v = 0; v < MAX_VIEWS; v++)
        w->feet[v].weight = at + s->weights + (size_t)(v * p->taps * BATCH);
    w->block = (struct cone_block){.projector = p,
                                   .pixels = &w->batch,
                                   .footprints = w->feet,
                                   .power = power,
                                   .ld = ld,
                                   .view_stride = view_stride,
                                   .detector = at + s->detector,
                                   .cylinder = at + s->cylinder,
                                   .copy = at + s->copy,
                                   .fraction = at + s->fraction,
                                   .cell = (int32_t *)(void *)(at + s->cell)};
}

static void worker_batch(struct worker *w, const struct pixel_set *pixels, int64_t first,
                         int64_t view)
{
    const struct projector *p = w->block.projector;
    const struct footprint_kernels *k = ISA_PICK(footprint_kernels);
    batch_fill(p, pixels, first, &w->batch);
    for (int v = 0; v < w->block.views; v++)
        k->compute(p, view + v, &w->batch, w->block.power, &w->feet[v]);
}

enum err cone_forward(struct backend *be, const struct projector *p, const struct pixel_set *pixels,
                      const float *x, struct sinogram y)
{
    const struct cone_kernels *kernels = ISA_PICK(cone_kernels);
    const struct scratch s = scratch_layout(p);
    const int64_t ld = round_up(p->scan.rows, 16) + 16, view_stride = p->columns * ld;
    int64_t block = OWN_TILE_BYTES / (view_stride * (int64_t)sizeof(float));
    block = block > 4 ? 4 : block;
    block = least(block, p->scan.views / (2 * be->threads));
    block = block < 1 ? 1 : block;
    const size_t tile_floats = (size_t)(block * view_stride), each = tile_floats + s.total;
    void *memory;
    TRY(mem_alloc("forward projection tiles", (size_t)be->threads * each * sizeof(float), &memory));
#pragma omp parallel num_threads(be->threads)
    {
        float *tile = (float *)memory + (size_t)omp_get_thread_num() * each;
        struct worker w;
        worker_init(&w, p, tile + tile_floats, &s, ld, view_stride, 1);
#pragma omp for schedule(dynamic, 1)
        for (int64_t view = 0; view < p->scan.views; view += block) {
            w.block.views = (int)least(block, p->scan.views - view);
            w.block.z_squared = p->z_squared + view * p->z_stride;
            memset(tile, 0, tile_floats * sizeof *tile);
            for (int64_t first = 0; first < pixels->count; first += BATCH) {
                worker_batch(&w, pixels, first, view);
                kernels->forward(&w.block, x, tile);
            }
            for (int v = 0; v < w.block.views; v++)
                tile_store(p, tile + v * view_stride, ld, view + v, 0, p->scan.rows, y);
        }
    }
    mem_free(memory);
    return ERR_OK;
}

enum err cone_back(struct backend *be, const struct projector *p, const struct pixel_set *pixels,
                   struct sinogram y, struct sinogram w, int power, float *x)
{
    const struct cone_kernels *kernels = ISA_PICK(cone_kernels);
    const struct scratch s = scratch_layout(p);
    const int64_t ld = round_up(p->scan.rows, 16) + 16, view_stride = p->columns * ld;
    int64_t block = SHARED_TILE_BYTES / (view_stride * (int64_t)sizeof(float));
    block = block < p->scan.views / 16 ? p->scan.views / 16 : block;
    block = least(block < 1 ? 1 : block, least(MAX_VIEWS, p->scan.views));
    const size_t tile_floats = (size_t)(block * view_stride);
    void *memory;
    TRY(mem_alloc("back projection tiles",
                  (tile_floats + (size_t)be->threads * s.total) * sizeof(float), &memory));
    float *tiles = memory;
#pragma omp parallel num_threads(be->threads)
    {
        struct worker worker;
        worker_init(&worker, p, tiles + tile_floats + (size_t)omp_get_thread_num() * s.total, &s,
                    ld, view_stride, power);
        for (int64_t view = 0; view < p->scan.views; view += block) {
            const int views = (int)least(block, p->scan.views - view);
            worker.block.views = views;
            worker.block.z_squared = p->z_squared + view * p->z_stride;
#pragma omp for schedule(static)
            for (int v = 0; v < views; v++)
                tile_load(p, y, w, view + v, 0, p->scan.rows, tiles + v * view_stride, ld);
#pragma omp for schedule(dynamic, 2)
            for (int64_t first = 0; first < pixels->count; first += BATCH) {
                worker_batch(&worker, pixels, first, view);
                kernels->back(&worker.block, tiles, view == 0, x);
            }
        }
    }
    mem_free(memory);
    return ERR_OK;
}
