/* The six numbered demos that MBIRJAX 0.6 publishes, each as one operation: the phantom, its
 * sinogram, the reconstructions. Size 128 is the published one; others are in proportion. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "host/geom/ct_model.h"
#include "host/geom/phantom.h"
#include "host/recon/denoise.h"
#include "host/suite/catalogue/catalogue.h"
#include "host/suite/catalogue/inputs.h"
#include "base/mark/mark.h"

#define PUBLISHED 128
#define NOISE     0.1 /* of the denoiser's demo: standard deviation */

/* The whole object in voxels of the model: wider or larger than what is reconstructed in two. */
static struct volume object_of(const struct run_state *s)
{
    struct volume v = s->model.volume;
    if (!strcmp(s->op->name, "demo_large_object")) {
        v.rows = s->model.scan.channels;
        v.cols = s->model.scan.channels * 7 / 4;
    } else if (!strcmp(s->op->name, "demo_cropped_center")) {
        v.rows = v.cols = s->model.scan.channels;
    }
    return v;
}

static int demo_phantom(const struct run_state *s, struct ellipsoid e[PHANTOM_MAX])
{
    const struct volume v = object_of(s);
    return phantom_ellipsoids(PHANTOM_SHEPP_LOGAN, &v, e);
}

static enum err prepare_object(struct run_state *s)
{
    const struct volume v = object_of(s);
    const int64_t shape[3] = {v.rows, v.cols, v.slices};
    struct ellipsoid e[PHANTOM_MAX];
    TRY(state_host_array(&s->in, "phantom", shape));
    phantom_fill(e, demo_phantom(s, e), &v, s->in.host);
    if (!strcmp(s->op->name, "demo_qggmrf_denoiser")) {
        float most = 0;
        for (int64_t i = 0; i < volume_voxels(&v); i++)
            most = fmaxf(most, s->in.host[i]);
        noise_add(s->in.host, volume_voxels(&v), NOISE / (double)most, s->seed);
    }
    return state_upload(s, &s->in, shape);
}

/* Room for the results before the last. */
static enum err ready_results(struct run_state *s)
{
    const size_t bytes = s->out.buffer.bytes;
    TRY(s->be->ops->alloc(s->be, "first result", bytes, &s->initial.buffer));
    return s->be->ops->alloc(s->be, "second result", bytes, &s->prox.buffer);
}

static enum err project_object(struct run_state *s)
{
    struct ct_model m = s->model; /* borrows its angles */
    m.volume = object_of(s);
    mark_push("sinogram of the phantom", 0);
    const enum err e = forward_project(s->be, &m, &s->in.buffer, &s->scratch.buffer);
    mark_pop();
    return e;
}

/* At MBIRJAX's defaults: 15 iterations, ended by a change of less than 0.2 %. `x` may have more
 * room than the volume needs. */
static enum err demo_reconstruct(struct run_state *s, const char *what, const struct ct_model *m,
                                 const struct buffer *x)
{
    const struct mbir_options o = {
        .max_iterations = 15, .stop_threshold_percent = 0.2, .seed = s->mbir.seed};
    struct buffer part = *x;
    part.owned = 0;
    part.bytes = (size_t)volume_voxels(&m->volume) * sizeof(float);
    mbir_report_free(&s->report);
    mark_push(what, 0);
    const enum err e = mbir_recon(s->be, m, &s->scratch.buffer, &o, &part, &s->report);
    mark_pop();
    return e;
}

static enum err run_shepp_logan(struct run_state *s)
{
    TRY(project_object(s));
    return demo_reconstruct(s, "reconstruction", &s->model, &s->out.buffer);
}

static struct volume narrow_volume(const struct run_state *s)
{
    struct volume v = s->model.volume;
    v.cols = s->model.scan.channels;
    return v;
}

/* Default, smoother, and with room beside for what not all views see. */
static enum err run_large_object(struct run_state *s)
{
    struct ct_model m = s->model;
    m.volume = narrow_volume(s);
    TRY(project_object(s));
    TRY(demo_reconstruct(s, "default reconstruction", &m, &s->initial.buffer));
    m.regularisation.sharpness = -1.5;
    TRY(demo_reconstruct(s, "smooth reconstruction", &m, &s->prox.buffer));
    return demo_reconstruct(s, "enlarged reconstruction", &s->model, &s->out.buffer);
}

static enum err run_cropped(struct run_state *s)
{
    struct ct_model m = s->model;
    m.regularisation.sharpness = -0.5;
    TRY(project_object(s));
    return demo_reconstruct(s, "reconstruction of the centre", &m, &s->out.buffer);
}

