/* The way of one scan to its volume: memory, back end, method, files. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "host/scan/input.h"
#include "host/scan/poses.h"
#include "host/scan/rays.h"
#include "host/scan/reconstruct.h"
#include "host/scan/rings.h"
#include "host/scan/slabs.h"
#include "host/recon/helical.h"
#include "host/recon/weights.h"
#include "host/store/format/npy.h"
#include "host/store/format/png.h"
#include "host/store/format/volume.h"

enum err scan_recon_open(const struct scan_request *r, struct scan_recon *out)
{
    *out = (struct scan_recon){.request = r};
    return scan_input_plan(r, &out->input);
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

int scan_views_whole(const struct scan_request *r)
{
    return scan_steps_whole(r->steps) || r->poses;
}

int scan_needs_whole(const struct scan_request *r)
{
    return scan_views_whole(r) || r->reference || r->helical;
}

/* What is held at once at most: sinogram and volume, for MBIR its work arrays and the weights. The
 * direct methods go in slabs where that is too much. */
enum err scan_recon_plan(struct scan_recon *s)
{
    const struct scan_request *r = s->request;
    const struct ct_model *m = &s->input.model;
    size_t sinogram, volume;
    TRY(scan_recon_sizes(m, &sinogram, &volume));
    s->slabs = (struct slabs){m->volume.slices, m->volume.slices, 1};
    s->bytes = sinogram + volume;
    if (scan_steps_wanted(r->steps)) /* a step holds its input and its result */
        s->bytes += sinogram;
    if (r->method != SCAN_MBIR && !scan_needs_whole(r)) {
        TRY(scan_slabs_plan(r, m, &s->slabs));
        TRY(scan_slabs_keep(r, &s->input, &s->slabs));
        s->bytes = s->bytes / (size_t)s->slabs.length * (size_t)s->slabs.thickness;
        return ERR_OK;
    }
    if (r->method == SCAN_MBIR)
        s->bytes += mbir_scratch_bytes(m) + weights_bytes(r, sinogram, volume);
    if (r->rings || r->poses)
        s->bytes += sinogram;
    if (r->helical)
        s->bytes += 2 * volume;
    if (r->reference)
        s->bytes += volume;
    return mem_require("this reconstruction", s->bytes,
                       r->geometry ? NULL : "take fewer rows with --rows A:B");
}

static enum err read_whole(struct scan_recon *s)
{
    TRY(scan_input_read(s->request, &s->input));
    return s->request->poses
               ? scan_apply_poses(s->request->poses, &s->input.model, &s->input.sinogram)
               : ERR_OK;
}

enum err scan_recon_read(struct scan_recon *s)
{
    s->start = clock_ns();
    return s->slabs.count > 1 ? scan_input_prepare(s->request, &s->input) : read_whole(s);
}

