/* The slow twins of projectors, filter, logarithm and median: every stage is passed through its
 * number format. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profiler/fpga/width/width_twin.h"

#define TAPS TWIN_TAPS

struct formats formats_wide(void)
{
    struct formats f = {0};
    for (int s = 0; s < WIDTH_STAGES; s++)
        f.of[s] = number_wide();
    return f;
}

static double *doubles_alloc(size_t n)
{
    return calloc(n ? n : 1, sizeof(double));
}

#define NEED(pointer)                                                                              \
    FAIL_IF(!(pointer), ERR_MEMORY, "no memory left for the simulation of number widths")

void twin_destroy(struct twin *t)
{
    free(t->angles);
    free(t->rows);
    free(t->position);
    free(t->width);
    free(t->height);
    free(t->cosine);
    free(t->exact);
    *t = (struct twin){0};
}

static double grid_round(double v)
{
    return rint(v * TWIN_GRID) / TWIN_GRID;
}

/* tau(W, t): overlap of a unit cell with a box of width W at distance t */
static double twin_overlap(double width, double t)
{
    return fmax(0, fmin(fmin(1, width), 0.5 * (width + 1) - fabs(t)));
}

/* Rows under a voxel a quarter of the edge above the central plane, as shares of it. */
static void twin_rows_under(const struct twin *t, double gain, size_t i)
{
    const double height = gain * 0.5, v = height * 0.25 * t->n, first = floor(v - 0.5);
    for (int j = 0; j < TWIN_ROWS; j++)
        t->rows[i * TWIN_ROWS + (size_t)j] =
            grid_round(twin_overlap(height, v - first - j) / height);
}

/* Computes the footprint of a pixel at (x, y) in the view at `angle`:
 * host/cpu/common/footprint_kernel.c. The fan has its source 4 n channels from the detector and 2 n
 * from the axis: pixels of half a channel. */
static void twin_footprint(const struct twin *t, double angle, double x, double y, size_t i)
{
    const double c = cos(angle), s = sin(angle), u = c * x - s * y;
    if (!t->fan) {
        const double edge = fmax(fabs(c), fabs(s));
        t->position[i] = u + t->centre;
        t->width[i] = grid_round(edge);
        t->height[i] = grid_round(1 / edge);
        return;
    }
    const double distance = 4.0 * t->n, magnification = 2, delta = 0.5;
    const double gain = 1 / (1 / magnification - delta * (s * x + c * y) / distance);
    const double theta = atan2(gain * delta * u, distance);
    const double edge = fmax(fabs(cos(angle - theta)), fabs(sin(angle - theta)));
    t->position[i] = gain * delta * u + t->centre;
    t->width[i] = grid_round(gain * delta * edge / cos(theta));
    t->height[i] = grid_round(delta / edge);
    twin_rows_under(t, gain, i);
}

/* Taps of one pixel in one view; returns the first channel. */
static int twin_weigh(const struct twin *t, struct formats *f, size_t i, int power,
                      double weight[TAPS])
{
    const double position = formats_pass(f, STAGE_COORDINATE, t->position[i]);
    const double first = floor(position + 1 - 0.5 * TAPS);
    for (int k = 0; k < TAPS; k++) {
        const double w = grid_round(twin_overlap(t->width[i], position - first - k) * t->height[i]);
        weight[k] = formats_pass(f, STAGE_COEFFICIENT, power == 2 ? w * w : w);
    }
    return (int)fmax(-TAPS, fmin(first, t->n));
}

/* Weights of the rows under it; none for parallel beams. */
static int weigh_rows(const struct twin *t, struct formats *f, size_t i, int power,
                      double weight[TWIN_ROWS])
{
    for (size_t j = 0; t->rows && j < TWIN_ROWS; j++) {
        const double w = t->rows[i * TWIN_ROWS + j];
        weight[j] = formats_pass(f, STAGE_COEFFICIENT, power == 2 ? w * w : w);
    }
    return t->rows ? TWIN_ROWS : 0;
}

static void fill_exact(const struct twin *t)
{
    struct formats wide = formats_wide();
    const size_t all = (size_t)t->n * (size_t)t->n * (size_t)t->views;
    for (size_t i = 0; i < all; i++)
        twin_weigh(t, &wide, i, 1, t->exact + i * TAPS);
}

