/* MBIRJAX's VCD reconstruction in float64: generator, partitions, regularisation, prior and steps.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/geom/ct_model.h"
#include "tests/operators/twin.h"
#include "tests/operators/twin_mbir.h"

#define EPS 1.1920929e-7

void twin_seed(struct twin_rng *r, uint32_t seed)
{
    r->key[0] = seed;
    for (uint32_t i = 1; i < 624; i++)
        r->key[i] = 1812433253u * (r->key[i - 1] ^ (r->key[i - 1] >> 30)) + i;
    r->position = 624;
}

static uint32_t draw(struct twin_rng *r)
{
    if (r->position == 624) {
        for (int i = 0; i < 624; i++) {
            uint32_t y = (r->key[i] & 0x80000000u) | (r->key[(i + 1) % 624] & 0x7fffffffu);
            r->key[i] = r->key[(i + 397) % 624] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0);
        }
        r->position = 0;
    }
    uint32_t y = r->key[r->position++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

static void shuffle(struct twin_rng *r, int32_t *a, int64_t n)
{
    for (int64_t i = n - 1; i > 0; i--) {
        uint32_t mask = (uint32_t)i, j;
        for (int shift = 1; shift < 32; shift *= 2)
            mask |= mask >> shift;
        do
            j = draw(r) & mask;
        while (j > (uint32_t)i);
        int32_t t = a[i];
        a[i] = a[j];
        a[j] = t;
    }
}

static int32_t *numbers(int64_t n)
{
    int32_t *a = calloc((size_t)(n > 0 ? n : 1), sizeof *a);
    for (int64_t i = 0; i < n; i++)
        a[i] = (int32_t)i;
    return a;
}

static int ascending(const void *a, const void *b)
{
    return *(const int32_t *)a - *(const int32_t *)b;
}

void twin_partition(struct twin_rng *r, const int32_t *pixels, int64_t count, int64_t subsets,
                    int32_t *out)
{
    int64_t length = (count + subsets - 1) / subsets, first = (subsets - 1) * length;
    first = first < count ? first : count; /* rows beyond hold extra pixels only */
    memcpy(out, pixels, (size_t)count * sizeof *out);
    if (subsets == 1)
        return;
    shuffle(r, out, count);
    int32_t *pick = numbers(first);
    shuffle(r, pick, first); /* choice() shuffles all of them even if it returns none */
    for (int64_t i = count; i < subsets * length; i++)
        out[i] = out[pick[i - count]];
    free(pick);
    for (int64_t i = 0; i < subsets; i++)
        qsort(out + i * length, (size_t)length, sizeof *out, ascending);
}

