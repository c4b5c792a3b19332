/* Voxel-driven back projection of cone beams: what a voxel's centre sees, bilinear between four
 * detector cells. Views are copied into frames of zeros, so that nothing is tested that looks beside
 * the detector. A block owns 4 x 4 pixels, whose warps read the same columns at the same time; a
 * warp one pixel and up to 288 slices, with the sums in registers. */
#include "cuda/common/kernel_table.cuh"
#include "cuda/cone/cone.cuh"

#define SIDE    4
#define PIXELS  (SIDE * SIDE) /* of a block, a warp each */
#define THREADS (PIXELS * WARP)

/* Zeros of a frame: beside each row of cells, and before and behind each column, two, for positions
 * are held there, of which the two cells that they lie between are read. */
#define BESIDE 1
#define BEFORE 2

struct voxel_spread_job {
    struct geometry g;
    struct pixel_list pixels;
    struct batch batch;
    const float *frames; /* [views][channels + 2][column] */
    float *x;
    int set;
    int column;  /* floats: rows + 4 */
    int across;  /* tiles along j; 0: a block owns entries of the list that follow each other */
    int blocks;  /* of a part of the slices */
    float scale; /* volume of a voxel / area of a cell */
    struct warp_partition partition; /* of slices */
};

/* Tells a view's part of a pixel: row of the warp's first slice and rows per slice, in 2^-32 rows;
 * read 16 bytes at a time. */
struct alignas(16) voxel_ray {
    int64_t row, step;
    const float *column; /* the left one's row 0 */
    float left, right;   /* weights of both columns */
};

/* Tells how a warp's slices lie to the frame of a view. */
enum voxel_view { UNSEEN, CLIPPED, WITHIN };

static __device__ inline enum voxel_view voxel_prepare(const struct voxel_spread_job &a,
                                                       struct pixel_ij at, int slice0, int slices,
                                                       int local_view, struct voxel_ray *r)
{
    const int view = a.batch.view + local_view;
    struct fan_gain fan;
    double flat;
    const double channel = cone_channel(a.g, a.g.view[view].cone, at, &fan, &flat) +
                           (a.g.first_centre + (double)a.g.first_offset);
    const struct vertical v = vertical_fan(a.g, view, fan, 0);
    const double first = fma(v.width, (double)slice0 + 0.5, v.edge);
    const double last = fma(v.width, (double)(slices - 1), first);
    /* Beyond the source, outside the mask, numbers may be none: they are not seen. */
    if (!(channel >= -1 && channel < (double)a.g.channels && last > -1 && first < (double)a.g.rows))
        return UNSEEN;
    const int64_t place = (int64_t)((channel + 1) * 4294967296.0); /* from the frame's first */
    const float part = (float)(unsigned)place * 2.3283064365386963e-10f; /* 2^-32 */
    const float gain = (float)fan.gain, weight = gain * gain * a.scale;
    r->row = (int64_t)(first * 4294967296.0);
    r->step = (int64_t)(v.width * 4294967296.0);
    r->right = part * weight;
    r->left = weight - r->right;
    r->column = a.frames + BEFORE +
                ((int64_t)local_view * (a.g.channels + 2 * BESIDE) + (int)(place >> 32)) * a.column;
    return first >= -BEFORE && last <= (double)a.g.rows ? WITHIN : CLIPPED;
}

template <int SLICES, bool CLIPS>
static __device__ inline void voxel_add(const struct voxel_spread_job &a,
                                        const struct voxel_ray &shared, int lane, float sum[SLICES])
{
    const struct voxel_ray r = shared;
    const float *const left = in_global(r.column), *const right = left + a.column;
    struct position at = position_of(r.row + lane * r.step);
    for (int i = 0; i < SLICES; i++, position_add(&at, r.step * WARP)) {
        int row = opaque_int(at.cell); /* or its sign takes two more instructions */
        if (CLIPS)
            row = min(max(row, -BEFORE), a.g.rows);
        const float part = one_and_fraction(at.rest) - 1;
        const float *const p = left + row, *const q = right + row;
        sum[i] += r.left * (p[0] + part * (p[1] - p[0]));
        sum[i] += r.right * (q[0] + part * (q[1] - q[0]));
    }
}

