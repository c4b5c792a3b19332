/* Back projection of parallel beams over whole images: a block owns 8 x 8 pixels and some slices,
 * a warp of it one row of pixels, with the sums in registers. The channels under the tile, a dozen
 * for 64 pixels, come into shared memory once for some views at a time, where spread.cuh reads two
 * for each pixel. Sums have the order of spread.cuh, and its bits. */
#include "cuda/common/footprint.cuh"
#include "cuda/common/kernel_table.cuh"
#include "cuda/parallel/parallel.cuh"

#define SIDE    8
#define PIXELS  (SIDE * SIDE)
#define THREADS (SIDE * WARP)
#define DEPTH   4  /* groups of 32 slices that a block has at most */
#define VIEWS   16 /* in shared memory at once, at most */
#define ROOM    ((size_t)48 << 10)

struct tiles {
    struct geometry g;
    struct pixel_list pixels;
    struct batch batch;
    const float *y; /* [views][channels][rows] */
    float *x;
    int power, set;
    int across, count; /* tiles along j, and all of them */
    int views, span;   /* views at once; channels that hold a tile's footprints */
};

template <int TAPS> struct alignas(16) tap_row {
    float weight[TAPS];
    int at; /* of the first in the view's channels, floats */
};

/* The first channel under a tile: positions are linear, so a corner has it. */
static __device__ inline int first_under(const struct geometry &g, const struct parallel_pose &v,
                                         int i0, int j0)
{
    int first = g.channels;
    for (int corner = 0; corner < 4; corner++) {
        const struct pixel_ij at = {i0 + corner / 2 * (SIDE - 1), j0 + corner % 2 * (SIDE - 1)};
        const int start = parallel_footprint(g, v, at).start;
        first = start < first ? start : first;
    }
    return first;
}

template <int TAPS, int GROUPS>
static __global__ void __launch_bounds__(THREADS, 4) tile_kernel(const __grid_constant__ tiles a)
{
    SHARED_ARRAY(char, shared);
    const int lane = threadIdx.x % WARP, own = threadIdx.x / WARP;
    const int length = GROUPS * WARP;
    struct tap_row<TAPS> *const rows = reinterpret_cast<struct tap_row<TAPS> *>(shared);
    int *const first = reinterpret_cast<int *>(rows + a.views * PIXELS); /* channel of each view */
    float *const channels = reinterpret_cast<float *>(first + VIEWS);

    /* Neighbouring blocks: neighbouring tiles of the same slices, which share channels in L2. */
    const int tile = (int)(blockIdx.x % a.count);
    const int slice0 = (int)(blockIdx.x / a.count) * length + lane;
    const int i0 = tile / a.across * SIDE, j0 = tile % a.across * SIDE;
    float sum[SIDE][GROUPS];
    for (int p = 0; p < SIDE; p++) {
        const int place = a.set ? -1 : cylinder_place(a.g, a.pixels, pixel_ij{i0 + own, j0 + p});
        const float *const x = a.x + (int64_t)place * a.g.slices + slice0;
        for (int n = 0; n < GROUPS; n++)
            sum[p][n] = place >= 0 && slice0 + n * WARP < a.g.slices ? x[n * WARP] : 0;
    }

    for (int view = 0; view < a.batch.views; view += a.views) {
        const int n = a.batch.views - view < a.views ? a.batch.views - view : a.views;
        const union view_pose *const poses = a.g.view + a.batch.view + view;
        __syncthreads();
        if ((int)threadIdx.x < n)
            first[threadIdx.x] = first_under(a.g, poses[threadIdx.x].parallel, i0, j0);
        __syncthreads();
        NOT_UNROLLED
        for (int k = threadIdx.x; k < n * PIXELS; k += THREADS) {
            const struct pixel_ij at = {i0 + k % PIXELS / SIDE, j0 + k % SIDE};
            const struct footprint f = parallel_footprint(a.g, poses[k / PIXELS].parallel, at);
            for (int t = 0; t < TAPS; t++)
                rows[k].weight[t] = footprint_entry(f, f.offset - (float)t, a.power);
            rows[k].at = (f.start - first[k / PIXELS]) * length;
        }
        const float *from = a.y + (int64_t)view * a.g.channels * a.g.rows + slice0;
        int at = 0, channel = own; /* of the row that the warp brings next */
        NOT_UNROLLED
        for (float *to = channels + own * length + lane;; to += SIDE * length, channel += SIDE) {
            for (; channel >= a.span; channel -= a.span, at++)
                from += (int64_t)a.g.channels * a.g.rows;
            if (at >= n)
                break;
            const int c = first[at] + channel;
            const float *const row = from + (int64_t)c * a.g.rows;
            const bool exists = (unsigned)c < (unsigned)a.g.channels;
            for (int i = 0; i < GROUPS; i++)
                to[i * WARP] = exists && slice0 + i * WARP < a.g.rows ? row[i * WARP] : 0;
        }
        __syncthreads();
        const struct tap_row<TAPS> *row = rows + own * SIDE;
        const float *under = channels + lane;
        NOT_UNROLLED
        for (int left = n; left > 0; left--, row += PIXELS, under += a.span * length)
            for (int p = 0; p < SIDE; p++) {
                const struct tap_row<TAPS> h = row[p];
                const float *const from = under + h.at;
                for (int t = 0; t < TAPS; t++)
                    for (int i = 0; i < GROUPS; i++)
                        sum[p][i] += h.weight[t] * from[t * length + i * WARP];
            }
    }
    for (int p = 0; p < SIDE; p++) {
        const int place = cylinder_place(a.g, a.pixels, pixel_ij{i0 + own, j0 + p});
        float *const x = a.x + (int64_t)place * a.g.slices + slice0;
        for (int n = 0; n < GROUPS; n++)
            if (place >= 0 && slice0 + n * WARP < a.g.slices)
                x[n * WARP] = sum[p][n];
    }
}

