/* Voxel-driven back projection of cone beams: all threads share the tiles of a block of views and
 * own ranges of pixels, so that no result depends on the number of threads. */
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "host/backend/course.h"
#include "host/cpu/common/arithmetic.h"
#include "host/cpu/common/threads.h"
#include "host/cpu/cone/cone.h"
#include "host/cpu/cone/voxel_driven.h"
#include "base/mark/mark.h"

/* As for the matched pair: a group of cylinders stays in L2 while the views pass by. */
#define PIXEL_ROWS 16
#define PIXEL_COLS 16

struct voxel_job {
    const struct projector *projector;
    struct pixel_groups groups;
    int64_t ld, view_stride, views; /* of a tile */
    size_t tile_floats, own;        /* own: scratch of a thread */
    float *memory;
};

/* Scratch of a thread: footprints, one cylinder, positions of blocks of slices. */
static size_t voxel_scratch_bytes(const struct projector *p)
{
    const int64_t slices = round_up(p->volume.slices, 16), blocks = slices / 4 + 16;
    const size_t footprints = VOXEL_VIEWS * sizeof(struct voxel_footprints) / sizeof(float);
    return footprints + (size_t)round_up(slices + 2 * VOXEL_VIEWS * blocks, 16);
}

static void block_init(const struct voxel_job *j, float *scratch, struct voxel_block *b)
{
    const int64_t slices = round_up(j->projector->volume.slices, 16);
    memset(scratch, 0, j->own * sizeof *scratch);
    *b = (struct voxel_block){.projector = j->projector,
                              .footprints = (struct voxel_footprints *)(void *)scratch,
                              .ld = j->ld,
                              .view_stride = j->view_stride,
                              .blocks = slices / 4 + 16};
    b->copy = scratch + VOXEL_VIEWS * sizeof(struct voxel_footprints) / sizeof(float);
    b->fraction = (int32_t *)(void *)(b->copy + slices);
    b->cell = b->fraction + VOXEL_VIEWS * b->blocks;
}

/* Views outermost: the cylinders of a group stay in L2. */
static void back_group(const struct voxel_job *j, struct voxel_block *b, int64_t group,
                       int64_t view, int64_t views, float *x)
{
    const int64_t end = j->groups.first[group + 1];
    for (int64_t v = 0; v < views; v += VOXEL_VIEWS)
        for (int64_t q = j->groups.first[group]; q < end; q += BATCH) {
            batch_fill(j->projector, &j->groups.set, q, end, &b->pixels);
            ISA_PICK(voxel_kernels)
                ->back(b, view + v, (int)int_min(VOXEL_VIEWS, views - v),
                       j->memory + v * j->view_stride, view + v == 0, x);
        }
}

static void back_all(struct backend *be, const struct voxel_job *j, int threads, struct sinogram y,
                     float *x)
{
    const struct projector *p = j->projector;
    const struct sinogram ones = {NULL, y.order};
    struct course way = {be, (p->scan.views + j->views - 1) / j->views * j->groups.count, 0};
#pragma omp parallel num_threads(threads)
    {
        struct voxel_block b;
        block_init(j, j->memory + j->tile_floats + (size_t)omp_get_thread_num() * j->own, &b);
        for (int64_t view = 0; view < p->scan.views; view += j->views) {
            const int64_t views = int_min(j->views, p->scan.views - view);
#pragma omp for schedule(static)
            for (int64_t v = 0; v < views; v++)
                tile_load(p, y, ones, view + v, 0, p->scan.rows, j->memory + v * j->view_stride,
                          j->ld);
#pragma omp for schedule(dynamic, 1)
            for (int64_t group = 0; group < j->groups.count; group++)
                if (course_next(&way))
                    back_group(j, &b, group, view, views, x);
        }
    }
}

/* 2 multiply-adds for the blend and 2 for the interpolation of each voxel and view. */
static void voxel_declare_work(struct backend *be, const struct projector *p,
                               const struct pixel_set *pixels)
{
    const double voxels = (double)pixels->count * (double)p->volume.slices;
    const double updates = voxels * (double)p->scan.views;
    backend_declare(be, 8 * updates, 4 * (voxels + (double)scan_samples(&p->scan)), 16 * updates);
}

enum err cpu_back_voxel(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                        struct sinogram y, struct buffer *x)
{
    FAIL_IF(p->scan.beam != BEAM_CONE, ERR_UNSUPPORTED,
            "voxel-driven back projection is for cone beams");
    const int threads = cpu_projection_team(be, &p->scan, &p->volume, pixels->count);
    struct voxel_job j = {.projector = p, .ld = (round_up(p->scan.rows, 16) + VOXEL_PAD) | 16};
    j.view_stride = p->columns * j.ld;
    const int64_t fit = scratch_floats(p, pixels, 1) / j.view_stride;
    j.views = int_max(
        1, int_min(fit >= VOXEL_VIEWS ? fit / VOXEL_VIEWS * VOXEL_VIEWS : fit, p->scan.views));
    j.tile_floats = (size_t)(j.views * j.view_stride);
    j.own = voxel_scratch_bytes(p);
    TRY(pixel_groups_create(p, pixels, PIXEL_ROWS, PIXEL_COLS, &j.groups));
    mark_push("back_project_voxel", (uint64_t)pixels->count);
    void *memory;
    enum err e = mem_alloc("back projection tiles",
                           (j.tile_floats + (size_t)threads * j.own) * sizeof(float), &memory);
    if (e == ERR_OK) {
        j.memory = memory;
        back_all(be, &j, threads, y, x->ptr);
        mem_free(memory);
        voxel_declare_work(be, p, pixels);
    }
    pixel_groups_free(&j.groups);
    mark_pop();
    return e;
}
