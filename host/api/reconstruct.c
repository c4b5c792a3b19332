/* Reconstruction of tomoprof.h: direct, iterative, and what it needs. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "host/api/call.h"
#include "host/recon/common/direct_weights.h"
#include "host/recon/denoise.h"
#include "host/recon/partition.h"
#include "host/recon/weights.h"

/* ---- Direct ---- */

typedef enum err direct_method(struct backend *be, const struct ct_model *m, const struct buffer *y,
                               struct buffer *scratch, struct buffer *x);
static direct_method *const methods[] = {[TOMOPROF_ADJOINT] = direct_recon,
                                         [TOMOPROF_VOXEL] = fdk_voxel_recon,
                                         [TOMOPROF_FOURIER] = fourier_recon};
#define METHODS (int)(sizeof methods / sizeof *methods)

static enum err check_direct(struct api_call *k)
{
    const int method = *(const int *)k->options;
    FAIL_IF(method < 0 || method >= METHODS, ERR_USAGE,
            "method=%d; expected TOMOPROF_ADJOINT, TOMOPROF_VOXEL or TOMOPROF_FOURIER", method);
    FAIL_IF(method == TOMOPROF_VOXEL && !scan_is_cone(&k->m->scan), ERR_USAGE,
            "method TOMOPROF_VOXEL is for cone beams; use TOMOPROF_ADJOINT");
    FAIL_IF(method == TOMOPROF_FOURIER && k->m->scan.beam != BEAM_PARALLEL, ERR_USAGE,
            "method TOMOPROF_FOURIER is for parallel beams; use TOMOPROF_ADJOINT");
    k->places = method == TOMOPROF_ADJOINT;
    return ERR_OK;
}

static enum err compute_direct(struct api_call *k)
{
    const struct buffer *y = &k->operands[0].buffer;
    struct buffer scratch = {0};
    if (!k->large)
        TRY(k->be->ops->alloc(k->be, "filtered sinogram", y->bytes, &scratch));
    enum err e =
        methods[*(const int *)k->options](k->be, k->m, y, &scratch, &k->operands[1].buffer);
    if (scratch.owned)
        k->be->ops->release(k->be, &scratch);
    return e;
}

tomoprof_status tomoprof_direct_recon(tomoprof_context *c, const tomoprof_model *m,
                                      tomoprof_direct method, const tomoprof_array *y,
                                      tomoprof_array *x)
{
    const int number = (int)method;
    struct api_call k = {
        .context = c,
        .model = m,
        .needs_model = 1,
        .operands = {{"y", FORM_SINOGRAM, WAY_IN, y}, {"x", FORM_VOLUME, WAY_OUT, x}},
        .check = check_direct,
        .compute = compute_direct,
        .op = RECON_DIRECT,
        .options = &number};
    return call_run(&k);
}

/* ---- Rays that were measured twice ---- */

static enum err check_rays(struct api_call *k)
{
    return choice_check("kind", k->options, "parker|wang", k->result);
}

static enum err compute_rays(struct api_call *k)
{
    return redundancy_weigh(k->be, k->m, *(int *)k->result ? REDUNDANCY_WANG : REDUNDANCY_PARKER,
                            &k->operands[0].buffer, &k->operands[1].buffer);
}

tomoprof_status tomoprof_weigh_rays(tomoprof_context *c, const tomoprof_model *m, const char *kind,
                                    const tomoprof_array *y, tomoprof_array *out)
{
    int chosen;
    struct api_call k = {.context = c,
                         .model = m,
                         .needs_model = 1,
                         .operands = {{"y", FORM_SINOGRAM, WAY_IN, y, .may_equal = 1 << 1},
                                      {"out", FORM_SINOGRAM, WAY_OUT, out}},
                         .check = check_rays,
                         .compute = compute_rays,
                         .options = kind,
                         .result = &chosen};
    return call_run(&k);
}

/* ---- MBIR ---- */

enum { DENOISE_INITIAL = 2 };
enum { RECON_Y, RECON_X, RECON_WEIGHTS, RECON_INITIAL, RECON_PROX }; /* operands */

