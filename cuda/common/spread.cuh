/* Back projection of one batch: a warp owns a pixel and up to 32 * SLICES of its slices
 * (warp_partition.h), kept in registers over all views. For 32 views at a time each lane prepares
 * the footprint of one; then the warp takes them one by one. TAPS = 0: any number of taps, or fewer
 * channels than taps. */
#ifndef TP_CUDA_COMMON_SPREAD_CUH
#define TP_CUDA_COMMON_SPREAD_CUH

#include "cuda/common/kernel_table.cuh"

struct spread {
    struct geometry g;
    struct pixel_list pixels;
    struct batch batch;
    const float *y; /* [views][channels][rows] */
    float *x;
    int power, set;
    struct warp_partition partition; /* of slices */
    int across, tiles; /* of pixels, a block each: along j, and all; 0: the list's order */
};

/* The detector columns under a pixel, from the first one with data. Read 16 bytes at a time. */
template <int TAPS> struct alignas(16) column {
    const float *y;
    float weight[TAPS];
};
template <> struct alignas(16) column<0> {
    const float *y;
    int taps;
    float width, height, offset; /* of the position from the first */
};

static __device__ inline const float *column_at(const struct spread &a, int local_view, int channel)
{
    return a.y + (int64_t)(local_view * a.g.channels + channel) * a.g.rows;
}

template <int TAPS>
static __device__ inline void weigh_column(const struct spread &a, const struct footprint &f,
                                           int local_view, struct column<TAPS> *c)
{
    const int start = f.start, most_base = a.g.channels - TAPS;
    const int base = start < 0 ? 0 : start > most_base ? most_base : start;
    const float offset = f.offset + (float)(start - base);
    for (int t = 0; t < TAPS; t++) {
        const int tap = base + t - start;
        c->weight[t] = tap >= 0 && tap < TAPS ? footprint_entry(f, offset - (float)t, a.power) : 0;
    }
    c->y = column_at(a, local_view, base);
}

template <>
__device__ inline void weigh_column<0>(const struct spread &a, const struct footprint &f,
                                       int local_view, struct column<0> *c)
{
    const int start = f.start, end = start + a.g.taps;
    const int from = start < 0 ? 0 : start, to = end < a.g.channels ? end : a.g.channels;
    c->taps = to > from ? to - from : 0;
    c->y = column_at(a, local_view, c->taps ? from : 0);
    c->offset = f.offset + (float)(start - from);
    c->width = f.width;
    c->height = f.height;
}

template <int TAPS>
static __device__ inline float tap_weight(const struct column<TAPS> &c, int t, int)
{
    return c.weight[t];
}

template <> __device__ inline float tap_weight<0>(const struct column<0> &c, int t, int power)
{
    struct footprint f;
    f.width = c.width;
    f.height = c.height;
    return footprint_entry(f, c.offset - (float)t, power);
}

template <int TAPS> static __device__ inline int tap_count(const struct column<TAPS> &)
{
    return TAPS;
}

template <> __device__ inline int tap_count<0>(const struct column<0> &c)
{
    return c.taps;
}

/* A warp's pixel, -1 if it has none; its cylinder in x; which part of the slices. */
struct spread_place {
    int pixel, part;
    int64_t cylinder;
};

static __device__ inline struct spread_place place_in_list(const struct spread &a, int own, int n)
{
    const int64_t warp = (int64_t)blockIdx.x * n + own, q = warp % a.pixels.count;
    const int part = (int)(warp / a.pixels.count);
    if (part >= a.partition.warps)
        return spread_place{-1, part, 0};
    const int pixel = a.pixels.indices ? a.pixels.indices[q] : (int)q;
    return spread_place{pixel, part, a.pixels.packed ? q : pixel};
}