/* Reconstructs with the right angles into s->initial, then with the same backwards. */
static enum err run_rotation(struct run_state *s)
{
    struct ct_model m = s->model;
    const int64_t views = m.scan.views;
    void *block;
    m.regularisation.sharpness = 0;
    TRY(project_object(s));
    TRY(demo_reconstruct(s, "reconstruction", &m, &s->initial.buffer));
    TRY(mem_alloc("angles backwards", (size_t)views * sizeof(float), &block));
    float *backwards = block;
    for (int64_t v = 0; v < views; v++)
        backwards[v] = s->model.scan.angles[views - 1 - v];
    m = s->model;
    m.scan.angles = backwards;
    const enum err e = demo_reconstruct(s, "reconstruction backwards", &m, &s->out.buffer);
    mem_free(block);
    return e;
}

static enum err run_direct(struct run_state *s)
{
    TRY(project_object(s));
    return direct_recon(s->be, &s->model, &s->scratch.buffer, &s->scratch.buffer, &s->out.buffer);
}

static enum err run_denoiser(struct run_state *s)
{
    struct buffer *results[] = {&s->initial.buffer, &s->prox.buffer, &s->out.buffer};
    for (int i = 0; i < 3; i++) {
        const struct denoise_options o = {.sigma_noise = 0.05 * (i + 1),
                                          .max_iterations = 15,
                                          .stop_threshold_percent = 0.2,
                                          .seed = s->mbir.seed};
        TRY(qggmrf_denoise(s->be, &s->model.volume, &s->model.regularisation, &s->in.buffer, &o,
                           results[i], &s->denoised));
    }
    return ERR_OK;
}

struct likeness {
    double error, correlation;
};

/* Compares in a circle of `share` of the volume's width: RMS difference from the phantom over its
 * RMS, and the correlation with it. */
static enum err compare_with(struct run_state *s, const struct volume *v, const float *x,
                             double share, struct likeness *out)
{
    struct ellipsoid e[PHANTOM_MAX];
    void *block;
    double n = 0, sx = 0, sy = 0, xx = 0, yy = 0, xy = 0;
    const double edge = share * (double)(v->rows < v->cols ? v->rows : v->cols);
    TRY(mem_alloc("phantom", (size_t)volume_voxels(v) * sizeof(float), &block));
    float *truth = block;
    phantom_fill(e, demo_phantom(s, e), v, truth);
    for (int64_t p = 0; p < volume_pixels(v); p++) {
        const double i = (double)(p / v->cols) - 0.5 * (double)(v->rows - 1);
        const double j = (double)(p % v->cols) - 0.5 * (double)(v->cols - 1);
        if (4 * (i * i + j * j) > edge * edge)
            continue;
        n += (double)v->slices;
        for (int64_t k = p * v->slices; k < (p + 1) * v->slices; k++) {
            const double a = (double)x[k], b = (double)truth[k];
            sx += a;
            sy += b;
            xx += a * a;
            yy += b * b;
            xy += a * b;
        }
    }
    mem_free(block);
    out->error = sqrt(fmax(0, xx - 2 * xy + yy) / yy);
    out->correlation = (xy - sx * sy / n) / sqrt((xx - sx * sx / n) * (yy - sy * sy / n));
    return ERR_OK;
}

static enum err likeness_in(struct run_state *s, const struct volume *v, const struct buffer *x,
                            double share, struct likeness *out)
{
    void *block;
    TRY(mem_alloc("result", x->bytes, &block));
    enum err e = s->be->ops->download(s->be, x, block, x->bytes);
    if (!e)
        e = compare_with(s, v, block, share, out);
    mem_free(block);
    return e;
}

static enum err demo_require(int holds, const char *what, double value, double limit)
{
    FAIL_IF(!holds, ERR_FAILED, "wrong result: %s is %.3g (limit %.3g)", what, value, limit);
    return ERR_OK;
}

/* Voxels of the object's surface count: the coarser the grid, the more there are. Seen at 8 to 128:
 * 0.64 to 0.13 of MBIR, 0.45 to 0.21 of FBP. */
static enum err check_demo(struct run_state *s)
{
    const double limit = 0.2 + 10 / (double)s->model.volume.cols;
    struct likeness all;
    TRY(likeness_in(s, &s->model.volume, &s->out.buffer, 1, &all));
    return demo_require(all.error <= limit, "the error", all.error, limit);
}

/* The middle alone: the rest is bright from what lies beside, as the published demo says. On a grid
 * that is too coarse it is bright everywhere. */
static enum err check_cropped(struct run_state *s)
{
    struct likeness middle;
    TRY(likeness_in(s, &s->model.volume, &s->out.buffer, 0.7, &middle));
    return demo_require(middle.correlation >= 0.5 || s->model.scan.channels < 32,
                        "the correlation in the middle", middle.correlation, 0.5);
}

