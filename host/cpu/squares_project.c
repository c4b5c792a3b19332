/* Parallel projection over squares. A tile holds `views` views of a group of slices as columns of
 * SLICES floats; a column's `views` x slices are COLUMN_FLOATS, so that the 48 columns under a
 * brick of squares take 1.5 MiB of L2. Footprints are computed once for all slices of the group.
 * Forward: a task owns a tile; back: a task owns pixels, all tasks share the tiles of one pass over
 * views. So nobody else writes what a task writes, sums have one order, and no result depends on
 * the number of threads. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "host/base/mem.h"
#include "host/cpu/internal.h"
#include "host/cpu/squares.h"
#include "host/cpu/worker.h"

#define COLUMN_FLOATS 8192
#define GROUP         4  /* slice blocks whose footprints are shared */
#define TASK          16 /* squares of a task of back projection: a brick */

struct plan {
    const struct projector *p;
    const struct squares *squares;
    const struct square_kernels *kernels;
    int power;
    int uniform;         /* back projection of ones: all slices alike, one is computed */
    int64_t blocks;      /* of SLICES slices, in the volume */
    int64_t views;       /* of a tile */
    int64_t view_stride; /* floats of one view of one slice block */
};

/* Per thread. */
struct team_member {
    float *cylinders; /* [GROUP][SQUARE][SLICES] */
    struct square_feet *feet;
};

static int64_t weight_floats(const struct plan *plan)
{
    return (plan->p->taps + 1) / 2 * 2 * SQUARE;
}

static size_t member_floats(const struct plan *plan)
{
    const size_t feet = (size_t)round_up((int64_t)sizeof(struct square_feet), 64) / sizeof(float);
    return GROUP * SQUARE * SLICES + (size_t)plan->views * (feet + (size_t)weight_floats(plan));
}

static struct team_member member_init(const struct plan *plan, float *scratch)
{
    struct team_member m = {scratch,
                            (struct square_feet *)(void *)(scratch + GROUP * SQUARE * SLICES)};
    float *weight = scratch + member_floats(plan) - plan->views * weight_floats(plan);
    for (int64_t v = 0; v < plan->views; v++)
        m.feet[v].weight = weight + v * weight_floats(plan);
    return m;
}

static struct plan make_plan(const struct projector *p, const struct squares *squares, int power,
                             int uniform)
{
    struct plan plan = {
        .p = p,
        .squares = squares,
        .kernels = ISA_PICK(square_kernels),
        .power = power,
        .uniform = uniform,
        .blocks = uniform ? 1 : (p->volume.slices + SLICES - 1) / SLICES,
    };
    plan.views = least(p->scan.views, COLUMN_FLOATS / SLICES / least(GROUP, plan.blocks));
    /* One column more than taps reach, and an odd number of lines against aliasing. */
    plan.view_stride = (p->columns + 1) * SLICES + 16;
    return plan;
}

static void find_feet(const struct plan *plan, const struct square *s, int64_t view, int64_t views,
                      struct square_feet *feet)
{
    const struct projector *p = plan->p;
    const double cell = p->scan.delta_channel, delta = p->volume.delta;
    const double delta_row = volume_delta_row(&p->volume);
    const double x = delta * ((double)s->col - 0.5 * (double)(p->volume.cols - 1));
    const double y = delta_row * ((double)s->row - 0.5 * (double)(p->volume.rows - 1));
    const double centre = p->scan.channel_offset / cell + 0.5 * (double)(p->scan.channels - 1);
    for (int64_t v = 0; v < views; v++) {
        const struct view_geometry *g = &p->views[view + v];
        const double footprint = fmax(fabs(g->cos) * delta, fabs(g->sin) * delta_row);
        const struct square_at at = {
            .order = &plan->squares->orders[view + v],
            .present = s->present,
            .position = g->cos / cell * x - g->sin / cell * y + centre,
            .width = footprint / cell,
            .height = delta * delta_row / footprint,
        };
        plan->kernels->feet(p, &at, plan->power, &feet[v]);
    }
}

