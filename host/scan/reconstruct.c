/* The way of one scan to its volume: memory, back end, method, files. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "host/geom/ct_model.h"
#include "host/recon/helical.h"
#include "host/recon/weights.h"
#include "host/scan/input.h"
#include "host/scan/poses.h"
#include "host/scan/reconstruct.h"
#include "host/scan/slabs.h"
#include "host/scan/steps.h"
#include "host/store/format/npy.h"
#include "host/store/format/png.h"
#include "host/store/format/volume.h"

const char *scan_method_name(enum scan_method method)
{
    static const char *const names[] = {"by beam", "fbp", "fdk", "mbir", "fourier"};
    return names[method];
}

static enum err check_request(const struct scan_request *r)
{
    const double *phase = r->phase;
    FAIL_IF(!isnan(phase[0]) && !(phase[0] > 0 && phase[1] > 0 && phase[2] > 0 && phase[3] >= 0),
            ERR_USAGE,
            "`paganin=%g,%g,%g,%g`: delta/beta, energy (keV), distance and pixel (mm) are positive",
            phase[0], phase[1], phase[2], phase[3]);
    return ERR_OK;
}

/* MBIR is for all beams, and the default where no direct method is exact. */
static enum err choose_method(struct scan_context *c)
{
    const struct scan_request *r = c->request;
    const struct scan *s = &c->model.scan;
    const int cone = s->beam == BEAM_CONE;
    c->method = r->method ? r->method : s->moves ? SCAN_MBIR : cone ? SCAN_FDK : SCAN_FBP;
    const char *name = scan_method_name(c->method);
    FAIL_IF(
        s->moves && c->method != SCAN_MBIR, ERR_USAGE,
        "`method=%s` is for parallel and cone beams: translation and multi-axis scans take mbir",
        name);
    FAIL_IF(c->method == SCAN_FDK && !cone, ERR_USAGE,
            "`method=fdk` is for cone beams: give `geometry=FILE` with \"geometry\": \"cone\", or "
            "take fbp");
    FAIL_IF((c->method == SCAN_FBP || c->method == SCAN_FOURIER) && cone, ERR_USAGE,
            "`method=%s` is for parallel beams, and %s has a cone beam: take fdk or mbir", name,
            r->geometry ? r->geometry : r->source.path);
    FAIL_IF(r->voxel_driven && c->method != SCAN_FDK, ERR_USAGE,
            "`backproject` is for `method=fdk` of cone beams");
    FAIL_IF(r->redundancy && c->method != SCAN_FDK, ERR_USAGE,
            "`redundancy` is for `method=fdk` of cone beams");
    return ERR_OK;
}

enum err scan_recon_open(const struct scan_request *r, struct scan_result *result,
                         struct scan_context *out)
{
    *result = (struct scan_result){.center = (double)NAN,
                                   .score = (double)NAN,
                                   .tilt = isfinite(r->tilt) ? r->tilt : 0,
                                   .overlap = isfinite(r->overlap) ? r->overlap : 0,
                                   .quality = {(double)NAN, (double)NAN}};
    *out = (struct scan_context){.request = r, .result = result, .pixel = r->phase[PHASE_PIXEL]};
    TRY(check_request(r));
    TRY(scan_input_plan(out));
    return choose_method(out);
}

enum err scan_recon_sizes(const struct ct_model *m, size_t *sinogram, size_t *volume)
{
    TRY(mem_size("sinogram", m->scan.views, m->scan.rows, m->scan.channels, sizeof(float),
                 sinogram));
    return mem_size("volume", m->volume.rows, m->volume.cols, m->volume.slices, sizeof(float),
                    volume);
}

/* Weights; where metal is looked for, its mask twice and the rays through it. */
static size_t weights_bytes(const struct scan_request *r, size_t sinogram, size_t volume)
{
    return r->weights == SCAN_EQUAL          ? 0
           : r->weights == SCAN_TRANSMISSION ? sinogram
                                             : 2 * sinogram + 2 * volume;
}

/* Bounds the memory held at once: sinogram and volume, for MBIR its work arrays and the weights.
 * The direct methods go in slabs where that is too much. */
