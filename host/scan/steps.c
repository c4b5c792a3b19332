/* The steps before a reconstruction: which, in which order, where they are computed. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mark/mark.h"
#include "base/memory.h"
#include "host/recon/center/center.h"
#include "host/recon/recon.h"
#include "host/scan/steps.h"

#define CHUNK_FLOATS ((int64_t)1 << 27) /* of views that pass a device at a time */
#define DEAD         0.5                /* a flat field off by more from its neighbours' median */

static int has_hardening(const struct scan_request *r)
{
    for (int k = 0; k < PREPARE_COEFFICIENTS; k++)
        if (r->hardening[k] != 0)
            return 1;
    return 0;
}

int scan_steps_wanted(const struct scan_request *r)
{
    return r->zingers > 0 || r->air || !isnan(r->phase[PHASE_DELTA_BETA]) || r->least > 0 ||
           has_hardening(r) || !isnan(r->tilt) || !isnan(r->overlap);
}

int scan_steps_used(const struct scan_request *r)
{
    return scan_steps_wanted(r) || r->source.drift || r->source.flats_after;
}

int scan_views_whole(const struct scan_request *r)
{
    return !isnan(r->phase[PHASE_DELTA_BETA]) || !isnan(r->tilt) || !isnan(r->overlap) || r->poses;
}

int scan_needs_whole(const struct scan_request *r)
{
    return scan_views_whole(r) || r->reference || r->redundancy == REDUNDANCY_HELICAL;
}

void scan_step_time(struct scan_result *r, const char *name, double seconds)
{
    int i = 0;
    while (i < r->step_count && strcmp(r->steps[i].name, name) != 0)
        i++;
    if (i == SCAN_STEPS_MOST)
        return;
    if (i == r->step_count) {
        r->steps[r->step_count++].name = name;
        r->steps[i].seconds = 0;
    }
    r->steps[i].seconds += seconds;
}

/* Views of the input that go together: all, where they are not in a device's memory or the step
 * needs them. */
static int64_t views_together(const struct backend *be, const struct prepare_step *p)
{
    const int64_t view = p->in[1] * p->in[2];
    if (!be->ops->streams || p->kind == PREPARE_JOIN || p->kind == PREPARE_WAVELET)
        return p->in[0];
    const int64_t fit = CHUNK_FLOATS / view;
    return fit < 1 ? 1 : fit < p->in[0] ? fit : p->in[0];
}

static enum err on_back_end(struct backend *be, const struct prepare_step *p,
                            const struct buffer *frames, const float *in, float *out)
{
    const size_t from = (size_t)prepare_samples(p->in) * sizeof(float);
    const size_t to = (size_t)prepare_samples(p->out) * sizeof(float);
    struct buffer x = {0}, y = {PLACE_HOST, 0, to, out};
    TRY(be->ops->upload(be, in, from, &x));
    const int device = x.place == PLACE_DEVICE;
    enum err e = device ? be->ops->alloc(be, "views", to, &y) : ERR_OK;
    if (!e)
        e = be->ops->prepare_step(be, p, frames, &x, &y);
    if (!e && device)
        e = be->ops->download(be, &y, out, to);
    be->ops->release(be, &x);
    if (device && y.ptr)
        be->ops->release(be, &y);
    return e;
}

static enum err in_chunks(struct backend *be, const struct prepare_step *p, const float *frames,
                          const float *in, float *out)
{
    const int64_t together = views_together(be, p), frame = p->in[1] * p->in[2];
    struct prepare_step part = *p;
    struct buffer f = {0};
    enum err e = ERR_OK;
    if (frames)
        TRY(be->ops->upload(be, frames, 3 * (size_t)frame * sizeof(float), &f));
    for (int64_t v = 0; !e && v < p->in[0]; v += together) {
        const int64_t n = p->in[0] - v < together ? p->in[0] - v : together;
        if (together < p->in[0]) {
            part.in[0] = part.out[0] = n;
            part.drift_first = p->drift_first + (double)v * p->drift_step;
        }
        e = on_back_end(be, &part, frames ? &f : NULL, in + v * frame,
                        out + v * p->out[1] * p->out[2]);
    }
    if (f.ptr)
        be->ops->release(be, &f);
    return e;
}

enum err scan_step_run(const struct scan_context *c, const char *name,
                       const struct prepare_step *step, const float *frames, float **y)
{
    const int64_t *n = step->out;
    void *out;
    size_t bytes;
    FAIL_IF(!c->be || !c->be->ops->prepare_step, ERR_UNSUPPORTED,
            "%s: this back end has no steps before a reconstruction", name);
    TRY(mem_size(name, n[0], n[1], n[2], sizeof(float), &bytes));
    TRY(mem_alloc(name, bytes, &out));
    const int64_t start = clock_ns();
    mark_push(name, bytes);
    enum err e = in_chunks(c->be, step, frames, *y, out);
    mark_pop();
    scan_step_time(c->result, name, clock_seconds_since(start));
    mem_free(e ? out : *y);
    if (!e)
        *y = out;
    return e;
}