/* Views and slice blocks of a tile; block b of view v at (b * stride + v) * view_stride. */
struct part {
    int64_t view, views, block, blocks, stride;
};

static int64_t slices_of(const struct plan *plan, int64_t block)
{
    return plan->uniform ? 1 : least(SLICES, plan->p->volume.slices - block * SLICES);
}

/* Moves a square's cylinders between the volume and slice blocks of packed ones, whole cylinders at
 * a time: the hardware then foresees 8 KiB of a row of pixels, where 256 B of each come three times
 * slower. */
enum move { MOVE_IN, MOVE_OUT };

static void move_cylinders(const struct plan *plan, const struct square *s, const struct part *at,
                           enum move way, float *x, float *cylinders)
{
    const struct volume *v = &plan->p->volume;
    for (uint64_t left = s->present; left; left &= left - 1) {
        const int n = __builtin_ctzll(left);
        const int64_t pixel = (s->row + n / SIDE) * v->cols + s->col + n % SIDE;
        for (int64_t b = 0; b < at->blocks; b++) {
            const int64_t slices = slices_of(plan, at->block + b);
            float *out = x + pixel * v->slices + (at->block + b) * SLICES;
            float *in = cylinders + (b * SQUARE + n) * SLICES;
            if (way == MOVE_OUT && plan->uniform)
                for (int64_t k = 0; k < v->slices; k++)
                    out[k] = in[0];
            else if (way == MOVE_OUT)
                memcpy(out, in, (size_t)slices * sizeof *in);
            else
                memcpy(in, out, (size_t)slices * sizeof *in);
            if (way == MOVE_IN && slices < SLICES)
                memset(in + slices, 0, (size_t)(SLICES - slices) * sizeof *in);
        }
    }
}

static void forward_square(const struct plan *plan, const struct square *s, const struct part *at,
                           const float *x, struct team_member *m, float *tile)
{
    find_feet(plan, s, at->view, at->views, m->feet);
    move_cylinders(plan, s, at, MOVE_IN, (float *)x, m->cylinders);
    for (int64_t b = 0; b < at->blocks; b++)
        for (int64_t v = 0; v < at->views; v++)
            plan->kernels->forward(&m->feet[v], plan->p->taps, (int)slices_of(plan, at->block + b),
                                   m->cylinders + b * SQUARE * SLICES,
                                   tile + (b * at->stride + v) * plan->view_stride);
}

static void back_square(const struct plan *plan, const struct square *s, const struct part *at,
                        const float *tile, struct team_member *m, float *x)
{
    find_feet(plan, s, at->view, at->views, m->feet);
    if (at->view == 0)
        memset(m->cylinders, 0, (size_t)(at->blocks * SQUARE * SLICES) * sizeof *m->cylinders);
    else
        move_cylinders(plan, s, at, MOVE_IN, x, m->cylinders);
    for (int64_t b = 0; b < at->blocks; b++)
        for (int64_t v = 0; v < at->views; v++)
            plan->kernels->back(&m->feet[v], plan->p->taps, (int)slices_of(plan, at->block + b),
                                tile + (b * at->stride + v) * plan->view_stride,
                                m->cylinders + b * SQUARE * SLICES);
    move_cylinders(plan, s, at, MOVE_OUT, x, m->cylinders);
}