enum err twin_create(struct twin *t, int n, int views, int fan, const double *angles, double centre)
{
    const size_t pixels = (size_t)n * (size_t)n, all = pixels * (size_t)views;
    *t = (struct twin){.n = n, .views = views, .fan = fan, .centre = centre};
    t->angles = doubles_alloc((size_t)views);
    t->rows = fan ? doubles_alloc(all * TWIN_ROWS) : NULL;
    t->position = doubles_alloc(all);
    t->width = doubles_alloc(all);
    t->height = doubles_alloc(all);
    t->cosine = doubles_alloc((size_t)n);
    t->exact = doubles_alloc(all * TAPS);
    if (!t->angles || (fan && !t->rows) || !t->position || !t->width || !t->height || !t->cosine ||
        !t->exact) {
        twin_destroy(t);
        return FAIL(ERR_MEMORY, "no memory left for footprints of %d x %d pixels", n, n);
    }
    memcpy(t->angles, angles, (size_t)views * sizeof *angles);
    for (int c = 0; c < n; c++)
        t->cosine[c] = fan ? grid_round(4 * n / hypot(4 * n, c - centre)) : 1;
    for (int v = 0; v < views; v++)
        for (size_t p = 0; p < pixels; p++) {
            const double x = (double)(p % (size_t)n) - 0.5 * (n - 1);
            const double y = (double)(p / (size_t)n) - 0.5 * (n - 1);
            twin_footprint(t, angles[v], x, y, (size_t)v * pixels + p);
        }
    fill_exact(t);
    return ERR_OK;
}

/* First channel of an exact footprint and the taps [*from, *to) that hit the detector. */
static int exact_taps(const struct twin *t, size_t i, int *from, int *to)
{
    const int first = (int)fmax(-TAPS, fmin(floor(t->position[i] + 1 - 0.5 * TAPS), t->n));
    *from = first < 0 ? -first : 0;
    *to = first + TAPS > t->n ? t->n - first : TAPS;
    return first;
}

void twin_exact_forward(const struct twin *t, const double *x, double *y)
{
    const size_t pixels = (size_t)t->n * (size_t)t->n;
    int from, to;
    memset(y, 0, (size_t)t->views * (size_t)t->n * sizeof *y);
    for (size_t i = 0; i < pixels * (size_t)t->views; i++) {
        double *row = y + i / pixels * (size_t)t->n;
        const int first = exact_taps(t, i, &from, &to);
        for (int k = from; k < to; k++)
            row[first + k] += x[i % pixels] * t->exact[i * TAPS + (size_t)k];
    }
}

void twin_exact_back(const struct twin *t, const double *y, double *x)
{
    const size_t pixels = (size_t)t->n * (size_t)t->n;
    int from, to;
    memset(x, 0, pixels * sizeof *x);
    for (size_t i = 0; i < pixels * (size_t)t->views; i++) {
        const double *row = y + i / pixels * (size_t)t->n;
        const int first = exact_taps(t, i, &from, &to);
        for (int k = from; k < to; k++)
            x[i % pixels] += row[first + k] * t->exact[i * TAPS + (size_t)k];
    }
}

static enum err twin_samples(struct formats *f, const double *v, int64_t n, double **out)
{
    NEED(*out = doubles_alloc((size_t)n));
    for (int64_t i = 0; i < n; i++)
        f->peak[STAGE_SAMPLE] = fmax(f->peak[STAGE_SAMPLE], fabs(v[i]));
    number_round_all(&f->of[STAGE_SAMPLE], v, n, *out, &f->faults);
    return ERR_OK;
}

static double multiply_add(struct formats *f, double sum, double a, double b)
{
    return formats_pass(f, STAGE_SUM, sum + formats_pass(f, STAGE_PRODUCT, a * b));
}

/* A pixel's share of a cell, over the rows that it falls on: one row, of slices that are all alike.
 */
static double twin_spread(struct formats *f, double sum, double x, double weight,
                          const double *rows, int count)
{
    const double product = formats_pass(f, STAGE_PRODUCT, x * weight);
    if (!count)
        return formats_pass(f, STAGE_SUM, sum + product);
    for (int j = 0; j < count; j++)
        sum = multiply_add(f, sum, product, rows[j]);
    return sum;
}

enum err twin_forward(const struct twin *t, struct formats *f, const double *x, double *y)
{
    const int n = t->n;
    const size_t pixels = (size_t)n * (size_t)n;
    double *in, weight[TAPS], rows[TWIN_ROWS];
    TRY(twin_samples(f, x, (int64_t)pixels, &in));
    memset(y, 0, (size_t)t->views * (size_t)n * sizeof *y);
    for (int v = 0; v < t->views; v++, y += n)
        for (size_t p = 0; p < pixels; p++) {
            const int first = twin_weigh(t, f, (size_t)v * pixels + p, 1, weight);
            const int count = weigh_rows(t, f, (size_t)v * pixels + p, 1, rows);
            for (int k = 0; k < TAPS; k++)
                if (first + k >= 0 && first + k < n && weight[k] != 0)
                    y[first + k] = twin_spread(f, y[first + k], in[p], weight[k], rows, count);
        }
    free(in);
    return ERR_OK;
}

/* Blends the rows under a voxel. */
static double twin_blend(struct formats *f, double sample, const double *rows, int count)
{
    double sum = 0;
    if (!count)
        return sample;
    for (int j = 0; j < count; j++)
        sum = multiply_add(f, sum, sample, rows[j]);
    return sum;
}

