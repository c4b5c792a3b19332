/* Checks of results: exact projections, adjoints, single columns, medians. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "host/geom/ct_model.h"
#include "host/suite/catalogue/catalogue.h"
#include "host/suite/catalogue/check.h"
#include "host/suite/catalogue/inputs.h"

/* A phantom sampled at N^3 voxels differs from the exact ellipsoids by its staircase surface, so
 * every limit against the exact object shrinks with 1/N. Seen at N = 4 to 128: forward 1.0/N
 * to 1.4/N, back at most 0.6/N, scale of FBP, FDK and MBIR 1.4/N; correlation from 0.70 at 5 to
 * 0.98, where the noise of larger N will lower it again (1 % of the largest line integral is 0.013
 * sqrt(N) of a voxel). */
static double limit_at(const struct run_state *s, double least, double per_edge)
{
    return least + per_edge / (double)s->model.volume.cols;
}

static double inner_product(const float *a, const float *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

/* Makes the phantom as a volume or a sinogram. Free with mem_free. */
static enum err reference_array(const struct run_state *s, enum array array, struct array_pair *a)
{
    int64_t shape[3];
    ct_model_shape(&s->model, array, shape);
    TRY(state_host_array(a, "reference of the check", shape));
    if (array == ARRAY_VOLUME)
        phantom_volume(&s->model, a->host);
    else
        phantom_sinogram(&s->model, a->host);
    return ERR_OK;
}

enum err check_forward(struct run_state *s)
{
    const int64_t n = scan_samples(&s->model.scan);
    const float *y;
    float *copy = NULL;
    struct array_pair exact = {0};
    enum err e = reference_array(s, ARRAY_SINOGRAM, &exact);
    if (!e)
        e = state_result(s, &y, &copy);
    if (!e) {
        double difference = 0, norm = inner_product(exact.host, exact.host, n);
        for (int64_t i = 0; i < n; i++) {
            double d = (double)y[i] - (double)exact.host[i];
            difference += d * d;
        }
        double error = sqrt(difference / norm), limit = limit_at(s, 0.002, 2);
        if (!(error <= limit))
            e = FAIL(ERR_FAILED, "wrong result: %.3g from the exact line integrals (limit %.3g)",
                     error, limit);
    }
    mem_free(copy);
    mem_free(exact.host);
    return e;
}

enum err check_back(struct run_state *s)
{
    const float *x;
    float *copy = NULL;
    double left = 0, right = 0;
    struct array_pair object = {0}, exact = {0};
    enum err e = reference_array(s, ARRAY_VOLUME, &object);
    if (!e)
        e = state_result(s, &x, &copy);
    if (!e)
        left = inner_product(x, object.host, volume_voxels(&s->model.volume));
    mem_free(object.host);
    if (!e)
        e = reference_array(s, ARRAY_SINOGRAM, &exact);
    if (!e) {
        right = inner_product(s->in.host, exact.host, scan_samples(&s->model.scan));
        double error = fabs(left / right - 1), limit = limit_at(s, 0.002, 1);
        if (!(error <= limit))
            e = FAIL(ERR_FAILED, "wrong result: <A'y, x> and <y, Ax> differ by %.3g (limit %.3g)",
                     error, limit);
    }
    mem_free(copy);
    mem_free(exact.host);
    return e;
}

/* y between its cells, 0 beside the detector. */
static double bilinear_at(const struct scan *s, const float *plane, double row, double channel)
{
    double sum = 0, m = floor(row), n = floor(channel);
    for (int corner = 0; corner < 4; corner++) {
        const double r = m + corner / 2, c = n + corner % 2;
        if (r < 0 || r >= (double)s->rows || c < 0 || c >= (double)s->channels)
            continue;
        sum += (1 - fabs(row - r)) * (1 - fabs(channel - c)) *
               (double)plane[(int64_t)r * s->channels + (int64_t)c];
    }
    return sum;
}

/* The voxel (i, j, k) of the suite's set-up, which has neither offsets nor aspects. */
static double voxel_sum(const struct run_state *s, int64_t i, int64_t j, int64_t k)
{
    const struct scan *scan = &s->model.scan;
    const struct volume *v = &s->model.volume;
    const double x = v->delta * ((double)j - 0.5 * (double)(v->cols - 1));
    const double y = v->delta * ((double)i - 0.5 * (double)(v->rows - 1));
    const double z = v->delta * ((double)k - 0.5 * (double)(v->slices - 1));
    double sum = 0;
    for (int64_t view = 0; view < scan->views; view++) {
        const double c = cos((double)scan->angles[view]), a = sin((double)scan->angles[view]);
        const double gain = scan->source_detector / (scan->source_iso - a * x - c * y);
        sum += gain * gain *
               bilinear_at(scan, s->in.host + view * scan->rows * scan->channels,
                           gain * z / scan->delta_row + 0.5 * (double)(scan->rows - 1),
                           gain * (c * x - a * y) / scan->delta_channel +
                               0.5 * (double)(scan->channels - 1));
    }
    return sum * v->delta * v->delta * v->delta / (scan->delta_row * scan->delta_channel);
}

enum err check_back_voxel(struct run_state *s)
{
    const struct volume *v = &s->model.volume;
    const float *x;
    float *copy;
    double difference = 0, norm = 0;
    TRY(state_result(s, &x, &copy));
    for (int64_t t = 0; t < 99; t++) { /* along a diagonal of the middle half */
        const int64_t i = v->rows / 4 + t * v->rows / 200, j = v->cols / 4 + t * v->cols / 200;
        const int64_t k = t * v->slices / 100;
        const double expected = voxel_sum(s, i, j, k);
        const double d = (double)x[(i * v->cols + j) * v->slices + k] - expected;
        difference += d * d;
        norm += expected * expected;
    }
    mem_free(copy);
    const double error = sqrt(difference / norm);
    if (!(error <= 1e-5)) /* 2e-7 seen */
        return FAIL(ERR_FAILED, "wrong result: %.3g from the interpolation in float64 (limit 1e-5)",
                    error);
    return ERR_OK;
}

/* Views whose sinogram the check of the Hessian holds at once: 1 MiB, one at least. */
static int64_t views_at_once(const struct scan *s)
{
    const int64_t fit = (1 << 18) / (s->rows * s->channels);
    return fit < 1 ? 1 : fit < s->views ? fit : s->views;
}

double check_device_bytes(const struct run_state *s)
{
    const struct scan *scan = &s->model.scan;
    const double block = 4.0 * (double)(views_at_once(scan) * scan->rows * scan->channels);
    /* twice: the projection's scratch; the voxel's line and the tables: 64 KiB */
    return s->op->check == check_hessian ? 2 * block + 0x1p16 : 0;
}

static enum err block_norm(struct run_state *s, const struct scan *views, int32_t pixel,
                           const struct buffer *unit, struct buffer *y, double *squares)
{
    const struct backend_ops *ops = s->be->ops;
    const struct pixel_set one = {&pixel, 1, 1};
    struct projector *p = NULL;
    double sum, l2, low, high;
    TRY(ops->projector_create(s->be, views, &s->model.volume, &p));
    enum err e = ops->forward(s->be, p, &one, unit, (struct sinogram){y, SINO_CHANNELS_FASTEST});
    if (!e)
        e = ops->fingerprint(s->be, y, &sum, &l2, &low, &high);
    if (!e)
        *squares += l2 * l2;
    ops->projector_free(s->be, p);
    return e;
}

/* Squared norm of the column of A that belongs to one voxel. */
static enum err column_norm(struct run_state *s, int32_t pixel, int64_t slice, double *out)
{
    const struct backend_ops *ops = s->be->ops;
    const struct scan *all = &s->model.scan;
    const int64_t line[3] = {1, 1, s->model.volume.slices}, most = views_at_once(all);
    struct array_pair unit = {0};
    struct buffer y = {0};
    enum err e = state_host_array(&unit, "unit voxel", line);
    if (e)
        return e;
    memset(unit.host, 0, (size_t)line[2] * sizeof(float));
    unit.host[slice] = 1;
    TRY_OUT(ops->upload(s->be, unit.host, (size_t)line[2] * sizeof(float), &unit.buffer));
    *out = 0;
    for (int64_t view = 0; view < all->views; view += most) {
        struct scan views = *all;
        views.views = all->views - view < most ? all->views - view : most;
        views.angles += view;
        if (views.z_shifts)
            views.z_shifts += view;
        if (views.moves)
            views.moves += view;
        TRY_OUT(ops->alloc(s->be, "projection of one voxel",
                           (size_t)scan_samples(&views) * sizeof(float), &y));
        TRY_OUT(block_norm(s, &views, pixel, &unit.buffer, &y, out));
        ops->release(s->be, &y);
    }
out:
    if (y.ptr)
        ops->release(s->be, &y);
    if (unit.buffer.ptr)
        ops->release(s->be, &unit.buffer);
    mem_free(unit.host);
    return e;
}

enum err check_hessian(struct run_state *s)
{
    const struct volume *v = &s->model.volume;
    int64_t pixel = v->rows / 2 * v->cols + v->cols / 2, slice = v->slices / 2;
    const float *h;
    float *copy = NULL;
    double norm = 0;
    enum err e = column_norm(s, (int32_t)pixel, slice, &norm);
    if (!e)
        e = state_result(s, &h, &copy);
    if (!e) {
        double value = (double)h[pixel * v->slices + slice];
        if (!(fabs(value / norm - 1) <= 1e-4)) /* float32 sums of N/2 views: 1e-6 seen */
            e = FAIL(ERR_FAILED,
                     "wrong result: %.8g at the middle, but the column's squared norm is %.8g",
                     value, norm);
    }
    mem_free(copy);
    return e;
}

/* Factor of the ramp filter and, for cones, the cosine weight at detector coordinates u, v. */
static double filter_scale(const struct ct_model *m)
{
    const struct volume *v = &m->volume;
    double scale = M_PI / (double)m->scan.views / (v->delta * volume_delta_row(v));
    if (m->scan.beam == BEAM_CONE && !scan_is_multiaxis(&m->scan))
        scale *= m->scan.delta_row / (volume_delta_slice(v) * scan_magnification(&m->scan));
    return scale;
}

static double cosine_of_ray(const struct scan *s, int64_t row, int64_t channel)
{
    if (s->beam != BEAM_CONE || isinf(s->source_detector))
        return 1;
    double u =
        ((double)channel - 0.5 * (double)(s->channels - 1)) * s->delta_channel - s->channel_offset;
    double v = ((double)row - 0.5 * (double)(s->rows - 1)) * s->delta_row - s->row_offset;
    return s->source_detector / sqrt(s->source_detector * s->source_detector + u * u + v * v);
}

/* Returns Ram-Lak taps: 1/4 at 0, -1/(pi n)^2 at odd n, 0 else. */
static double ramp_tap(int64_t n)
{
    return n == 0 ? 0.25 : n % 2 ? -1 / (M_PI * M_PI * (double)n * (double)n) : 0;
}

enum err check_filter(struct run_state *s)
{
    const struct scan *scan = &s->model.scan;
    const int64_t channels = scan->channels, view = scan->views / 2, row = scan->rows / 2;
    const float *y;
    float *copy;
    TRY(state_result(s, &y, &copy));
    const int64_t at = (view * scan->rows + row) * channels;
    double worst = 0, largest = 0, scale = filter_scale(&s->model);
    for (int64_t n = 0; n < channels; n++) {
        double sum = 0;
        for (int64_t k = 0; k < channels; k++)
            sum += ramp_tap(n - k) * cosine_of_ray(scan, row, k) * (double)s->in.host[at + k];
        worst = fmax(worst, fabs(scale * sum - (double)y[at + n]));
        largest = fmax(largest, fabs(scale * sum));
    }
    mem_free(copy);
    if (!(worst <= 1e-4 * largest)) /* a float32 FFT: 1e-6 seen */
        return FAIL(ERR_FAILED, "wrong result: %.3g from the convolution in float64, of %.3g",
                    worst, largest);
    return ERR_OK;
}

/* Slices that every view sees whole, [*first, *end): their half height |z| at the near edge of the
 * volume still falls on the detector. FDK cannot know the others. */
static void seen_slices(const struct ct_model *m, int64_t *first, int64_t *end)
{
    const struct scan *s = &m->scan;
    const struct volume *v = &m->volume;
    *first = 0;
    *end = v->slices;
    if (!scan_is_cone(s))
        return;
    const double near = s->source_iso - 0.5 * (double)v->cols * v->delta;
    const double reach = 0.5 * (double)s->rows * s->delta_row * near / s->source_detector;
    const int64_t lost = (int64_t)ceil(0.5 * (double)v->slices - reach / volume_delta_slice(v));
    if (lost > 0) {
        *first = lost;
        *end = v->slices - lost;
    }
}

enum err check_recon(struct run_state *s)
{
    const struct volume *v = &s->model.volume;
    int64_t first, end;
    const float *x;
    float *copy = NULL;
    struct array_pair object = {0};
    enum err e = reference_array(s, ARRAY_VOLUME, &object);
    if (!e)
        e = state_result(s, &x, &copy);
    if (!e) {
        double both = 0, norm = 0, square = 0;
        seen_slices(&s->model, &first, &end);
        for (int64_t at = first; at < volume_voxels(v); at += v->slices) {
            both += inner_product(x + at, object.host + at, end - first);
            norm += inner_product(object.host + at, object.host + at, end - first);
            square += inner_product(x + at, x + at, end - first);
        }
        double scale = both / norm, correlation = both / sqrt(norm * square);
        if (!(fabs(scale - 1) <= limit_at(s, 0.02, 2) && 1 - correlation <= limit_at(s, 0.3, 1)))
            e = FAIL(ERR_FAILED,
                     "wrong result: scale %.3g and correlation %.3g against the phantom", scale,
                     correlation);
    }
    mem_free(copy);
    mem_free(object.host);
    return e;
}

static int64_t index_within(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i < n ? i : n - 1;
}

static float median_at(const struct volume *v, const float *x, int64_t voxel)
{
    int64_t k = voxel % v->slices, j = voxel / v->slices % v->cols, i = voxel / v->slices / v->cols;
    float around[27];
    for (int t = 0; t < 27; t++) {
        int64_t a = index_within(i + t / 9 - 1, v->rows),
                b = index_within(j + t / 3 % 3 - 1, v->cols);
        around[t] = x[(a * v->cols + b) * v->slices + index_within(k + t % 3 - 1, v->slices)];
    }
    qsort(around, 27, sizeof *around, ascending_float);
    return around[13];
}

enum err check_median(struct run_state *s)
{
    const struct volume *v = &s->model.volume;
    const int64_t n = volume_voxels(v),
                  step = n / 499 + 1; /* odd strides visit faces and edges too */
    const float *y;
    float *copy;
    enum err e = ERR_OK;
    TRY(state_result(s, &y, &copy));
    for (int64_t voxel = 0; voxel < n && !e; voxel += step) {
        float expected = median_at(v, s->in.host, voxel);
        if (!(y[voxel] == expected))
            e = FAIL(ERR_FAILED, "wrong result: %.9g at voxel %" PRId64 ", the median is %.9g",
                     (double)y[voxel], voxel, (double)expected);
    }
    mem_free(copy);
    return e;
}

enum err check_partition(struct run_state *s)
{
    const struct partition *p = &s->partition;
    int32_t *pixels;
    int64_t count, missing = 0, unordered = 0;
    TRY(volume_pixels_inside(&s->model.volume, &pixels, &count));
    unsigned char *seen = calloc(1, (size_t)volume_pixels(&s->model.volume));
    if (!seen) {
        free(pixels);
        return FAIL(ERR_MEMORY, "no memory left to check the partition");
    }
    for (int64_t i = 0; i < p->subsets * p->length; i++) {
        seen[p->indices[i]] = 1;
        unordered += i % p->length && p->indices[i] < p->indices[i - 1];
    }
    for (int64_t i = 0; i < count; i++)
        missing += !seen[pixels[i]];
    free(seen);
    free(pixels);
    FAIL_IF(missing || unordered, ERR_FAILED,
            "wrong result: %" PRId64 " pixels in no subset, %" PRId64 " out of order", missing,
            unordered);
    FAIL_IF(p->subsets * p->length - count >= p->subsets, ERR_FAILED,
            "wrong result: %" PRId64 " subsets of %" PRId64 " pixels for %" PRId64, p->subsets,
            p->length, count);
    return ERR_OK;
}
