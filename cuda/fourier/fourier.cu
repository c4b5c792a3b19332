/* Back projection of parallel beams through the plane of frequencies: spectra of the views, the
 * plane's cells (gather.cu), transforms of its rows and of those columns that the volume has. Two
 * slices travel in a complex number, PAIRS of these together. */
#include <stdlib.h>

#include "cuda/filter/fft.cuh"
#include "cuda/fourier/fourier.cuh"

#define THREADS 256
#define TILE    32 /* of a transposition */

enum { VIEWS, ROWS, COLUMNS, TRANSFORMS };

/* cuFFT's plans and what they work in, for the next call of the same sizes. */
struct fourier_state {
    struct {
        cufftHandle handle;
        int ready;
        int64_t length, batch;
    } plan[TRANSFORMS];
    struct workspace area, planes[2], tables;
};

struct fourier_job {
    struct fourier_sizes n;
    int channels, slices, volume_rows, volume_cols, masked;
    const float *y;
    float *x;
    int first, count; /* slices of this round */
    struct fourier_line *lines;
    float *weights, *row_factor, *col_factor;
    float2 *a, *b;
};

/* Rows of a view as spectra's input, [views][pairs][period]. */
static __global__ void __launch_bounds__(THREADS)
    pairs_kernel(const struct fourier_job j, int64_t total)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= total)
        return;
    const int c = (int)(i % j.n.period), slice = 2 * (int)(i / j.n.period % j.n.pairs);
    const int64_t view = i / j.n.period / j.n.pairs;
    const float *row = j.y + (view * j.slices + j.first + slice) * j.channels + c;
    j.a[i] = make_float2(c < j.channels && slice < j.count ? row[0] : 0,
                         c < j.channels && slice + 1 < j.count ? row[j.channels] : 0);
}

/* [views][pairs][period] -> [views][period][pairs], phase such that the volume's centre is the
 * plane's. */
static __global__ void __launch_bounds__(THREADS)
    phase_kernel(const struct fourier_job j, int64_t total)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= total)
        return;
    const int pair = (int)(i % j.n.pairs), k = (int)(i / j.n.pairs % j.n.period);
    const int64_t view = i / j.n.pairs / j.n.period;
    const float2 z = j.a[(view * j.n.pairs + pair) * j.n.period + k];
    const float2 root = root_of_turns((uint64_t)k * j.lines[view].turns);
    j.b[i] = make_float2(z.x * root.x - z.y * root.y, z.x * root.y + z.y * root.x);
}

/* 1 / the transform of the taps at each voxel, which undoes the spreading; Simpson's rule. */
static __global__ void __launch_bounds__(THREADS)
    factor_kernel(float *factor, int voxels, int cells)
{
    const int i = (int)(blockIdx.x * THREADS + threadIdx.x), steps = 200;
    if (i >= voxels)
        return;
    float sum = 0;
    for (int s = 0; s <= steps; s++) {
        const float t = TAPS * ((float)s / (float)steps - 0.5f);
        const float turns = (float)(i - voxels / 2) / (float)cells * t;
        const float part = s == 0 || s == steps ? 1 : s % 2 ? 4 : 2;
        sum += part * fourier_taper(t) *
               root_of_turns((uint64_t)(int64_t)(turns * 16777216.0f) << 40).x;
    }
    factor[i] = 3 * (float)steps / (TAPS * sum);
}

