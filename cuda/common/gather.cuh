/* Forward projection of one batch: a warp owns CHANNELS neighbouring channels and up to 32 * ROWS
 * detector rows of a view (warp_partition.h). It walks through the bins that touch them; TAPS
 * accumulators per row hold the channels under the bin at hand and move on with it, so that each
 * pixel is read once per view and tile. TAPS = 0: any number of taps, one channel. FAN turns a
 * pixel's cylinder into rows.
 */
#ifndef TP_CUDA_COMMON_GATHER_CUH
#define TP_CUDA_COMMON_GATHER_CUH

#include "cuda/common/finish.cuh"
#include "cuda/common/kernel_table.cuh"

#define CHANNELS   16 /* of a warp: a bin in front of them is read twice, 6 % */
#define TILE(TAPS) ((TAPS) ? CHANNELS : 1)

struct gather {
    struct geometry g;
    struct pixel_list pixels;
    struct bins bins;
    struct batch batch;
    struct sample_sink sink;
    const float *x;
    struct warp_partition partition; /* of rows */
    int tiles;                       /* of channels */
};

/* Lanes compute these for 32 pixels; the warp then reads them one by one, 16 bytes at a time. */
template <int TAPS> struct alignas(16) hit {
    int bin;
    float weight[TAPS ? TAPS : 1];
};
#define HITS (WARP + 1) /* and one behind the last, of which only the bin counts */

static __device__ inline const float *gather_cylinder(const struct gather &a, int64_t q, int pixel)
{
    return a.x + (a.pixels.packed ? q : pixel) * (int64_t)a.g.slices;
}

/* The views of a block go on together, 32 pixels at a time: what one of them reads is in L1 for the
 * others, which need nearly the same pixels. Returns how often this warp must wait for others when
 * it is done; counts: one number for each warp, `stride` apart. */
static __device__ inline int later_waits(int32_t *counts, int stride, int own)
{
    int most = 0;
    if (threadIdx.x % WARP == 0)
        counts[threadIdx.x / WARP * stride] = own;
    __syncthreads();
    for (int w = 0; w < WARPS; w++)
        most = most > counts[w * stride] ? most : counts[w * stride];
    __syncthreads();
    return most - own;
}

