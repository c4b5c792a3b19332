/* The two passes of VCD over the error sinogram. The projection of a subset is never stored: its
 * samples are summed, or taken out of the error, where they arise. */
#include <limits.h>

#include "cuda/common/reduce.cuh"
#include "cuda/vcd/vcd.cuh"

static void error_declare(struct backend *be, const struct projector *p, int64_t pixels,
                          int projections, double sinograms)
{
    const double voxels = (double)pixels * (double)p->g.slices, taps = p->g.cone ? 4 : 2;
    const double updates = voxels * (double)p->g.views * projections;
    const double samples = (double)p->g.views * (double)p->g.rows * (double)p->g.channels;
    backend_declare(be, 2 * taps * updates + 4 * samples,
                    4 * voxels * projections + 4 * sinograms * samples,
                    4 * taps * updates + 4 * sinograms * samples);
}

static int64_t error_plane(const struct projector *p, int view)
{
    return (int64_t)view * p->g.rows * p->g.channels;
}

static enum err project_batch(struct cuda_backend *be, const struct projector *p,
                              const struct projection_plan *plan, const struct moving *m,
                              struct batch b, struct sample_sink sink)
{
    struct bins bins = {NULL, NULL, bins_of(&p->g), m->kept};
    if (!m->kept)
        TRY(bins_fill(be, p, plan, &m->pixels, b, &bins));
    return gather_views(be, p, &m->pixels, &bins, b, m->delta, sink);
}

enum err dots_launch(struct cuda_backend *be, const struct projector *p,
                     const struct projection_plan *plan, const struct moving *m, const float *e,
                     const float *w, double *partial, double *out)
{
    const int views = views_at_once(be, p, plan, m->pixels.count);
    for (int view = 0; view < p->g.views; view += views) {
        const struct batch b = {view, (int)size_min(views, p->g.views - view)};
        const int64_t at = error_plane(p, view);
        struct sample_sink sink = {};
        sink.mode = SINK_DOTS;
        sink.e = const_cast<float *>(e) + at;
        sink.w = w ? w + at : NULL;
        sink.partial = partial + 2 * gather_warps(p, view);
        sink.y = m->product ? m->product + at : NULL;
        TRY(project_batch(be, p, plan, m, b, sink));
    }
    error_declare(&be->base, p, m->pixels.count, 1, (w ? 2 : 1) + (m->product ? 1 : 0));
    return out ? reduce_launch(be, partial, gather_warps(p, p->g.views), 2, 2, out) : ERR_OK;
}

static enum err error_forward_dots(struct cuda_backend *be, const struct projector *p,
                                   const struct pixel_set *pixels, const float *x, const float *e,
                                   const float *w, struct vcd_sums *sums)
{
    struct moving m = {{}, NULL, x, {}, NULL};
    struct projection_plan plan;
    double *partial, total[2];
    const int64_t warps = gather_warps(p, p->g.views);
    TRY(list_put(be, pixels, &m.pixels));
    TRY(plan_create(be, p, pixels->count, 0, &plan));
    TRY(reduce_hold(be, warps, 2, &partial));
    TRY(dots_launch(be, p, &plan, &m, e, w, partial, partial + 2 * warps));
    TRY(take_numbers(be, partial + 2 * warps, 2, total));
    *sums = vcd_sums{total[0], total[1]};
    return ERR_OK;
}

enum err cuda_forward_dots(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                           const struct buffer *x, const struct buffer *e, const struct buffer *w,
                           struct vcd_sums *sums)
{
    mark_push("forward_dots", (uint64_t)pixels->count);
    const enum err result = error_forward_dots(device_of(be), p, pixels, floats_of(x), floats_of(e),
                                               floats_of(w), sums);
    mark_pop();
    return result;
}

#define THREADS 256

/* e -= alpha d, and w e, as a projection does with its samples (gather.cuh). */
static __global__ void __launch_bounds__(THREADS)
    subtract_kernel(const float *d, struct scalar step, const float *w, int64_t n, float *e,
                    float *weighted)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const float alpha = scalar_value(step);
    if (i < n) {
        const float left = e[i] - alpha * d[i];
        e[i] = left;
        if (weighted)
            weighted[i] = w[i] * left;
    }
}

/* A batch of pass two: e -= alpha d; returns in *data what is to be back projected. */
static enum err move_batch(struct cuda_backend *be, const struct projector *p,
                           const struct projection_plan *plan, struct batch b,
                           const struct moving *m, float *e, const float *w, const float **data)
{
    *data = w ? plan->tile : e;
    if (m && m->product) {
        const int64_t n = error_plane(p, b.views);
        LAUNCH(be, subtract_kernel, ceil_div(n, THREADS), THREADS, 0,
               (const float *)(m->product + error_plane(p, b.view)), m->alpha, w, n, e,
               w ? plan->tile : NULL);
        return ERR_OK;
    }
    if (m) {
        struct sample_sink sink = {};
        sink.mode = SINK_UPDATE;
        sink.e = e;
        sink.w = w;
        sink.weighted = w ? plan->tile : NULL;
        sink.alpha = m->alpha;
        return project_batch(be, p, plan, m, b, sink);
    }
    return w ? planes_load(be, p, b.views, e, w, SINO_ROWS_FASTEST, plan->tile) : ERR_OK;
}

enum err update_launch(struct cuda_backend *be, const struct projector *p,
                       const struct projection_plan *plan, const struct moving *m, float *e,
                       const float *w, const struct pixel_list *list, float *x)
{
    const int views = views_at_once(be, p, plan, size_max(list->count, m ? m->pixels.count : 0));
    for (int view = 0; view < p->g.views; view += views) {
        const struct batch b = {view, (int)size_min(views, p->g.views - view)};
        const int64_t at = error_plane(p, view);
        const float *data;
        TRY(move_batch(be, p, plan, b, m, e + at, w ? w + at : NULL, &data));
        if (list->count)
            TRY(spread_views(be, p, list, b, data, 1, view == 0, x));
    }
    const int kept = m && m->product;
    error_declare(&be->base, p, list->count + (m && !kept ? m->pixels.count : 0), 1,
                  (w ? 2 : 1) + (m ? 1 : 0) + kept);
    return ERR_OK;
}

static enum err error_update_back(struct cuda_backend *be, const struct projector *p,
                                  const struct vcd_move *move, float *e, const float *w,
                                  const struct pixel_set *pixels, float *x)
{
    struct moving m = {};
    struct pixel_list list;
    struct projection_plan plan;
    if (move) {
        TRY(list_put(be, &move->pixels, &m.pixels));
        m.delta = floats_of(move->delta);
        m.alpha.value = (float)move->alpha;
    }
    TRY(list_put(be, pixels, &list));
    TRY(plan_create(be, p, move ? move->pixels.count : -1, w != NULL, &plan));
    return update_launch(be, p, &plan, move ? &m : NULL, e, w, &list, x);
}

enum err cuda_update_back(struct backend *be, struct projector *p, const struct vcd_move *move,
                          struct buffer *e, const struct buffer *w, const struct pixel_set *pixels,
                          struct buffer *x)
{
    mark_push("update_back", (uint64_t)pixels->count);
    const enum err result =
        error_update_back(device_of(be), p, move, floats_of(e), floats_of(w), pixels, floats_of(x));
    mark_pop();
    return result;
}
