/* Parallel beam: every detector row is its own slice, so a footprint's weights serve all slices. */
#include "cuda/common/gather.cuh"
#include "cuda/common/spread.cuh"
#include "cuda/parallel/parallel.cuh"

/* Rows of a pixel are its slices. */
template <int TAPS, int ROWS> struct straight {
    static constexpr bool IN_STEP = true;         /* L2 is the bound (docs/internals/cuda.md) */
    static constexpr int OWN = (TAPS + 1) * ROWS; /* registers of sums and values */
    static constexpr int BLOCKS = OWN < 24 ? 8 : OWN <= 32 ? 7 : OWN <= 40 ? 6 : 5;
    struct hit : ::hit<TAPS> {
        const float *cylinder;
    };

    const struct gather &a;
    const int view, row; /* the lane's first */
    const bool last;     /* it has one in the last group */

    static __host__ __device__ constexpr size_t shared_bytes()
    {
        return HITS * sizeof(hit);
    }

    __device__ straight(const struct gather &job, int local_view, struct warp_range rows, int lane,
                        float *)
        : a(job), view(job.batch.view + local_view), row(rows.first + lane),
          last(row + (ROWS - 1) * WARP < rows.end)
    {
    }

    __device__ void prepare(int q, int c0, struct hit *h) const
    {
        const int pixel = a.pixels.indices ? a.pixels.indices[q] : q;
        gather_weigh<TAPS>(a.g, parallel_footprint_of(a.g, view, pixel), c0, 1, h);
        h->cylinder = gather_cylinder(a, q, pixel);
    }

    __device__ void values(const struct hit &h, float value[ROWS]) const
    {
        const float *const from = in_global(h.cylinder) + row;
        for (int i = 0; i < ROWS; i++)
            value[i] = i < ROWS - 1 || last ? from[i * WARP] : 0;
    }
};

enum err parallel_gather(struct cuda_backend *be, const struct projector *p,
                         const struct pixel_list *pixels, const struct bins *bins, struct batch b,
                         const float *x, struct sample_sink sink)
{
    return gather_with<straight>(be, p, pixels, bins, b, x, sink);
}

/* Slices of a pixel are rows of its columns. */
template <int TAPS, int SLICES> struct straight_back {
    static constexpr int PIXELS = WARPS, BLOCKS = 8, TURNS = 2;
    static constexpr bool TILED = false; /* whole images have a kernel of their own: tiles.cu */
    typedef struct column<TAPS> column;

    const struct spread &a;
    const int slice; /* the lane's first */
    const bool last; /* it has one in the last group */

    static __host__ __device__ constexpr size_t shared_bytes()
    {
        return WARP * sizeof(column);
    }

    __device__ straight_back(const struct spread &job, struct warp_range slices, int lane, float *)
        : a(job), slice(slices.first + lane), last(slice + (SLICES - 1) * WARP < slices.end)
    {
    }

    __device__ void prepare(int pixel, int local_view, column *c) const
    {
        weigh_column<TAPS>(a, parallel_footprint_of(a.g, a.batch.view + local_view, pixel),
                           local_view, c);
    }

    __device__ void add(const column &c, int, float sum[SLICES]) const
    {
        const float *from = in_global(c.y) + slice;
        const int taps = tap_count<TAPS>(c);
        for (int t = 0; t < taps; t++, from += a.g.rows) {
            const float w = tap_weight<TAPS>(c, t, a.power);
            for (int i = 0; i < SLICES; i++)
                if (i < SLICES - 1 || last)
                    sum[i] += w * from[i * WARP];
        }
    }
};

enum err parallel_spread(struct cuda_backend *be, const struct projector *p,
                         const struct pixel_list *pixels, struct batch b, const float *y, int power,
                         int set, float *x)
{
    if (tiles_serve(be, p, pixels))
        return tiles_spread(be, p, pixels, b, y, power, set, x);
    return spread_with<straight_back>(be, p, pixels, b, y, power, set, x);
}
