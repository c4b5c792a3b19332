/* Cone beam: every pixel and view has its own vertical magnification, so a warp resamples the piece
 * of a column that it needs between rows and slices: the overlap of two uniform grids, after the
 * piece is put into shared memory (forward: slices times 1/cos psi; back: the blend of the columns
 * under the footprint). Positions within a piece are float32 with the width in two parts, so that
 * index * width is exact to 1e-7 of a cell. */
#include "cuda/common/gather.cuh"
#include "cuda/common/spread.cuh"
#include "cuda/cone/cone.cuh"

/* Cells are put into a piece in strips of DEEP[groups of the warp] per lane, without a remainder: n
 * groups of width 1 lie on n + 1 times 32 cells. These are the fewest instructions up to a width of
 * 1.1, a tenth more beyond. */
static constexpr int DEEP[DEEPEST + 1] = {0, 2, 3, 4, 5, 3, 4, 4, 3, 5};

/* Returns the floats of a piece, for intervals up to WIDEST. */
static constexpr int piece_of(int depth)
{
    const int strip = DEEP[depth] * WARP, cells = (int)(depth * WARP * 1.9 + 4);
    return (cells + strip - 1) / strip * strip;
}

/* Intervals i = 0, 1, ... of `width` cells, the first from `cell` + `fraction` - 1/2 on (cells span
 * [n - 1/2, n + 1/2)). */
struct resample_grid {
    int cell;
    float fraction, half;   /* half = 1/2 - fraction */
    float width, high, low; /* width = high + low, high with 12 bits */
};

/* Computes in integers of 2^-32 cells, up to 2^30 cells away. */
static __device__ inline struct resample_grid resample_grid_at(double edge, double width)
{
    struct resample_grid g;
    const double within = fmin(fmax(edge, -1073741824.0), 1073741824.0);
    const uint64_t at = (uint64_t)(int64_t)(within * 4294967296.0) + 0x80000000u;
    const unsigned rest = (unsigned)at - 0x80000000u; /* signed */
    g.cell = (int)(at >> 32);
    g.fraction = (float)(int)rest * 2.3283064365386963e-10f;
    g.half = (float)(0x40000000u - (unsigned)((int)rest >> 1)) * 4.656612873077393e-10f;
    g.width = (float)width;
    g.high = __int_as_float(__float_as_int(g.width) & ~0xfff);
    g.low = (float)(width - (double)g.high);
    return g;
}

/* Sum of the piece's cells, the first of which is g.cell, times their overlap with interval i.
 * A bias rounds the position, and the bits of the sum count cells: no conversion unit is needed. */
template <int SQUARED>
static __device__ inline float cone_overlap(const struct resample_grid &g, float i, float bias,
                                            const float *piece)
{
    const float position = (i * g.width + g.fraction) + bias;
    const int cell = __float_as_int(position) - __float_as_int(bias);
    /* The interval leaves this of its first cell. */
    const float left = (g.half - i * g.low) - (i * g.high - (position - bias));
    float first = fminf(left, g.width), second = fminf(g.width - first, 1.f);
    float third = g.width - first - second;
    if (SQUARED)
        first *= first, second *= second, third *= third;
    return piece[cell] * first + piece[cell + 1] * second + piece[cell + 2] * third;
}

/* Overlap of a unit cell at `distance` from the middle of a box of `width`: the contract's own
 * form, for pixels beyond WIDEST. */
static __device__ inline double box_overlap(double width, double distance)
{
    const double t = 0.5 * (width + 1) - fabs(distance), top = width < 1 ? width : 1;
    return t < 0 ? 0 : t > top ? top : t;
}

static __device__ inline int clamp_to(double value, int low, int high)
{
    return value < low ? low : value > high ? high : (int)value;
}

