/* Parallel projection over blocks of pixels. A tile holds `views` views of a group of slice blocks
 * as columns of SLICES floats; the 48 columns under a brick of blocks, of COLUMN_FLOATS each,
 * take 1.5 MiB of L2. Views of a tile share the packing of cylinders, slice blocks of a group the
 * footprints. Forward: a task owns a tile; back: a task owns pixels, all tasks share the tiles of
 * one pass over views. So nobody else writes what a task writes, sums have one order, and no result
 * depends on the number of threads. */
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "host/backend/course.h"
#include "host/cpu/common/arithmetic.h"
#include "host/cpu/common/threads.h"
#include "host/cpu/parallel/pixel_blocks.h"

#define COLUMN_FLOATS 8192
#define GROUP         4  /* slice blocks of a tile, at most */
#define LINE          16 /* floats of a cache line */
#define AHEAD         4  /* cylinders between asking for one and copying it */
#define TASK          16 /* blocks of a task of back projection: a brick */

struct block_plan {
    const struct backend *be; /* of a forward projection: asked for the wish to end */
    const struct projector *p;
    const struct pixel_blocks *blocks;
    const struct block_kernels *kernels;
    int power;
    float whole;          /* sum of a pixel's entries in one view, where nothing falls beside it */
    int uniform;          /* back projection of ones: all slices alike, one is computed */
    int64_t slice_blocks; /* of SLICES slices, in the volume */
    int64_t group;        /* of those, in a tile */
    int64_t views;        /* of a tile */
    int64_t view_stride;  /* floats of one view of one slice block */
};

/* Per thread. */
struct team_member {
    float *cylinders[2]; /* [group][BLOCK_PIXELS][SLICES] of a block, and of the next */
    struct block_footprints *footprints;
};

static int64_t weight_floats(const struct block_plan *plan)
{
    return (plan->p->taps + 1) / 2 * 2 * BLOCK_PIXELS;
}

static int64_t block_floats(const struct block_plan *plan)
{
    return plan->group * BLOCK_PIXELS * SLICES;
}

/* Counts the footprints of a tile. */
static int64_t count_footprints(const struct block_plan *plan)
{
    const int joint = plan->blocks->joint;
    return (plan->views + joint - 1) / joint;
}

static int64_t footprint_floats(const struct block_plan *plan)
{
    const int64_t bytes = count_footprints(plan) * (int64_t)sizeof(struct block_footprints);
    return round_up(bytes, 64) / (int64_t)sizeof(float);
}

static size_t member_floats(const struct block_plan *plan)
{
    return (size_t)(2 * block_floats(plan) + footprint_floats(plan) +
                    2 * count_footprints(plan) * weight_floats(plan));
}

static struct team_member member_init(const struct block_plan *plan, float *scratch)
{
    float *footprints = scratch + 2 * block_floats(plan),
          *weight = footprints + footprint_floats(plan);
    struct team_member m = {{scratch, scratch + block_floats(plan)},
                            (struct block_footprints *)(void *)footprints};
    for (int64_t v = 0; v < count_footprints(plan); v++)
        for (int i = 0; i < 2; i++, weight += weight_floats(plan))
            m.footprints[v].view[i].weight = weight;
    return m;
}

static struct block_plan make_plan(const struct projector *p, const struct pixel_blocks *blocks,
                                   int power, int uniform)
{
    struct block_plan plan = {
        .p = p,
        .blocks = blocks,
        .kernels = ISA_PICK(block_kernels),
        .power = power,
        .whole = (float)(p->volume.delta * volume_delta_row(&p->volume) / p->scan.delta_channel),
        .uniform = uniform,
        .slice_blocks = uniform ? 1 : (p->volume.slices + SLICES - 1) / SLICES,
    };
    /* Leaves one column more than taps reach, and an odd number of lines against aliasing. */
    plan.view_stride = (p->columns + 1) * SLICES + 16;
    return plan;
}