struct recon_call {
    tomoprof_recon_options o;
    tomoprof_recon_report *given, report;
    double sigma_noise, *sigma_used; /* of the denoiser */
};

enum err recon_options_check(const tomoprof_recon_options *o)
{
    FAIL_IF(o->iterations < 0 || o->iterations > 1000000, ERR_USAGE,
            "iterations=%" PRId64 "; expected 0 to 1000000", o->iterations);
    FAIL_IF(o->first_iteration < 0 || o->first_iteration > 1000000, ERR_USAGE,
            "first_iteration=%" PRId64 "; expected 0 to 1000000", o->first_iteration);
    FAIL_IF(!(o->stop_threshold_percent >= 0 && isfinite(o->stop_threshold_percent)), ERR_USAGE,
            "stop_threshold_percent=%g; expected a number of 0 or more", o->stop_threshold_percent);
    TRY(seed_check(o->seed));
    FAIL_IF(o->compat_06 != 0 && o->compat_06 != 1, ERR_USAGE, "compat_06=%d; expected 0 or 1",
            o->compat_06);
    return ERR_OK;
}

static enum err take_recon_options(struct api_call *k)
{
    struct recon_call *r = k->result;
    const tomoprof_recon_options *o = k->options;
    if (o)
        TRY(sized_copy("options", o, o->size, &r->o, sizeof r->o));
    if (r->given)
        TRY(sized_copy("report", r->given, r->given->size, &r->report, sizeof r->report));
    return recon_options_check(&r->o);
}

static enum err prepare_recon(struct api_call *k)
{
    const struct recon_call *r = k->result;
    TRY(take_recon_options(k));
    k->operands[RECON_WEIGHTS].array = r->o.weights;
    k->operands[RECON_INITIAL].array = r->o.initial;
    k->operands[RECON_PROX].array = r->o.prox;
    return ERR_OK;
}

/* Copies as many values as the caller has room for. */
static void report_values(double *to, size_t room, const double *from, int64_t iterations)
{
    if (to && from)
        memcpy(to, from, sizeof *to * ((size_t)iterations < room ? (size_t)iterations : room));
}

static void report_fill(struct recon_call *r, const struct mbir_report *done)
{
    tomoprof_recon_report *to = &r->report;
    to->iterations = done->iterations;
    to->stopped_by_threshold = done->stopped_by_threshold;
    to->initial_scale = done->initial_scale;
    to->sigma_y = done->sigma_y;
    to->sigma_x = done->sigma_x;
    to->sigma_prox = done->sigma_prox;
    report_values(to->fm_rmse, to->room, done->fm_rmse, done->iterations);
    report_values(to->change_percent, to->room, done->change_percent, done->iterations);
    report_values(to->alpha, to->room, done->alpha, done->iterations);
    if (r->given)
        memcpy(r->given, to, r->given->size < sizeof *to ? r->given->size : sizeof *to);
}

static enum err compute_recon(struct api_call *k)
{
    struct recon_call *r = k->result;
    struct operand *o = k->operands;
    struct mbir_report report;
    struct mbir_subsets subsets;
    TRY(subsets_take(&r->o, volume_pixels(&k->m->volume), 1, &subsets));
    const struct mbir_options options = {.subsets = subsets.partitions ? &subsets : NULL,
                                         .max_iterations = r->o.iterations,
                                         .first_iteration = r->o.first_iteration,
                                         .stop_threshold_percent = r->o.stop_threshold_percent,
                                         .seed = (uint32_t)r->o.seed,
                                         .weights = operand_buffer(&o[RECON_WEIGHTS]),
                                         .initial = operand_buffer(&o[RECON_INITIAL]),
                                         .prox_target = operand_buffer(&o[RECON_PROX]),
                                         .compat_06 = r->o.compat_06,
                                         .on_iteration = call_progress,
                                         .context = k->context,
                                         .stop = &k->context->stop};
    enum err e = mbir_recon(k->be, k->m, &o[RECON_Y].buffer, &options, &o[RECON_X].buffer, &report);
    if (!e || e == ERR_INTERRUPTED)
        report_fill(r, &report);
    mbir_report_free(&report);
    subsets_free(&subsets);
    return e;
}

