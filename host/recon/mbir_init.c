/* Before the first iteration: checks, memory, initial image, error sinogram, Hessian. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "host/backend/course.h"
#include "host/geom/ct_model.h"
#include "host/recon/mbir.h"
#include "host/recon/mbir_large.h"
#include "host/recon/mbir_momentum.h"

const struct buffer *vcd_weights(const struct vcd *t)
{
    return t->options->weights ? &t->weights : NULL;
}

int vcd_stopped(const struct vcd *t)
{
    return backend_stopped(t->be) || (t->options->stop && *t->options->stop);
}

int64_t vcd_samples(const struct vcd *t)
{
    return t->options->samples ? t->options->samples : scan_samples(&t->m->scan);
}

static struct sinogram as_given(const struct buffer *data)
{
    return (struct sinogram){(struct buffer *)data, SINO_CHANNELS_FASTEST};
}

static struct sinogram rows_fastest(const struct buffer *data)
{
    return (struct sinogram){(struct buffer *)data, SINO_ROWS_FASTEST};
}

/* float64 sums of finite float32 numbers cannot overflow: a sum that is not finite means that a
 * sample is not. */
static enum err judge_sinogram(double sum, double min, double max)
{
    FAIL_IF(!isfinite(sum), ERR_INPUT,
            "the sinogram holds NaN or infinity: repair those samples first");
    FAIL_IF(min == 0 && max == 0, ERR_INPUT,
            "the sinogram is 0 everywhere: there is nothing to reconstruct");
    return ERR_OK;
}

static enum err judge_weights(double sum, double min, double max)
{
    FAIL_IF(!isfinite(sum), ERR_INPUT, "the weights hold NaN or infinity: give numbers >= 0");
    FAIL_IF(min < 0, ERR_INPUT, "the weights hold the negative value %g: give numbers >= 0", min);
    FAIL_IF(max <= 0, ERR_INPUT, "all weights are 0: at least one must be positive");
    return ERR_OK;
}

struct sample_extent {
    double sum, min, max;
};

static struct sample_extent extent_of(const float *array, int64_t n)
{
    double sum = 0, min = INFINITY, max = -INFINITY;
#pragma omp parallel for schedule(static) reduction(+ : sum) reduction(min : min) reduction(max : max)
    for (int64_t i = 0; i < n; i++) {
        const double value = (double)array[i];
        sum += value;
        min = fmin(min, value);
        max = fmax(max, value);
    }
    return (struct sample_extent){sum, min, max};
}

enum err vcd_check_host(struct vcd *t, const float *y, const float *w)
{
    const int64_t n = scan_samples(&t->m->scan);
    const struct sample_extent of_y = extent_of(y, n);
    TRY(judge_sinogram(of_y.sum, of_y.min, of_y.max));
    t->mean_weight = 1;
    if (!w)
        return ERR_OK;
    const struct sample_extent of_w = extent_of(w, n);
    t->mean_weight = of_w.sum / (double)n;
    return judge_weights(of_w.sum, of_w.min, of_w.max);
}

static enum err check_data(struct vcd *t, const struct buffer *y)
{
    const struct backend_ops *ops = t->be->ops;
    double sum, l2, min, max;
    TRY(ops->fingerprint(t->be, y, &sum, &l2, &min, &max));
    TRY(judge_sinogram(sum, min, max));
    t->mean_weight = 1;
    if (!t->options->weights)
        return ERR_OK;
    TRY(ops->fingerprint(t->be, t->options->weights, &sum, &l2, &min, &max));
    t->mean_weight = sum / (double)vcd_samples(t);
    return judge_weights(sum, min, max);
}

/* The buffer's numbers in host memory; *copy is to be freed with mem_free. */
static enum err on_host(struct backend *be, const struct buffer *b, const float **data, void **copy)
{
    *copy = NULL;
    *data = b ? b->ptr : NULL;
    if (!b || b->place == PLACE_HOST)
        return ERR_OK;
    TRY(mem_alloc("host copy for automatic regularisation", b->bytes, copy));
    *data = *copy;
    return be->ops->download(be, b, *copy, b->bytes);
}

enum err vcd_regularise(struct vcd *t, const struct buffer *y)
{
    t->r = t->m->regularisation;
    if (!t->r.automatic)
        return ERR_OK;
    const float *sinogram, *weights = NULL;
    void *copy_y, *copy_w = NULL;
    enum err e = on_host(t->be, y, &sinogram, &copy_y);
    if (e == ERR_OK)
        e = on_host(t->be, t->options->weights, &weights, &copy_w);
    if (e == ERR_OK)
        e = auto_regularise(t->be, t->m, sinogram, weights, &t->r);
    mem_free(copy_y);
    mem_free(copy_w);
    if (e == ERR_OK && !(t->r.sigma_y > 0 && t->r.sigma_x > 0))
        e = FAIL(ERR_INPUT,
                 "automatic regularisation found no signal in every %" PRId64
                 "th view (sigma_y %g, sigma_x %g): set sigma_y and sigma_x",
                 t->m->scan.views / 20 + 1, t->r.sigma_y, t->r.sigma_x);
    return e;
}