/* Finds the footprints of `joint` views each. */
static void plan_footprints(const struct block_plan *plan, const struct pixel_block *s,
                            int64_t view, int64_t views, struct block_footprints *footprints)
{
    const struct projector *p = plan->p;
    const double x = (double)s->col + 0.5 * (double)(BLOCK_SIDE - p->volume.cols);
    const double y = (double)s->row + 0.5 * (double)(BLOCK_SIDE - p->volume.rows);
    const double centre =
        p->scan.channel_offset / p->scan.delta_channel + 0.5 * (double)(p->scan.channels - 1);
    const int joint = plan->blocks->joint;
    for (int64_t v = 0; v < views; v += joint, footprints++) {
        struct block_place at = {plan->blocks->orders + (view + v) / joint,
                                 s->present,
                                 (int)int_min(joint, views - v),
                                 plan->blocks->views + view + v,
                                 {0}};
        for (int i = 0; i < at.views; i++)
            at.position[i] = at.view[i].col * x + at.view[i].row * y + centre;
        plan->kernels->footprints(p, &at, plan->power, footprints);
        if (at.views < joint) { /* no second view: nothing from a guard column */
            memset(footprints->view[1].start, 0, sizeof footprints->view[1].start);
            memset(footprints->view[1].weight, 0, BLOCK_PIXELS * sizeof(float));
        }
    }
}

/* Views and slice blocks of a tile; slice block b of view v at (b * stride + v) * view_stride. */
struct tile_part {
    int64_t view, views, slice_block, slice_blocks, stride;
};

static int64_t plan_slices(const struct block_plan *plan, int64_t slice_block)
{
    return plan->uniform ? 1 : int_min(SLICES, plan->p->volume.slices - slice_block * SLICES);
}

/* Returns the cylinder's place in the volume. */
static float *plan_cylinder(const struct block_plan *plan, const struct pixel_block *s,
                            const struct tile_part *at, int64_t n, const float *x)
{
    const struct volume *v = &plan->p->volume;
    const int64_t pixel = (s->row + n / BLOCK_SIDE) * v->cols + s->col + n % BLOCK_SIDE;
    return (float *)x + pixel * v->slices + at->slice_block * SLICES;
}

/* Packs share `i` of `parts` of a block's cylinders, while the block before is computed: main
 * memory answers meanwhile. */
static void plan_pack(const struct block_plan *plan, const struct pixel_block *s,
                      const struct tile_part *at, int64_t i, int64_t parts, const float *x,
                      float *cylinders)
{
    const int64_t slices =
        int_min(at->slice_blocks * SLICES, plan->p->volume.slices - at->slice_block * SLICES);
    for (int64_t n = i * BLOCK_PIXELS / parts; n < (i + 1) * BLOCK_PIXELS / parts; n++) {
        if (n + AHEAD < BLOCK_PIXELS && s->present >> (n + AHEAD) & 1) {
            const float *ahead = plan_cylinder(plan, s, at, n + AHEAD, x);
            for (int64_t k = 0; k < slices; k += LINE)
                __builtin_prefetch(ahead + k);
            __builtin_prefetch(ahead + slices - 1); /* in a line more where x begins behind one */
        }
        if (!(s->present >> n & 1))
            continue;
        const float *from = plan_cylinder(plan, s, at, n, x);
        for (int64_t b = 0; b < at->slice_blocks; b++, from += SLICES) {
            float *to = cylinders + (b * BLOCK_PIXELS + n) * SLICES;
            const int64_t count = plan_slices(plan, at->slice_block + b);
            memcpy(to, from, (size_t)count * sizeof *to);
            if (count < SLICES)
                memset(to + count, 0, (size_t)(SLICES - count) * sizeof *to);
        }
    }
}

static void plan_unpack(const struct block_plan *plan, const struct pixel_block *s,
                        const struct tile_part *at, const float *cylinders, float *x)
{
    for (uint64_t left = s->present; left; left &= left - 1) {
        const int n = __builtin_ctzll(left);
        float *to = plan_cylinder(plan, s, at, n, x);
        for (int64_t b = 0; b < at->slice_blocks; b++, to += SLICES) {
            const float *from = cylinders + (b * BLOCK_PIXELS + n) * SLICES;
            for (int64_t k = 0; plan->uniform && k < plan->p->volume.slices; k++)
                to[k] = from[0];
            if (!plan->uniform)
                memcpy(to, from, (size_t)plan_slices(plan, at->slice_block + b) * sizeof *to);
        }
    }
}

static void plan_forward_view(const struct block_plan *plan, const struct block_footprints *f,
                              int slices, const float *x, float *tile)
{
    if (block_two_taps(plan->p, plan->power))
        plan->kernels->forward_two_taps(f, plan->whole, slices, x, tile);
    else
        plan->kernels->forward(f, plan->p->taps, slices, x, tile);
}