/* [pairs][rows][cols] -> [pairs][columns of the volume][rows]. */
static __global__ void __launch_bounds__(THREADS)
    crop_kernel(const struct fourier_job j, unsigned across, unsigned down)
{
    SHARED_ARRAY(float2, tile); /* [TILE][TILE + 1] */
    const int x = (int)threadIdx.x % TILE, y = (int)threadIdx.x / TILE;
    const int pair = (int)(blockIdx.x / (across * down));
    const int col = (int)(blockIdx.x % across) * TILE;
    const int row = (int)(blockIdx.x / across % down) * TILE;
    if (col + x < j.volume_cols) {
        const float factor = j.col_factor[col + x];
        const int shifted = col + x - j.volume_cols / 2;
        const float2 *from = j.a + ((int64_t)pair * j.n.rows + row) * j.n.cols +
                             (shifted < 0 ? shifted + j.n.cols : shifted);
        NOT_UNROLLED
        for (int r = y; r < TILE && row + r < j.n.rows; r += THREADS / TILE) {
            const float2 z = from[(int64_t)r * j.n.cols];
            tile[r * (TILE + 1) + x] = make_float2(factor * z.x, factor * z.y);
        }
    }
    __syncthreads();
    float2 *to = j.b + ((int64_t)pair * j.volume_cols + col) * j.n.rows + row + x;
    NOT_UNROLLED
    for (int c = y; row + x < j.n.rows && c < TILE && col + c < j.volume_cols; c += THREADS / TILE)
        to[(int64_t)c * j.n.rows] = tile[x * (TILE + 1) + c];
}

/* [pairs][columns][rows] -> the volume, 0 beside the region of reconstruction. */
static __global__ void __launch_bounds__(THREADS)
    slices_kernel(const struct fourier_job j, int64_t total)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= total)
        return;
    const int pair = (int)(i % j.n.pairs), row = (int)(i / j.n.pairs % j.volume_rows);
    const int col = (int)(i / j.n.pairs / j.volume_rows);
    const int64_t along = 2 * row - (j.volume_rows - 1), across = 2 * col - (j.volume_cols - 1);
    const int64_t rows2 = (int64_t)(j.volume_rows - 1) * (j.volume_rows - 1);
    const int64_t cols2 = (int64_t)(j.volume_cols - 1) * (j.volume_cols - 1);
    const int inside =
        !j.masked ||
        (rows2 && cols2 && along * along * cols2 + across * across * rows2 <= rows2 * cols2);
    const int at = (row - j.volume_rows / 2 + j.n.rows) % j.n.rows;
    const float2 z = j.b[((int64_t)pair * j.volume_cols + col) * j.n.rows + at];
    const float factor = j.row_factor[row];
    float *x = j.x + ((int64_t)row * j.volume_cols + col) * j.slices + j.first + 2 * pair;
    if (2 * pair < j.count)
        x[0] = inside ? factor * z.x : 0;
    if (2 * pair + 1 < j.count)
        x[1] = inside ? factor * z.y : 0;
}

static void forget_plans(struct fourier_state *p)
{
    const struct fft_calls *fft;
    for (int i = 0; i < TRANSFORMS; i++) {
        if (p->plan[i].ready && fft_load(&fft) == ERR_OK)
            fft->destroy(p->plan[i].handle);
        p->plan[i].ready = 0;
        p->plan[i].length = 0;
    }
}

static void fourier_free(struct cuda_backend *be)
{
    struct fourier_state *p = be->fourier;
    if (p) {
        forget_plans(p);
        struct workspace *const held[] = {&p->area, &p->planes[0], &p->planes[1], &p->tables};
        for (struct workspace *w : held)
            workspace_drop(be, w);
    }
    free(p);
    be->fourier = NULL;
}

const struct device_cache fourier_cache = {fourier_free, 1, NULL, NULL};