static enum err check_large_object(struct run_state *s)
{
    const struct volume v = narrow_volume(s);
    struct likeness plain, large;
    TRY(likeness_in(s, &v, &s->initial.buffer, 1, &plain));
    TRY(likeness_in(s, &s->model.volume, &s->out.buffer, 1, &large));
    return demo_require(large.error < plain.error || s->model.scan.channels < 12,
                        "the enlarged volume's error", large.error, plain.error);
}

static enum err check_rotation(struct run_state *s)
{
    struct likeness right, wrong;
    TRY(likeness_in(s, &s->model.volume, &s->initial.buffer, 1, &right));
    TRY(likeness_in(s, &s->model.volume, &s->out.buffer, 1, &wrong));
    return demo_require(right.error < 0.75 * wrong.error, "the error with the right angles",
                        right.error, 0.75 * wrong.error);
}

/* The level that was added; a larger one blurs coarse grids. */
static enum err check_denoiser(struct run_state *s)
{
    struct likeness noisy, clean;
    TRY(compare_with(s, &s->model.volume, s->in.host, 1, &noisy));
    TRY(likeness_in(s, &s->model.volume, &s->prox.buffer, 1, &clean));
    return demo_require(clean.error < noisy.error, "the denoised volume's error", clean.error,
                        noisy.error);
}

static int64_t scaled_to(int64_t published, int64_t size, int64_t least)
{
    const int64_t n = llround((double)published * (double)size / PUBLISHED);
    return n < least ? least : n;
}

static void set_up(struct ct_model *m, enum beam beam, const int64_t published[3], int64_t size)
{
    struct scan *s = &m->scan;
    s->beam = beam;
    s->views = scaled_to(published[0], size, 4);
    s->rows = scaled_to(published[1], size, 1);
    s->channels = scaled_to(published[2], size, 4);
    m->volume.rows = m->volume.cols = m->volume.slices = 0; /* automatic */
    if (beam == BEAM_CONE) {
        s->source_detector = 4 * (double)s->channels;
        s->source_iso = 2 * (double)s->channels;
    }
}

static void set_up_cone(struct ct_model *m, int64_t size)
{
    set_up(m, BEAM_CONE, (const int64_t[]){64, 40, 128}, size);
}

static void set_up_large_object(struct ct_model *m, int64_t size)
{
    set_up(m, BEAM_PARALLEL, (const int64_t[]){120, 80, 100}, size);
    m->volume.cols = m->scan.channels * 3 / 2;
}

static void set_up_cropped(struct ct_model *m, int64_t size)
{
    set_up(m, BEAM_PARALLEL, (const int64_t[]){400, 20, 400}, size);
    m->volume.rows = m->volume.cols = m->scan.channels / 2;
}

static void set_up_direct(struct ct_model *m, int64_t size)
{
    set_up(m, BEAM_PARALLEL, (const int64_t[]){128, 128, 128}, size);
}

static void set_up_denoiser(struct ct_model *m, int64_t size)
{
    set_up(m, BEAM_PARALLEL, (const int64_t[]){60, 100, 100}, size);
}

/* clang-format off */
#define DEMO(name_, text, scratch_, run_, check_, ready_, set_up_, from, range) \
    {.name = "demo_" name_, .geometry = "any", .group = "demos", .access_pattern = "mixed", .help = text, \
     .input = ARRAY_VOLUME, .output = ARRAY_VOLUME, .scratch = scratch_, .prepare = prepare_object, .run = run_, \
     .check = check_, .ready = ready_, .work = work_declared, .set_up = set_up_, .turn = range, .first_angle = from, \
     .phantom = demo_phantom, .apart = 1}

static const struct operation rows[] = {
    DEMO("shepp_logan", "cone beam: sinogram, MBIR", SCRATCH_SINOGRAM, run_shepp_logan, check_demo, NULL,
         set_up_cone, -M_PI, 2 * M_PI),
    DEMO("large_object", "wider than the detector: MBIR in 3 ways", SCRATCH_SINOGRAM, run_large_object,
         check_large_object, ready_results, set_up_large_object, -M_PI / 2, M_PI),
    DEMO("cropped_center", "MBIR of the middle half of the width", SCRATCH_SINOGRAM, run_cropped, check_cropped, NULL,
         set_up_cropped, 0, M_PI),
    DEMO("wrong_rotation", "MBIR with right and reversed angles", SCRATCH_SINOGRAM, run_rotation, check_rotation,
         ready_results, set_up_cone, -M_PI, 2 * M_PI),
    DEMO("fbp_fdk", "parallel beam: sinogram, FBP", SCRATCH_SINOGRAM, run_direct, check_demo, NULL, set_up_direct,
         0, M_PI),
    DEMO("qggmrf_denoiser", "a noisy volume, denoised at 3 levels", SCRATCH_NONE, run_denoiser, check_denoiser,
         ready_results, set_up_denoiser, 0, M_PI),
};
/* clang-format on */

const struct operation_rows demo_operations = {rows, sizeof rows / sizeof *rows};
