/* The projection entries of the back end: batches of views, order of the sinogram, marks, declared
 * work. */
#include <limits.h>

#include "cuda/common/gather.cuh"
#include "cuda/common/projection.cuh"
#include "cuda/cone/cone.cuh"
#include "cuda/parallel/parallel.cuh"
#include "cuda/projection/project.cuh"

#define TILE_SIDE 32 /* of a transposition: 32 x 33 floats of shared memory */
#define STRIPS    8  /* rows of threads */
#define THREADS   (TILE_SIDE * STRIPS)

/* Planes of a x b floats, transposed, and times w. */
static __global__ void __launch_bounds__(THREADS)
    turn_kernel(const float *in, const float *w, int a, int b, float *out)
{
    SHARED_ARRAY(float, tile);
    const int across = (b + TILE_SIDE - 1) / TILE_SIDE, down = (a + TILE_SIDE - 1) / TILE_SIDE;
    const int64_t plane = (int64_t)(blockIdx.x / (across * down)) * a * b;
    const int at = blockIdx.x % (across * down);
    const int a0 = at / across * TILE_SIDE, b0 = at % across * TILE_SIDE;
    const int x = threadIdx.x % TILE_SIDE, strip = threadIdx.x / TILE_SIDE;
    for (int i = strip; i < TILE_SIDE; i += STRIPS)
        if (a0 + i < a && b0 + x < b) {
            const int64_t at = plane + (int64_t)(a0 + i) * b + b0 + x;
            tile[i * (TILE_SIDE + 1) + x] = w ? w[at] * in[at] : in[at];
        }
    __syncthreads();
    for (int i = strip; i < TILE_SIDE; i += STRIPS)
        if (b0 + i < b && a0 + x < a)
            out[plane + (int64_t)(b0 + i) * a + a0 + x] = tile[x * (TILE_SIDE + 1) + i];
}

static enum err sinogram_transpose(struct cuda_backend *be, int64_t planes, const float *in,
                                   const float *w, int64_t a, int64_t b, float *out)
{
    const int64_t blocks = planes * ceil_div(a, TILE_SIDE) * ceil_div(b, TILE_SIDE);
    LAUNCH(be, turn_kernel, blocks, THREADS, TILE_SIDE * (TILE_SIDE + 1) * sizeof(float), in, w,
           (int)a, (int)b, out);
    return ERR_OK;
}

/* out = in w; NULLs are ones. */
static __global__ void __launch_bounds__(THREADS)
    product_kernel(const float *in, const float *w, int64_t n, float *out)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < n)
        out[i] = (in ? in[i] : 1) * (w ? w[i] : 1);
}

enum err planes_load(struct cuda_backend *be, const struct projector *p, int views, const float *y,
                     const float *w, enum sino_order order, float *out)
{
    const int64_t n = (int64_t)views * p->g.rows * p->g.channels;
    if (order == SINO_CHANNELS_FASTEST && (y || w))
        return sinogram_transpose(be, views, y ? y : w, y ? w : NULL, p->g.rows, p->g.channels,
                                  out);
    LAUNCH(be, product_kernel, ceil_div(n, THREADS), THREADS, 0, y, w, n, out);
    return ERR_OK;
}

enum err planes_transpose(struct cuda_backend *be, const struct projector *p, int views,
                          enum sino_order from, const float *in, float *out)
{
    const int rows_fastest = from == SINO_ROWS_FASTEST;
    return sinogram_transpose(be, views, in, NULL, rows_fastest ? p->g.channels : p->g.rows,
                              rows_fastest ? p->g.rows : p->g.channels, out);
}

int64_t gather_warps(const struct projector *p, int views)
{
    const int64_t tile = taps_of(p->g.taps) ? CHANNELS : 1;
    return views * ceil_div(p->g.channels, tile) * warp_partition_of(p->g.rows).warps;
}

enum err gather_views(struct cuda_backend *be, const struct projector *p,
                      const struct pixel_list *pixels, const struct bins *bins, struct batch b,
                      const float *x, struct sample_sink sink)
{
    return p->g.cone ? cone_gather(be, p, pixels, bins, b, x, sink)
                     : parallel_gather(be, p, pixels, bins, b, x, sink);
}