/* The transforms work one after the other, so that they share an area. */
static enum err fourier_make_plans(struct cuda_backend *be, const struct fft_calls *fft,
                                   const int64_t (*wanted)[2])
{
    struct fourier_state *p = be->fourier;
    size_t most_area = 0;
    forget_plans(p);
    for (int i = 0; i < TRANSFORMS; i++) {
        int length = (int)wanted[i][0];
        size_t area = 0;
        TRY_FFT(fft->create(&p->plan[i].handle), "preparing");
        p->plan[i].ready = 1;
        TRY_FFT(fft->no_workspace(p->plan[i].handle, 0), "preparing");
        TRY_FFT(fft->make(p->plan[i].handle, 1, &length, NULL, 1, length, NULL, 1, length,
                          CUFFT_C2C, (int)wanted[i][1], &area),
                "preparing");
        most_area = area > most_area ? area : most_area;
    }
    TRY(workspace_hold(be, "cuFFT", most_area, &p->area));
    for (int i = 0; i < TRANSFORMS; i++) {
        TRY_FFT(fft->workspace(p->plan[i].handle, p->area.ptr), "preparing");
        TRY_FFT(fft->stream(p->plan[i].handle, be->stream), "preparing");
        p->plan[i].length = wanted[i][0];
        p->plan[i].batch = wanted[i][1];
    }
    return ERR_OK;
}

static enum err plans_for(struct cuda_backend *be, const struct fft_calls *fft,
                          const struct fourier_job *j)
{
    const struct fourier_sizes *n = &j->n;
    const int64_t wanted[TRANSFORMS][2] = {{n->period, (int64_t)n->views * n->pairs},
                                           {n->cols, (int64_t)n->rows * n->pairs},
                                           {n->rows, (int64_t)j->volume_cols * n->pairs}};
    struct fourier_state *p = be->fourier;
    int same = 1;
    for (int i = 0; i < TRANSFORMS; i++)
        same &= p->plan[i].length == wanted[i][0] && p->plan[i].batch == wanted[i][1];
    return same ? ERR_OK : fourier_make_plans(be, fft, wanted);
}

static double volume_extent(const struct scan *s, const struct volume *v)
{
    const double a = 0.5 * v->delta * (double)v->cols;
    const double b = 0.5 * volume_delta_row(v) * (double)v->rows;
    return (v->ror == ROR_NONE ? hypot(a, b) : fmax(a, b)) / s->delta_channel;
}

/* As host/cpu/fourier/fourier.c has them. */
static enum err fourier_sizes_of(const struct scan *s, const struct volume *v,
                                 struct fourier_sizes *n)
{
    const double shift = s->channel_offset / s->delta_channel, half = 0.5 * (double)s->channels;
    const double reach = volume_extent(s, v),
                 cut = fmax(3.6 * sqrt(256 / (double)s->channels), 2.5);
    const double period = fmax(half, reach + shift) + fmax(half, reach - shift) +
                          fmax(v->delta, volume_delta_row(v)) / s->delta_channel + 3;
    const double largest = 30000; /* samples: positions are 32-bit cells, squares 64-bit */
    FAIL_IF(period > largest || fmax((double)v->rows, (double)v->cols) > largest / FINER,
            ERR_UNSUPPORTED,
            "Fourier reconstruction of %lld x %lld pixels from %lld channels: the CUDA back end "
            "takes %d at most: use `backend=cpu`",
            (long long)v->rows, (long long)v->cols, (long long)s->channels, (int)(largest / FINER));
    n->views = (int)s->views;
    n->period = (int)fft_good_size((int64_t)ceil(period));
    n->reach = (int)(fmin(cut, 6) * n->period);
    n->rows = (int)fft_good_size((int64_t)ceil(FINER * (double)v->rows) + 16);
    n->cols = (int)fft_good_size((int64_t)ceil(FINER * (double)v->cols) + 16);
    n->pairs = (int)size_min(PAIRS, ceil_div(v->slices, 2));
    n->scale = (float)(v->delta * volume_delta_row(v) / s->delta_channel / n->period);
    return ERR_OK;
}