static void plan_back_views(const struct block_plan *plan, const struct block_footprints *f,
                            int slices, const float *tile, int64_t next, float *x)
{
    if (block_two_taps(plan->p, plan->power))
        plan->kernels->back_two_taps(f, plan->whole, slices, tile, next, x);
    else
        plan->kernels->back(f, plan->p->taps, slices, tile, x);
}

/* Adds the projection of all blocks to a tile. */
static void forward_tile(const struct block_plan *plan, const struct tile_part *at, const float *x,
                         struct team_member *m, float *tile)
{
    const struct pixel_block *const s = plan->blocks->at;
    const int64_t parts = at->slice_blocks * at->views;
    plan_pack(plan, &s[0], at, 0, 1, x, m->cylinders[0]);
    for (int64_t n = 0; n < plan->blocks->count && !backend_stopped(plan->be); n++) {
        float *now = m->cylinders[n % 2], *next = m->cylinders[(n + 1) % 2];
        plan_footprints(plan, &s[n], at->view, at->views, m->footprints);
        for (int64_t b = 0; b < at->slice_blocks; b++)
            for (int64_t v = 0; v < at->views; v++) {
                if (n + 1 < plan->blocks->count)
                    plan_pack(plan, &s[n + 1], at, b * at->views + v, parts, x, next);
                plan_forward_view(plan, &m->footprints[v],
                                  (int)plan_slices(plan, at->slice_block + b),
                                  now + b * BLOCK_PIXELS * SLICES,
                                  tile + (b * at->stride + v) * plan->view_stride);
            }
    }
}

enum err pixel_blocks_forward(struct backend *be, const struct projector *p,
                              const struct pixel_blocks *s, const struct pixel_set *pixels,
                              const float *x, struct sinogram y)
{
    const int threads = cpu_projection_team(be, &p->scan, &p->volume, pixels->count);
    struct block_plan plan = make_plan(p, s, 1, 0);
    plan.be = be;
    /* A tile per thread, and at least 4 tasks for each thread where there are that many views. */
    const int64_t fit = scratch_floats(p, pixels, 1) / threads / plan.view_stride;
    /* 16 views and 4 slice blocks: with fewer, sharing the packing weighs more than sharing
     * footprints.
     */
    for (plan.group = int_min(GROUP, plan.slice_blocks);
         plan.group > 1 && fit < 4 * plan.group * plan.group;)
        plan.group = (plan.group + 1) / 2;
    const int64_t groups = (plan.slice_blocks + plan.group - 1) / plan.group;
    const int64_t fair = p->scan.views * groups / (4 * threads);
    plan.views = int_min(p->scan.views, COLUMN_FLOATS / SLICES / plan.group);
    plan.views = int_max(1, int_min(plan.views, int_min(fit / plan.group, fair)));
    const size_t tile_floats = (size_t)(plan.group * plan.views * plan.view_stride);
    const size_t each = tile_floats + member_floats(&plan);
    void *scratch;
    TRY(mem_alloc("forward projection tiles", (size_t)threads * each * sizeof(float), &scratch));
    struct course way = {be, (p->scan.views + plan.views - 1) / plan.views * groups, 0};
#pragma omp parallel num_threads(threads)
    {
        float *tile = (float *)scratch + (size_t)omp_get_thread_num() * each;
        struct team_member m = member_init(&plan, tile + tile_floats);
#pragma omp for collapse(2) schedule(dynamic, 1)
        for (int64_t view = 0; view < p->scan.views; view += plan.views)
            for (int64_t first = 0; first < plan.slice_blocks; first += plan.group) {
                if (!course_next(&way))
                    continue;
                const struct tile_part at = {view, int_min(plan.views, p->scan.views - view), first,
                                             int_min(plan.group, plan.slice_blocks - first),
                                             plan.views};
                memset(tile, 0, tile_floats * sizeof *tile);
                forward_tile(&plan, &at, x, &m, tile);
                for (int64_t v = 0; v < at.views; v++)
                    for (int64_t b = 0; b < at.slice_blocks; b++)
                        tile_store(p, tile + (b * plan.views + v) * plan.view_stride, SLICES,
                                   view + v, (first + b) * SLICES, plan_slices(&plan, first + b),
                                   y);
            }
    }
    mem_free(scratch);
    return ERR_OK;
}

/* A task's pixels in all views of a pass: those of a tile's size at a time, so that the columns of
 * a brick stay in L2. */