static struct prepare_step steps_step_of(enum prepare_kind kind, int64_t views, int64_t rows,
                                         int64_t channels)
{
    return (struct prepare_step){
        .kind = kind, .in = {views, rows, channels}, .out = {views, rows, channels}};
}

static int64_t count_differences(const float *a, const float *b, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += !(a[i] == b[i]);
    return count;
}

/* Pixels whose flat field is far from that of their neighbours count nothing in any view. */
static enum err drop_dead_pixels(const struct scan_context *c, const float *frames,
                                 struct exchange_counts *x)
{
    const int64_t pixels = x->rows * x->channels;
    struct prepare_step p = steps_step_of(PREPARE_OUTLIERS, 1, x->rows, x->channels);
    void *block;
    p.size = 5;
    p.sides = SIDE_BRIGHT | SIDE_DARK;
    p.threshold = DEAD;
    TRY(mem_alloc("flat field", (size_t)pixels * sizeof(float), &block));
    float *clean = block;
    for (int64_t i = 0; i < pixels; i++)
        clean[i] = frames[pixels + i] - frames[i];
    enum err e = scan_step_run(c, "dead pixels", &p, NULL, &clean);
    for (int64_t i = 0; !e && i < pixels; i++) {
        if (clean[i] == frames[pixels + i] - frames[i])
            continue;
        c->result->dead++;
        for (int64_t v = 0; v < x->views; v++)
            x->counts[v * pixels + i] = NAN;
    }
    mem_free(clean);
    return e;
}

static enum err take_zingers(const struct scan_context *c, struct exchange_counts *x)
{
    const int64_t n = x->views * x->rows * x->channels;
    struct prepare_step p = steps_step_of(PREPARE_OUTLIERS, x->views, x->rows, x->channels);
    const float *before = x->counts;
    void *copy;
    p.size = 3;
    p.sides = SIDE_BRIGHT;
    p.threshold = c->request->zingers / 100;
    TRY(mem_alloc("views", (size_t)n * sizeof(float), &copy));
    memcpy(copy, before, (size_t)n * sizeof(float));
    enum err e = scan_step_run(c, "zingers", &p, NULL, &x->counts);
    if (!e)
        c->result->zapped += count_differences(copy, x->counts, n);
    mem_free(copy);
    return e;
}

/* Puts dark, flats before and flats after in one array. */
static enum err make_frames(const struct exchange_counts *x, float **out)
{
    const size_t frame = (size_t)(x->rows * x->channels) * sizeof(float);
    void *block;
    TRY(mem_alloc("flat fields", 3 * frame, &block));
    memcpy(block, x->dark, frame);
    memcpy((char *)block + frame, x->white, frame);
    memcpy((char *)block + 2 * frame, x->after, frame);
    *out = block;
    return ERR_OK;
}

enum err scan_steps_counts(const struct scan_context *c, struct exchange_counts *x)
{
    const struct scan_request *r = c->request;
    struct prepare_step p = steps_step_of(PREPARE_FLAT, x->views, x->rows, x->channels);
    float *frames;
    TRY(make_frames(x, &frames));
    enum err e = r->zingers > 0 ? take_zingers(c, x) : ERR_OK;
    if (!e && r->zingers > 0)
        e = drop_dead_pixels(c, frames, x);
    p.drift_step = x->views > 1 ? 1 / (double)(x->views - 1) : 0;
    if (!e)
        e = scan_step_run(c, "flat field", &p, frames, &x->counts);
    mem_free(frames);
    if (e || !r->air)
        return e;
    FAIL_IF(2 * r->air > x->channels, ERR_USAGE,
            "`air=%" PRId64 "`: twice that must fit into the %" PRId64 " channels", r->air,
            x->channels);
    p.kind = PREPARE_AIR;
    p.left = p.right = r->air;
    return scan_step_run(c, "air", &p, NULL, &x->counts);
}