template <int SLICES>
static __global__ void __launch_bounds__(THREADS, 2)
    voxel_kernel(const __grid_constant__ struct voxel_spread_job a)
{
    SHARED_ARRAY(struct voxel_ray, shared);
    const int lane = threadIdx.x % WARP, own = threadIdx.x / WARP;
    struct voxel_ray *const rays = shared + own * WARP;

    /* Neighbouring blocks: neighbouring tiles of the same slices. */
    const int part = blockIdx.x / a.blocks, block = blockIdx.x % a.blocks;
    struct pixel_ij at;
    int place = block * PIXELS + own;
    if (a.across) {
        const struct pixel_ij tile = tile_in_strips(block, a.across, a.blocks / a.across);
        at = pixel_ij{tile.i * SIDE + own / SIDE, tile.j * SIDE + own % SIDE};
        place = cylinder_place(a.g, a.pixels, at);
        if (place < 0)
            return;
    } else {
        if (place >= a.pixels.count)
            return;
        const int pixel = a.pixels.indices ? a.pixels.indices[place] : place;
        at = pixel_ij_of(a.g, pixel);
        place = a.pixels.packed ? place : pixel;
    }
    const struct warp_range slices = warp_range_of(&a.partition, part, a.g.slices);
    const int slice0 = slices.first + lane;
    const bool last_slice = slice0 + (SLICES - 1) * WARP < slices.end;
    float *const x = a.x + (int64_t)place * a.g.slices + slice0;

    float sum[SLICES];
    for (int i = 0; i < SLICES; i++)
        sum[i] = !a.set && (i < SLICES - 1 || last_slice) ? x[i * WARP] : 0;
    for (int view = 0; view < a.batch.views; view += WARP) {
        const enum voxel_view seen =
            view + lane < a.batch.views
                ? voxel_prepare(a, at, slices.first, SLICES * WARP, view + lane, &rays[lane])
                : UNSEEN;
        unsigned within = __ballot_sync(ALL_LANES, seen == WITHIN);
        unsigned clipped = __ballot_sync(ALL_LANES, seen == CLIPPED);
        __syncwarp();
        NOT_UNROLLED
        for (; within; within &= within - 1)
            voxel_add<SLICES, false>(a, rays[__ffs((int)within) - 1], lane, sum);
        NOT_UNROLLED
        for (; clipped; clipped &= clipped - 1)
            voxel_add<SLICES, true>(a, rays[__ffs((int)clipped) - 1], lane, sum);
        __syncwarp();
    }
    for (int i = 0; i < SLICES; i++)
        if (i < SLICES - 1 || last_slice)
            x[i * WARP] = sum[i];
}

struct voxel_launcher {
    template <int, int SLICES>
    static enum err launch(struct cuda_backend *be, const struct voxel_spread_job &a)
    {
        void (*const back_projection_voxel)(struct voxel_spread_job) = voxel_kernel<SLICES>;
        LAUNCH(be, back_projection_voxel, (int64_t)a.blocks * a.partition.warps, THREADS,
               THREADS * sizeof(struct voxel_ray), a);
        return ERR_OK;
    }
};

#define STRIPS        8 /* rows of threads of the copy */
#define FRAME_THREADS (WARP * STRIPS)

struct frame_job {
    const float *y;
    float *frames;
    int rows, channels, turned; /* turned: channels fastest in y */
};

/* y in frames of zeros, with rows fastest, by tiles of 32 x 32 cells. */
static __global__ void __launch_bounds__(FRAME_THREADS) frame_kernel(struct frame_job a)
{
    SHARED_ARRAY(float, tile); /* [32 channels][33] */
    const int height = a.rows + 2 * BEFORE, width = a.channels + 2 * BESIDE;
    const int down = (height + WARP - 1) / WARP, across = (width + WARP - 1) / WARP;
    const int64_t view = blockIdx.x / (down * across);
    const int at = blockIdx.x % (down * across);
    const int row0 = at % down * WARP, channel0 = at / down * WARP;
    const int x = threadIdx.x % WARP, strip = threadIdx.x / WARP;
    const float *const y = a.y + view * a.rows * a.channels;
    for (int i = strip; i < WARP; i += STRIPS) {
        const int r = a.turned ? i : x, c = a.turned ? x : i;
        const int row = row0 + r - BEFORE, channel = channel0 + c - BESIDE;
        const int64_t cell =
            a.turned ? (int64_t)row * a.channels + channel : (int64_t)channel * a.rows + row;
        tile[c * (WARP + 1) + r] =
            (unsigned)row < (unsigned)a.rows && (unsigned)channel < (unsigned)a.channels ? y[cell]
                                                                                         : 0;
    }
    __syncthreads();
    for (int i = strip; i < WARP; i += STRIPS)
        if (channel0 + i < width && row0 + x < height)
            a.frames[(view * width + channel0 + i) * height + row0 + x] = tile[i * (WARP + 1) + x];
}

size_t voxel_frame_bytes(const struct geometry *g)
{
    return (size_t)(g->rows + 2 * BEFORE) * (size_t)(g->channels + 2 * BESIDE) * sizeof(float);
}

enum err voxel_frames_fill(struct cuda_backend *be, const struct projector *p, int views,
                           const float *y, enum sino_order order, float *frames)
{
    const struct geometry *const g = &p->g;
    const struct frame_job a = {y, frames, g->rows, g->channels, order == SINO_CHANNELS_FASTEST};
    const int64_t tiles =
        ceil_div(g->rows + 2 * BEFORE, WARP) * ceil_div(g->channels + 2 * BESIDE, WARP);
    LAUNCH(be, frame_kernel, views * tiles, FRAME_THREADS, WARP * (WARP + 1) * sizeof(float), a);
    return ERR_OK;
}

enum err voxel_spread(struct cuda_backend *be, const struct projector *p,
                      const struct pixel_list *pixels, struct batch b, const float *frames, int set,
                      float *x)
{
    const struct geometry *const g = &p->g;
    const int64_t across = ceil_div(g->cols, SIDE), down = ceil_div(g->image_rows, SIDE);
    const int tiled = list_fills_tiles(g, pixels);
    const float scale = g->pixel_area * (float)g->rows_per_slice * g->inverse_cell;
    const struct voxel_spread_job a = {
        *g,
        *pixels,
        b,
        frames,
        x,
        set,
        g->rows + 2 * BEFORE,
        tiled ? (int)across : 0,
        (int)(tiled ? across * down : ceil_div(pixels->count, PIXELS)),
        scale,
        warp_partition_of(g->slices)};
    return launch_depth<struct voxel_launcher, 0, DEEPEST>(be, a);
}
