/* Checks of subsets, weights, denoiser and tiled partitions. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "host/geom/ct_model.h"
#include "host/recon/recon.h"
#include "host/recon/weights.h"
#include "host/suite/catalogue/catalogue.h"
#include "host/suite/catalogue/check.h"
#include "host/suite/catalogue/inputs.h"

static struct pixel_set subset_of(const struct run_state *s)
{
    return (struct pixel_set){s->partition.indices, s->partition.length, 0};
}

/* The phantom or its line integrals go through the transpose of the operation, on the host. */
static enum err transposed_phantom(struct run_state *s, enum array from, float *in, float **out)
{
    const struct backend_ops *ops = s->be->ops;
    const struct pixel_set pixels = subset_of(s);
    const size_t x_bytes = (size_t)volume_voxels(&s->model.volume) * sizeof(float);
    const size_t y_bytes = (size_t)scan_samples(&s->model.scan) * sizeof(float);
    const int back = from == ARRAY_SINOGRAM;
    struct buffer a = {0}, b = {0};
    void *host = NULL;
    enum err e;
    TRY_OUT(ops->upload(s->be, in, back ? y_bytes : x_bytes, &a));
    TRY_OUT(ops->alloc(s->be, "transpose of the check", back ? x_bytes : y_bytes, &b));
    TRY_OUT(back ? sparse_back_project(s->be, &s->model, &pixels, &a, 1, &b)
                 : sparse_forward_project(s->be, &s->model, &pixels, &a, &b));
    TRY_OUT(mem_alloc("transpose of the check", b.bytes, &host));
    e = ops->download(s->be, &b, host, b.bytes);
out:
    if (a.ptr)
        ops->release(s->be, &a);
    if (b.ptr)
        ops->release(s->be, &b);
    *out = host;
    return e;
}