void twin_prior(const struct volume *v, const struct regularisation *r, const int32_t *pixels,
                int64_t count, const double *x, double *gradient, double *curvature)
{
    const double p = r->p, q = r->q, T = r->T, sigma = r->sigma_x, *w = r->neighbour_weights;
    const int64_t size[3] = {v->rows, v->cols, v->slices};
    for (int64_t o = 0; o < count * v->slices; o++) {
        int64_t pixel = pixels[o / v->slices];
        const int64_t at[3] = {pixel / v->cols, pixel % v->cols, o % v->slices};
        double here = x[(at[0] * size[1] + at[1]) * size[2] + at[2]];
        gradient[o] = curvature[o] = 0;
        for (int n = 0; n < 6; n++) {
            int64_t to[3] = {at[0], at[1], at[2]};
            to[n / 2] += n % 2 ? -1 : 1;
            if (to[n / 2] < 0 || to[n / 2] >= size[n / 2])
                to[n / 2] = at[n / 2];
            double delta = here - x[(to[0] * size[1] + to[1]) * size[2] + to[2]];
            double a = fmax(fabs(delta), T * sigma * EPS), t = pow(a / (T * sigma), q - p);
            double omega = pow(a, p - 2) / pow(sigma, p) * t * (q / p + t) / ((1 + t) * (1 + t));
            double b = w[n / 2] / (2 * (w[0] + w[1] + w[2]));
            gradient[o] += b * omega * delta;
            curvature[o] += b * omega;
        }
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *a, int64_t n)
{
    qsort(a, (size_t)n, sizeof *a, by_value);
    return (a[(n - 1) / 2] + a[n / 2]) / 2;
}

#define BINS 400

/* numpy.histogram(y, 400): counts and centres. */
static void histogram(const double *y, int64_t n, double counts[BINS], double centres[BINS])
{
    double low = y[0], high = y[0], edges[BINS + 1];
    for (int64_t i = 0; i < n; i++) {
        low = fmin(low, y[i]);
        high = fmax(high, y[i]);
    }
    if (low == high)
        low -= 0.5, high += 0.5;
    for (int b = 0; b <= BINS; b++)
        edges[b] = b == BINS ? high : low + b * (high - low) / BINS;
    for (int b = 0; b < BINS; b++) {
        centres[b] = (edges[b] + edges[b + 1]) / 2;
        counts[b] = 0;
    }
    for (int64_t i = 0; i < n; i++) {
        int b = 0;
        while (b < BINS - 1 && y[i] >= edges[b + 1])
            b++;
        counts[b]++;
    }
}

/* Values below the background's right flank, mirrored about its left: what is above may be object.
 */
static double background_end(const double *y, int64_t n)
{
    double h[BINS], centre[BINS];
    histogram(y, n, h, centre);
    int peak = -1, nearest = 0;
    for (int b = 0; b < BINS; b++) {
        if (fabs(centre[b]) < fabs(centre[nearest]))
            nearest = b;
        int is_peak = b < BINS - 1 && h[b] > h[b + 1] && (b == 0 || h[b] >= h[b - 1]);
        if (is_peak && (peak < 0 || fabs(centre[b]) < fabs(centre[peak])))
            peak = b;
    }
    peak = peak < 0 ? nearest : peak;
    int left = peak, right = peak;
    while (left > 0 && h[left] > 0.1 * h[peak])
        left--;
    while (right < BINS - 1 && h[right] > 0.1 * h[peak])
        right++;
    return centre[right] + (centre[right] - centre[left]);
}

/* The level from which a sample counts as object; -INFINITY when all do. */
static double object_level(const double *y, int64_t n)
{
    double end = background_end(y, n), largest = -INFINITY;
    double *above = calloc((size_t)n, sizeof *above);
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, y[i]);
        if (y[i] >= end)
            above[count++] = y[i];
    }
    double level =
        largest <= 0 || largest < end ? (double)-INFINITY : 0.25 * median_of(above, count);
    free(above);
    return level;
}

void twin_auto_regularise(const struct ct_model *m, const double *y, const double *w,
                          struct regularisation *out)
{
    const struct scan *s = &m->scan;
    const struct volume *v = &m->volume;
    int64_t plane = s->rows * s->channels, stride = s->views / (s->views < 20 ? s->views : 20);
    int64_t n = 0;
    double *ys = calloc((size_t)scan_samples(s), sizeof *ys), squares = 0, sum = 0, count = 0;
    double *ws = calloc((size_t)scan_samples(s), sizeof *ws);
    for (int64_t view = 0; view < s->views; view += stride)
        for (int64_t i = 0; i < plane; i++, n++) {
            ys[n] = y[view * plane + i];
            ws[n] = w ? w[view * plane + i] : 1;
        }
    double level = object_level(ys, n);
    for (int64_t i = 0; i < n; i++)
        if (ys[i] >= level) {
            squares += ws[i] * ys[i] * ys[i];
            sum += fabs(ys[i]);
            count++;
        }
    double R = (double)v->rows, C = (double)v->cols,
           cell = s->delta_channel / scan_magnification(s);
    double length = fmin(2 * R * C / (R + C) * v->delta, (double)s->channels * cell);
    if (scan_is_translation(s))
        length = R * v->row_aspect * v->delta / 2;
    const struct regularisation *r = &m->regularisation;
    *out = *r;
    out->sigma_y =
        (double)(float)(pow(10, -r->snr_db / 20) * sqrt(squares / count) * sqrt(v->delta / cell));
    out->sigma_x = (double)(float)(0.2 * pow(2, r->sharpness) * sum / count / length);
    out->sigma_prox = out->sigma_x;
    free(ys);
    free(ws);
}

/* The state of one reconstruction. `g`, `h` are packed; `delta` is a volume, `d` its projection. */
struct vcd {
    const struct ct_model *m;
    const double *w;
    int64_t voxels, samples, slices;
    double *x, *e, *hessian, *we, *back, *delta, *d, *g, *h, *damping;
};

