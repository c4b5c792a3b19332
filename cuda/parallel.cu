/* Parallel beam: every detector row is its own slice, so a footprint's weights serve all slices. */
#include "cuda/gather.cuh"
#include "cuda/spread.cuh"

/* Rows of a pixel are its slices. */
template <int TAPS, int ROWS> struct straight {
    static constexpr int BLOCKS = ROWS == 8 ? (TAPS == 4 ? 6 : 7) : 8;
    struct hit : ::hit<TAPS> {
        const float *cylinder;
    };

    const struct gather &a;
    const int view, row; /* the lane's first */
    const bool whole;    /* all rows of the warp exist */

    static __host__ __device__ constexpr size_t shared_bytes()
    {
        return HITS * sizeof(hit);
    }

    __device__ straight(const struct gather &job, int local_view, int row0, int lane, float *)
        : a(job), view(job.batch.view + local_view), row(row0 + lane),
          whole(row0 + WARP * ROWS <= job.g.slices)
    {
    }

    __device__ void prepare(int q, int c0, struct hit *h) const
    {
        const int pixel = a.pixels.indices ? a.pixels.indices[q] : q;
        weigh<TAPS>(a.g, footprint_of<0>(a.g, view, pixel), c0, 1, h);
        h->cylinder = cylinder_of(a, q, pixel);
    }

    __device__ void values(const struct hit &h, float value[ROWS]) const
    {
        const float *const from = in_global(h.cylinder) + row;
        if (whole)
            for (int i = 0; i < ROWS; i++)
                value[i] = from[i * WARP];
        else
            for (int i = 0; i < ROWS; i++)
                value[i] = row + i * WARP < a.g.slices ? from[i * WARP] : 0;
    }
};

template <int TAPS> static enum err gather_any_rows(struct cuda_backend *be, const struct gather &a)
{
    switch (gather_rows(&a.g)) {
    case 8:
        return gather_launch<TAPS, 8, struct straight<TAPS, 8>>(be, a);
    case 4:
        return gather_launch<TAPS, 4, struct straight<TAPS, 4>>(be, a);
    default:
        return gather_launch<TAPS, 1, struct straight<TAPS, 1>>(be, a);
    }
}

enum err parallel_gather(struct cuda_backend *be, const struct projector *p,
                         const struct pixel_list *pixels, const struct bins *bins, struct batch b,
                         const float *x, struct sink sink)
{
    const struct gather a = {p->g, *pixels, *bins, b, sink, x, 0, 0};
    switch (gather_taps(p->g.taps)) {
    case 2:
        return gather_any_rows<2>(be, a);
    case 3:
        return gather_any_rows<3>(be, a);
    case 4:
        return gather_any_rows<4>(be, a);
    default:
        return gather_any_rows<0>(be, a);
    }
}

/* Slices of a pixel are rows of its columns. */
template <int TAPS, int SLICES> struct straight_back {
    static constexpr int BLOCKS = 8;
    typedef struct column<TAPS> column;

    const struct spread &a;
    const int slice;  /* the lane's first */
    const bool whole; /* all slices of the warp exist */

    static __host__ __device__ constexpr size_t shared_bytes()
    {
        return WARP * sizeof(column);
    }

    __device__ straight_back(const struct spread &job, int slice0, int lane, float *)
        : a(job), slice(slice0 + lane), whole(slice0 + WARP * SLICES <= job.g.slices)
    {
    }

    __device__ void prepare(int pixel, int local_view, column *c) const
    {
        weigh_column<TAPS>(a, footprint_of<0>(a.g, a.batch.view + local_view, pixel), local_view,
                           c);
    }

    __device__ void add(const column &c, int, float sum[SLICES]) const
    {
        const float *from = in_global(c.y) + slice;
        const int taps = tap_count<TAPS>(c);
        if (whole) {
            for (int t = 0; t < taps; t++, from += a.g.rows) {
                const float w = tap_weight<TAPS>(c, t, a.power);
                for (int i = 0; i < SLICES; i++)
                    sum[i] += w * from[i * WARP];
            }
            return;
        }
        for (int t = 0; t < taps; t++, from += a.g.rows) {
            const float w = tap_weight<TAPS>(c, t, a.power);
            for (int i = 0; i < SLICES; i++)
                if (slice + i * WARP < a.g.rows)
                    sum[i] += w * from[i * WARP];
        }
    }
};

template <int TAPS> static enum err spread_any_slices(struct cuda_backend *be, struct spread a)
{
    switch (spread_slices(&a.g)) {
    case 8:
        return spread_launch<TAPS, 8, struct straight_back<TAPS, 8>>(be, a);
    case 4:
        return spread_launch<TAPS, 4, struct straight_back<TAPS, 4>>(be, a);
    default:
        return spread_launch<TAPS, 1, struct straight_back<TAPS, 1>>(be, a);
    }
}

enum err parallel_spread(struct cuda_backend *be, const struct projector *p,
                         const struct pixel_list *pixels, struct batch b, const float *y, int power,
                         int set, float *x)
{
    const struct spread a = {p->g, *pixels, b, y, x, power, set, 0};
    switch (spread_taps(&p->g)) {
    case 2:
        return spread_any_slices<2>(be, a);
    case 3:
        return spread_any_slices<3>(be, a);
    case 4:
        return spread_any_slices<4>(be, a);
    default:
        return spread_any_slices<0>(be, a);
    }
}
