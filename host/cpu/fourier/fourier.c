/* The transpose of the projection, evaluated by a non-uniform FFT (exponential of semicircle): the
 * spectrum of each filtered view times that of the voxel's footprint is spread along its line of
 * the plane of frequencies; an inverse transform of the plane gives the slice. 8 slices go
 * together. A footprint has no sharp edge in frequency: what lies beyond REACH times the channels'
 * own frequency is left out. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/memory.h"
#include "host/cpu/filter/fft.h"
#include "host/cpu/fourier/fourier.h"
#include "host/cpu/fourier/spread_kernel.h"

#define SLICES SPREAD_LANES /* at once: two in one complex number */
#define REACH  2.0          /* in cycles per channel: 4 times the band of the data */
#define FINER  1.5          /* cells of the grid per voxel */

struct job {
    struct backend *be;
    const struct scan *scan;
    const struct volume *volume;
    const float *y;
    float *x;
    struct fft *ray, *across, *down; /* of a view; of the grid's rows and columns */
    int64_t rays, samples, middle;   /* length of the first; frequencies of a line, its centre */
    struct spread_grid grid;         /* without cells */
    float *table, *row_factor, *col_factor;
    size_t own; /* floats of a thread */
};

static double taper(double t)
{
    const double beta = 0.97 * M_PI * SPREAD_WIDTH * (1 - 1 / (2 * FINER));
    const double u = 2 * t / SPREAD_WIDTH;
    return fabs(u) >= 1 ? 0 : exp(beta * (sqrt(1 - u * u) - 1));
}

static void fill_table(float *table)
{
    for (int s = 0; s <= SPREAD_STEPS; s++)
        for (int k = 0; k < SPREAD_ROW; k++) {
            const double t = (double)s / SPREAD_STEPS + k - 0.5 * SPREAD_WIDTH;
            table[s * SPREAD_ROW + k] = k < SPREAD_WIDTH ? (float)taper(t) : 0;
        }
}

/* 1 / the taper's transform at each voxel, which undoes the spreading; Simpson's rule. */
static void fill_factors(float *factor, int64_t voxels, int64_t cells)
{
    const int steps = 400;
    for (int64_t i = 0; i < voxels; i++) {
        const double f = (double)(i - voxels / 2) / (double)cells;
        double sum = 0;
        for (int s = 0; s <= steps; s++) {
            const double t = SPREAD_WIDTH * ((double)s / steps - 0.5);
            sum += (s == 0 || s == steps ? 1 : 2 + 2 * (s % 2)) * taper(t) * cos(2 * M_PI * f * t);
        }
        factor[i] = (float)(3 * steps / (SPREAD_WIDTH * sum));
    }
}

/* Channels that a period must hold so that no view meets its own repetition inside the volume. */
static int64_t period(const struct scan *s, const struct volume *v)
{
    const double a = 0.5 * v->delta * (double)v->cols,
                 b = 0.5 * volume_delta_row(v) * (double)v->rows;
    const double reach = (v->ror == ROR_NONE ? hypot(a, b) : fmax(a, b)) / s->delta_channel;
    const double shift = s->channel_offset / s->delta_channel, half = 0.5 * (double)s->channels;
    return (int64_t)ceil(fmax(half, reach + shift) + fmax(half, reach - shift) +
                         fmax(v->delta, volume_delta_row(v)) / s->delta_channel + 3);
}

static void job_free(struct job *j)
{
    fft_free(j->ray);
    fft_free(j->across);
    fft_free(j->down);
    mem_free(j->table);
}

static enum err job_create(struct job *j)
{
    const struct volume *v = j->volume;
    void *block;
    j->rays = fft_good_size(period(j->scan, v));
    j->middle = (int64_t)(REACH * (double)j->rays);
    j->samples = 2 * j->middle + 1;
    j->grid.rows = fft_good_size((int64_t)ceil(FINER * (double)v->rows) + 2 * SPREAD_WIDTH);
    j->grid.cols = fft_good_size((int64_t)ceil(FINER * (double)v->cols) + 2 * SPREAD_WIDTH);
    const int64_t table = (SPREAD_STEPS + 1) * SPREAD_ROW;
    TRY(mem_alloc("gridding table", (size_t)(table + v->rows + v->cols) * sizeof(float), &block));
    j->table = block;
    j->row_factor = j->table + table;
    j->col_factor = j->row_factor + v->rows;
    fill_table(j->table);
    j->grid.table = j->table;
    fill_factors(j->row_factor, v->rows, j->grid.rows);
    fill_factors(j->col_factor, v->cols, j->grid.cols);
    TRY(fft_create(j->rays, &j->ray));
    TRY(fft_create(j->grid.cols, &j->across));
    return fft_create(j->grid.rows, &j->down);
}