static double weight(const struct vcd *t, int64_t i)
{
    return t->w ? t->w[i] : 1;
}

/* s_k = mean over views of (c t^p + a b^p) / (t^p + b^p), cone beams only. */
static void set_damping(struct vcd *t)
{
    const struct scan *s = &t->m->scan;
    const struct volume *v = &t->m->volume;
    const double a = 0.25, b = 100, p = 0.7, c = 0.5, dz = v->slice_aspect * v->delta;
    for (int64_t k = 0; k < v->slices; k++) {
        double z = dz * ((double)k - (double)(v->slices - 1) / 2) + v->slice_offset, sum = 0;
        for (int64_t view = 0; view < s->views; view++) {
            double h = s->z_shifts ? (double)s->z_shifts[view] : 0;
            double u = pow((double)v->rows * v->delta * fabs(z - h) / (s->source_iso * dz), p);
            sum += (c * u + a * pow(b, p)) / (u + pow(b, p));
        }
        t->damping[k] = scan_is_cone(s) ? sum / (double)s->views : 1;
    }
}

/* delta at the pixels of one subset, from gradient and curvature of data and prior. A pixel that
 * the subset holds twice counts twice in every sum. */
static void direction(struct vcd *t, const int32_t *pixels, int64_t count)
{
    const struct regularisation *r = &t->m->regularisation;
    const double y2 = r->sigma_y * r->sigma_y;
    for (int64_t i = 0; i < t->samples; i++)
        t->we[i] = weight(t, i) * t->e[i];
    twin_back(t->m, pixels, count, t->we, NULL, 1, t->back);
    twin_prior(&t->m->volume, r, pixels, count, t->x, t->g, t->h);
    memset(t->delta, 0, (size_t)t->voxels * sizeof *t->delta);
    for (int64_t k = 0; k < t->slices; k++) {
        double top = 0, bottom = 0;
        for (int pass = 0; pass < 2; pass++)
            for (int64_t q = 0; q < count; q++) {
                int64_t i = pixels[q] * t->slices + k, o = q * t->slices + k;
                double gradient = t->g[o] - t->back[i] / y2;
                double curvature = t->h[o] + t->hessian[i] / y2;
                if (pass == 0) {
                    top += gradient / curvature;
                    bottom += 1 / curvature;
                } else {
                    double mean = (1 - t->damping[k]) * top / bottom;
                    t->delta[i] = -(gradient - mean) / curvature;
                }
            }
    }
}

static double step_length(const struct vcd *t, const int32_t *pixels, int64_t count)
{
    const struct regularisation *r = &t->m->regularisation;
    const double y2 = r->sigma_y * r->sigma_y;
    double top = 0, bottom = EPS;
    for (int64_t i = 0; i < t->samples; i++) {
        top += weight(t, i) * t->e[i] * t->d[i] / y2;
        bottom += weight(t, i) * t->d[i] * t->d[i] / y2;
    }
    for (int64_t o = 0; o < count * t->slices; o++) {
        double delta = t->delta[pixels[o / t->slices] * t->slices + o % t->slices];
        top -= t->g[o] * delta;
        bottom += t->h[o] * delta * delta;
    }
    return fmin(fmax(top / bottom, EPS), r->max_overrelaxation);
}

/* Updates one subset; returns alpha and adds sum |alpha delta| to *moved. */
static double update(struct vcd *t, const int32_t *pixels, int64_t count, double *moved)
{
    direction(t, pixels, count);
    twin_forward(t->m, pixels, count, t->delta, t->d);
    double alpha = step_length(t, pixels, count);
    if (t->m->regularisation.positivity) {
        for (int64_t i = 0; i < t->voxels; i++)
            t->delta[i] = fmax(-t->x[i] / (alpha + EPS), t->delta[i]);
        twin_forward(t->m, pixels, count, t->delta, t->d);
    }
    for (int64_t o = 0; o < count * t->slices; o++) {
        int64_t i = pixels[o / t->slices] * t->slices + o % t->slices;
        t->x[i] += alpha * t->delta[i];
        *moved += fabs(alpha * t->delta[i]);
    }
    for (int64_t i = 0; i < t->samples; i++)
        t->e[i] -= alpha * t->d[i];
    return alpha;
}