static void fourier_line_tables(const struct scan *s, const struct volume *v,
                                struct fourier_sizes *n, struct fourier_line *lines)
{
    const double down = (double)(v->rows / 2) - 0.5 * (double)(v->rows - 1);
    const double across = (double)(v->cols / 2) - 0.5 * (double)(v->cols - 1);
    const double middle = s->channel_offset / s->delta_channel + 0.5 * (double)(s->channels - 1);
    const double unit = 1 / (s->delta_channel * n->period);
    double steepest = 0;
    for (int64_t i = 0; i < s->views; i++) {
        const double c = cos((double)s->angles[i]), d = sin((double)s->angles[i]);
        const double row = -d * volume_delta_row(v) * unit, col = c * v->delta * unit;
        const double turns = middle / n->period + row * down + col * across;
        struct fourier_line *l = &lines[i];
        l->row = (int64_t)llrint(row * n->rows * CELL);
        l->col = (int64_t)llrint(col * n->cols * CELL);
        l->turns = (uint64_t)((turns - floor(turns)) * 0x1p63) << 1;
        l->row_step = (float)(row * n->rows);
        l->col_step = (float)(col * n->cols);
        l->width =
            (float)(fmax(fabs(c) * v->delta, fabs(d) * volume_delta_row(v)) / s->delta_channel);
        steepest = fmax(steepest, fabs(row));
    }
    n->wraps = (int)(steepest * n->reach) + 1;
}

/* Tables and the two sets of planes: each holds one step's output while the next one reads it. */
static enum err fourier_hold(struct cuda_backend *be, struct fourier_job *j)
{
    const struct fourier_sizes *n = &j->n;
    struct fourier_state *p = be->fourier;
    const size_t spectra = (size_t)n->views * (size_t)n->period;
    const size_t grid = (size_t)n->rows * (size_t)n->cols;
    const size_t half = (size_t)n->rows * (size_t)j->volume_cols;
    const size_t each = (size_t)n->pairs * sizeof(float2);
    const size_t lines = (size_t)n->views * sizeof *j->lines;
    const size_t weights = (size_t)n->views * (size_t)(n->reach + 1);
    const size_t floats = weights + (size_t)(j->volume_rows + j->volume_cols);
    TRY(workspace_hold(be, "plane of frequencies", each * (spectra > grid ? spectra : grid),
                       &p->planes[0]));
    TRY(workspace_hold(be, "plane of frequencies", each * (spectra > half ? spectra : half),
                       &p->planes[1]));
    TRY(workspace_hold(be, "tables of gridding", lines + floats * sizeof(float), &p->tables));
    j->a = static_cast<float2 *>(p->planes[0].ptr);
    j->b = static_cast<float2 *>(p->planes[1].ptr);
    j->lines = static_cast<struct fourier_line *>(p->tables.ptr);
    j->weights = reinterpret_cast<float *>(static_cast<char *>(p->tables.ptr) + lines);
    j->row_factor = j->weights + weights;
    j->col_factor = j->row_factor + j->volume_rows;
    return ERR_OK;
}

static enum err put_tables(struct cuda_backend *be, const struct scan *s, const struct volume *v,
                           struct fourier_job *j)
{
    const size_t bytes = (size_t)s->views * sizeof *j->lines;
    struct fourier_line *lines = static_cast<struct fourier_line *>(malloc(bytes));
    FAIL_IF(!lines, ERR_MEMORY, "no memory for the lines of %lld views", (long long)s->views);
    fourier_line_tables(s, v, &j->n, lines);
    const enum err e = device_put(be, j->lines, lines, bytes);
    free(lines);
    if (e)
        return e;
    TRY(fourier_weights(be, &j->n, j->lines, j->weights));
    LAUNCH(be, factor_kernel, ceil_div(j->volume_rows, THREADS), THREADS, 0, j->row_factor,
           j->volume_rows, j->n.rows);
    LAUNCH(be, factor_kernel, ceil_div(j->volume_cols, THREADS), THREADS, 0, j->col_factor,
           j->volume_cols, j->n.cols);
    return ERR_OK;
}

