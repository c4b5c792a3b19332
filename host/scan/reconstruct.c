/* The way of one scan to its volume: memory, back end, method, files. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "host/backend/course.h"
#include "host/geom/ct_model.h"
#include "host/scan/compute.h"
#include "host/scan/input.h"
#include "host/scan/poses.h"
#include "host/scan/reconstruct.h"
#include "host/scan/slabs.h"
#include "host/scan/steps.h"
#include "host/store/format/npy.h"
#include "host/store/format/png.h"
#include "host/store/format/volume.h"

static enum err check_request(const struct scan_request *r)
{
    const double *phase = r->phase;
    FAIL_IF(!isnan(phase[0]) && !(phase[0] > 0 && phase[1] > 0 && phase[2] > 0 && phase[3] >= 0),
            ERR_USAGE,
            "`paganin=%g,%g,%g,%g`: delta/beta, energy (keV), distance and pixel (mm) are positive",
            phase[0], phase[1], phase[2], phase[3]);
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
    return scan_choose_method(out);
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
        c->bytes += mbir_scratch_bytes(m) + scan_weights_bytes(r, sinogram, volume);
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
    TRY(volume_require_space(c->request->out, &c->model.volume));
    return c->slabs.count > 1 ? scan_input_prepare(c) : read_whole(c);
}

enum err scan_recon_prepare(struct scan_context *c)
{
    return scan_views_whole(c->request) ? read_whole(c) : scan_input_prepare(c);
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

static void compute_report(void *method, double share)
{
    progress(method, share, 1);
}

/* Direct methods end early as a whole; MBIR does by itself, with what it has. */
static enum err compute_whole(struct scan_context *c, float **x)
{
    const int mbir = c->method == SCAN_MBIR;
    struct backend_progress bar = {.report = compute_report,
                                   .context = (void *)scan_method_name(c->method),
                                   .range = PROGRESS_ALL};
    progress_begin(c->be, mbir ? NULL : &bar);
    c->be->stop = mbir ? NULL : c->request->stop;
    const enum err e = scan_compute(c, x);
    progress_begin(c->be, NULL);
    c->be->stop = NULL;
    progress_end();
    return e;
}

static enum err run_whole(struct scan_context *c)
{
    const struct scan_request *r = c->request;
    const struct volume *v = &c->model.volume;
    float *x = NULL;
    enum err e;
    c->start = clock_ns();
    TRY_OUT(check_stop(r));
    e = compute_whole(c, &x);
    if (e)
        goto out;
    if (c->method != SCAN_MBIR) /* mbir ends by itself with what it has */
        TRY_OUT(check_stop(r));
    c->result->seconds = clock_seconds_since(c->start);
    TRY_OUT(recon_write_volume(r->out, v, x));
    e = r->reference ? scan_recon_compare(c, x)
                     : scan_recon_picture(c, x + v->slices / 2, v->slices);
out:
    mem_free(x);
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