enum err twin_back(const struct twin *t, struct formats *f, int power, const double *y, double *x)
{
    const int n = t->n;
    const size_t pixels = (size_t)n * (size_t)n;
    double *in, weight[TAPS], rows[TWIN_ROWS];
    TRY(twin_samples(f, y, (int64_t)t->views * n, &in));
    memset(x, 0, pixels * sizeof *x);
    for (int v = 0; v < t->views; v++)
        for (size_t p = 0; p < pixels; p++) {
            const double *row = in + (size_t)v * (size_t)n;
            const int first = twin_weigh(t, f, (size_t)v * pixels + p, power, weight);
            const int count = weigh_rows(t, f, (size_t)v * pixels + p, power, rows);
            for (int k = 0; k < TAPS; k++)
                if (first + k >= 0 && first + k < n && weight[k] != 0)
                    x[p] = multiply_add(f, x[p], twin_blend(f, row[first + k], rows, count),
                                        weight[k]);
        }
    free(in);
    return ERR_OK;
}

double twin_ramp_tap(int m)
{
    return m == 0 ? 0.25 : m % 2 == 0 ? 0 : -1 / (M_PI * M_PI * m * m);
}

enum err twin_filter(const struct twin *t, struct formats *f, const double *y, double *out)
{
    const int n = t->n;
    double *in, *tap = doubles_alloc((size_t)n);
    NEED(tap);
    enum err e = twin_samples(f, y, (int64_t)t->views * n, &in);
    for (int m = 0; !e && m < n; m++)
        tap[m] = formats_pass(f, STAGE_COEFFICIENT, twin_ramp_tap(m));
    for (int i = 0; !e && i < t->views * n; i++) {
        const double *row = in + i / n * n;
        double sum = 0;
        for (int c = 0; c < n; c++) {
            const int m = abs(i % n - c);
            if (m == 0 || m % 2)
                sum = multiply_add(f, sum, row[c] * t->cosine[c], tap[m]);
        }
        out[i] = sum;
    }
    if (!e)
        free(in);
    free(tap);
    return e;
}

void twin_log_segment(int i, double *base, double *slope)
{
    const double low = (double)i / TWIN_LOG_SEGMENTS, high = (i + 1.0) / TWIN_LOG_SEGMENTS;
    *base = log1p(low);
    *slope = (log1p(high) - log1p(low)) * TWIN_LOG_SEGMENTS;
}

/* ln(v) = e ln 2 + ln(1 + i/256) + slope (m - i/256), v = 2^e (1 + m). */
static double table_log(struct formats *f, double v)
{
    int exponent;
    const double m = 2 * frexp(v, &exponent) - 1;
    const int segment = (int)(m * TWIN_LOG_SEGMENTS);
    double base, slope;
    twin_log_segment(segment, &base, &slope);
    base = formats_pass(f, STAGE_COEFFICIENT, base);
    slope = formats_pass(f, STAGE_COEFFICIENT, slope);
    const double whole = formats_pass(f, STAGE_COEFFICIENT, (exponent - 1) * M_LN2);
    return multiply_add(f, whole + base, slope, m - (double)segment / TWIN_LOG_SEGMENTS);
}

enum err twin_flat_log(const struct twin *t, struct formats *f, const double *counts,
                       const double *white, const double *dark, double *y)
{
    double *in;
    TRY(twin_samples(f, counts, (int64_t)t->views * t->n, &in));
    for (int i = 0; i < t->views * t->n; i++) {
        const int c = i % t->n;
        const double reference = formats_pass(f, STAGE_COEFFICIENT, log(white[c] - dark[c]));
        /* A sample at the dark level has no logarithm: the smallest step stands in for it. */
        const double signal = fmax(fabs(in[i] - dark[c]), fmax(f->of[STAGE_SAMPLE].step, 1e-6));
        y[i] = formats_pass(f, STAGE_SUM, reference - table_log(f, signal));
    }
    free(in);
    return ERR_OK;
}

enum err twin_median(int n, struct formats *f, const double *const x[3], double *out)
{
    double *in[3] = {0}, window[27];
    enum err e = ERR_OK;
    for (int k = 0; k < 3 && !e; k++)
        e = twin_samples(f, x[k], (int64_t)n * n, &in[k]);
    for (int i = 0; !e && i < n * n; i++) {
        for (int w = 0; w < 27; w++) {
            const int row = i / n + w / 3 % 3 - 1, col = i % n + w % 3 - 1;
            const int r = row < 0 ? 0 : row >= n ? n - 1 : row;
            const int c = col < 0 ? 0 : col >= n ? n - 1 : col;
            window[w] = in[w / 9][r * n + c];
        }
        qsort(window, 27, sizeof *window, ascending_double);
        out[i] = window[13];
    }
    for (int k = 0; k < 3; k++)
        free(in[k]);
    return e;
}