enum err scan_recon_plan(struct scan_context *c)
{
    const struct scan_request *r = c->request;
    const struct ct_model *m = &c->model;
    const int mbir = c->method == SCAN_MBIR;
    size_t sinogram, volume;
    TRY(scan_recon_sizes(m, &sinogram, &volume));
    c->slabs = (struct slabs){m->volume.slices, m->volume.slices, 1};
    c->bytes = sinogram + volume;
    if (scan_steps_wanted(r)) /* a step holds its input and its result */
        c->bytes += sinogram;
    if (!mbir && !scan_needs_whole(r)) {
        TRY(scan_slabs_plan(c));
        TRY(scan_slabs_keep(c));
        c->bytes = c->bytes / (size_t)c->slabs.length * (size_t)c->slabs.thickness;
        return ERR_OK;
    }
    if (mbir)
        c->bytes += mbir_scratch_bytes(m) + weights_bytes(r, sinogram, volume);
    if (r->rings || r->poses)
        c->bytes += sinogram;
    if (r->redundancy == REDUNDANCY_HELICAL)
        c->bytes += 2 * volume;
    if (r->reference)
        c->bytes += volume;
    return mem_require("this reconstruction", c->bytes,
                       r->geometry ? NULL : "take fewer rows with `rows=A:B`");
}

static enum err read_whole(struct scan_context *c)
{
    const char *poses = c->request->poses;
    TRY(scan_input_read(c));
    return poses ? scan_apply_poses(poses, &c->model, &c->sinogram) : ERR_OK;
}

enum err scan_recon_read(struct scan_context *c)
{
    c->start = clock_ns();
    return c->slabs.count > 1 ? scan_input_prepare(c) : read_whole(c);
}

enum err scan_recon_prepare(struct scan_context *c)
{
    return scan_views_whole(c->request) ? read_whole(c) : scan_input_prepare(c);
}

/* Arrays of a reconstruction all at once. */
struct arrays {
    struct backend *be;
    float *weights, *volume; /* host, mem_alloc */
    struct buffer y, w, x;
};

static void arrays_free(struct arrays *a)
{
    struct buffer *const buffers[] = {&a->y, &a->w, &a->x};
    for (size_t i = 0; i < 3; i++)
        a->be->ops->release(a->be, buffers[i]);
    mem_free(a->weights);
    mem_free(a->volume);
}

/* `large`: the array stays where it is. */
static enum err arrays_hand_over(struct backend *be, int large, float *host, size_t bytes,
                                 struct buffer *b)
{
    if (!large)
        return be->ops->upload(be, host, bytes, b);
    *b = (struct buffer){PLACE_HOST, 0, bytes, host};
    return ERR_OK;
}

static enum err transmission_weights(struct arrays *a, int large, const float *sinogram,
                                     size_t bytes)
{
    void *w;
    TRY(mem_alloc("weights", bytes, &w));
    a->weights = w;
    const int64_t samples = (int64_t)(bytes / sizeof(float));
#pragma omp parallel for schedule(static) if (samples >= 1 << 16)
    for (int64_t i = 0; i < samples; i++)
        a->weights[i] = expf(-sinogram[i]);
    return arrays_hand_over(a->be, large, w, bytes, &a->w);
}

/* Metal is found in a direct reconstruction, which also shows where its streaks come from. */
static enum err metal_weights(struct arrays *a, int large, const struct ct_model *m, size_t bytes)
{
    const struct mar_options o = {.beta = 1, .gamma = 3, .initial = &a->x};
    FAIL_IF(large, ERR_MEMORY,
            "weights for metal need all arrays on the device, which has too little memory: add "
            "`backend=cpu`");
    TRY(a->be->ops->alloc(a->be, "weights", bytes, &a->w));
    TRY(direct_recon(a->be, m, &a->y, &a->w, &a->x));
    return gen_weights_mar(a->be, m, &a->y, &o, &a->w);
}

static void recon_on_iteration(void *context, int64_t done, int64_t total)
{
    (void)context;
    progress("mbir", (double)done, (double)total);
}