static enum err fourier_slice_batch(struct cuda_backend *be, const struct fft_calls *fft,
                                    const struct fourier_job *j)
{
    const struct fourier_state *p = be->fourier;
    const int64_t spectra = (int64_t)j->n.views * j->n.period * j->n.pairs;
    const unsigned across = (unsigned)ceil_div(j->volume_cols, TILE);
    const unsigned down = (unsigned)ceil_div(j->n.rows, TILE);
    const int64_t voxels = (int64_t)j->volume_rows * j->volume_cols * j->n.pairs;
    LAUNCH(be, pairs_kernel, ceil_div(spectra, THREADS), THREADS, 0, *j, spectra);
    TRY_FFT(fft->run(p->plan[VIEWS].handle, j->a, j->a, CUFFT_FORWARD), "transforming views");
    LAUNCH(be, phase_kernel, ceil_div(spectra, THREADS), THREADS, 0, *j, spectra);
    TRY(fourier_gather(be, &j->n, j->lines, j->weights, j->b, j->a));
    TRY_FFT(fft->run(p->plan[ROWS].handle, j->a, j->a, CUFFT_INVERSE), "transforming rows");
    LAUNCH(be, crop_kernel, (int64_t)across * down * j->n.pairs, THREADS,
           TILE * (TILE + 1) * sizeof(float2), *j, across, down);
    TRY_FFT(fft->run(p->plan[COLUMNS].handle, j->b, j->b, CUFFT_INVERSE), "transforming columns");
    LAUNCH(be, slices_kernel, ceil_div(voxels, THREADS), THREADS, 0, *j, voxels);
    return ERR_OK;
}

/* Counted as on the CPU; the bytes of the planes pass the caches. */
static void fourier_declare(struct backend *base, const struct fourier_job *j, size_t bytes)
{
    const struct fourier_sizes *n = &j->n;
    const double pairs = 0.5 * j->slices, samples = (double)n->views * (2.0 * n->reach + 1);
    const double rows = n->rows, cols = n->cols, width = j->volume_cols, period = n->period;
    const double flops = samples * (4.0 * TAPS * TAPS + 6) + 5 * n->views * period * log2(period) +
                         5 * rows * cols * log2(cols) + 5 * width * rows * log2(rows);
    const double planes = 8 * (samples + 2 * rows * cols + 2 * rows * width);
    backend_declare(base, pairs * flops, (double)bytes, (double)bytes + pairs * planes);
}

static enum err all_slices(struct cuda_backend *be, const struct scan *s, const struct volume *v,
                           struct fourier_job *j)
{
    const struct fft_calls *fft;
    TRY(fft_load(&fft));
    if (!be->fourier)
        be->fourier = static_cast<struct fourier_state *>(calloc(1, sizeof *be->fourier));
    FAIL_IF(!be->fourier, ERR_MEMORY, "no memory for plans of Fourier reconstruction");
    TRY(fourier_hold(be, j));
    TRY(plans_for(be, fft, j));
    TRY(put_tables(be, s, v, j));
    for (j->first = 0; j->first < j->slices; j->first += 2 * j->n.pairs) {
        j->count = (int)size_min(2 * j->n.pairs, j->slices - j->first);
        TRY(fourier_slice_batch(be, fft, j));
    }
    return ERR_OK;
}

enum err cuda_fourier_back(struct backend *base, const struct scan *s, const struct volume *v,
                           const struct buffer *y, struct buffer *x)
{
    struct fourier_job j = {};
    if (!volume_voxels(v))
        return ERR_OK;
    TRY(fourier_sizes_of(s, v, &j.n));
    j.channels = (int)s->channels;
    j.slices = (int)v->slices;
    j.volume_rows = (int)v->rows;
    j.volume_cols = (int)v->cols;
    j.masked = v->ror != ROR_NONE;
    j.y = floats_of(y);
    j.x = floats_of(x);
    const enum err e = all_slices(device_of(base), s, v, &j);
    if (!e)
        fourier_declare(base, &j, y->bytes + x->bytes);
    return e;
}