tomoprof_status tomoprof_recon(tomoprof_context *c, const tomoprof_model *m,
                               const tomoprof_array *y, const tomoprof_recon_options *options,
                               tomoprof_array *x, tomoprof_recon_report *report)
{
    struct recon_call r = {.o = TOMOPROF_RECON_OPTIONS, .given = report};
    struct api_call k = {
        .context = c,
        .model = m,
        .needs_model = 1,
        .operands = {[RECON_Y] = {"y", FORM_SINOGRAM, WAY_IN, y},
                     [RECON_X] = {"x", FORM_VOLUME, WAY_OUT, x, .may_equal = 1 << RECON_INITIAL},
                     [RECON_WEIGHTS] = {"weights", FORM_SINOGRAM, WAY_IN, .optional = 1},
                     [RECON_INITIAL] = {"initial", FORM_VOLUME, WAY_IN, .optional = 1},
                     [RECON_PROX] = {"prox", FORM_VOLUME, WAY_IN, .optional = 1}},
        .prepare = prepare_recon,
        .compute = compute_recon,
        .places = 1,
        .counts = 1,
        .op = RECON_MBIR,
        .options = options,
        .result = &r};
    return call_run(&k);
}

/* ---- Weights ---- */

static enum err compute_weights(struct api_call *k)
{
    return gen_weights(k->be, *(enum weights_kind *)k->result, &k->operands[0].buffer,
                       &k->operands[1].buffer);
}

static enum err check_weights(struct api_call *k)
{
    int kind;
    TRY(choice_check("kind", k->options, WEIGHTS_NAMES, &kind));
    *(enum weights_kind *)k->result = (enum weights_kind)kind;
    return ERR_OK;
}

tomoprof_status tomoprof_gen_weights(tomoprof_context *c, const char *kind, const tomoprof_array *y,
                                     tomoprof_array *weights)
{
    enum weights_kind found = WEIGHTS_ONE;
    struct api_call k = {
        .context = c,
        .operands = {{"y", FORM_ANY, WAY_IN, y}, {"weights", FORM_ALIKE, WAY_OUT, weights}},
        .check = check_weights,
        .compute = compute_weights,
        .options = kind,
        .result = &found};
    return call_run(&k);
}

struct mar_call {
    double beta, gamma;
};

static enum err check_mar(struct api_call *k)
{
    const struct mar_call *o = k->options;
    FAIL_IF(!(o->beta > 0 && isfinite(o->beta)), ERR_USAGE, "beta=%g; expected a number above 0",
            o->beta);
    FAIL_IF(!(o->gamma >= 0 && isfinite(o->gamma)), ERR_USAGE,
            "gamma=%g; expected a number of 0 or more", o->gamma);
    return ERR_OK;
}

static enum err compute_mar(struct api_call *k)
{
    const struct mar_call *given = k->options;
    const struct mar_options o = {given->beta, given->gamma, operand_buffer(&k->operands[1])};
    return gen_weights_mar(k->be, k->m, &k->operands[0].buffer, &o, &k->operands[2].buffer);
}

tomoprof_status tomoprof_gen_weights_mar(tomoprof_context *c, const tomoprof_model *m,
                                         const tomoprof_array *y, const tomoprof_array *initial,
                                         double beta, double gamma, tomoprof_array *weights)
{
    struct api_call k = {.context = c,
                         .model = m,
                         .needs_model = 1,
                         .operands = {{"y", FORM_SINOGRAM, WAY_IN, y},
                                      {"initial", FORM_VOLUME, WAY_IN, initial, .optional = 1},
                                      {"weights", FORM_SINOGRAM, WAY_OUT, weights}},
                         .check = check_mar,
                         .compute = compute_mar,
                         .options = &(struct mar_call){beta, gamma}};
    return call_run(&k);
}

/* ---- Regularisation ---- */

struct sigmas {
    double *y, *x, *prox;
};

