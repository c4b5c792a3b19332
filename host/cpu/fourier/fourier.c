/* The transpose of the projection, evaluated by a non-uniform FFT (exponential of semicircle): the
 * spectrum of each filtered view times that of the voxel's footprint is spread along its line of
 * the plane of frequencies; an inverse transform of the plane gives the slice. LANES slices go
 * together, two in one complex number, and all threads work on them: on views, then on bands of the
 * plane's rows, each by one thread, then on columns of the slices. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "host/backend/course.h"
#include "host/cpu/common/threads.h"
#include "host/cpu/filter/fft.h"
#include "host/cpu/fourier/fourier.h"
#include "host/cpu/fourier/grid_kernel.h"

/* Exponential of semicircle: exp(beta (sqrt(1 - u^2) - 1)), beta as FINUFFT has it. */

static double taper_value(double finer, double t)
{
    const double beta = 0.97 * M_PI * GRID_TAPS * (1 - 1 / (2 * finer));
    const double u = 2 * t / GRID_TAPS;
    return fabs(u) >= 1 ? 0 : exp(beta * (sqrt(1 - u * u) - 1));
}

/* [GRID_STEPS + 1][GRID_ROW]: taps by fraction of a cell, for `finer` cells per voxel. */
static void taper_table(double finer, float *table)
{
    for (int s = 0; s <= GRID_STEPS; s++)
        for (int k = 0; k < GRID_ROW; k++) {
            const double t = (double)s / GRID_STEPS + k - 0.5 * GRID_TAPS;
            table[s * GRID_ROW + k] = k < GRID_TAPS ? (float)taper_value(finer, t) : 0;
        }
}

/* Computes the factors that undo the spreading at each of `voxels`, in a grid of `cells`. 1 / the
 * taper's transform; Simpson's rule. */
static void taper_factors(double finer, float *factor, int64_t voxels, int64_t cells)
{
    enum { STEPS = 200 };
    double value[STEPS + 1];
    for (int s = 0; s <= STEPS; s++) {
        const double t = GRID_TAPS * ((double)s / STEPS - 0.5);
        value[s] = (s == 0 || s == STEPS ? 1 : 2 + 2 * (s % 2)) * taper_value(finer, t);
    }
    for (int64_t i = 0; i < voxels; i++) {
        const double f = (double)(i - voxels / 2) / (double)cells;
        double sum = 0;
        for (int s = 0; s <= STEPS; s++)
            sum += value[s] * cos(2 * M_PI * f * GRID_TAPS * ((double)s / STEPS - 0.5));
        factor[i] = (float)(3 * STEPS / (GRID_TAPS * sum));
    }
}

#define FINER   1.5 /* cells of the grid per voxel */
#define COLUMNS 4   /* of a slice, at a time */

struct job {
    const struct scan *scan;
    const struct volume *volume;
    const float *y;
    float *x;
    int64_t period, reach; /* samples of a spectrum; of a line, on each side of frequency 0 */
    int64_t rows, cols;    /* of the grid */
    struct lanes_fft ray, across, down;
    struct grid_line *lines;
    struct grid_plan plan;
    float *table, *row_factor, *col_factor, *weights;
    float *spectra; /* [views][period][LANES] */
    float *half;    /* [rows][columns of a slice][LANES]: rows transformed */
    float *memory;  /* of each thread, `own` elements */
    int64_t own;
};

/* Channels that a period must hold so that no view meets its own repetition inside the volume. */
static int64_t least_period(const struct scan *s, const struct volume *v)
{
    const double a = 0.5 * v->delta * (double)v->cols,
                 b = 0.5 * volume_delta_row(v) * (double)v->rows;
    const double reach = (v->ror == ROR_NONE ? hypot(a, b) : fmax(a, b)) / s->delta_channel;
    const double shift = s->channel_offset / s->delta_channel, half = 0.5 * (double)s->channels;
    return (int64_t)ceil(fmax(half, reach + shift) + fmax(half, reach - shift) +
                         fmax(v->delta, volume_delta_row(v)) / s->delta_channel + 3);
}

/* A footprint has no sharp edge in frequency. What lies beyond this, in cycles per channel, is left
 * out: 1e-3 of the volume of a scan of solids (docs/internals/operations.md), less of a larger one.
 */
static double cut_off(int64_t channels)
{
    return fmin(fmax(3.6 * sqrt(256 / (double)channels), 2.5), 6);
}