static double subset_product(const float *a, const float *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

/* Limited views leave the volume open, but not the views: what is less alike than this is not a
 * reconstruction of them. 0.93 to 0.999 seen from size 8 on. */
#define ALIKE 0.8

enum err check_explains(struct run_state *s)
{
    const struct backend_ops *ops = s->be->ops;
    const int64_t n = scan_samples(&s->model.scan);
    struct buffer y = {0};
    void *host = NULL;
    enum err e;
    TRY_OUT(ops->alloc(s->be, "projection of the result", (size_t)n * sizeof(float), &y));
    TRY_OUT(forward_project(s->be, &s->model, &s->out.buffer, &y));
    TRY_OUT(mem_alloc("projection of the result", y.bytes, &host));
    TRY_OUT(ops->download(s->be, &y, host, y.bytes));
    const float *a = host, *b = s->in.host;
    const double alike =
        subset_product(a, b, n) / sqrt(subset_product(a, a, n) * subset_product(b, b, n));
    if (!(alike >= ALIKE))
        e = FAIL(ERR_FAILED, "wrong result: its projection and the sinogram correlate by %.3g only",
                 alike);
out:
    if (y.ptr)
        ops->release(s->be, &y);
    mem_free(host);
    return e;
}

static enum err compare_products(double left, double right)
{
    const double error = fabs(left / right - 1);
    if (!(error <= 1e-4)) /* float32 sums: 1e-6 seen */
        return FAIL(ERR_FAILED, "wrong result: <A x, r> and <x, A' r> differ by %.3g", error);
    return ERR_OK;
}

/* <result, reference> = <input, transpose of the reference>. */
static enum err check_transpose(struct run_state *s, enum array from)
{
    struct array_pair r = {0};
    int64_t shape[3];
    const int back = from == ARRAY_SINOGRAM;
    const int64_t voxels = volume_voxels(&s->model.volume), samples = scan_samples(&s->model.scan);
    const float *result;
    float *copy = NULL, *other = NULL;
    enum err e;
    ct_model_shape(&s->model, from, shape);
    TRY(state_host_array(&r, "reference of the check", shape));
    (back ? phantom_sinogram : phantom_volume)(&s->model, r.host);
    TRY_OUT(transposed_phantom(s, from, r.host, &other));
    TRY_OUT(state_result(s, &result, &copy));
    e = compare_products(subset_product(result, r.host, back ? samples : voxels),
                         subset_product(s->in.host, other, back ? voxels : samples));
out:
    mem_free(copy);
    mem_free(other);
    mem_free(r.host);
    return e;
}

enum err check_sparse_forward(struct run_state *s)
{
    return check_transpose(s, ARRAY_SINOGRAM);
}

enum err check_sparse_back(struct run_state *s)
{
    const int64_t slices = s->model.volume.slices;
    const float *x;
    float *copy;
    TRY(check_transpose(s, ARRAY_VOLUME));
    unsigned char *inside = calloc(1, (size_t)volume_pixels(&s->model.volume));
    FAIL_IF(!inside, ERR_MEMORY, "no memory left to check the subset");
    for (int64_t i = 0; i < s->partition.length; i++)
        inside[s->partition.indices[i]] = 1;
    enum err e = state_result(s, &x, &copy);
    for (int64_t i = 0; !e && i < volume_voxels(&s->model.volume); i++)
        if (!inside[i / slices] && !(x[i] == 0))
            e = FAIL(ERR_FAILED, "wrong result: voxel %" PRId64 " beside the subset is %g", i,
                     (double)x[i]);
    if (!e)
        mem_free(copy);
    free(inside);
    return e;
}

/* Factors of all views of a channel: their mean. */
static double mean_factor(const struct run_state *s, const float *y, int64_t channel)
{
    const struct scan *scan = &s->model.scan;
    double sum = 0;
    for (int64_t view = 0; view < scan->views; view++) {
        double in = 0, out = 0;
        for (int64_t row = 0; row < scan->rows; row++) {
            const int64_t at = (view * scan->rows + row) * scan->channels + channel;
            in += fabs((double)s->in.host[at]);
            out += fabs((double)y[at]);
        }
        sum += in > 0 ? out / in : 1;
    }
    return sum / (double)scan->views;
}

/* Parker: over the views every ray is met once on average. Wang: at u and -u once on average. */
enum err check_rays(struct run_state *s)
{
    const struct scan *scan = &s->model.scan;
    const int64_t shift = (int64_t)(2 * scan->channel_offset / scan->delta_channel);
    const float *y;
    float *copy;
    double worst = 0;
    TRY(state_result(s, &y, &copy));
    for (int64_t c = 0; c < scan->channels; c++) {
        const int64_t mirrored = scan->channels - 1 + shift - c;
        if (mirrored >= 0 && mirrored < scan->channels)
            worst = fmax(worst,
                         fabs(0.5 * mean_factor(s, y, c) + 0.5 * mean_factor(s, y, mirrored) - 1));
    }
    mem_free(copy);
    const double limit = 0.001 + 1 / (double)(scan->views * scan->views);
    FAIL_IF(!(worst <= limit), ERR_FAILED,
            "wrong result: opposite rays count %.3g too much or too little (limit %.3g)", worst,
            limit);
    return ERR_OK;
}

/* Channels that had stripes differ less from the exact line integrals than they did. */
enum err check_stripes(struct run_state *s)
{
    const int64_t channels = s->model.scan.channels;
    struct array_pair exact = {0};
    int64_t shape[3];
    const float *y;
    float *copy;
    double before = 0, after = 0;
    ct_model_shape(&s->model, ARRAY_SINOGRAM, shape);
    TRY(state_host_array(&exact, "reference of the check", shape));
    phantom_sinogram(&s->model, exact.host);
    enum err e = state_result(s, &y, &copy);
    for (int64_t i = 0; !e && i < scan_samples(&s->model.scan); i++)
        if (i % channels % 7 == 3) {
            before += fabs((double)(s->in.host[i] - exact.host[i]));
            after += fabs((double)(y[i] - exact.host[i]));
        }
    if (!e)
        mem_free(copy);
    mem_free(exact.host);
    TRY(e);
    /* Below 32 channels the median spans half of the object. */
    FAIL_IF(channels >= 32 && !(after < 0.75 * before), ERR_FAILED,
            "wrong result: stripes of mean height %.3g are %.3g still", before, after);
    return ERR_OK;
}

static double weight_at(const char *kind, double y)
{
    return !strcmp(kind, "transmission")        ? exp(-y)
           : !strcmp(kind, "transmission_root") ? exp(-y / 2)
           : !strcmp(kind, "emission")          ? 1 / (fabs(y) + 0.1)
                                                : 1;
}

enum err check_weights(struct run_state *s)
{
    const char *kind = s->op->name + strlen("gen_weights_");
    const float *w;
    float *copy;
    enum err e = ERR_OK;
    TRY(state_result(s, &w, &copy));
    for (int64_t i = 0; !e && i < scan_samples(&s->model.scan); i++) {
        const double expected = weight_at(kind, (double)s->in.host[i]);
        if (!(fabs((double)w[i] - expected) <= 1e-5 * expected))
            e = FAIL(ERR_FAILED, "wrong result: weight %.9g of %.9g is not %.9g", (double)w[i],
                     (double)s->in.host[i], expected);
    }
    mem_free(copy);
    return e;
}

/* Each weight is exp(-y) or exp(-4 y), and no sample of the second kind lies below one of the
 * first. */
enum err check_mar(struct run_state *s)
{
    const float *w;
    float *copy;
    double most = -INFINITY, least = INFINITY;
    int64_t wrong = 0, metal = 0;
    TRY(state_result(s, &w, &copy));
    for (int64_t i = 0; i < scan_samples(&s->model.scan); i++) {
        const double y = (double)s->in.host[i], a = exp(-y), b = exp(-4 * y);
        const int light = fabs((double)w[i] - a) <= 1e-5 * a;
        const int dense = fabs((double)w[i] - b) <= 1e-5 * b;
        wrong += !light && !dense;
        metal += dense && !light;
        most = light && !dense ? fmax(most, y) : most;
        least = dense && !light ? fmin(least, y) : least;
    }
    mem_free(copy);
    FAIL_IF(wrong || !metal || least < most, ERR_FAILED,
            "wrong result: %" PRId64 " weights of neither kind, %" PRId64
            " of metal, from %.6g on; others up to %.6g",
            wrong, metal, least, most);
    return ERR_OK;
}

/* |image - x|^2 / (2 sigma^2) + the qGGMRF potentials of neighbours, each pair once. */
static double denoising_cost(const struct run_state *s, const float *image, const float *x)
{
    const struct volume *v = &s->model.volume;
    const double sigma = s->denoised.sigma_noise, sigma_x = s->denoised.sigma_x;
    const double p = 2, q = 1.2; /* and T 1: the defaults */
    const int64_t stride[3] = {v->cols * v->slices, v->slices, 1};
    double cost = 0;
    for (int64_t n = 0; n < volume_voxels(v); n++) {
        const int64_t place[3] = {n / stride[0], n / stride[1] % v->cols, n % v->slices};
        const int64_t size[3] = {v->rows, v->cols, v->slices};
        const double d = (double)image[n] - (double)x[n];
        cost += d * d / (2 * sigma * sigma);
        for (int axis = 0; axis < 3; axis++) {
            if (place[axis] + 1 == size[axis])
                continue;
            const double t = (double)fabsf(x[n + stride[axis]] - x[n]) / sigma_x;
            const double u = t > 0 ? pow(t, q - p) : (double)INFINITY;
            cost += t > 0 ? pow(t, p) / p * u / (1 + u) / 6 : 0;
        }
    }
    return cost;
}

enum err check_denoise(struct run_state *s)
{
    const float *x;
    float *copy;
    TRY(state_result(s, &x, &copy));
    const double before = denoising_cost(s, s->in.host, s->in.host);
    const double after = denoising_cost(s, s->in.host, x);
    mem_free(copy);
    FAIL_IF(!(after < before), ERR_FAILED,
            "wrong result: the cost is %.9g, that of the noisy volume %.9g", after, before);
    return ERR_OK;
}

enum err check_tiled(struct run_state *s)
{
    const struct partition *p = &s->partition;
    int32_t *pixels;
    int64_t count, missing = 0, outside = 0;
    TRY(volume_pixels_inside(&s->model.volume, &pixels, &count));
    unsigned char *seen = calloc(1, (size_t)volume_pixels(&s->model.volume));
    if (!seen) {
        free(pixels);
        return FAIL(ERR_MEMORY, "no memory left to check the partition");
    }
    for (int64_t i = 0; i < p->subsets * p->length; i++)
        seen[p->indices[i]] = 1;
    for (int64_t i = 0; i < count; i++)
        missing += !seen[pixels[i]];
    for (int64_t i = 0; i < count; i++)
        seen[pixels[i]] = 0;
    for (int64_t i = 0; i < volume_pixels(&s->model.volume); i++)
        outside += seen[i];
    free(seen);
    free(pixels);
    FAIL_IF(missing || outside, ERR_FAILED,
            "wrong result: %" PRId64 " pixels in no subset, %" PRId64 " beside the mask", missing,
            outside);
    return ERR_OK;
}