static size_t sinogram_bytes(const struct ct_model *m)
{
    return (size_t)scan_samples(&m->scan) * sizeof(float);
}

static size_t image_bytes(const struct ct_model *m)
{
    return (size_t)volume_voxels(&m->volume) * sizeof(float);
}

static size_t packed_bytes(const struct ct_model *m, int64_t pixels, int compat_06)
{
    return (size_t)(schedule_longest(pixels, compat_06) * m->volume.slices) * sizeof(float);
}

size_t vcd_bytes(const struct ct_model *m, int64_t pixels, int sinograms, int compat_06)
{
    return (size_t)sinograms * sinogram_bytes(m) + image_bytes(m) +
           4 * packed_bytes(m, pixels, compat_06) + schedule_bytes(pixels);
}

size_t mbir_scratch_bytes(const struct ct_model *m)
{
    return vcd_bytes(m, volume_pixels(&m->volume), 2, 0);
}

struct array {
    const char *what;
    struct buffer *buffer;
    size_t bytes;
};

static enum err allocate_all(struct backend *be, const struct array *arrays, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (arrays[i].bytes)
            TRY(be->ops->alloc(be, arrays[i].what, arrays[i].bytes, arrays[i].buffer));
    return ERR_OK;
}

/* Returns the pixels of the largest subset. */
static int64_t vcd_longest(const struct vcd *t)
{
    const struct mbir_subsets *given = t->options->subsets;
    int64_t longest = 0;
    for (int64_t i = 0; given && i < given->count; i++)
        if (given->partitions[i].length > longest)
            longest = given->partitions[i].length;
    if (given)
        return longest;
    longest = schedule_longest(t->count, t->options->compat_06);
    return t->options->fast ? (longest + 3) / 4 * 4 : longest; /* whole orbits */
}

enum err vcd_allocate_steps(struct vcd *t)
{
    const size_t packed = (size_t)(vcd_longest(t) * t->m->volume.slices) * sizeof(float);
    const struct array arrays[] = {
        {"prior gradient", &t->gradient, packed},
        {"prior curvature", &t->curvature, packed},
        {"update", &t->delta[0], packed},
        {"last update", &t->delta[1], packed},
    };
    return allocate_all(t->be, arrays, sizeof arrays / sizeof *arrays);
}

static enum err vcd_allocate(struct vcd *t)
{
    const size_t sinogram = sinogram_bytes(t->m);
    const struct array arrays[] = {
        {"error sinogram", &t->error, sinogram},
        {"weights", &t->weights, t->options->weights ? sinogram : 0},
        {"Hessian diagonal", &t->hessian, image_bytes(t->m)},
    };
    TRY(allocate_all(t->be, arrays, sizeof arrays / sizeof *arrays));
    return vcd_allocate_steps(t);
}

enum err vcd_find_pixels(struct vcd *t)
{
    const struct volume *v = &t->m->volume;
    TRY(volume_pixels_inside(v, &t->pixels, &t->count));
    FAIL_IF(t->count == 0, ERR_INPUT,
            "recon_shape: the region of reconstruction of %" PRId64 " x %" PRId64
            " pixels is empty: set use_ror_mask to false",
            v->rows, v->cols);
    return ERR_OK;
}

#define LEAST_TURNED                                                                               \
    (32 * 128) /* pixels: with 2 orbits to a subset an image converges more slowly */

/* Cone beams of the fast schedule have subsets of orbits: an iteration takes 0.75 of the time. */
static enum err vcd_draw(struct vcd *t)
{
    const struct mbir_options *o = t->options;
    if (o->fast && !o->compat_06 && scan_is_cone(&t->m->scan) && t->count >= LEAST_TURNED)
        return schedule_create_turns(&t->m->volume, o->seed, &t->schedule);
    return schedule_create(t->pixels, t->count, o->seed, o->compat_06, &t->schedule);
}