enum err scan_recon_prepare(struct scan_recon *s)
{
    return scan_views_whole(s->request) ? read_whole(s) : scan_input_prepare(s->request, &s->input);
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
static enum err hand_over(struct backend *be, int large, float *host, size_t bytes,
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
    return hand_over(a->be, large, w, bytes, &a->w);
}

/* Metal is found in a direct reconstruction, which also shows where its streaks come from. */
static enum err metal_weights(struct arrays *a, int large, const struct ct_model *m, size_t bytes)
{
    const struct mar_options o = {.beta = 1, .gamma = 3, .initial = &a->x};
    FAIL_IF(large, ERR_MEMORY,
            "weights for metal need all arrays on the device, which has too little memory: add "
            "--backend cpu");
    TRY(a->be->ops->alloc(a->be, "weights", bytes, &a->w));
    TRY(direct_recon(a->be, m, &a->y, &a->w, &a->x));
    return gen_weights_mar(a->be, m, &a->y, &o, &a->w);
}

static void on_iteration(void *context, int64_t done, int64_t total)
{
    (void)context;
    progress("mbir", (double)done, (double)total);
}

static enum err run_mbir(struct scan_recon *s, struct arrays *a)
{
    const struct scan_request *r = s->request;
    struct mbir_options o = {.max_iterations = r->iterations,
                             .stop_threshold_percent = r->threshold_percent,
                             .seed = r->seed,
                             .weights = r->weights ? &a->w : NULL,
                             .on_iteration = on_iteration,
                             .stop = r->stop};
    enum err e = mbir_recon(a->be, &s->input.model, &a->y, &o, &a->x, &s->report);
    progress_end();
    s->stopped = e == ERR_INTERRUPTED; /* the volume is whole after every subset of pixels */
    return s->stopped ? ERR_OK : e;
}

static enum err place(const struct scan_recon *s, struct backend *be, size_t bytes, int *large)
{
    const struct ct_model *m = &s->input.model;
    const int mbir = s->request->method == SCAN_MBIR;
    *large = 0;
    if (mbir)
        bytes += mbir_scratch_bytes(m);
    return s->request->voxel_driven || s->request->helical || s->request->method == SCAN_FOURIER
               ? ERR_OK
               : recon_place(be, mbir ? RECON_MBIR : RECON_DIRECT, m, 1, bytes, large);
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
static enum err compute(struct scan_recon *s, struct arrays *a)
{
    const struct scan_request *r = s->request;
    const struct ct_model *m = &s->input.model;
    const enum scan_weights weights = r->method == SCAN_MBIR ? r->weights : SCAN_EQUAL;
    size_t y_bytes, x_bytes;
    int large;
    void *x;
    if (r->rings)
        TRY(scan_remove_rings(a->be, m, r->rings, r->steps, &s->input.sinogram));
    TRY(scan_weigh_rays(r->redundancy, &s->input));
    TRY(scan_recon_sizes(m, &y_bytes, &x_bytes));
    TRY(place(s, a->be, x_bytes + y_bytes + weights_bytes(r, y_bytes, x_bytes), &large));
    TRY(mem_alloc("volume", x_bytes, &x));
    a->volume = x;
    TRY(hand_over(a->be, large, s->input.sinogram, y_bytes, &a->y));
    TRY(hand_over(a->be, large, x, x_bytes, &a->x));
    if (weights == SCAN_TRANSMISSION)
        TRY(transmission_weights(a, large, s->input.sinogram, y_bytes));
    if (weights == SCAN_METAL)
        TRY(metal_weights(a, large, m, y_bytes));
    if (r->method != SCAN_MBIR)
        return scan_slab_direct(a->be, r, m, &a->y, &a->x, x);
    TRY(run_mbir(s, a));
    return large ? ERR_OK : a->be->ops->download(a->be, &a->x, x, x_bytes);
}

static enum err write_volume(const char *path, const struct volume *v, const float *x)
{
    struct volume_writer *w;
    TRY(volume_writer_open(path, v, &w));
    return volume_writer_close(w, volume_writer_add(w, 0, v->slices, x));
}

enum err scan_recon_picture(struct scan_recon *s, const float *slice, int64_t stride)
{
    const struct volume *v = &s->input.model.volume;
    double low, high;
    void *copy;
    image_window(v->rows, v->cols, slice, v->cols * stride, stride, &low, &high);
    TRY(mem_alloc("picture", (size_t)volume_pixels(v) * sizeof(float), &copy));
    float *image = copy;
    for (int64_t p = 0; p < volume_pixels(v); p++)
        image[p] = slice[p * stride];
    if (s->request->scale_bar)
        s->bar = scale_bar(v->rows, v->cols, image, v->delta, low, high);
    const enum err e =
        png_write_grey(s->request->picture, v->rows, v->cols, image, v->cols, 1, low, high);
    mem_free(copy);
    return e;
}

enum err scan_recon_compare(struct scan_recon *s, const float *x)
{
    static const char *const names[] = {"rows", "columns", "slices"};
    const struct volume *v = &s->input.model.volume;
    int64_t shape[3] = {v->rows, v->cols, v->slices};
    float *reference;
    if (npy_read(s->request->reference, 3, shape, names, 1, &reference))
        return err_prefix(ERR_INPUT, "--reference");
    s->quality = quality_of(v, x, reference);
    const enum err e = quality_picture(s->request->picture, v, x, reference);
    mem_free(reference);
    return e;
}

/* Reading, computing and writing in turn; the time is that of all three. */
static enum err run_slabs(struct scan_recon *s, struct backend *be)
{
    const struct scan_request *r = s->request;
    const struct volume *v = &s->input.model.volume;
    void *middle;
    TRY(mem_alloc("picture", (size_t)volume_pixels(v) * sizeof(float), &middle));
    enum err e = scan_slabs_run(be, r, &s->input, &s->slabs, middle);
    if (!e)
        e = scan_recon_picture(s, middle, 1);
    mem_free(middle);
    s->seconds = clock_seconds_since(s->start);
    return e;
}

static enum err check_stop(const struct scan_request *r)
{
    FAIL_IF(r->stop && *r->stop, ERR_INTERRUPTED, "interrupted: nothing was written");
    return ERR_OK;
}

static enum err run_whole(struct scan_recon *s, struct backend *be)
{
    const struct scan_request *r = s->request;
    const struct volume *v = &s->input.model.volume;
    struct arrays a = {.be = be};
    enum err e;
    s->start = clock_ns();
    TRY_OUT(check_stop(r));
    TRY_OUT(compute(s, &a));
    if (r->method != SCAN_MBIR) /* mbir ends by itself with what it has */
        TRY_OUT(check_stop(r));
    s->seconds = clock_seconds_since(s->start);
    TRY_OUT(write_volume(r->out, v, a.volume));
    e = r->reference ? scan_recon_compare(s, a.volume)
                     : scan_recon_picture(s, a.volume + v->slices / 2, v->slices);
out:
    arrays_free(&a);
    return e;
}

enum err scan_recon_run(struct scan_recon *s, struct backend *be)
{
    return (s->slabs.count > 1 ? run_slabs : run_whole)(s, be);
}

void scan_recon_free(struct scan_recon *s)
{
    mbir_report_free(&s->report);
    scan_input_free(&s->input);
}