template <int TAPS, int ROWS> struct fan_forward {
    static constexpr bool IN_STEP = false; /* instructions are the bound, not L2 */
    static constexpr int CELLS = DEEP[ROWS], STRIP = CELLS * WARP;
    static constexpr int OWN = (TAPS + 1) * ROWS; /* registers of sums and values */
    static constexpr int BLOCKS = OWN > 30 ? 4 : ROWS > 3 ? 5 : ROWS == 3 ? 6 : 7;
    struct hit : ::hit<TAPS> {
        const float *from;         /* the piece's first slice */
        struct resample_grid grid; /* of rows on slices */
        struct tilt tilt;          /* from the piece's first slice on */
        int pixel;
    };

    const struct gather &a;
    const int view, row0, lane;
    const int rows; /* of the warp */
    float *const piece;
    float own[ROWS]; /* the lane's rows from row0 on */

    static __host__ __device__ constexpr size_t shared_bytes()
    {
        return (HITS * sizeof(hit) + piece_of(ROWS) * sizeof(float) + 15) / 16 * 16;
    }

    __device__ fan_forward(const struct gather &job, int local_view, struct warp_range all,
                           int own_lane, float *window)
        : a(job), view(job.batch.view + local_view), row0(all.first), lane(own_lane),
          rows(all.end - all.first), piece(window)
    {
        for (int i = 0; i < ROWS; i++)
            own[i] = __int_as_float(opaque_int(__float_as_int((float)(lane + i * WARP))));
    }

    __device__ void prepare(int q, int c0, struct hit *h) const
    {
        h->pixel = a.pixels.indices ? a.pixels.indices[q] : q;
        struct fan_gain fan;
        const struct footprint f = cone_footprint_of(a.g, view, h->pixel, &fan);
        const struct vertical v = vertical_fan(a.g, view, fan, h->pixel);
        const int wide = (float)v.slices > WIDEST || vertical_is_shared(a.g, view);
        gather_weigh<TAPS>(a.g, f, c0, wide ? 1 : (float)v.width, h);
        h->grid = resample_grid_at(((double)row0 - 0.5 - v.edge) * v.slices - 0.5, v.slices);
        h->tilt = tilt_at(a.g, view, v, h->grid.cell);
        h->from = gather_cylinder(a, q, h->pixel) + h->grid.cell;
        if (wide)
            h->grid.width = 2 * WIDEST;
    }

    __device__ void values(const struct hit &shared, float value[ROWS]) const
    {
        /* A copy: what lies in shared memory is read again after every store to the piece. */
        const struct hit h = shared;
        const int cells = (int)((float)rows * h.grid.width) + 4;
        __syncwarp();
        if (h.grid.width > WIDEST) {
            NOT_UNROLLED
            for (int i = lane; i < rows; i += WARP)
                piece[i] = value_wide(h, row0 + i);
            for (int i = 0; i < ROWS; i++)
                value[i] = piece[lane + i * WARP];
            return;
        }
        const float *from = in_global(h.from) + lane;
        float *to = piece + lane;
        NOT_UNROLLED
        for (int i = lane; i < cells + lane; i += STRIP, from += STRIP, to += STRIP) {
            const float tangent = tangent_of(h.tilt, (float)i);
            for (int n = 0; n < CELLS; n++) {
                const unsigned k = (unsigned)(h.grid.cell + i + n * WARP);
                const float cosine =
                    inverse_cosine(n ? (float)(n * WARP) * h.tilt.step + tangent : tangent);
                to[n * WARP] = k < (unsigned)a.g.slices ? from[n * WARP] * cosine : 0;
            }
        }
        __syncwarp();
        for (int i = 0; i < ROWS; i++)
            value[i] = cone_overlap<0>(h.grid, own[i], a.g.bias, piece);
    }

    __device__ float value_wide(const struct hit &h, int row) const
    {
        struct fan_gain fan;
        cone_footprint_of(a.g, view, h.pixel, &fan);
        const struct vertical v = vertical_fan(a.g, view, fan, h.pixel);
        const double under = vertical_rows_under(a.g, view, v);
        const double middle = rint(((double)row - v.edge) * v.slices - 0.5);
        const int from = clamp_to(middle - a.g.window_forward, 0, a.g.slices);
        const int to = clamp_to(middle + a.g.window_forward + 1, 0, a.g.slices);
        double sum = 0;
        NOT_UNROLLED
        for (int k = from; k < to; k++)
            sum += box_overlap(under, v.edge + v.width * ((double)k + 0.5) - (double)row) *
                   (double)(in_global(h.from)[k - h.grid.cell] *
                            inverse_cosine(tangent_of(h.tilt, (float)(k - h.grid.cell))));
        return (float)sum;
    }
};

enum err cone_gather(struct cuda_backend *be, const struct projector *p,
                     const struct pixel_list *pixels, const struct bins *bins, struct batch b,
                     const float *x, struct sample_sink sink)
{
    return gather_with<fan_forward>(be, p, pixels, bins, b, x, sink);
}

