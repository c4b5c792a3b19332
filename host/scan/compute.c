/* Rings, weights and the reconstruction of line integrals that lie in memory: no files. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "host/backend/course.h"
#include "host/recon/common/rescale.h"
#include "host/recon/helical.h"
#include "host/recon/slabs/out_of_core.h"
#include "host/recon/weights.h"
#include "host/scan/compute.h"
#include "host/scan/steps.h"

#define RINGS_SHARE 0.3 /* of the time, where they are removed: about */

const char *scan_method_name(enum scan_method method)
{
    static const char *const names[] = {"by beam", "fbp", "fdk", "mbir", "fourier"};
    return names[method];
}

/* MBIR is for all beams, and the default where no direct method is exact. */
enum err scan_choose_method(struct scan_context *c)
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
            r->geometry      ? r->geometry
            : r->source.path ? r->source.path
                             : "the model");
    FAIL_IF(r->voxel_driven && c->method != SCAN_FDK, ERR_USAGE,
            "`backproject` is for `method=fdk` of cone beams");
    FAIL_IF(r->redundancy && c->method != SCAN_FDK, ERR_USAGE,
            "`redundancy` is for `method=fdk` of cone beams");
    return ERR_OK;
}

enum err scan_recon_sizes(const struct ct_model *m, size_t *sinogram, size_t *volume)
{
    TRY(mem_size("sinogram", m->scan.views, m->scan.rows, m->scan.channels, sizeof(float),
                 sinogram));
    return mem_size("volume", m->volume.rows, m->volume.cols, m->volume.slices, sizeof(float),
                    volume);
}

/* Weights; where metal is looked for, its mask twice and the rays through it. */
size_t scan_weights_bytes(const struct scan_request *r, size_t sinogram, size_t volume)
{
    return r->weights == SCAN_EQUAL          ? 0
           : r->weights == SCAN_TRANSMISSION ? sinogram
                                             : 2 * sinogram + 2 * volume;
}

/* Divides each voxel by how much of the turns saw it. */
static enum err slab_helical(const struct scan_context *c, struct buffer *y, struct buffer *x,
                             float *volume)
{
    float *factors;
    TRY(helical_back(c->be, &c->model, c->request->voxel_driven, y, y, x, &factors));
    const enum err e = c->be->ops->download(c->be, x, volume, x->bytes);
    for (int64_t i = 0; i < volume_voxels(&c->model.volume) && !e; i++)
        volume[i] *= factors[i];
    mem_free(factors);
    return e;
}

static enum err slab_direct(const struct scan_context *c, struct buffer *y, struct buffer *x,
                            float *volume)
{
    if (c->request->redundancy == REDUNDANCY_HELICAL)
        return slab_helical(c, y, x, volume);
    TRY((c->method == SCAN_FOURIER  ? fourier_recon
         : c->request->voxel_driven ? fdk_voxel_recon
                                    : direct_recon)(c->be, &c->model, y, y, x));
    return x->ptr == volume ? ERR_OK : c->be->ops->download(c->be, x, volume, x->bytes);
}

/* The filter and the sums over views are linear, so that only extreme sinograms overflow or vanish
 * on the way. */
static enum err slab_check(double given, const struct buffer *volume)
{
    double largest;
    TRY(rescale_largest(NULL, volume, 1, &largest));
    FAIL_IF(isnan(largest) || (largest == 0 && given > 0 && given < RESCALE_TINY), ERR_INPUT,
            "the volume %s, the sinogram (values up to %g) %s: values left the range of float32, "
            "1.2e-38 to 3.4e38. Multiply the sinogram by a power of two that brings it near 1",
            isnan(largest) ? "holds NaN or infinity" : "is 0 everywhere", given,
            isnan(largest) ? "does not" : "is not");
    return ERR_OK;
}

enum err scan_direct(const struct scan_context *c, struct buffer *y, struct buffer *x,
                     float *volume)
{
    const struct buffer result = {PLACE_HOST, 0, x->bytes, volume};
    double given;
    TRY(rescale_largest(c->be, y, is_out_of_core(c->be, y), &given));
    TRY(slab_direct(c, y, x, volume));
    return slab_check(given, &result);
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
    const struct mar_options o = {MAR_DEFAULTS, .initial = &a->x};
    FAIL_IF(large, ERR_MEMORY,
            "weights for metal need all arrays on the device, which has too little memory: add "
            "`backend=cpu`");
    TRY(a->be->ops->alloc(a->be, "weights", bytes, &a->w));
    TRY(direct_recon(a->be, m, &a->y, &a->w, &a->x));
    return gen_weights_mar(a->be, m, &a->y, &o, &a->w);
}

static enum err recon_run_mbir(struct scan_context *c, struct arrays *a)
{
    const struct scan_request *r = c->request;
    struct mbir_options o = {.max_iterations = r->iterations,
                             .stop_threshold_percent = r->threshold_percent,
                             .seed = (uint32_t)r->seed,
                             .fast = r->fast,
                             .weights = r->weights ? &a->w : NULL,
                             .on_iteration = r->on_iteration,
                             .context = r->context,
                             .stop = r->stop};
    enum err e = mbir_recon(a->be, &c->model, &a->y, &o, &a->x, &c->result->report);
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
    const struct progress_range all = progress_whole(c->be);
    const double rings = r->rings ? RINGS_SHARE : 0;
    progress_part(c->be, all, 0, rings);
    TRY(scan_remove_rings(c, m, &c->sinogram));
    progress_part(c->be, all, rings, 1 - rings);
    TRY(scan_weigh_rays(c));
    TRY(scan_recon_sizes(m, &y_bytes, &x_bytes));
    TRY(choose_place(c, x_bytes + y_bytes + scan_weights_bytes(r, y_bytes, x_bytes), &large));
    TRY(mem_alloc("volume", x_bytes, &x));
    a->volume = x;
    TRY(arrays_hand_over(a->be, large, c->sinogram, y_bytes, &a->y));
    TRY(arrays_hand_over(a->be, large, x, x_bytes, &a->x));
    if (weights == SCAN_TRANSMISSION)
        TRY(transmission_weights(a, large, c->sinogram, y_bytes));
    if (weights == SCAN_METAL)
        TRY(metal_weights(a, large, m, y_bytes));
    if (c->method != SCAN_MBIR)
        return scan_direct(c, &a->y, &a->x, x);
    TRY(recon_run_mbir(c, a));
    return large ? ERR_OK : a->be->ops->download(a->be, &a->x, x, x_bytes);
}

enum err scan_compute(struct scan_context *c, float **volume)
{
    struct arrays a = {.be = c->be};
    enum err e = recon_compute(c, &a);
    *volume = e ? NULL : a.volume;
    if (!e)
        a.volume = NULL;
    arrays_free(&a);
    return e;
}
