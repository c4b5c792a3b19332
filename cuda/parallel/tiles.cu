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

/* Values that 64 registers of a thread have room for; before sm_86 ptxas spills sooner. */
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ < 860
#define MOST_KEPT 6
#else
#define MOST_KEPT 9
#endif

struct tiles {
    struct geometry g;
    struct pixel_list pixels;
    struct batch batch;
    const float *y; /* [views][channels][rows] */
    float *x;
    int power, set;
    int across, count; /* tiles along j, and all of them */
    int views, span;   /* views at once; channels that hold a tile's footprints */
    int fours;         /* rows of y begin at multiples of 16 bytes */
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

/* Brings a view's channels under the tile, the first of which is c: the rows of the block's slices,
 * zeros where there is none; 16 bytes at a time where rows are a multiple of that. */
template <int GROUPS>
static __device__ inline void bring_view(const struct tiles &a, const float *view, int c,
                                         int slice0, int lane, float *to)
{
    const int length = GROUPS * WARP, slice = slice0 + (a.fours ? 4 * lane : lane);
    const float *from = view + (int64_t)c * a.g.rows + slice;
    if (a.fours) {
        const bool mine = lane < length / 4, exists = slice < a.g.rows && mine;
        to += 4 * lane;
        UNROLLED(4)
        for (int left = a.span; left > 0; left--, c++, from += a.g.rows, to += length) {
            struct float4 values = {0, 0, 0, 0};
            if (exists && (unsigned)c < (unsigned)a.g.channels)
                values = *reinterpret_cast<const struct float4 *>(from);
            if (mine)
                *reinterpret_cast<struct float4 *>(to) = values;
        }
        return;
    }
    to += lane;
    NOT_UNROLLED
    for (int left = a.span; left > 0; left--, c++, from += a.g.rows, to += length) {
        const bool exists = (unsigned)c < (unsigned)a.g.channels;
        for (int i = 0; i < GROUPS; i++)
            to[i * WARP] = exists && slice + i * WARP < a.g.rows ? from[i * WARP] : 0;
    }
}

template <int TAPS, int GROUPS>
static __device__ inline void read_values(const float *from, float value[TAPS][GROUPS])
{
    for (int t = 0; t < TAPS; t++)
        for (int i = 0; i < GROUPS; i++)
            value[t][i] = from[t * GROUPS * WARP + i * WARP];
}

/* Adds a view to the warp's row of pixels. Neighbours are at most one channel apart as a rule, and
 * all lanes take the same turn: values of a channel stay in registers while pixels need it, where
 * there are registers for them. */
template <int TAPS, int GROUPS>
static __device__ inline void add_view(const struct tap_row<TAPS> *row, const float *under,
                                       float sum[SIDE][GROUPS])
{
    constexpr bool KEPT = TAPS * GROUPS <= MOST_KEPT;
    const int length = GROUPS * WARP;
    float value[TAPS][GROUPS];
    int at = row[0].at;
    read_values<TAPS, GROUPS>(under + at, value);
    for (int p = 0; p < SIDE; p++) {
        const struct tap_row<TAPS> h = row[p];
        const float *const from = under + h.at;
        const int step = h.at - at;
        if (KEPT && p > 0 && step == length) {
            for (int t = 0; t < TAPS - 1; t++)
                for (int i = 0; i < GROUPS; i++)
                    value[t][i] = value[t + 1][i];
            for (int i = 0; i < GROUPS; i++)
                value[TAPS - 1][i] = from[(TAPS - 1) * length + i * WARP];
        } else if (KEPT && p > 0 && step == -length) {
            for (int t = TAPS - 1; t > 0; t--)
                for (int i = 0; i < GROUPS; i++)
                    value[t][i] = value[t - 1][i];
            for (int i = 0; i < GROUPS; i++)
                value[0][i] = from[i * WARP];
        } else if (p > 0 && (!KEPT || step)) {
            read_values<TAPS, GROUPS>(from, value);
        }
        at = h.at;
        for (int t = 0; t < TAPS; t++)
            for (int i = 0; i < GROUPS; i++)
                sum[p][i] += h.weight[t] * value[t][i];
    }
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
        NOT_UNROLLED
        for (int at = own; at < n; at += SIDE)
            bring_view<GROUPS>(a, a.y + (int64_t)(view + at) * a.g.channels * a.g.rows, first[at],
                               slice0 - lane, lane, channels + at * a.span * length);
        __syncthreads();
        const struct tap_row<TAPS> *row = rows + own * SIDE;
        const float *under = channels + lane;
        NOT_UNROLLED
        for (int left = n; left > 0; left--, row += PIXELS, under += a.span * length)
            add_view<TAPS, GROUPS>(row, under, sum);
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
    const struct tiles a = {*g,
                            *pixels,
                            b,
                            y,
                            x,
                            power,
                            set,
                            across,
                            across * down,
                            0,
                            g->tile_span,
                            g->rows % 4 == 0 && (uintptr_t)y % 16 == 0};
    return taps_of(g->taps) == 2   ? tiler::depth<2>(be, a, depth)
           : taps_of(g->taps) == 3 ? tiler::depth<3>(be, a, depth)
                                   : tiler::depth<4>(be, a, depth);
}