static void start(struct vcd *t, const int32_t *pixels, int64_t count, const double *y,
                  struct twin_report *out)
{
    double top = 0, bottom = 0;
    twin_direct_recon(t->m, pixels, count, y, t->x);
    twin_forward(t->m, pixels, count, t->x, t->d);
    for (int64_t i = 0; i < t->samples; i++) {
        top += weight(t, i) * t->d[i] * y[i];
        bottom += weight(t, i) * t->d[i] * t->d[i];
    }
    out->initial_scale = bottom > 0 ? top / bottom : 1;
    for (int64_t i = 0; i < t->voxels; i++)
        t->x[i] *= out->initial_scale;
    for (int64_t i = 0; i < t->samples; i++)
        t->e[i] = y[i] - out->initial_scale * t->d[i];
    twin_back(t->m, NULL, volume_pixels(&t->m->volume), NULL, t->w, 2, t->hessian);
    set_damping(t);
}

static void note_iteration(const struct vcd *t, double moved, double alpha, int64_t subsets, int it,
                           struct twin_report *out)
{
    double squares = 0, weights = 0, norm = 0;
    for (int64_t i = 0; i < t->samples; i++) {
        squares += weight(t, i) * t->e[i] * t->e[i];
        weights += weight(t, i);
    }
    for (int64_t i = 0; i < t->voxels; i++)
        norm += fabs(t->x[i]);
    out->fm_rmse[it] = sqrt(squares / weights) / t->m->regularisation.sigma_y;
    out->change_percent[it] = 100 * moved / norm;
    out->alpha[it] = alpha / (double)subsets;
}

/* Partition of each entry of the default granularity, as many subsets as there are pixels at most.
 */
#define GRANULARITIES 11
static const int64_t granularity[GRANULARITIES] = {1, 2, 4, 8, 16, 32, 64, 128, 128, 128, 128};

static int sequence(int iteration)
{
    return iteration < 3 ? 2 + 2 * iteration : 7 + (iteration - 3) % 4;
}

static void iterate(struct vcd *t, const int32_t *pixels, int64_t count, int iterations,
                    uint32_t seed, struct twin_report *out)
{
    struct twin_rng rng;
    int32_t *partition[GRANULARITIES];
    int64_t subsets[GRANULARITIES];
    twin_seed(&rng, seed);
    for (int i = 0; i < GRANULARITIES; i++) {
        subsets[i] = granularity[i] < count ? granularity[i] : count;
        partition[i] = numbers(2 * count + 1);
        twin_partition(&rng, pixels, count, subsets[i], partition[i]);
    }
    for (int it = 0; it < iterations; it++) {
        int of = sequence(it);
        int64_t n = subsets[of], length = (count + n - 1) / n;
        int32_t *order = numbers(n);
        double moved = 0, alpha = 0;
        shuffle(&rng, order, n);
        for (int64_t i = 0; i < n; i++)
            alpha += update(t, partition[of] + order[i] * length, length, &moved);
        note_iteration(t, moved, alpha, n, it, out);
        free(order);
    }
    for (int i = 0; i < GRANULARITIES; i++)
        free(partition[i]);
}

static double *zeros(int64_t n)
{
    return calloc((size_t)n, sizeof(double));
}

void twin_mbir(const struct ct_model *m, const int32_t *pixels, int64_t count, const double *y,
               const double *w, int iterations, uint32_t seed, double *x, struct twin_report *out)
{
    struct vcd t = {.m = m,
                    .w = w,
                    .x = x,
                    .voxels = volume_voxels(&m->volume),
                    .samples = scan_samples(&m->scan),
                    .slices = m->volume.slices};
    double **const volumes[] = {&t.hessian, &t.back, &t.delta, &t.g, &t.h, &t.damping};
    double **const sinograms[] = {&t.e, &t.we, &t.d};
    for (int i = 0; i < 6; i++)
        *volumes[i] = zeros(t.voxels);
    for (int i = 0; i < 3; i++)
        *sinograms[i] = zeros(t.samples);
    start(&t, pixels, count, y, out);
    iterate(&t, pixels, count, iterations, seed, out);
    for (int i = 0; i < 6; i++)
        free(*volumes[i]);
    for (int i = 0; i < 3; i++)
        free(*sinograms[i]);
}