static enum err recon_run_mbir(struct scan_context *c, struct arrays *a)
{
    const struct scan_request *r = c->request;
    struct mbir_options o = {.max_iterations = r->iterations,
                             .stop_threshold_percent = r->threshold_percent,
                             .seed = (uint32_t)r->seed,
                             .weights = r->weights ? &a->w : NULL,
                             .on_iteration = recon_on_iteration,
                             .stop = r->stop};
    enum err e = mbir_recon(a->be, &c->model, &a->y, &o, &a->x, &c->result->report);
    progress_end();
    c->result->stopped = e == ERR_INTERRUPTED; /* the volume is whole after every subset */
    return e == ERR_INTERRUPTED ? ERR_OK : e;
}

/* Decides if arrays of so many bytes stay in the host's memory, too large for the device's. */
static enum err choose_place(const struct scan_context *c, size_t bytes, int *large)
{
    const int mbir = c->method == SCAN_MBIR;
    *large = 0;
    if (mbir)
        bytes += mbir_scratch_bytes(&c->model);
    return c->request->voxel_driven || c->request->redundancy == REDUNDANCY_HELICAL ||
                   c->method == SCAN_FOURIER
               ? ERR_OK
               : recon_place(c->be, mbir ? RECON_MBIR : RECON_DIRECT, &c->model, 1, bytes, large);
}

enum err scan_metal_weights(struct backend *be, const struct ct_model *m, const float *sinogram,
                            float **weights)
{
    struct arrays a = {.be = be};
    size_t y_bytes, x_bytes;
    void *x, *w = NULL;
    enum err e;
    *weights = NULL;
    TRY_OUT(scan_recon_sizes(m, &y_bytes, &x_bytes));
    TRY_OUT(mem_alloc("a volume in which metal is found", x_bytes, &x));
    a.volume = x;
    TRY_OUT(mem_alloc("weights", y_bytes, &w));
    TRY_OUT(be->ops->upload(be, sinogram, y_bytes, &a.y));
    TRY_OUT(be->ops->upload(be, a.volume, x_bytes, &a.x));
    TRY_OUT(metal_weights(&a, 0, m, y_bytes));
    TRY_OUT(be->ops->download(be, &a.w, w, y_bytes));
    *weights = w;
    w = NULL;
out:
    mem_free(w);
    arrays_free(&a);
    return e;
}

/* The volume on the host: where the back end computes there, in its own memory. */
static enum err recon_compute(struct scan_context *c, struct arrays *a)
{
    const struct scan_request *r = c->request;
    const struct ct_model *m = &c->model;
    const enum scan_weights weights = c->method == SCAN_MBIR ? r->weights : SCAN_EQUAL;
    size_t y_bytes, x_bytes;
    int large;
    void *x;
    TRY(scan_remove_rings(c, m, &c->sinogram));
    TRY(scan_weigh_rays(c));
    TRY(scan_recon_sizes(m, &y_bytes, &x_bytes));
    TRY(choose_place(c, x_bytes + y_bytes + weights_bytes(r, y_bytes, x_bytes), &large));
    TRY(mem_alloc("volume", x_bytes, &x));
    a->volume = x;
    TRY(arrays_hand_over(a->be, large, c->sinogram, y_bytes, &a->y));
    TRY(arrays_hand_over(a->be, large, x, x_bytes, &a->x));
    if (weights == SCAN_TRANSMISSION)
        TRY(transmission_weights(a, large, c->sinogram, y_bytes));
    if (weights == SCAN_METAL)
        TRY(metal_weights(a, large, m, y_bytes));
    if (c->method != SCAN_MBIR)
        return scan_slab_direct(c, &a->y, &a->x, x);
    TRY(recon_run_mbir(c, a));
    return large ? ERR_OK : a->be->ops->download(a->be, &a->x, x, x_bytes);
}

static enum err recon_write_volume(const char *path, const struct volume *v, const float *x)
{
    struct volume_writer *w;
    TRY(volume_writer_open(path, v, &w));
    return volume_writer_close(w, volume_writer_add(w, 0, v->slices, x));
}