enum err scan_steps_transmission(const struct scan_context *c, struct projections *p)
{
    const struct scan_request *r = c->request;
    struct prepare_step phase = steps_step_of(PREPARE_PHASE, p->views, p->rows, p->channels);
    struct prepare_step logarithm = steps_step_of(PREPARE_LOG, p->views, p->rows, p->channels);
    if (!isnan(r->phase[PHASE_DELTA_BETA])) {
        const double pixel = c->pixel * (double)r->bin;
        FAIL_IF(!(pixel > 0), ERR_USAGE,
                "`paganin`: the scan does not say how large its pixels are: give it as the fourth "
                "number, in mm");
        phase.ratio = prepare_phase_ratio(r->phase[PHASE_DISTANCE], r->phase[PHASE_ENERGY], pixel,
                                          r->phase[PHASE_DELTA_BETA]);
        TRY(scan_step_run(c, "phase", &phase, NULL, &p->sinogram));
    }
    logarithm.low = r->least;
    logarithm.high = (double)INFINITY;
    return scan_step_run(c, "-log", &logarithm, NULL, &p->sinogram);
}

static enum err steps_straighten(const struct scan_context *c, struct projections *p)
{
    struct scan_result *result = c->result;
    struct prepare_step tilt = steps_step_of(PREPARE_TILT, p->views, p->rows, p->channels);
    const struct center_views views = {p->views, p->rows, p->channels, p->sinogram, p->angles};
    double angle = result->tilt * M_PI / 180;
    if (isinf(c->request->tilt)) {
        const int64_t start = clock_ns();
        TRY(center_tilt(&views, &angle));
        scan_step_time(result, "search of the tilt", clock_seconds_since(start));
        result->tilt = angle * 180 / M_PI;
    }
    tilt.cosine = cos(angle);
    tilt.sine = sin(angle);
    return scan_step_run(c, "tilt", &tilt, NULL, &p->sinogram);
}

/* The first half keeps its angles. */
static enum err steps_join_halves(const struct scan_context *c, struct projections *p)
{
    struct scan_result *result = c->result;
    const struct center_views views = {p->views - p->views % 2, p->rows, p->channels, p->sinogram,
                                       p->angles};
    double found, score;
    const int64_t start = clock_ns();
    TRY(center_overlap(&views, &found, &result->end, &score));
    scan_step_time(result, "search of the overlap", clock_seconds_since(start));
    if (isinf(c->request->overlap))
        result->overlap = found;
    FAIL_IF(!(result->overlap >= 1 && result->overlap <= (double)p->channels), ERR_USAGE,
            "`overlap=%g`: must be from 1 to %" PRId64 " channels", result->overlap, p->channels);
    struct prepare_step step = steps_step_of(PREPARE_JOIN, views.views, p->rows, p->channels);
    step.overlap = result->overlap;
    step.end = result->end;
    step.out[0] /= 2;
    step.out[2] = (int64_t)floor(2 * (double)p->channels - result->overlap + 0.5);
    TRY(scan_step_run(c, "join", &step, NULL, &p->sinogram));
    p->views = step.out[0];
    p->channels = step.out[2];
    return ERR_OK;
}

enum err scan_steps_integrals(const struct scan_context *c, struct projections *p)
{
    const struct scan_request *r = c->request;
    if (has_hardening(r)) {
        struct prepare_step step =
            steps_step_of(PREPARE_POLYNOMIAL, p->views, p->rows, p->channels);
        memcpy(step.coefficient, r->hardening, sizeof r->hardening);
        TRY(scan_step_run(c, "beam hardening", &step, NULL, &p->sinogram));
    }
    if (!isnan(r->tilt))
        TRY(steps_straighten(c, p));
    return isnan(r->overlap) ? ERR_OK : steps_join_halves(c, p);
}

/* Parker's and Wang's weights in a sinogram, and the channels that Wang's leave missing. */

/* Rows get `low` and `high` channels of zeros more: a filtered view of half the object is not zero
 * beside the detector, and the other half of the volume lies there. */
static enum err rays_widen(struct scan_context *c, int64_t low, int64_t high)
{
    struct scan *scan = &c->model.scan;
    const int64_t from = scan->channels, to = low + from + high;
    size_t bytes;
    void *wider;
    TRY(mem_size("sinogram", scan->views, scan->rows, to, sizeof(float), &bytes));
    TRY(mem_alloc("sinogram, widened", bytes, &wider));
    memset(wider, 0, bytes);
    for (int64_t row = 0; row < scan->views * scan->rows; row++)
        memcpy((float *)wider + row * to + low, c->sinogram + row * from,
               (size_t)from * sizeof(float));
    mem_free(c->sinogram);
    c->sinogram = wider;
    scan->channels = to;
    scan->channel_offset += 0.5 * (double)(low - high) * scan->delta_channel;
    return ERR_OK;
}

