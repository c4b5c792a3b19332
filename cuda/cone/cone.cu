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

/* Intervals i = 0, 1, ... of `width` cells, the first from `cell` - 1/2 + `from` on (cells span
 * [n - 1/2, n + 1/2)). */
struct resample_grid {
    int cell;
    unsigned from, step; /* in 2^-32, 2^-31 cells; step: the width */
    float width;
};

/* Computes in integers of 2^-32 cells, up to 2^30 cells away. */
static __device__ inline struct resample_grid resample_grid_at(double edge, double width)
{
    const double within = fmin(fmax(edge, -1073741824.0), 1073741824.0);
    /* The half of what one_and_fraction() leaves away. */
    const uint64_t at = (uint64_t)(int64_t)(within * 4294967296.0) + 0x80000100u;
    const double step = fma(fmin(fmax(width, 0.0), (double)WIDEST), 2147483648.0, 0.5);
    return resample_grid{(int)(at >> 32), (unsigned)at, (unsigned)step, (float)width};
}

/* Returns where the lane's interval begins; below, how much later that of the next 32 does. */
static __device__ inline struct position resample_begin(const struct resample_grid &g, int lane)
{
    return position_of((int64_t)(g.from + (uint64_t)(unsigned)(2 * lane) * g.step));
}

static __device__ inline int64_t resample_group(const struct resample_grid &g)
{
    return (int64_t)((uint64_t)g.step << 6);
}

/* Sum of the piece's cells times their overlap (squared) with the interval from `at` on. WIDE: it is
 * longer than a cell, and reaches three; squared, it may be shorter too. */