template <int TAPS, int ROWS, class FAN>
static __global__ void __launch_bounds__(WARPS *WARP, FAN::BLOCKS)
    gather_kernel(const __grid_constant__ struct gather a)
{
    typedef typename FAN::hit HIT;
    SHARED_ARRAY(char, shared);
    const int lane = opaque_int(threadIdx.x % WARP), own = threadIdx.x / WARP;
    HIT *const hits = reinterpret_cast<HIT *>(shared + own * FAN::shared_bytes());
    float *const window = reinterpret_cast<float *>(hits + HITS);

    /* Neighbouring warps: neighbouring views of the same channels and rows, which read nearly the
     * same pixels. */
    const int64_t warp = (int64_t)blockIdx.x * WARPS + own;
    const int view = (int)(warp % a.batch.views);
    const int tile = (int)(warp / a.batch.views % a.tiles);
    const int part = (int)(warp / a.batch.views / a.tiles);
    const bool exists = part < a.partition.warps;
    if (!FAN::IN_STEP && !exists)
        return;
    const int c0 = tile * TILE(TAPS);
    const struct warp_range rows = warp_range_of(&a.partition, part, a.g.rows);
    const int row0 = rows.first + lane;
    const bool last_row = row0 + (ROWS - 1) * WARP < rows.end;
    const int32_t *first = a.bins.first, *list = a.bins.list;
    if (a.bins.kept) {
        first = a.bins.kept->first + (int64_t)a.batch.view * (a.bins.bins + 1);
        list = a.bins.kept->list + (int64_t)a.batch.view * a.pixels.count;
    }
    first += (int64_t)view * (a.bins.bins + 1);
    list += (int64_t)view * a.pixels.count;
    const int last = c0 + TILE(TAPS) < a.g.channels ? c0 + TILE(TAPS) : a.g.channels;
    const int bin_end = last + a.g.taps; /* bin of start = last */
    const int32_t begin = first[c0 + 1], end = first[bin_end];
    if (FAN::IN_STEP) {
        const int later = later_waits(reinterpret_cast<int32_t *>(shared),
                                      (int)(FAN::shared_bytes() / sizeof(int32_t)),
                                      exists ? (end - begin) / WARP : 0);
        if (lane == 0)
            hits[WARP].weight[0] = __int_as_float(later); /* no register for all of the way */
    }
    if (exists) {
        const FAN fan(a, view, rows, lane, window);

        float sum[TAPS ? TAPS : 1][ROWS] = {};
        struct finishing finishing = {a.sink.mode == SINK_UPDATE ? scalar_value(a.sink.alpha) : 0,
                                      0, 0};
        int bin = TAPS ? c0 + 1 : 0;
        for (int32_t at = begin;; at += WARP) {
            const int n = end - at < WARP ? (int)(end - at) : WARP;
            if (lane < n)
                fan.prepare(list[at + lane], c0, &hits[lane]);
            if (lane == 0)
                hits[n].bin = n < WARP ? bin_end : 0; /* no pixel is left: channels to finish */
            __syncwarp();
            /* A pointer that moves: the place of shared memory is not worked out for each pixel. */
            const HIT *h = hits;
            for (int left = n;; left--, h++) {
                for (; TAPS && bin < h->bin; bin++) {
                    const int channel = bin - a.g.taps;
                    if (channel >= c0)
                        finish_samples<ROWS>(
                            a.sink, ((int64_t)view * a.g.channels + channel) * a.g.rows + row0,
                            sum[0], last_row, &finishing);
                    for (int i = 0; i < ROWS; i++) {
                        for (int t = 0; t + 1 < TAPS; t++)
                            sum[t][i] = sum[t + 1][i];
                        sum[TAPS ? TAPS - 1 : 0][i] = 0;
                    }
                }
                if (left == 0)
                    break;
                float value[ROWS];
                fan.values(*h, value);
                for (int t = 0; t < (TAPS ? TAPS : 1); t++)
                    for (int i = 0; i < ROWS; i++)
                        sum[t][i] += h->weight[t] * value[i];
            }
            __syncwarp();
            if (n < WARP)
                break;
            if (FAN::IN_STEP)
                __syncthreads();
        }
        if (!TAPS)
            finish_samples<ROWS>(a.sink, ((int64_t)view * a.g.channels + c0) * a.g.rows + row0,
                                 sum[0], last_row, &finishing);
        if (a.sink.mode == SINK_DOTS)
            finish_dots(a.sink, warp, finishing);
    }
    if (!FAN::IN_STEP)
        return;
    __syncwarp();
    for (int waits = __float_as_int(hits[WARP].weight[0]); waits; waits--)
        __syncthreads();
}

/* Entries of the horizontal fan at the channels of a hit; its bin. */
template <int TAPS>
static __device__ inline void gather_weigh(const struct geometry &g, const struct footprint &f,
                                           int c0, float factor, struct hit<TAPS> *h)
{
    h->bin = f.start + g.taps;
    if (TAPS) {
        for (int t = 0; t < TAPS; t++)
            h->weight[t] = factor * footprint_entry(f, f.offset - (float)t, 1);
    } else {
        h->weight[0] = factor * footprint_entry(f, f.offset + (float)(f.start - c0), 1);
    }
}

/* FAN<TAPS, ROWS> in all numbers of taps and rows. */
template <template <int, int> class FAN> struct gatherer {
    template <int TAPS, int ROWS> static enum err launch(struct cuda_backend *be, struct gather a)
    {
        typedef FAN<TAPS, ROWS> fan;
        a.tiles = (int)ceil_div(a.g.channels, TILE(TAPS));
        const int64_t warps = (int64_t)a.tiles * a.partition.warps * a.batch.views;
        void (*const forward_projection)(struct gather) = gather_kernel<TAPS, ROWS, fan>;
        LAUNCH(be, forward_projection, ceil_div(warps, WARPS), WARPS * WARP,
               WARPS * fan::shared_bytes(), a);
        return ERR_OK;
    }
};

template <template <int, int> class FAN>
static enum err gather_with(struct cuda_backend *be, const struct projector *p,
                            const struct pixel_list *pixels, const struct bins *bins,
                            struct batch b, const float *x, struct sample_sink sink)
{
    const struct gather a = {p->g, *pixels, *bins, b, sink, x, warp_partition_of(p->g.rows), 0};
    return launch_taps<struct gatherer<FAN>>(be, a, taps_of(p->g.taps));
}

#endif