enum err scan_weigh_rays(struct scan_context *c)
{
    const enum redundancy how = c->request->redundancy;
    const struct scan *scan = &c->model.scan;
    const int64_t channels = scan->channels;
    float *factor, *y = c->sinogram;
    if (how != REDUNDANCY_PARKER && how != REDUNDANCY_WANG)
        return ERR_OK;
    TRY(redundancy_factors(scan, how, &factor));
    for (int64_t row = 0; row < scan->views * scan->rows; row++)
        for (int64_t i = 0; i < channels; i++)
            y[row * channels + i] *= factor[row / scan->rows * channels + i];
    free(factor);
    if (how != REDUNDANCY_WANG)
        return ERR_OK;
    const int64_t missing = (int64_t)ceil(2 * fabs(scan->channel_offset) / scan->delta_channel);
    const int low = scan->channel_offset < 0;
    return rays_widen(c, low ? missing : 0, low ? 0 : missing);
}

/* A sinogram without stripes in place of one with them. */

#define RING_FLOATS ((int64_t)1 << 26) /* of rows that pass a device at a time */

/* Rows `first` to first + count - 1 through a device's memory; `part` is of their size. */
static enum err rows_on_device(struct backend *be, const struct ct_model *m, int64_t first,
                               int64_t count, float *part, const float *y, float *clean)
{
    const struct scan *s = &m->scan;
    const int64_t line = count * s->channels, view = s->rows * s->channels;
    const int64_t at = first * s->channels;
    const size_t bytes = (size_t)(s->views * line) * sizeof(float);
    struct ct_model some = *m;
    struct buffer from = {0}, to = {0};
    some.scan.rows = count;
    for (int64_t v = 0; v < s->views; v++)
        memcpy(part + v * line, y + v * view + at, (size_t)line * sizeof *part);
    TRY(be->ops->upload(be, part, bytes, &from));
    enum err e = be->ops->alloc(be, "sinogram without rings", bytes, &to);
    if (!e)
        e = remove_stripes(be, &some, STRIPES_MEDIAN, &from, &to);
    if (!e)
        e = be->ops->download(be, &to, part, bytes);
    for (int64_t v = 0; v < s->views && !e; v++)
        memcpy(clean + v * view + at, part + v * line, (size_t)line * sizeof *part);
    be->ops->release(be, &from);
    if (to.ptr)
        be->ops->release(be, &to);
    return e;
}

static enum err stripes_on_device(struct backend *be, const struct ct_model *m, const float *y,
                                  float *clean)
{
    const struct scan *s = &m->scan;
    const int64_t row = s->views * s->channels, fit = RING_FLOATS / row;
    const int64_t together = fit < 1 ? 1 : fit < s->rows ? fit : s->rows;
    void *part;
    TRY(mem_alloc("rows of the sinogram", (size_t)(together * row) * sizeof(float), &part));
    enum err e = ERR_OK;
    for (int64_t r = 0; r < s->rows && !e; r += together)
        e = rows_on_device(be, m, r, s->rows - r < together ? s->rows - r : together, part, y,
                           clean);
    mem_free(part);
    return e;
}

static enum err by_sorting(struct backend *be, const struct ct_model *m, float **y)
{
    const size_t bytes = (size_t)scan_samples(&m->scan) * sizeof(float);
    const struct buffer from = {PLACE_HOST, 0, bytes, *y};
    void *clean;
    TRY(mem_alloc("sinogram without rings", bytes, &clean));
    struct buffer to = {PLACE_HOST, 0, bytes, clean};
    mark_push("rings", bytes);
    enum err e = be->ops->streams ? stripes_on_device(be, m, *y, clean)
                                  : remove_stripes(be, m, STRIPES_MEDIAN, &from, &to);
    mark_pop();
    mem_free(e ? clean : *y);
    if (!e)
        *y = clean;
    return e;
}

/* Daubechies 5, width 2, as tomopy and algotom use it; as many levels as the size allows, up to 5.
 */
static enum err by_wavelets(const struct scan_context *c, const struct ct_model *m, float **y)
{
    const struct scan *s = &m->scan;
    struct prepare_step p = {.kind = PREPARE_WAVELET,
                             .in = {s->views, s->rows, s->channels},
                             .out = {s->views, s->rows, s->channels},
                             .order = 5,
                             .damping = 2,
                             .margin = prepare_wavelet_margin(s->views, s->channels)};
    const int most = prepare_levels_most(&p);
    p.levels = most < 5 ? most : 5;
    FAIL_IF(p.levels < 1, ERR_USAGE, "`rings=fw` needs 32 views and channels: take sorting");
    return scan_step_run(c, "rings", &p, NULL, y);
}

enum err scan_remove_rings(const struct scan_context *c, const struct ct_model *m, float **y)
{
    const int64_t start = clock_ns();
    if (c->request->rings == RINGS_KEEP)
        return ERR_OK;
    if (c->request->rings == RINGS_WAVELET)
        return by_wavelets(c, m, y);
    enum err e = by_sorting(c->be, m, y);
    scan_step_time(c->result, "rings", clock_seconds_since(start));
    return e;
}