enum err scan_recon_picture(struct scan_context *c, const float *slice, int64_t stride)
{
    const struct volume *v = &c->model.volume;
    double low, high;
    void *copy;
    image_window(v->rows, v->cols, slice, v->cols * stride, stride, &low, &high);
    TRY(mem_alloc("picture", (size_t)volume_pixels(v) * sizeof(float), &copy));
    float *image = copy;
    for (int64_t p = 0; p < volume_pixels(v); p++)
        image[p] = slice[p * stride];
    if (c->request->scale_bar)
        c->result->bar = scale_bar(v->rows, v->cols, image, v->delta, low, high);
    const enum err e =
        png_write_grey(c->request->picture, v->rows, v->cols, image, v->cols, 1, low, high);
    mem_free(copy);
    return e;
}

enum err scan_recon_compare(struct scan_context *c, const float *x)
{
    static const char *const names[] = {"rows", "columns", "slices"};
    const struct volume *v = &c->model.volume;
    int64_t shape[3] = {v->rows, v->cols, v->slices};
    float *reference;
    if (npy_read(c->request->reference, 3, shape, names, 1, &reference))
        return err_prefix(ERR_INPUT, "`reference`");
    c->result->quality = quality_of(v, x, reference);
    const enum err e = quality_picture(c->request->picture, v, x, reference);
    mem_free(reference);
    return e;
}

/* Reading, computing and writing in turn; the time is that of all three. */
static enum err run_slabs(struct scan_context *c)
{
    void *middle;
    TRY(mem_alloc("picture", (size_t)volume_pixels(&c->model.volume) * sizeof(float), &middle));
    enum err e = scan_slabs_run(c, middle);
    if (!e)
        e = scan_recon_picture(c, middle, 1);
    mem_free(middle);
    c->result->seconds = clock_seconds_since(c->start);
    return e;
}

static enum err check_stop(const struct scan_request *r)
{
    FAIL_IF(r->stop && *r->stop, ERR_INTERRUPTED, "interrupted: nothing was written");
    return ERR_OK;
}

static enum err run_whole(struct scan_context *c)
{
    const struct scan_request *r = c->request;
    const struct volume *v = &c->model.volume;
    struct arrays a = {.be = c->be};
    enum err e;
    c->start = clock_ns();
    TRY_OUT(check_stop(r));
    TRY_OUT(recon_compute(c, &a));
    if (c->method != SCAN_MBIR) /* mbir ends by itself with what it has */
        TRY_OUT(check_stop(r));
    c->result->seconds = clock_seconds_since(c->start);
    TRY_OUT(recon_write_volume(r->out, v, a.volume));
    e = r->reference ? scan_recon_compare(c, a.volume)
                     : scan_recon_picture(c, a.volume + v->slices / 2, v->slices);
out:
    arrays_free(&a);
    return e;
}

enum err scan_recon_run(struct scan_context *c)
{
    return (c->slabs.count > 1 ? run_slabs : run_whole)(c);
}

void scan_recon_free(struct scan_context *c)
{
    ct_model_free(&c->model);
    mem_free(c->sinogram);
    c->sinogram = NULL;
    if (c->result)
        mbir_report_free(&c->result->report);
}

enum err quality_picture(const char *path, const struct volume *v, const float *x,
                         const float *reference)
{
    const int64_t cols = v->cols, middle = v->slices / 2;
    double low, high, most = 0;
    void *memory;
    TRY(mem_alloc("picture", (size_t)(3 * volume_pixels(v)) * sizeof(float), &memory));
    float *out = memory;
    image_window(v->rows, cols, reference + middle, cols * v->slices, v->slices, &low, &high);
    for (int64_t p = 0; p < volume_pixels(v); p++) {
        const int64_t at = p * v->slices + middle;
        const double d = fabs((double)x[at] - (double)reference[at]);
        most = d > most ? d : most; /* GCC 12 for aarch64 fails on fmax in a loop of its own */
    }
    for (int64_t p = 0; p < volume_pixels(v); p++) {
        const int64_t at = p * v->slices + middle;
        const double d = most > 0 ? ((double)x[at] - (double)reference[at]) / most : 0;
        float *to = out + p / cols * 3 * cols + p % cols;
        to[0] = x[at];
        to[cols] = reference[at];
        to[2 * cols] = (float)(low + 0.5 * (1 + d) * (high - low));
    }
    const enum err e = png_write_grey(path, v->rows, 3 * cols, out, 3 * cols, 1, low, high);
    mem_free(memory);
    return e;
}