enum err vcd_create(struct vcd *t, const struct buffer *y)
{
    const struct volume *v = &t->m->volume;
    PHASE("check data", check_data(t, y));
    PHASE("regularisation", vcd_regularise(t, y));
    TRY(vcd_find_pixels(t));
    if (y->place == PLACE_HOST)
        TRY(mem_require(
            "MBIR (beside sinogram, weights and volume)",
            vcd_bytes(t->m, t->count, t->options->weights ? 2 : 1, t->options->compat_06) +
                (t->options->fast ? momentum_bytes(t->m) : 0),
            "try a smaller volume or fewer views"));
    if (!t->options->subsets)
        PHASE("partitions", vcd_draw(t));
    if (!t->options->compat_06)
        TRY(slice_damping(t->m, &t->damping));
    /* Damped slices get their mean from coarse subsets. */
    t->schedule.fast = t->options->fast && !t->damping;
    t->schedule.coarse = t->options->fast && t->damping && t->count >= LEAST_TURNED;
    TRY(t->be->ops->projector_create(t->be, &t->m->scan, v, &t->projector));
    return vcd_allocate(t);
}

void vcd_free(struct vcd *t)
{
    const struct backend_ops *ops = t->be->ops;
    struct buffer *const arrays[] = {&t->error,     &t->weights,  &t->hessian, &t->gradient,
                                     &t->curvature, &t->delta[0], &t->delta[1]};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        ops->release(t->be, arrays[i]);
    ops->projector_free(t->be, t->projector);
    schedule_free(&t->schedule);
    free(t->damping);
    free(t->pixels);
}

enum err vcd_update_back(struct vcd *t, const struct vcd_move *move, const struct pixel_set *pixels,
                         struct buffer *x)
{
    if (t->passes)
        return t->passes->update_back(t->passes->context, move, pixels, x);
    return t->be->ops->update_back(t->be, t->projector, move, &t->error, vcd_weights(t), pixels, x);
}

enum err vcd_forward_dots(struct vcd *t, const struct pixel_set *pixels, const struct buffer *x,
                          struct vcd_sums *sums)
{
    if (t->passes)
        return t->passes->forward_dots(t->passes->context, pixels, x, sums);
    return t->be->ops->forward_dots(t->be, t->projector, pixels, x, &t->error, vcd_weights(t),
                                    sums);
}

enum err vcd_take_move(struct vcd *t)
{
    const struct pixel_set none = {NULL, 0, 1};
    if (!t->pending)
        return ERR_OK;
    t->pending = 0;
    return vcd_update_back(t, &t->move, &none, &t->gradient);
}

enum err vcd_fit_scale(struct vcd *t, const struct pixel_set *inside, struct buffer *x,
                       double *scale)
{
    const struct backend_ops *ops = t->be->ops;
    struct vcd_sums sums;
    *scale = 1;
    if (!t->options->initial) {
        TRY(vcd_forward_dots(t, inside, x, &sums));
        if (sums.quadratic > 0) {
            *scale = sums.linear / sums.quadratic;
            TRY(ops->scale(t->be, *scale, x));
        }
    }
    t->move = (struct vcd_move){*inside, x, 1};
    t->pending = 1;
    return vcd_take_move(t);
}

static enum err vcd_first_image(struct vcd *t, const struct buffer *y, struct buffer *x)
{
    if (t->options->initial)
        return t->be->ops->copy(t->be, t->options->initial, x);
    return direct_recon(t->be, t->m, y, &t->error, x); /* which only lends its memory */
}

/* Ends a reconstruction whose projection was stopped: its image is incomplete. */
static enum err vcd_go_on(const struct vcd *t)
{
    FAIL_IF(vcd_stopped(t), ERR_INTERRUPTED, "interrupted before iteration 1 of %lld",
            (long long)t->options->max_iterations);
    return ERR_OK;
}

enum err vcd_start(struct vcd *t, const struct buffer *y, struct buffer *x, double *scale)
{
    struct backend *be = t->be;
    const struct backend_ops *ops = be->ops;
    const struct scan *s = &t->m->scan;
    const struct pixel_set inside = {t->pixels, t->count, 0};
    const struct pixel_set all = {NULL, volume_pixels(&t->m->volume), 0};
    const struct sinogram weights = rows_fastest(vcd_weights(t));
    if (t->options->weights)
        PHASE("reorder", ops->sino_reorder(be, s, as_given(t->options->weights), weights));
    if (!t->options->subsets)
        TRY(schedule_start(&t->schedule, t->count, t->options->initial != NULL));
    PHASE("initial image", vcd_first_image(t, y, x));
    TRY(vcd_go_on(t));
    PHASE("reorder", ops->sino_reorder(be, s, as_given(y), rows_fastest(&t->error)));
    PHASE("error sinogram", vcd_fit_scale(t, &inside, x, scale));
    TRY(vcd_go_on(t));
    PHASE("Hessian",
          ops->back(be, t->projector, &all, rows_fastest(NULL), weights, 2, &t->hessian));
    return vcd_go_on(t);
}