enum err squares_forward(struct backend *be, const struct projector *p, const struct squares *s,
                         const struct pixel_set *pixels, const float *x, struct sinogram y)
{
    const int threads = cpu_projection_team(be, &p->scan, &p->volume, pixels->count);
    struct plan plan = make_plan(p, s, 1, 0);
    const int64_t blocks = least(GROUP, plan.blocks), groups = (plan.blocks + blocks - 1) / blocks;
    /* A tile per thread, and at least 4 tasks for each thread where there are that many views. */
    const int64_t fit = scratch_floats(p, pixels, 1) / threads / (blocks * plan.view_stride);
    const int64_t fair = p->scan.views * groups / (4 * threads);
    plan.views = most(1, least(plan.views, least(fit, fair)));
    const size_t tile_floats = (size_t)(blocks * plan.views * plan.view_stride);
    const size_t each = tile_floats + member_floats(&plan);
    void *scratch;
    TRY(mem_alloc("forward projection tiles", (size_t)threads * each * sizeof(float), &scratch));
#pragma omp parallel num_threads(threads)
    {
        float *tile = (float *)scratch + (size_t)omp_get_thread_num() * each;
        struct team_member m = member_init(&plan, tile + tile_floats);
#pragma omp for collapse(2) schedule(dynamic, 1)
        for (int64_t view = 0; view < p->scan.views; view += plan.views)
            for (int64_t block = 0; block < plan.blocks; block += blocks) {
                const struct part at = {view, least(plan.views, p->scan.views - view), block,
                                        least(blocks, plan.blocks - block), plan.views};
                memset(tile, 0, tile_floats * sizeof *tile);
                for (int64_t n = 0; n < s->count; n++)
                    forward_square(&plan, &s->at[n], &at, x, &m, tile);
                for (int64_t v = 0; v < at.views; v++)
                    for (int64_t b = 0; b < at.blocks; b++)
                        tile_store(p, tile + (b * plan.views + v) * plan.view_stride, SLICES,
                                   view + v, (block + b) * SLICES, slices_of(&plan, block + b), y);
            }
    }
    mem_free(scratch);
    return ERR_OK;
}

/* A task's pixels in all views of a pass: those of a tile's size at a time, so that the columns of
 * a brick stay in L2. */
static void back_task(const struct plan *plan, const struct part *pass, int64_t first, int64_t end,
                      const float *tiles, struct team_member *m, float *x)
{
    for (int64_t v = 0; v < pass->views; v += plan->views) {
        struct part at = *pass;
        at.view += v;
        at.views = least(plan->views, pass->views - v);
        for (int64_t n = first; n < end; n++)
            back_square(plan, &plan->squares->at[n], &at, tiles + v * plan->view_stride, m, x);
    }
}

enum err squares_back(struct backend *be, const struct projector *p, const struct squares *s,
                      const struct pixel_set *pixels, struct sinogram y, struct sinogram w,
                      int power, float *x)
{
    const int threads = cpu_projection_team(be, &p->scan, &p->volume, pixels->count);
    struct plan plan = make_plan(p, s, power, !y.data && !w.data);
    const int64_t row = plan.blocks * plan.view_stride;
    int64_t fit = scratch_floats(p, pixels, y.data || w.data) / row;
    fit = fit >= plan.views ? fit / plan.views * plan.views : most(1, fit);
    const int64_t pass = least(p->scan.views, fit);
    plan.views = least(plan.views, pass);
    const int64_t task = least(TASK, most(1, s->count / (8 * threads)));
    const size_t shared = (size_t)(pass * row), own = member_floats(&plan);
    void *scratch;
    TRY(mem_alloc("back projection tiles", (shared + (size_t)threads * own) * sizeof(float),
                  &scratch));
#pragma omp parallel num_threads(threads)
    {
        float *tiles = scratch;
        struct team_member m =
            member_init(&plan, tiles + shared + (size_t)omp_get_thread_num() * own);
        for (int64_t view = 0; view < p->scan.views; view += pass) {
            const int64_t views = least(pass, p->scan.views - view);
#pragma omp for collapse(2) schedule(static)
            for (int64_t v = 0; v < views; v++)
                for (int64_t b = 0; b < plan.blocks; b++) {
                    float *tile = tiles + (b * pass + v) * plan.view_stride;
                    tile_load(p, y, w, view + v, b * SLICES, slices_of(&plan, b), tile, SLICES);
                    memset(tile + p->columns * SLICES, 0, SLICES * sizeof *tile);
                }
#pragma omp for collapse(2) schedule(dynamic, 1)
            for (int64_t block = 0; block < plan.blocks; block += GROUP)
                for (int64_t n = 0; n < s->count; n += task) {
                    const struct part at = {view, views, block, least(GROUP, plan.blocks - block),
                                            pass};
                    back_task(&plan, &at, n, least(n + task, s->count),
                              tiles + block * pass * plan.view_stride, &m, x);
                }
        }
    }
    mem_free(scratch);
    return ERR_OK;
}