/* (cos, sin) of 2 pi turns k for k < count. Exact every 64; between, products in float64. */
static void unit_roots(double turns, int64_t count, float *out)
{
    const double re = cos(2 * M_PI * turns), im = sin(2 * M_PI * turns);
    for (int64_t first = 0; first < count; first += 64) {
        const double whole = turns * (double)first, phase = 2 * M_PI * (whole - rint(whole));
        double a = cos(phase), b = sin(phase);
        for (int64_t k = first; k < count && k < first + 64; k++) {
            out[2 * k] = (float)a;
            out[2 * k + 1] = (float)b;
            const double next = a * re - b * im;
            b = a * im + b * re;
            a = next;
        }
    }
}

static double sinc_pi(double x)
{
    return x == 0 ? 1 : sin(M_PI * x) / (M_PI * x);
}

/* Lines of all views: footprint sinc(f) sinc(width f), times the scale of the transforms. */
static void fourier_fill_lines(struct job *j, const float *common, float *work, int64_t view)
{
    const struct scan *s = j->scan;
    const struct volume *v = j->volume;
    const double c = cos((double)s->angles[view]), n = sin((double)s->angles[view]);
    const double unit = 1 / (s->delta_channel * (double)j->period); /* cycles, of one sample */
    const double row = -n * volume_delta_row(v) * unit, col = c * v->delta * unit;
    const double width = fmax(fabs(c) * v->delta, fabs(n) * volume_delta_row(v)) / s->delta_channel;
    const double middle = s->channel_offset / s->delta_channel + 0.5 * (double)(s->channels - 1);
    /* From the volume's centre to the voxel that has index 0 in the transform. */
    const double down = (double)(v->rows / 2) - 0.5 * (double)(v->rows - 1);
    const double across = (double)(v->cols / 2) - 0.5 * (double)(v->cols - 1);
    const double turns = middle / (double)j->period + row * down + col * across;
    float *weight = j->weights + view * (j->reach + 1);
    struct grid_line *l = &j->lines[view];
    l->row = row * (double)j->rows;
    l->col = col * (double)j->cols;
    l->turn = turns * (double)j->period;
    l->weight = weight;
    l->spectrum = j->spectra + view * j->period * LANES;
    const double half = 0.5 * width / (double)j->period;
    unit_roots(half, j->reach + 1, work);
    weight[0] = common[0];
    for (int64_t k = 1; k <= j->reach; k++)
        weight[k] = common[k] * work[2 * k + 1] / (float)(2 * M_PI * half * (double)k);
}

static enum err lines_create(struct job *j, int threads)
{
    const struct scan *s = j->scan;
    const struct volume *v = j->volume;
    const int64_t samples = j->reach + 1;
    const double scale = v->delta * volume_delta_row(v) / s->delta_channel / (double)j->period;
    void *block;
    TRY(mem_alloc("gridding", (size_t)s->views * sizeof *j->lines, &block));
    j->lines = block;
    TRY(mem_alloc("gridding", (size_t)(s->views * samples) * sizeof(float), &block));
    j->weights = block;
    TRY(mem_alloc("gridding", (size_t)(samples * (1 + 2 * threads)) * sizeof(float), &block));
    float *common = block, *work = common + samples;
    for (int64_t k = 0; k < samples; k++)
        common[k] = (float)(scale * sinc_pi((double)k / (double)j->period));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t view = 0; view < s->views; view++)
        fourier_fill_lines(j, common, work + omp_get_thread_num() * 2 * samples, view);
    mem_free(block);
    return ERR_OK;
}

static int64_t grid_pitch(const struct job *j)
{
    return j->cols + 2 * GRID_EDGE;
}

