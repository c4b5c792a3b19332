/* Trial slices, and the one whose histogram has the least entropy. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "host/geom/ct_model.h"
#include "host/recon/center/center.h"

#define BINS   256
#define COARSE 256 /* channels of the first search */

/* A row of views, binned along channels, ramp-filtered; and the arrays of a slice. */
struct trials {
    struct backend *be;
    struct ct_model model;
    struct buffer y, x;
    int32_t *pixels;
    int64_t count;
    float *slice;
    double low, high; /* of the histogram */
};

static enum err make_model(const struct center_views *p, int64_t channels, struct ct_model *m)
{
    ct_model_init(m);
    m->scan.views = p->views;
    m->scan.rows = m->volume.slices = 1;
    m->scan.channels = m->volume.rows = m->volume.cols = channels;
    m->scan.delta_row = m->scan.delta_channel = m->volume.delta = 1;
    float *angles = malloc((size_t)p->views * sizeof *angles);
    FAIL_IF(!angles, ERR_MEMORY, "no memory left for the angles");
    memcpy(angles, p->angles, (size_t)p->views * sizeof *angles);
    m->scan.angles = angles;
    return ct_model_resolve(m);
}

static enum err upload_row(const struct center_views *p, int64_t bin, struct trials *t)
{
    const int64_t channels = t->model.scan.channels, row = p->rows / 2;
    const size_t bytes = (size_t)(p->views * channels) * sizeof(float);
    void *block;
    struct buffer y = {0};
    TRY(mem_alloc("views of trial slices", bytes, &block));
    float *to = block;
    for (int64_t v = 0; v < p->views; v++)
        for (int64_t c = 0; c < channels; c++) {
            double sum = 0;
            for (int64_t i = 0; i < bin; i++)
                sum += (double)p->y[(v * p->rows + row) * p->channels + c * bin + i];
            *to++ = (float)(sum / (double)bin);
        }
    enum err e = t->be->ops->upload(t->be, block, bytes, &y);
    if (!e)
        e = t->be->ops->alloc(t->be, "views of trial slices", bytes, &t->y);
    if (!e)
        e = t->be->ops->ramp_filter(t->be, &t->model.scan, M_PI / (double)p->views, &y, &t->y);
    if (y.ptr)
        t->be->ops->release(t->be, &y);
    mem_free(block);
    return e;
}

static enum err open_trials(struct backend *be, const struct center_views *p, int64_t bin,
                            struct trials *t)
{
    void *slice;
    *t = (struct trials){.be = be};
    TRY(make_model(p, p->channels / bin, &t->model));
    const size_t bytes = (size_t)volume_voxels(&t->model.volume) * sizeof(float);
    TRY(volume_pixels_inside(&t->model.volume, &t->pixels, &t->count));
    TRY(upload_row(p, bin, t));
    TRY(mem_alloc("a trial slice", bytes, &slice));
    t->slice = slice;
    TRY(be->ops->alloc(be, "a trial slice", bytes, &t->x));
    return be->ops->zero(be, &t->x);
}

static void close_trials(struct trials *t)
{
    if (t->y.ptr)
        t->be->ops->release(t->be, &t->y);
    if (t->x.ptr)
        t->be->ops->release(t->be, &t->x);
    mem_free(t->slice);
    free(t->pixels);
    ct_model_free(&t->model);
}

/* Reconstructs the slice with the axis at this channel, into t->slice. */
static enum err trials_reconstruct(struct trials *t, double center)
{
    const struct backend_ops *ops = t->be->ops;
    struct scan *scan = &t->model.scan;
    struct projector *projector;
    const struct pixel_set pixels = {t->pixels, t->count, 0};
    const struct sinogram y = {&t->y, SINO_CHANNELS_FASTEST}, none = {NULL, SINO_CHANNELS_FASTEST};
    scan->channel_offset = center - 0.5 * (double)(scan->channels - 1);
    TRY(ops->projector_create(t->be, scan, &t->model.volume, &projector));
    enum err e = ops->back(t->be, projector, &pixels, y, none, 1, &t->x);
    ops->projector_free(t->be, projector);
    return e ? e : ops->download(t->be, &t->x, t->slice, t->x.bytes);
}