template <int SQUARED, bool WIDE>
static __device__ inline float cone_overlap(float width, struct position at, const float *piece)
{
    const float *const cell = piece + (unsigned)at.cell;
    const float begin = one_and_fraction(at.rest);
    const float left = 2 - begin; /* of its first cell, more than 0 */
    float second = __saturatef(begin + (width - 2)), third = __saturatef(begin + (width - 3));
    float first = !WIDE ? width - second : SQUARED ? fminf(left, width) : left;
    if (SQUARED)
        first *= first, second *= second, third *= third;
    const float sum = cell[0] * first + cell[1] * second;
    return WIDE ? sum + cell[2] * third : sum;
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
        int pixel, cells;          /* of the piece */
        int within;                /* the cylinder has all of them */
    };

    const struct gather &a;
    const int view, row0, lane;
    const int rows; /* of the warp */
    float *const piece;

    static __host__ __device__ constexpr size_t shared_bytes()
    {
        return (HITS * sizeof(hit) + piece_of(ROWS) * sizeof(float) + 15) / 16 * 16;
    }

    __device__ fan_forward(const struct gather &job, int local_view, struct warp_range all,
                           int own_lane, float *window)
        : a(job), view(job.batch.view + local_view), row0(all.first), lane(own_lane),
          rows(all.end - all.first), piece(window)
    {
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
        h->cells = (int)((float)rows * fminf(h->grid.width, WIDEST)) + 4;
        /* Strips end behind the piece, where x has to have slices of any pixel. */
        const int64_t cylinders =
            a.pixels.packed ? a.pixels.count : (int64_t)a.g.image_rows * a.g.cols;
        h->within = h->grid.cell >= 0 && h->grid.cell + h->cells <= a.g.slices &&
                    h->from + h->cells + STRIP - 1 <= a.x + cylinders * a.g.slices;
    }

    __device__ void values(const struct hit &shared, float value[ROWS]) const
    {
        /* A copy: what lies in shared memory is read again after every store to the piece. */
        const struct hit h = shared;
        __syncwarp();
        if (h.grid.width > WIDEST) {
            NOT_UNROLLED
            for (int i = lane; i < rows; i += WARP)
                piece[i] = value_wide(h, row0 + i);
            for (int i = 0; i < ROWS; i++)
                value[i] = piece[lane + i * WARP];
            return;
        }
        if (h.within)
            fill_piece<true>(h);
        else
            fill_piece<false>(h);
        __syncwarp();
        if (h.grid.width > 1)
            resample<true>(h, value);
        else
            resample<false>(h, value);
    }

    template <bool WITHIN> __device__ void fill_piece(const struct hit &h) const
    {
        const float *from = in_global(h.from) + lane;
        float *to = piece + lane;
        int i = lane;
        NOT_UNROLLED
        do {
            const float tangent = tangent_of(h.tilt, (float)i);
            for (int n = 0; n < CELLS; n++) {
                const unsigned k = (unsigned)(h.grid.cell + i + n * WARP);
                const float cosine =
                    inverse_cosine(n ? (float)(n * WARP) * h.tilt.step + tangent : tangent);
                to[n * WARP] = WITHIN || k < (unsigned)a.g.slices ? from[n * WARP] * cosine : 0;
            }
            i += STRIP, from += STRIP, to += STRIP;
        } while (i < h.cells + lane);
    }

    template <bool WIDE> __device__ void resample(const struct hit &h, float value[ROWS]) const
    {
        struct position at = resample_begin(h.grid, lane);
        for (int i = 0; i < ROWS; i++, position_add(&at, resample_group(h.grid)))
            value[i] = cone_overlap<0, WIDE>(h.grid.width, at, piece);
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
    static constexpr int PIXELS = 8; /* of a block, 4 x 2 of whole images */
    static constexpr int BLOCKS = !TAPS ? 2 : SLICES > 4 ? 3 : 4, TURNS = 1;
    static constexpr bool TILED = true; /* whole images: L2 and memory would be the bound */
    struct column : ::column<TAPS> {
        struct resample_grid grid; /* of slices on rows */
        struct tilt tilt;          /* from the warp's first slice on */
        int view, cells;           /* of the piece */
        int within;                /* the detector has all of them */
    };

    const struct spread &a;
    const int slice0, lane;
    const int slices; /* of the warp */
    float *const piece;

    static __host__ __device__ constexpr size_t shared_bytes()
    {
        return (WARP * sizeof(column) + piece_of(SLICES) * sizeof(float) + 15) / 16 * 16;
    }

    __device__ fan_back(const struct spread &job, struct warp_range all, int own_lane,
                        float *window)
        : a(job), slice0(all.first), lane(own_lane), slices(all.end - all.first), piece(window)
    {
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
        c->cells = (int)((float)slices * fminf(c->grid.width, WIDEST)) + 4;
        /* Strips end behind the piece, where a batch has to have rows of any channel. */
        c->y += c->grid.cell;
        const float *const last = c->y + (int64_t)(tap_count<TAPS>(*c) - 1) * a.g.rows;
        c->within = c->grid.cell >= 0 && c->grid.cell + c->cells <= a.g.rows &&
                    last + c->cells + STRIP - 1 <= column_at(a, a.batch.views, 0);
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
        __syncwarp();
        if (c.grid.width > WIDEST) {
            NOT_UNROLLED
            for (int i = lane; i < slices; i += WARP)
                piece[i] = value_wide(c, pixel, i);
            for (int i = 0; i < SLICES; i++)
                sum[i] += piece[lane + i * WARP];
            return;
        }
        if (c.within)
            blend_piece<true>(c);
        else
            blend_piece<false>(c);
        __syncwarp();
        /* Loops rather than one with branches, which would not be known to be uniform. */
        if (a.power == 2)
            resample<1, true>(c, sum);
        else if (c.grid.width > 1)
            resample<0, true>(c, sum);
        else
            resample<0, false>(c, sum);
    }

    template <bool WITHIN> __device__ void blend_piece(const struct column &c) const
    {
        const int taps = tap_count<TAPS>(c);
        const float *strip = in_global(c.y) + lane;
        float *to = piece + lane;
        int row = c.grid.cell + lane, left = c.cells;
        NOT_UNROLLED
        do {
            const float *from = strip;
            float blend[CELLS] = {};
            for (int t = 0; t < taps; t++, from += a.g.rows) {
                const float w = tap_weight<TAPS>(c, t, a.power);
                for (int n = 0; n < CELLS; n++)
                    if (WITHIN || (unsigned)(row + n * WARP) < (unsigned)a.g.rows)
                        blend[n] += w * from[n * WARP];
            }
            for (int n = 0; n < CELLS; n++)
                to[n * WARP] = blend[n];
            left -= STRIP, row += STRIP, strip += STRIP, to += STRIP;
        } while (left > 0);
    }

    template <int SQUARED, bool WIDE>
    __device__ void resample(const struct column &c, float sum[SLICES]) const
    {
        /* Tangents of all groups would stay in registers. */
        const float tangent = tangent_of(c.tilt, (float)lane);
        struct position at = resample_begin(c.grid, lane);
        for (int i = 0; i < SLICES; i++, position_add(&at, resample_group(c.grid)))
            sum[i] += factor<SQUARED>((float)(i * WARP) * c.tilt.step + tangent) *
                      cone_overlap<SQUARED, WIDE>(c.grid.width, at, piece);
    }

    /* 1/cos psi at its tangent, to the power. */
    template <int SQUARED> static __device__ float factor(float tangent)
    {
        return SQUARED ? 1 + tangent * tangent : inverse_cosine(tangent);
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
                sum += (a.power == 2 ? t * t : t) *
                       (double)blend(c, in_global(c.y) + (m - c.grid.cell));
        }
        const float tangent = tangent_of(c.tilt, (float)i);
        return (a.power == 2 ? factor<1>(tangent) : factor<0>(tangent)) * (float)sum;
    }
};

enum err cone_spread(struct cuda_backend *be, const struct projector *p,
                     const struct pixel_list *pixels, struct batch b, const float *y, int power,
                     int set, float *x)
{
    return spread_with<fan_back>(be, p, pixels, b, y, power, set, x);
}