static enum err check_regularise(struct api_call *k)
{
    const struct sigmas *s = k->options;
    FAIL_IF(!s->y || !s->x || !s->prox, ERR_USAGE, "%s is NULL; pass the address of a double",
            !s->y   ? "sigma_y"
            : !s->x ? "sigma_x"
                    : "sigma_prox");
    return ERR_OK;
}

static enum err compute_regularise(struct api_call *k)
{
    const struct sigmas *s = k->options;
    struct regularisation r = k->m->regularisation;
    TRY(auto_regularise(k->be, k->m, k->operands[0].host, k->operands[1].host, &r));
    *s->y = r.sigma_y;
    *s->x = r.sigma_x;
    *s->prox = r.sigma_prox;
    return ERR_OK;
}

tomoprof_status tomoprof_auto_regularise(tomoprof_context *c, const tomoprof_model *m,
                                         const tomoprof_array *y, const tomoprof_array *weights,
                                         double *sigma_y, double *sigma_x, double *sigma_prox)
{
    struct api_call k = {.context = c,
                         .model = m,
                         .needs_model = 1,
                         .on_host = 1,
                         .operands = {{"y", FORM_SINOGRAM, WAY_IN, y},
                                      {"weights", FORM_SINOGRAM, WAY_IN, weights, .optional = 1}},
                         .check = check_regularise,
                         .compute = compute_regularise,
                         .options = &(struct sigmas){sigma_y, sigma_x, sigma_prox}};
    return call_run(&k);
}

static enum err prepare_denoise(struct api_call *k)
{
    const struct recon_call *r = k->result;
    FAIL_IF(!(r->sigma_noise >= 0 && isfinite(r->sigma_noise)), ERR_USAGE,
            "sigma_noise=%g; expected a number of 0 or more", r->sigma_noise);
    TRY(take_recon_options(k));
    k->operands[DENOISE_INITIAL].array = r->o.initial;
    return ERR_OK;
}

static enum err compute_denoise(struct api_call *k)
{
    struct recon_call *r = k->result;
    const int64_t *n = k->operands[0].a.shape;
    struct mbir_subsets subsets;
    TRY(subsets_take(&r->o, n[0] * n[1], 0, &subsets));
    const struct denoise_options o = {
        .sigma_noise = r->sigma_noise,
        .sharpness = k->m ? k->m->regularisation.sharpness : 0,
        .sigma_x = k->m && !k->m->regularisation.automatic ? k->m->regularisation.sigma_x : 0,
        .initial = operand_buffer(&k->operands[DENOISE_INITIAL]),
        .part = subsets.partitions,
        .max_iterations = r->o.iterations,
        .stop_threshold_percent = r->o.stop_threshold_percent,
        .seed = (uint32_t)r->o.seed,
        .on_iteration = call_progress,
        .context = k->context};
    const struct volume v = {.rows = n[0], .cols = n[1], .slices = n[2]};
    struct denoise_report report;
    const enum err e = qggmrf_denoise(k->be, &v, k->m ? &k->m->regularisation : NULL,
                                      &k->operands[0].buffer, &o, &k->operands[1].buffer, &report);
    subsets_free(&subsets);
    if (!e && r->sigma_used)
        *r->sigma_used = report.sigma_noise;
    return e;
}

tomoprof_status tomoprof_denoise(tomoprof_context *c, const tomoprof_model *m,
                                 const tomoprof_array *in, double sigma_noise,
                                 const tomoprof_recon_options *options, tomoprof_array *out,
                                 double *sigma_used)
{
    struct recon_call r = {
        .o = TOMOPROF_RECON_OPTIONS, .sigma_noise = sigma_noise, .sigma_used = sigma_used};
    struct api_call k = {
        .context = c,
        .model = m,
        .operands = {{"in", FORM_ANY, WAY_IN, in},
                     {"out", FORM_ALIKE, WAY_OUT, out, .may_equal = 1 << DENOISE_INITIAL},
                     [DENOISE_INITIAL] = {"initial", FORM_ALIKE, WAY_IN, .optional = 1}},
        .prepare = prepare_denoise,
        .compute = compute_denoise,
        .counts = 1,
        .options = options,
        .result = &r};
    return call_run(&k);
}