static __device__ inline struct spread_place place_in_tile(const struct spread &a, int own, int w)
{
    const struct pixel_ij tile =
        tile_in_strips((int)(blockIdx.x % a.tiles), a.across, a.tiles / a.across);
    const struct pixel_ij at = {tile.i * 2 + own / w, tile.j * w + own % w};
    const int place = cylinder_place(a.g, a.pixels, at);
    return spread_place{place < 0 ? -1 : at.i * a.g.cols + at.j, (int)(blockIdx.x / a.tiles),
                        place};
}

template <int TAPS, int SLICES, class FAN>
static __global__ void __launch_bounds__(FAN::PIXELS *WARP, FAN::BLOCKS)
    spread_kernel(const __grid_constant__ struct spread a)
{
    typedef typename FAN::column COLUMN;
    SHARED_ARRAY(char, shared);
    const int lane = opaque_int(threadIdx.x % WARP), own = threadIdx.x / WARP, all = FAN::PIXELS;
    COLUMN *const columns = reinterpret_cast<COLUMN *>(shared + own * FAN::shared_bytes());
    float *const window = reinterpret_cast<float *>(columns + WARP);

    /* Neighbouring warps: neighbouring pixels, which share most columns. */
    const struct spread_place at =
        FAN::TILED && a.across ? place_in_tile(a, own, all / 2) : place_in_list(a, own, all);
    if (at.pixel < 0)
        return;
    const int pixel = at.pixel, part = at.part;
    const struct warp_range slices = warp_range_of(&a.partition, part, a.g.slices);
    const int slice0 = slices.first + lane;
    const bool last_slice = slice0 + (SLICES - 1) * WARP < slices.end;
    float *const x = a.x + at.cylinder * a.g.slices + slice0;
    const FAN fan(a, slices, lane, window);

    float sum[SLICES];
    for (int i = 0; i < SLICES; i++)
        sum[i] = !a.set && (i < SLICES - 1 || last_slice) ? x[i * WARP] : 0;
    for (int view = 0; view < a.batch.views; view += WARP) {
        const int n = a.batch.views - view < WARP ? a.batch.views - view : WARP;
        if (lane < n)
            fan.prepare(pixel, view + lane, &columns[lane]);
        __syncwarp();
        const COLUMN *c = columns;
        UNROLLED(FAN::TURNS)
        for (int left = n; left > 0; left--, c++)
            fan.add(*c, pixel, sum);
        __syncwarp();
    }
    for (int i = 0; i < SLICES; i++)
        if (i < SLICES - 1 || last_slice)
            x[i * WARP] = sum[i];
}

/* FAN<TAPS, SLICES> in all numbers of taps and slices. */
template <template <int, int> class FAN> struct spreader {
    template <int TAPS, int SLICES>
    static enum err launch(struct cuda_backend *be, const struct spread &a)
    {
        typedef FAN<TAPS, SLICES> fan;
        const int64_t parts = a.partition.warps, n = fan::PIXELS;
        const int64_t blocks = a.across ? a.tiles * parts : ceil_div(a.pixels.count * parts, n);
        void (*const back_projection)(struct spread) = spread_kernel<TAPS, SLICES, fan>;
        LAUNCH(be, back_projection, blocks, n * WARP, n * fan::shared_bytes(), a);
        return ERR_OK;
    }
};

template <template <int, int> class FAN>
static enum err spread_with(struct cuda_backend *be, const struct projector *p,
                            const struct pixel_list *pixels, struct batch b, const float *y,
                            int power, int set, float *x)
{
    const int across = (int)ceil_div(p->g.cols, FAN<0, 1>::PIXELS / 2);
    const int tiled = FAN<0, 1>::TILED && list_fills_tiles(&p->g, pixels);
    const struct spread a = {p->g,
                             *pixels,
                             b,
                             y,
                             x,
                             power,
                             set,
                             warp_partition_of(p->g.slices),
                             tiled ? across : 0,
                             across * (int)ceil_div(p->g.image_rows, 2)};
    return launch_taps<struct spreader<FAN>>(be, a,
                                             p->g.channels >= p->g.taps ? taps_of(p->g.taps) : 0);
}

#endif