static enum err job_create(struct job *j, int threads)
{
    const struct volume *v = j->volume;
    const struct scan *s = j->scan;
    const int64_t table = (GRID_STEPS + 1) * GRID_ROW;
    const size_t element = LANES * sizeof(float);
    void *block;
    j->period = fft_good_size(least_period(s, v));
    j->reach = (int64_t)(cut_off(s->channels) * (double)j->period);
    j->rows = fft_good_size((int64_t)ceil(FINER * (double)v->rows) + 2 * GRID_EDGE);
    j->cols = fft_good_size((int64_t)ceil(FINER * (double)v->cols) + 2 * GRID_EDGE);
    TRY(lanes_fft_create(j->period, &j->ray));
    TRY(lanes_fft_create(j->cols, &j->across));
    TRY(lanes_fft_create(j->rows, &j->down));
    TRY(mem_alloc("gridding table", (size_t)(table + v->rows + v->cols) * sizeof(float), &block));
    j->table = block;
    j->row_factor = j->table + table;
    j->col_factor = j->row_factor + v->rows;
    taper_table(FINER, j->table);
    taper_factors(FINER, j->row_factor, v->rows, j->rows);
    taper_factors(FINER, j->col_factor, v->cols, j->cols);
    TRY(mem_alloc("spectra of views", (size_t)(s->views * j->period) * element, &block));
    j->spectra = block;
    TRY(lines_create(j, threads));
    const struct grid_shape shape = {j->rows, j->cols, j->reach, s->views, j->lines};
    TRY(grid_plan_create(&shape, threads, &j->plan));
    TRY(mem_alloc("plane of frequencies", (size_t)(j->rows * v->cols) * element, &block));
    j->half = block;
    const int64_t band = GRID_BAND * grid_pitch(j) + j->cols, columns = (COLUMNS + 1) * j->rows;
    j->own = band > columns ? band : columns;
    j->own = j->own > 3 * j->period ? j->own : 3 * j->period;
    TRY(mem_alloc("gridding", (size_t)(j->own * threads) * element, &block));
    j->memory = block;
    return ERR_OK;
}

static void job_free(struct job *j)
{
    lanes_fft_free(&j->ray);
    lanes_fft_free(&j->across);
    lanes_fft_free(&j->down);
    grid_plan_free(&j->plan);
    mem_free(j->table);
    mem_free(j->spectra);
    mem_free(j->lines);
    mem_free(j->weights);
    mem_free(j->half);
    mem_free(j->memory);
}

/* Spectrum of a view's rows [first, first + count), its phase such that the volume's centre is
 * that of the plane. */
static void view_spectrum(const struct job *j, float *memory, int64_t view, int64_t first,
                          int64_t count)
{
    const struct scan *s = j->scan;
    const struct grid_line *l = &j->lines[view];
    float *a = memory, *b = a + j->period * LANES, *root = b + j->period * LANES;
    memset(a, 0, (size_t)(j->period * LANES) * sizeof(float));
    for (int64_t i = 0; i < count; i++) {
        const float *row = j->y + (view * s->rows + first + i) * s->channels;
        for (int64_t c = 0; c < s->channels; c++)
            a[c * LANES + i] = row[c];
    }
    const float *z = lanes_fft_run(&j->ray, -1, a, b);
    unit_roots(l->turn / (double)j->period, j->period, root);
    float *out = j->spectra + view * j->period * LANES;
    for (int64_t k = 0; k < j->period; k++)
        for (int i = 0; i < LANES_COMPLEX; i++) {
            const float re = z[k * LANES + i], im = z[k * LANES + i + LANES_COMPLEX];
            out[k * LANES + i] = re * root[2 * k] - im * root[2 * k + 1];
            out[k * LANES + i + LANES_COMPLEX] = re * root[2 * k + 1] + im * root[2 * k];
        }
}

/* The grid repeats: what fell beside its columns belongs to the other end. */
static void grid_fold(const struct job *j, float *row)
{
    float *cells = row + GRID_EDGE * LANES, *end = cells + j->cols * LANES;
    for (int64_t i = 0; i < GRID_EDGE * LANES; i++) {
        end[i - GRID_EDGE * LANES] += row[i];
        cells[i] += end[i];
    }
}

/* A band of the grid: all samples that reach it, then the transform of its rows. */
static void fill_band(const struct job *j, float *memory, int64_t band)
{
    const int64_t cols = j->volume->cols, begin = band * GRID_BAND;
    const int64_t rows = j->rows - begin < GRID_BAND ? j->rows - begin : GRID_BAND;
    const int64_t *first = j->plan.first + band;
    float *const other = memory + GRID_BAND * grid_pitch(j) * LANES;
    const struct grid_band b = {j->period, grid_pitch(j), j->lines, j->table, memory};
    memset(memory, 0, (size_t)(GRID_BAND * grid_pitch(j) * LANES) * sizeof(float));
    ISA_PICK(grid_kernels)->add(&b, j->plan.runs + first[0], first[1] - first[0]);
    for (int64_t r = 0; r < rows; r++) {
        float *row = memory + r * grid_pitch(j) * LANES;
        grid_fold(j, row);
        const float *z = lanes_fft_run(&j->across, 1, row + GRID_EDGE * LANES, other);
        float *out = j->half + (begin + r) * cols * LANES;
        for (int64_t c = 0; c < cols; c++) {
            const int64_t at = (c - cols / 2 + j->cols) % j->cols;
            for (int i = 0; i < LANES; i++)
                out[c * LANES + i] = j->col_factor[c] * z[at * LANES + i];
        }
    }
}