struct tiler {
    template <int TAPS, int GROUPS> static enum err launch(struct cuda_backend *be, struct tiles a)
    {
        const size_t view = PIXELS * sizeof(struct tap_row<TAPS>) +
                            (size_t)(a.span * GROUPS * WARP) * sizeof(float);
        void (*const back_projection_tiles)(struct tiles) = tile_kernel<TAPS, GROUPS>;
        const size_t firsts = VIEWS * sizeof(int);
        a.views = (int)size_min(VIEWS, (int64_t)((ROOM - firsts) / view));
        LAUNCH(be, back_projection_tiles, a.count * ceil_div(a.g.slices, GROUPS * WARP), THREADS,
               firsts + (size_t)a.views * view, a);
        return ERR_OK;
    }

    template <int TAPS> static enum err depth(struct cuda_backend *be, const struct tiles &a, int n)
    {
        switch (n) {
        case 1:
            return launch<TAPS, 1>(be, a);
        case 2:
            return launch<TAPS, 2>(be, a);
        case 3:
            return launch<TAPS, 3>(be, a);
        default:
            return launch<TAPS, DEPTH>(be, a);
        }
    }
};

int tiles_serve(const struct cuda_backend *be, const struct projector *p,
                const struct pixel_list *pixels)
{
    const struct geometry *g = &p->g;
    const int64_t blocks =
        ceil_div(g->image_rows, SIDE) * ceil_div(g->cols, SIDE) * ceil_div(g->slices, DEPTH * WARP);
    return taps_of(g->taps) && g->tile_span <= WIDEST_TILE && blocks >= be->multiprocessors &&
           list_fills_tiles(g, pixels);
}

enum err tiles_spread(struct cuda_backend *be, const struct projector *p,
                      const struct pixel_list *pixels, struct batch b, const float *y, int power,
                      int set, float *x)
{
    const struct geometry *g = &p->g;
    const int across = (int)ceil_div(g->cols, SIDE), down = (int)ceil_div(g->image_rows, SIDE);
    const int groups = (int)ceil_div(g->slices, WARP), chunks = (int)ceil_div(groups, DEPTH);
    const int depth = (int)ceil_div(groups, chunks);
    const struct tiles a = {*g,     *pixels,       b, y,           x, power, set,
                            across, across * down, 0, g->tile_span};
    return taps_of(g->taps) == 2   ? tiler::depth<2>(be, a, depth)
           : taps_of(g->taps) == 3 ? tiler::depth<3>(be, a, depth)
                                   : tiler::depth<4>(be, a, depth);
}
