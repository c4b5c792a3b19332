/* Cone beam: every pixel and view has its own vertical magnification, so the unit of work is a
 * whole cylinder in one view. Forward: each task owns the tiles of a few views and streams the
 * volume past them. Back: all threads share the tiles of a view block and own ranges of pixels. No
 * result depends on the number of threads. */
#include <omp.h>
#include <string.h>

#include "host/base/mem.h"
#include "host/cpu/cone_kernel.h"

/* A block of cylinders (512 KiB at 512 slices) stays in L2 while the views pass by, each with the
 * ~24 detector columns that it touches. */
#define PIXEL_ROWS 16
#define PIXEL_COLS 16

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

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
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

/* One pixel block against views [view, view + views) whose first tile is `tile`, MAX_VIEWS at a
 * time: forward into the tiles when x_out is NULL, else back from them (setting x_out in the first
 * group when `set`). */
static void worker_run(struct worker *w, const struct pixel_blocks *blocks, int64_t block,
                       int64_t view, int64_t views, int set, float *tile, const float *x,
                       float *x_out)
{
    const struct projector *p = w->block.projector;
    const struct footprint_kernels *footprints = ISA_PICK(footprint_kernels);
    const struct cone_kernels *kernels = ISA_PICK(cone_kernels);
    const int64_t end = blocks->first[block + 1];
    for (int64_t first = blocks->first[block]; first < end; first += BATCH) {
        batch_fill(p, &blocks->set, first, end, &w->batch);
        for (int64_t group = 0; group < views; group += MAX_VIEWS) {
            w->block.views = (int)least(MAX_VIEWS, views - group);
            w->block.z_squared = p->z_squared + (view + group) * p->z_stride;
            for (int v = 0; v < w->block.views; v++)
                footprints->compute(p, view + group + v, &w->batch, w->block.power, &w->feet[v]);
            float *at = tile + group * w->block.view_stride;
            if (x_out)
                kernels->back(&w->block, at, set && group == 0, x_out);
            else
                kernels->forward(&w->block, x, at);
        }
    }
}

enum err cone_forward(struct backend *be, const struct projector *p, const struct pixel_set *pixels,
                      const float *x, struct sinogram y)
{
    const struct scratch s = scratch_layout(p);
    const int64_t ld = round_up(p->scan.rows, 16) + 16, view_stride = p->columns * ld;
    const int64_t fit = scratch_floats(p, pixels) / be->threads / view_stride;
    const int64_t fair = p->scan.views / (4 * be->threads); /* 4 tasks for each thread */
    const int64_t views = most(1, least(fit, fair));
    const size_t tile_floats = (size_t)(views * view_stride), each = tile_floats + s.total;
    struct pixel_blocks blocks;
    TRY(pixel_blocks_create(p, pixels, PIXEL_ROWS, PIXEL_COLS, &blocks));
    void *memory;
    enum err e =
        mem_alloc("forward projection tiles", (size_t)be->threads * each * sizeof(float), &memory);
    if (e != ERR_OK)
        goto out;
#pragma omp parallel num_threads(be->threads)
    {
        float *tile = (float *)memory + (size_t)omp_get_thread_num() * each;
        struct worker w;
        worker_init(&w, p, tile + tile_floats, &s, ld, view_stride, 1);
#pragma omp for schedule(dynamic, 1)
        for (int64_t view = 0; view < p->scan.views; view += views) {
            const int64_t here = least(views, p->scan.views - view);
            memset(tile, 0, tile_floats * sizeof *tile);
            for (int64_t b = 0; b < blocks.count; b++)
                worker_run(&w, &blocks, b, view, here, 0, tile, x, NULL);
            for (int64_t v = 0; v < here; v++)
                tile_store(p, tile + v * view_stride, ld, view + v, 0, p->scan.rows, y);
        }
    }
    mem_free(memory);
out:
    pixel_blocks_free(&blocks);
    return e;
}

enum err cone_back(struct backend *be, const struct projector *p, const struct pixel_set *pixels,
                   struct sinogram y, struct sinogram w, int power, float *x)
{
    const struct scratch s = scratch_layout(p);
    const int64_t ld = round_up(p->scan.rows, 16) + 16, view_stride = p->columns * ld;
    const int64_t fit = scratch_floats(p, pixels) / view_stride;
    const int64_t views = most(1, least(fit, p->scan.views));
    const size_t tile_floats = (size_t)(views * view_stride);
    struct pixel_blocks blocks;
    TRY(pixel_blocks_create(p, pixels, PIXEL_ROWS, PIXEL_COLS, &blocks));
    void *memory;
    enum err e = mem_alloc("back projection tiles",
                           (tile_floats + (size_t)be->threads * s.total) * sizeof(float), &memory);
    if (e != ERR_OK)
        goto out;
#pragma omp parallel num_threads(be->threads)
    {
        float *tiles = memory;
        struct worker worker;
        worker_init(&worker, p, tiles + tile_floats + (size_t)omp_get_thread_num() * s.total, &s,
                    ld, view_stride, power);
        for (int64_t view = 0; view < p->scan.views; view += views) {
            const int64_t here = least(views, p->scan.views - view);
#pragma omp for schedule(static)
            for (int64_t v = 0; v < here; v++)
                tile_load(p, y, w, view + v, 0, p->scan.rows, tiles + v * view_stride, ld);
#pragma omp for schedule(dynamic, 1)
            for (int64_t b = 0; b < blocks.count; b++)
                worker_run(&worker, &blocks, b, view, here, view == 0, tiles, NULL, x);
        }
    }
    mem_free(memory);
out:
    pixel_blocks_free(&blocks);
    return e;
}