/* What a thread works in; every part aligned to 64 bytes. */
struct plane_memory {
    float *cells, *half, *values, *a, *b;
};

static int64_t aligned(int64_t n)
{
    return (n + 15) / 16 * 16;
}

static size_t split(const struct job *j, float *memory, struct plane_memory *w)
{
    const int64_t longest = fmax((double)j->rays, fmax((double)j->grid.rows, (double)j->grid.cols));
    const int64_t sizes[5] = {j->grid.rows * (j->grid.cols + SPREAD_WIDTH) * SPREAD_LANES,
                              j->volume->cols * j->grid.rows * SPREAD_LANES,
                              j->samples * SPREAD_LANES, 2 * longest, 2 * longest};
    float **const parts[5] = {&w->cells, &w->half, &w->values, &w->a, &w->b};
    int64_t at = 0;
    for (int i = 0; i < 5; i++) {
        *parts[i] = memory ? memory + at : NULL;
        at += aligned(sizes[i]);
    }
    return (size_t)at;
}

static double sinc(double x)
{
    return x == 0 ? 1 : sin(M_PI * x) / (M_PI * x);
}

/* Spectra of a view's rows [first, first + count), two rows a transform, at all frequencies. */
static void line_values(const struct job *j, struct plane_memory *w, int64_t view, int64_t first,
                        int64_t count, const double step[2])
{
    const struct scan *s = j->scan;
    const struct volume *v = j->volume;
    const double width = fmax(fabs(cos((double)s->angles[view])) * v->delta,
                              fabs(sin((double)s->angles[view])) * volume_delta_row(v)) /
                         s->delta_channel;
    const double scale = v->delta * volume_delta_row(v) / s->delta_channel / (double)j->rays;
    const double middle = s->channel_offset / s->delta_channel + 0.5 * (double)(s->channels - 1);
    /* From the volume's centre to the voxel that has index 0 in the transform. */
    const double row = (double)(v->rows / 2) - 0.5 * (double)(v->rows - 1);
    const double col = (double)(v->cols / 2) - 0.5 * (double)(v->cols - 1);
    for (int64_t pair = 0; 2 * pair < SLICES; pair++) {
        const float *even = j->y + (view * s->rows + first + 2 * pair) * s->channels;
        memset(w->a, 0, (size_t)(2 * j->rays) * sizeof(float));
        for (int64_t c = 0; c < s->channels; c++) {
            w->a[2 * c] = 2 * pair < count ? even[c] : 0;
            w->a[2 * c + 1] = 2 * pair + 1 < count ? even[s->channels + c] : 0;
        }
        fft_forward(j->ray, w->a, w->b);
        for (int64_t n = 0; n < j->samples; n++) {
            const int64_t k = n - j->middle, at = ((k % j->rays) + j->rays) % j->rays;
            w->values[n * SPREAD_LANES + 2 * pair] = w->b[2 * at];
            w->values[n * SPREAD_LANES + 2 * pair + 1] = w->b[2 * at + 1];
        }
    }
    for (int64_t n = 0; n < j->samples; n++) {
        const double k = (double)(n - j->middle), f = k / (double)j->rays;
        const double size = scale * sinc(f) * sinc(width * f);
        const double turns = f * middle + k * (step[0] * row + step[1] * col);
        const double phase = 2 * M_PI * (turns - rint(turns));
        const float re = (float)(size * cos(phase)), im = (float)(size * sin(phase));
        float *z = w->values + n * SPREAD_LANES;
        for (int l = 0; l < SPREAD_LANES; l += 2) {
            const float a = z[l], b = z[l + 1];
            z[l] = a * re - b * im;
            z[l + 1] = a * im + b * re;
        }
    }
}

/* Inverse transform of the grid's rows; the columns of the volume stay, columns outermost. */
static void transform_rows(const struct job *j, struct plane_memory *w)
{
    const struct spread_grid *g = &j->grid;
    const int64_t pitch = (g->cols + SPREAD_WIDTH) * SPREAD_LANES, cols = j->volume->cols;
    for (int64_t row = 0; row < g->rows; row++) {
        float *cells = w->cells + row * pitch;
        for (int64_t k = 0; k < SPREAD_WIDTH * SPREAD_LANES; k++)
            cells[k] += cells[g->cols * SPREAD_LANES + k];
        for (int l = 0; l < SPREAD_LANES; l += 2) {
            for (int64_t c = 0; c < g->cols; c++) {
                w->a[2 * c] = cells[c * SPREAD_LANES + l];
                w->a[2 * c + 1] = cells[c * SPREAD_LANES + l + 1];
            }
            fft_inverse(j->across, w->a, w->b);
            for (int64_t c = 0; c < cols; c++) {
                const int64_t at = (c - cols / 2 + g->cols) % g->cols;
                float *to = w->half + ((c * SPREAD_LANES / 2 + l / 2) * g->rows + row) * 2;
                to[0] = j->col_factor[c] * w->b[2 * at];
                to[1] = j->col_factor[c] * w->b[2 * at + 1];
            }
        }
    }
}