enum err spread_views(struct cuda_backend *be, const struct projector *p,
                      const struct pixel_list *pixels, struct batch b, const float *y, int power,
                      int set, float *x)
{
    return p->g.cone ? cone_spread(be, p, pixels, b, y, power, set, x)
                     : parallel_spread(be, p, pixels, b, y, power, set, x);
}

/* Ideal work of one projection: per voxel and view 2 taps (parallel) or 2 channel taps on the
 * blended column and 2 row taps on the voxel (cone), a multiply-add each. */
static void projection_declare(struct backend *be, const struct projector *p,
                               const struct pixel_set *pixels, int sinograms)
{
    const double voxels = (double)pixels->count * (double)p->g.slices;
    const double updates = voxels * (double)p->g.views, taps = p->g.cone ? 4 : 2;
    const double samples = (double)p->g.views * (double)p->g.rows * (double)p->g.channels;
    backend_declare(be, 2 * taps * updates, 4 * (voxels + samples * sinograms), 4 * taps * updates);
}

static int64_t sinogram_plane(const struct projector *p, int view)
{
    return (int64_t)view * p->g.rows * p->g.channels;
}

int views_at_once(const struct cuda_backend *be, const struct projector *p,
                  const struct projection_plan *plan, int64_t pixels)
{
    const double each = (double)size_max(1, pixels) * (double)size_max(p->g.slices, p->g.rows);
    /* A warp takes 32 views at a time. */
    const double bound = fmin(ceil(be->launch_updates / each / WARP), INT_MAX / WARP) * WARP;
    return (int)size_max(1,
                         size_min(plan->views, size_min((int64_t)bound, INT_MAX / p->g.channels)));
}

static enum err project_forward(struct cuda_backend *be, const struct projector *p,
                                const struct pixel_set *pixels, const float *x, struct sinogram y)
{
    const int transposed = y.order == SINO_CHANNELS_FASTEST;
    struct pixel_list list;
    struct projection_plan plan;
    TRY(list_put(be, pixels, &list));
    TRY(plan_create(be, p, pixels->count, transposed, &plan));
    const int views = views_at_once(be, p, &plan, list.count);
    for (int view = 0; view < p->g.views; view += views) {
        const struct batch b = {view, (int)size_min(views, p->g.views - view)};
        float *const to = floats_of(y.data) + sinogram_plane(p, view);
        struct sample_sink sink = {};
        struct bins bins;
        sink.y = transposed ? plan.tile : to;
        TRY(bins_fill(be, p, &plan, &list, b, &bins));
        TRY(gather_views(be, p, &list, &bins, b, x, sink));
        if (transposed)
            TRY(planes_transpose(be, p, b.views, SINO_ROWS_FASTEST, plan.tile, to));
    }
    return ERR_OK;
}

enum err cuda_forward(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                      const struct buffer *x, struct sinogram y)
{
    mark_push("forward_project", (uint64_t)pixels->count);
    const enum err e = project_forward(device_of(be), p, pixels, floats_of(x), y);
    mark_pop();
    projection_declare(be, p, pixels, 1);
    return e;
}

/* A single array with rows fastest can be read in place. */
static enum err project_back(struct cuda_backend *be, const struct projector *p,
                             const struct pixel_set *pixels, struct sinogram y, struct sinogram w,
                             int power, float *x)
{
    const float *const data = floats_of(y.data), *const weight = floats_of(w.data);
    const enum sino_order order = data ? y.order : w.order;
    const float *const lone = data && weight ? NULL : data ? data : weight;
    const int direct = lone && order == SINO_ROWS_FASTEST;
    struct pixel_list list;
    struct projection_plan plan;
    TRY(list_put(be, pixels, &list));
    TRY(plan_create(be, p, -1, !direct, &plan));
    const int views = views_at_once(be, p, &plan, list.count);
    for (int view = 0; view < p->g.views; view += views) {
        const struct batch b = {view, (int)size_min(views, p->g.views - view)};
        const int64_t at = sinogram_plane(p, view);
        if (!direct)
            TRY(planes_load(be, p, b.views, data ? data + at : NULL, weight ? weight + at : NULL,
                            order, plan.tile));
        TRY(spread_views(be, p, &list, b, direct ? lone + at : plan.tile, power, view == 0, x));
    }
    return ERR_OK;
}