/* Stores one column of the slices, transformed; 0 outside the region of reconstruction. */
static void store_column(const struct job *j, const float *z, int64_t col, int64_t first,
                         int64_t count)
{
    const struct volume *v = j->volume;
    const double i0 = 0.5 * (double)(v->rows - 1), j0 = 0.5 * (double)(v->cols - 1);
    const double b = ((double)col - j0) / j0;
    for (int64_t i = 0; i < v->rows; i++) {
        const double a = ((double)i - i0) / i0;
        const int inside = v->ror == ROR_NONE || b * b + a * a <= 1;
        const int64_t at = (i - v->rows / 2 + j->rows) % j->rows;
        const float factor = inside ? j->row_factor[i] : 0;
        float *to = j->x + (i * v->cols + col) * v->slices + first;
        for (int64_t l = 0; l < count; l++)
            to[l] = inside ? factor * z[at * LANES + l] : 0;
    }
}

static void transform_columns(const struct job *j, float *memory, int64_t col, int64_t first,
                              int64_t count)
{
    const int64_t cols = j->volume->cols, some = cols - col < COLUMNS ? cols - col : COLUMNS;
    float *const other = memory + COLUMNS * j->rows * LANES;
    for (int64_t r = 0; r < j->rows; r++)
        for (int64_t c = 0; c < some; c++)
            memcpy(memory + (c * j->rows + r) * LANES, j->half + (r * cols + col + c) * LANES,
                   LANES * sizeof(float));
    for (int64_t c = 0; c < some; c++) {
        const float *z = lanes_fft_run(&j->down, 1, memory + c * j->rows * LANES, other);
        store_column(j, z, col + c, first, count);
    }
}

static void fourier_some_slices(struct course *way, const struct job *j, int64_t first,
                                int64_t count)
{
    const int threads = way->be->threads;
#pragma omp parallel num_threads(threads)
    {
        float *memory = j->memory + omp_get_thread_num() * j->own * LANES;
#pragma omp for schedule(static)
        for (int64_t view = 0; view < j->scan->views; view++)
            if (course_next(way))
                view_spectrum(j, memory, view, first, count);
#pragma omp for schedule(dynamic)
        for (int64_t band = 0; band < j->plan.bands; band++)
            if (course_next(way))
                fill_band(j, memory, band);
#pragma omp for schedule(static)
        for (int64_t col = 0; col < j->volume->cols; col += COLUMNS)
            if (course_next(way))
                transform_columns(j, memory, col, first, count);
    }
}

/* Steps of the loops of all slices. */
static int64_t fourier_steps(const struct job *j)
{
    const int64_t columns = (j->volume->cols + COLUMNS - 1) / COLUMNS;
    return (j->volume->slices + LANES - 1) / LANES * (j->scan->views + j->plan.bands + columns);
}

/* Real operations: 4 a tap of two slices, 2 for its weight; 5 n log2 n a transform of two. */
static void fourier_declare_work(struct backend *be, const struct job *j, size_t bytes)
{
    const double pairs = 0.5 * (double)j->volume->slices, views = (double)j->scan->views;
    const double samples = views * (double)(2 * j->reach + 1);
    const double rows = (double)j->rows, cols = (double)j->cols, width = (double)j->volume->cols;
    const double period = (double)j->period, taps = GRID_TAPS * GRID_TAPS;
    const double flops = samples * (4 * taps + 6) + 5 * views * period * log2(period) +
                         5 * rows * cols * log2(cols) + 5 * width * rows * log2(rows);
    const double planes = 8 * (samples + 2 * rows * width + 2 * views * period);
    backend_declare(be, pairs * flops, (double)bytes, (double)bytes + pairs * planes);
}

enum err cpu_fourier_back(struct backend *be, const struct scan *s, const struct volume *v,
                          const struct buffer *y, struct buffer *x)
{
    struct job j = {.scan = s, .volume = v, .y = y->ptr, .x = x->ptr};
    enum err e = job_create(&j, be->threads);
    struct course way = {be, fourier_steps(&j), 0};
    for (int64_t first = 0; !e && first < v->slices && !backend_stopped(be); first += LANES)
        fourier_some_slices(&way, &j, first, v->slices - first < LANES ? v->slices - first : LANES);
    if (!e)
        fourier_declare_work(be, &j, y->bytes + x->bytes);
    job_free(&j);
    return e;
}