static const float *values_of(const struct trials *t)
{
    return t->x.place == PLACE_HOST ? t->x.ptr : t->slice;
}

/* The range of the first trial, widened: what other trials have beyond counts at its ends. */
static void choose_range(struct trials *t)
{
    const float *x = values_of(t);
    double low = (double)INFINITY, high = -(double)INFINITY;
    for (int64_t i = 0; i < t->count; i++) {
        low = fmin(low, (double)x[t->pixels[i]]);
        high = fmax(high, (double)x[t->pixels[i]]);
    }
    t->low = low - 0.1 * (high - low);
    t->high = high + 0.1 * (high - low);
}

static double trials_entropy(const struct trials *t)
{
    const float *x = values_of(t);
    double bins[BINS] = {0}, sum = 0;
    const double scale = t->high > t->low ? BINS / (t->high - t->low) : 0;
    for (int64_t i = 0; i < t->count; i++) {
        const double at = ((double)x[t->pixels[i]] - t->low) * scale;
        bins[at < 0 ? 0 : at < BINS ? (int)at : BINS - 1]++;
    }
    for (int i = 0; i < BINS; i++)
        if (bins[i] > 0)
            sum -= bins[i] / (double)t->count * log(bins[i] / (double)t->count);
    return sum;
}

static enum err trials_evaluate(struct trials *t, double center, double *value)
{
    TRY(trials_reconstruct(t, center));
    FAIL_IF(t->be->stop && *t->be->stop, ERR_INTERRUPTED, "cancelled in the search for the axis");
    if (!(t->high > t->low))
        choose_range(t);
    *value = trials_entropy(t);
    return ERR_OK;
}

/* The best of middle - half * step .. middle + half * step; where it is not at an end, the vertex
 * of the parabola through it and its neighbours. */
static enum err best_of(struct trials *t, double middle, int half, double step, double *best)
{
    double last = NAN, least = (double)INFINITY, left = NAN, right = NAN;
    int at = 0;
    for (int i = -half; i <= half; i++) {
        double value = 0;
        TRY(trials_evaluate(t, middle + i * step, &value));
        if (value < least) {
            least = value;
            at = i;
            left = last;
            right = NAN;
        } else if (i == at + 1) {
            right = value;
        }
        last = value;
    }
    const double bend = left - 2 * least + right;
    *best = middle + (at + (bend > 0 ? (left - right) / (2 * bend) : 0)) * step;
    return ERR_OK;
}

/* Channels are binned by `bin`: channel c of them is c * bin + (bin - 1) / 2 of the detector. */
static enum err entropy_search(struct backend *be, const struct center_views *p, int64_t bin,
                               int half, double step, double *center)
{
    const double offset = 0.5 * (double)(bin - 1);
    struct trials t;
    enum err e = open_trials(be, p, bin, &t);
    if (!e)
        e = best_of(&t, (*center - offset) / (double)bin, half, step, center);
    if (!e)
        *center = *center * (double)bin + offset;
    close_trials(&t);
    return e;
}

enum err center_entropy(struct backend *be, const struct center_views *p, double *center)
{
    int64_t bin = 1;
    FAIL_IF(p->channels < 16, ERR_INPUT,
            "the rotation centre cannot be found with fewer than 16 channels; give `center`");
    while (p->channels / bin > COARSE)
        bin *= 2;
    *center = 0.5 * (double)(p->channels - 1);
    TRY(entropy_search(be, p, bin, (int)(p->channels / bin / 8), 1, center));
    for (; bin > 1; bin /= 2)
        TRY(entropy_search(be, p, bin, 3, 0.5, center));
    TRY(entropy_search(be, p, 1, 3, 0.5, center));
    return entropy_search(be, p, 1, 2, 0.25, center);
}

enum err center_slices(struct backend *be, const struct center_views *p, const double *centers,
                       int64_t count, float *out)
{
    struct trials t;
    enum err e = open_trials(be, p, 1, &t);
    for (int64_t i = 0; !e && i < count; i++) {
        e = trials_reconstruct(&t, centers[i]);
        if (!e)
            memcpy(out + i * p->channels * p->channels, values_of(&t), t.x.bytes);
    }
    close_trials(&t);
    return e;
}