static void back_task(const struct block_plan *plan, const struct tile_part *pass, int64_t first,
                      int64_t end, const float *tiles, struct team_member *m, float *x)
{
    const struct pixel_block *const s = plan->blocks->at;
    const int joint = plan->blocks->joint;
    for (int64_t v0 = 0; v0 < pass->views; v0 += plan->views) {
        struct tile_part at = *pass;
        at.view += v0;
        at.views = int_min(plan->views, pass->views - v0);
        const int64_t parts = at.slice_blocks * ((at.views + joint - 1) / joint);
        if (at.view > 0)
            plan_pack(plan, &s[first], &at, 0, 1, x, m->cylinders[first % 2]);
        for (int64_t n = first; n < end; n++) {
            float *now = m->cylinders[n % 2], *next = m->cylinders[(n + 1) % 2];
            plan_footprints(plan, &s[n], at.view, at.views, m->footprints);
            if (at.view == 0)
                memset(now, 0, (size_t)block_floats(plan) * sizeof *now);
            int64_t part = 0;
            for (int64_t b = 0; b < at.slice_blocks; b++)
                for (int64_t v = 0; v < at.views; v += joint, part++) {
                    if (at.view > 0 && n + 1 < end)
                        plan_pack(plan, &s[n + 1], &at, part, parts, x, next);
                    plan_back_views(
                        plan, &m->footprints[v / joint], (int)plan_slices(plan, at.slice_block + b),
                        tiles + (b * at.stride + v0 + v) * plan->view_stride,
                        v + 1 < at.views ? plan->view_stride : 0, now + b * BLOCK_PIXELS * SLICES);
                }
            plan_unpack(plan, &s[n], &at, now, x);
        }
    }
}

enum err pixel_blocks_back(struct backend *be, const struct projector *p,
                           const struct pixel_blocks *s, const struct pixel_set *pixels,
                           struct sinogram y, struct sinogram w, int power, float *x)
{
    const int threads = cpu_projection_team(be, &p->scan, &p->volume, pixels->count);
    struct block_plan plan = make_plan(p, s, power, !y.data && !w.data);
    const int64_t fit = scratch_floats(p, pixels, y.data || w.data) / plan.view_stride;
    /* All views before many slice blocks: the volume is then written once and never read. */
    for (plan.group = int_min(GROUP, plan.slice_blocks);
         plan.group > 1 && fit < plan.group * p->scan.views;)
        plan.group = (plan.group + 1) / 2;
    plan.views = int_min(p->scan.views, COLUMN_FLOATS / SLICES / plan.group);
    int64_t pass = fit / plan.group;
    pass = pass >= plan.views ? pass / plan.views * plan.views : int_max(2, pass / 2 * 2);
    pass = int_min(p->scan.views, pass);
    plan.views = int_min(plan.views, pass);
    const int64_t task = int_min(TASK, int_max(1, s->count / (8 * threads)));
    const size_t shared = (size_t)(pass * plan.group * plan.view_stride),
                 own = member_floats(&plan);
    void *scratch;
    TRY(mem_alloc("back projection tiles", (shared + (size_t)threads * own) * sizeof(float),
                  &scratch));
    struct course way = {be,
                         (plan.slice_blocks + plan.group - 1) / plan.group *
                             ((p->scan.views + pass - 1) / pass) * ((s->count + task - 1) / task),
                         0};
#pragma omp parallel num_threads(threads)
    {
        float *tiles = scratch;
        struct team_member m =
            member_init(&plan, tiles + shared + (size_t)omp_get_thread_num() * own);
        for (int64_t first = 0; first < plan.slice_blocks; first += plan.group)
            for (int64_t view = 0; view < p->scan.views; view += pass) {
                const struct tile_part at = {view, int_min(pass, p->scan.views - view), first,
                                             int_min(plan.group, plan.slice_blocks - first), pass};
#pragma omp for collapse(2) schedule(static)
                for (int64_t v = 0; v < at.views; v++)
                    for (int64_t b = 0; b < at.slice_blocks; b++) {
                        float *tile = tiles + (b * pass + v) * plan.view_stride;
                        tile_load(p, y, w, view + v, (first + b) * SLICES,
                                  plan_slices(&plan, first + b), tile, SLICES);
                        memset(tile + p->columns * SLICES, 0, SLICES * sizeof *tile);
                    }
#pragma omp for schedule(dynamic, 1)
                for (int64_t n = 0; n < s->count; n += task)
                    if (course_next(&way))
                        back_task(&plan, &at, n, int_min(n + task, s->count), tiles, &m, x);
            }
    }
    mem_free(scratch);
    return ERR_OK;
}