template <int TAPS, int SLICES> struct fan_back {
    static constexpr int CELLS = DEEP[SLICES], STRIP = CELLS * WARP;
    static constexpr int BLOCKS = SLICES > 4 || !TAPS ? 5 : SLICES > 1 ? 6 : 8, TURNS = 1;
    static constexpr bool TILED = true; /* whole images: L2 and memory would be the bound */
    struct column : ::column<TAPS> {
        struct resample_grid grid; /* of slices on rows */
        struct tilt tilt;          /* from the warp's first slice on */
        int view;
    };

    const struct spread &a;
    const int slice0, lane;
    const int slices; /* of the warp */
    float *const piece;
    float own[SLICES]; /* the lane's slices from slice0 on */

    static __host__ __device__ constexpr size_t shared_bytes()
    {
        return (WARP * sizeof(column) + piece_of(SLICES) * sizeof(float) + 15) / 16 * 16;
    }

    __device__ fan_back(const struct spread &job, struct warp_range all, int own_lane,
                        float *window)
        : a(job), slice0(all.first), lane(own_lane), slices(all.end - all.first), piece(window)
    {
        for (int i = 0; i < SLICES; i++)
            own[i] = __int_as_float(opaque_int(__float_as_int((float)(lane + i * WARP))));
    }

    __device__ void prepare(int pixel, int local_view, struct column *c) const
    {
        c->view = a.batch.view + local_view;
        struct fan_gain fan;
        const struct footprint f = cone_footprint_of(a.g, c->view, pixel, &fan);
        const struct vertical v = vertical_fan(a.g, c->view, fan, pixel);
        weigh_column<TAPS>(a, f, local_view, c);
        c->grid = resample_grid_at(fma(v.width, (double)slice0, v.edge), v.width);
        c->tilt = tilt_at(a.g, c->view, v, slice0);
        if (vertical_is_shared(a.g, c->view))
            c->grid.width = 2 * WIDEST;
    }

    /* The footprint's channels at one row. */
    __device__ float blend(const struct column &c, const float *y) const
    {
        const int taps = tap_count<TAPS>(c);
        float sum = 0;
        for (int t = 0; t < taps; t++, y += a.g.rows)
            sum += tap_weight<TAPS>(c, t, a.power) * *y;
        return sum;
    }

    __device__ void add(const struct column &shared, int pixel, float sum[SLICES]) const
    {
        const struct column c = shared;
        const int cells = (int)((float)slices * c.grid.width) + 4;
        __syncwarp();
        if (c.grid.width > WIDEST) {
            NOT_UNROLLED
            for (int i = lane; i < slices; i += WARP)
                piece[i] = value_wide(c, pixel, i);
            for (int i = 0; i < SLICES; i++)
                sum[i] += piece[lane + i * WARP];
            return;
        }
        const int first = c.grid.cell + lane, end = first + cells, taps = tap_count<TAPS>(c);
        const float *strip = in_global(c.y) + first;
        float *to = piece + lane;
        NOT_UNROLLED
        for (int row = first; row < end; row += STRIP, strip += STRIP, to += STRIP) {
            const float *from = strip;
            float blend[CELLS] = {};
            for (int t = 0; t < taps; t++, from += a.g.rows) {
                const float w = tap_weight<TAPS>(c, t, a.power);
                for (int n = 0; n < CELLS; n++)
                    if ((unsigned)(row + n * WARP) < (unsigned)a.g.rows)
                        blend[n] += w * from[n * WARP];
            }
            for (int n = 0; n < CELLS; n++)
                to[n * WARP] = blend[n];
        }
        __syncwarp();
        /* Two loops rather than one with branches, which would not be known to be uniform. */
        if (a.power == 2)
            for (int i = 0; i < SLICES; i++)
                sum[i] += factor(c, own[i]) * cone_overlap<1>(c.grid, own[i], a.g.bias, piece);
        else
            for (int i = 0; i < SLICES; i++)
                sum[i] += factor(c, own[i]) * cone_overlap<0>(c.grid, own[i], a.g.bias, piece);
    }

    /* 1/cos psi of the warp's slice i, to the power. */
    __device__ float factor(const struct column &c, float i) const
    {
        const float tangent = tangent_of(c.tilt, i);
        return a.power == 2 ? 1 + tangent * tangent : inverse_cosine(tangent);
    }

    __device__ float value_wide(const struct column &c, int pixel, int i) const
    {
        struct fan_gain fan;
        cone_footprint_of(a.g, c.view, pixel, &fan);
        const struct vertical v = vertical_fan(a.g, c.view, fan, pixel);
        const double under = vertical_rows_under(a.g, c.view, v);
        const double row = v.edge + v.width * ((double)(slice0 + i) + 0.5), middle = rint(row);
        const int from = clamp_to(middle - a.g.window_back, 0, a.g.rows);
        const int to = clamp_to(middle + a.g.window_back + 1, 0, a.g.rows);
        double sum = 0;
        NOT_UNROLLED
        for (int m = from; m < to; m++) {
            const double t = box_overlap(under, row - (double)m);
            if (t > 0)
                sum += (a.power == 2 ? t * t : t) * (double)blend(c, in_global(c.y) + m);
        }
        return factor(c, (float)i) * (float)sum;
    }
};

enum err cone_spread(struct cuda_backend *be, const struct projector *p,
                     const struct pixel_list *pixels, struct batch b, const float *y, int power,
                     int set, float *x)
{
    return spread_with<fan_back>(be, p, pixels, b, y, power, set, x);
}