static void transform_columns(const struct job *j, struct plane_memory *w, int64_t first,
                              int64_t count)
{
    const struct volume *v = j->volume;
    const int64_t rows = j->grid.rows;
    for (int64_t c = 0; c < v->cols; c++)
        for (int l = 0; l < SPREAD_LANES && l < count; l += 2) {
            const float *from = w->half + (c * SPREAD_LANES / 2 + l / 2) * rows * 2;
            memcpy(w->a, from, (size_t)(2 * rows) * sizeof(float));
            fft_inverse(j->down, w->a, w->b);
            for (int64_t i = 0; i < v->rows; i++) {
                const int64_t at = (i - v->rows / 2 + rows) % rows;
                float *to = j->x + (i * v->cols + c) * v->slices + first + l;
                to[0] = j->row_factor[i] * w->b[2 * at];
                if (l + 1 < count)
                    to[1] = j->row_factor[i] * w->b[2 * at + 1];
            }
        }
}

static void some_slices(const struct job *j, float *memory, int64_t first)
{
    const struct scan *s = j->scan;
    const struct volume *v = j->volume;
    const int64_t left = v->slices - first, count = left < SLICES ? left : SLICES;
    struct plane_memory w;
    struct spread_grid grid = j->grid;
    split(j, memory, &w);
    grid.cells = w.cells;
    memset(w.cells, 0,
           (size_t)(grid.rows * (grid.cols + SPREAD_WIDTH) * SPREAD_LANES) * sizeof(float));
    for (int64_t view = 0; view < s->views; view++) {
        /* Cycles per voxel, of one step along the line. */
        const double unit = 1 / (s->delta_channel * (double)j->rays);
        const double step[2] = {-sin((double)s->angles[view]) * volume_delta_row(v) * unit,
                                cos((double)s->angles[view]) * v->delta * unit};
        line_values(j, &w, view, first, count, step);
        const struct spread_line line = {step[0] * (double)grid.rows, step[1] * (double)grid.cols,
                                         j->samples, j->middle, w.values};
        ISA_PICK(spread_kernels)->line(&grid, &line);
    }
    transform_rows(j, &w);
    transform_columns(j, &w, first, count);
}

/* Voxels outside the ellipse become 0. */
static void clear_outside(const struct volume *v, float *x)
{
    const double i0 = 0.5 * (double)(v->rows - 1), j0 = 0.5 * (double)(v->cols - 1);
    for (int64_t p = 0; v->ror != ROR_NONE && p < volume_pixels(v); p++) {
        const double a = ((double)(p / v->cols) - i0) / i0, b = ((double)(p % v->cols) - j0) / j0;
        if (!(b * b + a * a <= 1))
            memset(x + p * v->slices, 0, (size_t)v->slices * sizeof(float));
    }
}

enum err cpu_fourier_back(struct backend *be, const struct scan *s, const struct volume *v,
                          const struct buffer *y, struct buffer *x)
{
    struct job j = {.be = be, .scan = s, .volume = v, .y = y->ptr, .x = x->ptr};
    struct plane_memory unused;
    void *memory = NULL;
    enum err e = job_create(&j);
    const int64_t groups = (v->slices + SLICES - 1) / SLICES;
    const int threads = groups < be->threads ? (int)groups : be->threads;
    if (!e) {
        j.own = split(&j, NULL, &unused);
        e = mem_alloc("planes of frequencies", j.own * (size_t)threads * sizeof(float), &memory);
    }
    if (!e) {
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int64_t g = 0; g < groups; g++)
            some_slices(&j, (float *)memory + (size_t)omp_get_thread_num() * j.own, g * SLICES);
        clear_outside(v, j.x);
        const double samples = (double)j.samples * (double)s->views * (double)v->slices;
        const double cells = (double)(j.grid.rows * j.grid.cols) * (double)v->slices;
        const double butterflies = 2.5 * cells * log2((double)(j.grid.rows * j.grid.cols));
        backend_declare(be, 2 * SPREAD_WIDTH * SPREAD_WIDTH * samples + butterflies,
                        (double)(y->bytes + x->bytes), 8 * SPREAD_WIDTH * SPREAD_WIDTH * samples);
    }
    mem_free(memory);
    job_free(&j);
    return e;
}