enum err cuda_back(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                   struct sinogram y, struct sinogram w, int power, struct buffer *x)
{
    mark_push("back_project", (uint64_t)pixels->count);
    const enum err e = project_back(device_of(be), p, pixels, y, w, power, floats_of(x));
    mark_pop();
    projection_declare(be, p, pixels, (y.data != NULL) + (w.data != NULL));
    return e;
}

/* Rows that a slice may be high: those of a warp end below 2^31 rows. */
#define HIGHEST_SLICE 0x1p20

/* Scratch for the frames of some views: all, or what a tenth of volume and sinogram holds. */
static enum err frames_plan(struct cuda_backend *be, const struct geometry *g, int64_t pixels,
                            struct projection_plan *out)
{
    const double samples = (double)g->views * (double)g->rows * (double)g->channels;
    const double floats = samples + (double)pixels * (double)g->slices;
    const size_t each = voxel_frame_bytes(g);
    const double fit = fmax(SCRATCH_LEAST, floats * sizeof(float) / 10) / (double)each;
    *out = projection_plan{};
    out->views = (int)fmax(1, fmin(fit, g->views));
    TRY(workspace_hold(be, "scratch of a back projection", (size_t)out->views * each,
                       &be->scratch));
    out->tile = static_cast<float *>(be->scratch.ptr);
    return ERR_OK;
}

static enum err project_voxel(struct cuda_backend *be, const struct projector *p,
                              const struct pixel_set *pixels, struct sinogram y, float *x)
{
    struct pixel_list list;
    struct projection_plan plan;
    FAIL_IF(!p->g.cone || p->g.tilted, ERR_UNSUPPORTED,
            "voxel-driven back projection is for cone beams");
    FAIL_IF(!(p->g.highest_slice < HIGHEST_SLICE), ERR_INPUT,
            "slices are up to %.3g detector rows high; the GPU computes up to 2^20: use thinner "
            "ones, or `backend=cpu`",
            p->g.highest_slice);
    TRY(list_put(be, pixels, &list));
    TRY(frames_plan(be, &p->g, list.count, &plan));
    const int views = views_at_once(be, p, &plan, list.count);
    for (int view = 0; view < p->g.views; view += views) {
        const struct batch b = {view, (int)size_min(views, p->g.views - view)};
        TRY(voxel_frames_fill(be, p, b.views, floats_of(y.data) + sinogram_plane(p, view), y.order,
                              plan.tile));
        TRY(voxel_spread(be, p, &list, b, plan.tile, view == 0, x));
    }
    return ERR_OK;
}

enum err cuda_back_voxel(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                         struct sinogram y, struct buffer *x)
{
    mark_push("back_project_voxel", (uint64_t)pixels->count);
    const enum err e = project_voxel(device_of(be), p, pixels, y, floats_of(x));
    mark_pop();
    projection_declare(be, p, pixels, 1);
    return e;
}

enum err cuda_sino_reorder(struct backend *base, const struct scan *s, struct sinogram in,
                           struct sinogram out)
{
    struct cuda_backend *be = device_of(base);
    const double bytes = 8.0 * (double)scan_samples(s);
    const int to_rows = in.order == SINO_CHANNELS_FASTEST;
    if (in.order == out.order)
        TRY(cuda_copy(base, in.data, out.data));
    else
        TRY(sinogram_transpose(be, s->views, floats_of(in.data), NULL,
                               to_rows ? s->rows : s->channels, to_rows ? s->channels : s->rows,
                               floats_of(out.data)));
    backend_declare(base, 0, bytes, bytes);
    return ERR_OK;
}
