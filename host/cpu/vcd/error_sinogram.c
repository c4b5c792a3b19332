/* The two passes of VCD over the error sinogram. A subset's projection is cheap beside a pass (400
 * pixels against 256 columns per view at 1/128 of 256 x 256), so it is computed twice, in a tile
 * that stays in L2, rather than stored: a subset then reads w twice, and e twice (once in an
 * iteration, where the linear sum comes from the back projection), and writes e once. Whoever reads
 * a column of the tile leaves it 0. Views are the unit of work; sums are per view and added in
 * order. */
#include <omp.h>
#include <string.h>

#include "host/cpu/cone/cone_worker.h"
#include "host/cpu/parallel/parallel.h"
#include "base/memory.h"
#include "host/cpu/common/arithmetic.h"
#include "host/backend/course.h"
#include "host/cpu/common/threads.h"
#include "host/cpu/vcd/error_views.h"
#include "host/cpu/vcd/iteration.h"
#include "host/cpu/vcd/vcd.h"
#include "base/mark/mark.h"

/* Chooses the worker of a projector's beam. */

#define LOOK_PIXELS (64 * BATCH) /* between two looks at backend_stopped */

union any_worker {
    struct worker base;
    struct parallel_worker parallel;
    struct cone_worker cone;
};

/* Returns the floats of scratch per worker. */
static size_t any_worker_floats(const struct projector *p)
{
    return p->scan.beam == BEAM_CONE ? cone_worker_floats(p) : worker_floats(p);
}

/* ld: floats between columns of a tile. */
static void any_worker_init(union any_worker *w, const struct projector *p, float *scratch,
                            int64_t ld, int64_t view_stride, int power)
{
    if (p->scan.beam == BEAM_CONE)
        cone_worker_init(&w->cone, p, scratch, ld, view_stride, power);
    else
        parallel_worker_init(&w->parallel, p, scratch, ld, view_stride, power);
}

struct planes planes_of(const struct projector *p)
{
    const int64_t ld = round_up(p->scan.rows, 16) + 16;
    const int64_t stride = p->columns * ld, fit = L2_FLOATS / stride;
    return (struct planes){ld, stride, p->scan.channels, p->scan.rows * p->scan.channels,
                           int_max(1, int_min(4, fit))};
}

static const float *plane_at(const struct buffer *b, const struct planes *s, int64_t view)
{
    return b ? (const float *)b->ptr + view * s->plane : NULL;
}

static struct tile_region view_region(const struct projector *p, int64_t view, int64_t views)
{
    return (struct tile_region){view, views, 0, p->volume.slices};
}

/* Adds the projection of the packed or dense pixels to tiles of `at.views` views, in runs of some
 * milliseconds. */
static void project_views(const struct backend *be, struct worker *w,
                          const struct pixel_set *pixels, const float *x, struct tile_region at,
                          float *tile)
{
    for (int64_t first = 0; first < pixels->count && !backend_stopped(be); first += LOOK_PIXELS)
        worker_forward(w, pixels, first, int_min(first + LOOK_PIXELS, pixels->count), at, x, tile);
}

void error_declare_work(struct backend *be, const struct projector *p, int64_t pixels,
                        int projections, double sinograms)
{
    const double updates = (double)pixels * (double)p->volume.slices * (double)p->scan.views;
    const double taps = p->scan.beam == BEAM_PARALLEL ? 2 : 4,
                 samples = (double)scan_samples(&p->scan);
    const double x = 4 * (double)pixels * (double)p->volume.slices;
    backend_declare(be, 2 * taps * updates * projections + 4 * samples,
                    x * projections + 4 * sinograms * samples,
                    4 * taps * updates * projections + 4 * sinograms * samples);
}

void error_view_dots(const struct projector *p, const struct planes *s, float *tile,
                     const struct buffer *error, const struct buffer *weights, int64_t view,
                     double sums[2])
{
    const struct vcd_kernels *kernels = ISA_PICK(vcd_kernels);
    const int64_t rows = p->scan.rows;
    const float *e = plane_at(error, s, view), *w = plane_at(weights, s, view);
    float *d = tile + p->taps * s->ld;
    for (int64_t c = 0; c < s->columns; c++)
        kernels->dots(w ? w + c * rows : NULL, e ? e + c * rows : NULL, d + c * s->ld, rows, sums);
}

enum err cpu_forward_dots(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                          const struct buffer *x, const struct buffer *e, const struct buffer *w,
                          struct vcd_sums *sums)
{
    const struct planes s = planes_of(p);
    const int threads = cpu_team(be, scan_samples(&p->scan));
    const size_t each = any_worker_floats(p) + (size_t)(s.group * s.stride);
    const size_t partial_bytes = (size_t)p->scan.views * 2 * sizeof(double);
    void *memory;
    TRY(mem_alloc("error sinogram tiles", partial_bytes + (size_t)threads * each * sizeof(float),
                  &memory));
    double(*partial)[2] = memory;
    float *scratch = (float *)memory + partial_bytes / sizeof(float);
    memset(partial, 0, partial_bytes);
    mark_push("forward_dots", (uint64_t)pixels->count);
#pragma omp parallel num_threads(threads)
    {
        float *tile = scratch + (size_t)omp_get_thread_num() * each;
        union any_worker worker;
        any_worker_init(&worker, p, tile + s.group * s.stride, s.ld, s.stride, 1);
        memset(tile, 0, (size_t)(s.group * s.stride) * sizeof *tile);
#pragma omp for schedule(dynamic, 1)
        for (int64_t view = 0; view < p->scan.views; view += s.group) {
            const struct tile_region at =
                view_region(p, view, int_min(s.group, p->scan.views - view));
            project_views(be, &worker.base, pixels, x->ptr, at, tile);
            for (int64_t v = 0; v < at.views; v++)
                error_view_dots(p, &s, tile + v * s.stride, e, w, view + v, partial[view + v]);
        }
    }
    mark_pop();
    *sums = (struct vcd_sums){0};
    for (int64_t view = 0; view < p->scan.views; view++) {
        sums->linear += partial[view][0];
        sums->quadratic += partial[view][1];
    }
    mem_free(memory);
    error_declare_work(be, p, pixels->count, 1, (w != NULL) + (e != NULL));
    return ERR_OK;
}

void error_update_view(const struct projector *p, double alpha, struct buffer *e,
                       const struct buffer *w, int64_t view, const struct planes *s, float *d,
                       float *tile)
{
    const struct vcd_kernels *kernels = ISA_PICK(vcd_kernels);
    const int64_t rows = p->scan.rows, guard = p->taps * s->ld;
    const float *wv = plane_at(w, s, view);
    float *ev = (float *)e->ptr + view * s->plane;
    memset(tile, 0, (size_t)guard * sizeof *tile);
    memset(tile + guard + s->columns * s->ld, 0, (size_t)guard * sizeof *tile);
    for (int64_t c = 0; c < s->columns; c++) {
        float *column = tile + guard + c * s->ld;
        kernels->update(wv ? wv + c * rows : NULL, d + guard + c * s->ld, (float)alpha, rows,
                        ev + c * rows, column);
        memset(column + rows, 0, (size_t)(s->ld - rows) * sizeof *column);
    }
}

enum err cpu_update_back(struct backend *be, struct projector *p, const struct vcd_move *move,
                         struct buffer *e, const struct buffer *w, const struct pixel_set *pixels,
                         struct buffer *x)
{
    const struct planes s = planes_of(p);
    const int threads = cpu_team(be, scan_samples(&p->scan));
    const size_t each = any_worker_floats(p) + (size_t)(s.group * s.stride);
    /* A thread back projects what it has just moved, while that is in its L2. */
    const int64_t near = int_max(s.group, int_min(MAX_VIEWS, L2_FLOATS / s.stride));
    const int64_t views =
        int_min(p->scan.views,
                int_max(1, int_min(near * threads, scratch_floats(p, pixels, 1) / s.stride)));
    const int64_t run = int_max(8, int_min(BATCH, pixels->count / (8 * threads)));
    const struct sinogram error = {e, SINO_ROWS_FASTEST},
                          weights = {(struct buffer *)w, SINO_ROWS_FASTEST};
    void *memory;
    TRY(mem_alloc("error sinogram tiles",
                  ((size_t)(views * s.stride) + (size_t)threads * each) * sizeof(float), &memory));
    float *tiles = memory, *scratch = tiles + views * s.stride;
    mark_push("update_back", (uint64_t)pixels->count);
#pragma omp parallel num_threads(threads)
    {
        float *d = scratch + (size_t)omp_get_thread_num() * each;
        union any_worker worker;
        any_worker_init(&worker, p, d + s.group * s.stride, s.ld, s.stride, 1);
        memset(d, 0, (size_t)(s.group * s.stride) * sizeof *d);
        for (int64_t view = 0; view < p->scan.views; view += views) {
            const struct tile_region at =
                view_region(p, view, int_min(views, p->scan.views - view));
#pragma omp for schedule(dynamic, 1)
            for (int64_t v = 0; v < at.views; v += s.group) {
                const struct tile_region own =
                    view_region(p, view + v, int_min(s.group, at.views - v));
                if (move)
                    project_views(be, &worker.base, &move->pixels, move->delta->ptr, own, d);
                for (int64_t i = 0; i < own.views; i++)
                    if (move)
                        error_update_view(p, move->alpha, e, w, own.view + i, &s, d + i * s.stride,
                                          tiles + (v + i) * s.stride);
                    else
                        tile_load(p, error, weights, own.view + i, 0, p->scan.rows,
                                  tiles + (v + i) * s.stride, s.ld);
            }
#pragma omp for schedule(dynamic, 1)
            for (int64_t first = 0; first < pixels->count; first += run)
                if (!backend_stopped(be))
                    worker_back(&worker.base, pixels, first, int_min(first + run, pixels->count),
                                at, tiles, view == 0, x->ptr);
        }
    }
    mark_pop();
    mem_free(memory);
    error_declare_work(be, p, pixels->count + (move ? move->pixels.count : 0), 1,
                       (w ? 2 : 1) + (move ? 1 : 0));
    return ERR_OK;
}

static enum err whole_update_back(struct iteration *it, const struct vcd_move *last,
                                  const struct pixel_set *pixels, struct buffer *d)
{
    const struct pixel_set none = {NULL, 0, 1};
    return cpu_update_back(it->be, it->p, last, it->s->error, it->s->weights,
                           pixels ? pixels : &none, pixels ? d : it->s->dP[it->odd]);
}

static enum err whole_norm(struct iteration *it, const struct pixel_set *pixels,
                           const struct buffer *d, double *quadratic)
{
    struct vcd_sums sums;
    TRY(cpu_forward_dots(it->be, it->p, pixels, d, NULL, it->s->weights, &sums));
    *quadratic = sums.quadratic;
    return ERR_OK;
}

const struct iteration_passes whole_passes = {whole_update_back, whole_norm, NULL};
