/* The steps before a reconstruction: which, in which order, where they are computed. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "host/recon/center/center.h"
#include "host/scan/steps.h"
#include "base/mark/mark.h"

#define CHUNK_FLOATS ((int64_t)1 << 27) /* of views that pass a device at a time */
#define DEAD         0.5                /* a flat field off by more from its neighbours' median */

static int has_hardening(const struct scan_steps *s)
{
    for (int k = 0; k < PREPARE_COEFFICIENTS; k++)
        if (s->hardening[k] != 0)
            return 1;
    return 0;
}

int scan_steps_wanted(const struct scan_steps *s)
{
    return s->zingers > 0 || s->air || s->delta_beta > 0 || s->least > 0 || has_hardening(s) ||
           s->tilted || s->joined;
}

int scan_steps_whole(const struct scan_steps *s)
{
    return s->delta_beta > 0 || s->tilted || s->joined;
}

int scan_steps_spread(const struct scan_steps *s)
{
    return s->delta_beta > 0;
}

void scan_step_time(struct scan_steps *s, const char *name, double seconds)
{
    int i = 0;
    while (i < s->count && strcmp(s->done[i].name, name) != 0)
        i++;
    if (i == SCAN_STEPS_MOST)
        return;
    if (i == s->count) {
        s->done[s->count].name = name;
        s->done[s->count++].seconds = 0;
    }
    s->done[i].seconds += seconds;
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

enum err scan_step_run(struct scan_steps *s, const char *name, const struct prepare_step *step,
                       const float *frames, float **y)
{
    const int64_t *n = step->out;
    void *out;
    size_t bytes;
    FAIL_IF(!s->be || !s->be->ops->prepare_step, ERR_UNSUPPORTED,
            "%s: this back end has no steps before a reconstruction", name);
    TRY(mem_size(name, n[0], n[1], n[2], sizeof(float), &bytes));
    TRY(mem_alloc(name, bytes, &out));
    const int64_t start = clock_ns();
    mark_push(name, bytes);
    enum err e = in_chunks(s->be, step, frames, *y, out);
    mark_pop();
    scan_step_time(s, name, clock_seconds_since(start));
    mem_free(e ? out : *y);
    if (!e)
        *y = out;
    return e;
}

static struct prepare_step step_of(enum prepare_kind kind, int64_t views, int64_t rows,
                                   int64_t channels)
{
    return (struct prepare_step){
        .kind = kind, .in = {views, rows, channels}, .out = {views, rows, channels}};
}

static int64_t differences(const float *a, const float *b, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += !(a[i] == b[i]);
    return count;
}

/* Pixels whose flat field is far from that of their neighbours count nothing in any view. */
static enum err drop_dead_pixels(struct scan_steps *s, const float *frames,
                                 struct exchange_counts *c)
{
    const int64_t pixels = c->rows * c->channels;
    struct prepare_step p = step_of(PREPARE_OUTLIERS, 1, c->rows, c->channels);
    void *block;
    p.size = 5;
    p.sides = SIDE_BRIGHT | SIDE_DARK;
    p.threshold = DEAD;
    TRY(mem_alloc("flat field", (size_t)pixels * sizeof(float), &block));
    float *clean = block;
    for (int64_t i = 0; i < pixels; i++)
        clean[i] = frames[pixels + i] - frames[i];
    enum err e = scan_step_run(s, "dead pixels", &p, NULL, &clean);
    unsigned char *dead = calloc((size_t)pixels, 1);
    for (int64_t i = 0; !e && dead && i < pixels; i++)
        dead[i] = !(clean[i] == frames[pixels + i] - frames[i]);
    for (int64_t i = 0; !e && dead && i < pixels; i++) {
        s->dead += dead[i];
        for (int64_t v = 0; dead[i] && v < c->views; v++)
            c->counts[v * pixels + i] = NAN;
    }
    free(dead);
    mem_free(clean);
    return e;
}

static enum err take_zingers(struct scan_steps *s, struct exchange_counts *c)
{
    const int64_t n = c->views * c->rows * c->channels;
    struct prepare_step p = step_of(PREPARE_OUTLIERS, c->views, c->rows, c->channels);
    const float *before = c->counts;
    void *copy;
    p.size = 3;
    p.sides = SIDE_BRIGHT;
    p.threshold = s->zingers;
    TRY(mem_alloc("views", (size_t)n * sizeof(float), &copy));
    memcpy(copy, before, (size_t)n * sizeof(float));
    enum err e = scan_step_run(s, "zingers", &p, NULL, &c->counts);
    if (!e)
        s->zapped += differences(copy, c->counts, n);
    mem_free(copy);
    return e;
}

/* Dark, flats before, flats after in one array. */
static enum err make_frames(const struct exchange_counts *c, float **out)
{
    const size_t frame = (size_t)(c->rows * c->channels) * sizeof(float);
    void *block;
    TRY(mem_alloc("flat fields", 3 * frame, &block));
    memcpy(block, c->dark, frame);
    memcpy((char *)block + frame, c->white, frame);
    memcpy((char *)block + 2 * frame, c->after, frame);
    *out = block;
    return ERR_OK;
}

enum err scan_steps_counts(struct scan_steps *s, struct exchange_counts *c)
{
    struct prepare_step p = step_of(PREPARE_FLAT, c->views, c->rows, c->channels);
    float *frames;
    TRY(make_frames(c, &frames));
    enum err e = s->zingers > 0 ? take_zingers(s, c) : ERR_OK;
    if (!e && s->zingers > 0)
        e = drop_dead_pixels(s, frames, c);
    p.drift_step = c->views > 1 ? 1 / (double)(c->views - 1) : 0;
    if (!e)
        e = scan_step_run(s, "flat field", &p, frames, &c->counts);
    mem_free(frames);
    if (e || !s->air)
        return e;
    FAIL_IF(2 * s->air > c->channels, ERR_USAGE,
            "--air %" PRId64 ": twice that must fit into the %" PRId64 " channels", s->air,
            c->channels);
    p.kind = PREPARE_AIR;
    p.left = p.right = s->air;
    return scan_step_run(s, "air", &p, NULL, &c->counts);
}

enum err scan_steps_transmission(struct scan_steps *s, struct projections *p)
{
    struct prepare_step phase = step_of(PREPARE_PHASE, p->views, p->rows, p->channels);
    struct prepare_step logarithm = step_of(PREPARE_LOG, p->views, p->rows, p->channels);
    if (s->delta_beta > 0) {
        const double pixel = s->pixel * (double)(s->bin > 1 ? s->bin : 1);
        FAIL_IF(!(pixel > 0), ERR_USAGE,
                "--paganin: the scan does not say how large its pixels are: give it as the fourth "
                "number, in mm");
        phase.ratio = prepare_phase_ratio(s->distance, s->energy, pixel, s->delta_beta);
        TRY(scan_step_run(s, "phase", &phase, NULL, &p->sinogram));
    }
    logarithm.low = s->least;
    logarithm.high = (double)INFINITY;
    return scan_step_run(s, "-log", &logarithm, NULL, &p->sinogram);
}

static enum err straighten(struct scan_steps *s, struct projections *p)
{
    struct prepare_step tilt = step_of(PREPARE_TILT, p->views, p->rows, p->channels);
    const struct center_views views = {p->views, p->rows, p->channels, p->sinogram, p->angles};
    double angle = s->tilt * M_PI / 180;
    if (s->tilted == FIND_AUTO) {
        const int64_t start = clock_ns();
        TRY(center_tilt(&views, &angle));
        scan_step_time(s, "search of the tilt", clock_seconds_since(start));
        s->tilt = angle * 180 / M_PI;
    }
    tilt.cosine = cos(angle);
    tilt.sine = sin(angle);
    return scan_step_run(s, "tilt", &tilt, NULL, &p->sinogram);
}

/* The first half keeps its angles. */
static enum err join(struct scan_steps *s, struct projections *p)
{
    const struct center_views views = {p->views - p->views % 2, p->rows, p->channels, p->sinogram,
                                       p->angles};
    double found, score;
    const int64_t start = clock_ns();
    TRY(center_overlap(&views, &found, &s->end, &score));
    scan_step_time(s, "search of the overlap", clock_seconds_since(start));
    if (s->joined == FIND_AUTO)
        s->overlap = found;
    FAIL_IF(!(s->overlap >= 1 && s->overlap <= (double)p->channels), ERR_USAGE,
            "--overlap %g: must be from 1 to %" PRId64 " channels", s->overlap, p->channels);
    struct prepare_step step = step_of(PREPARE_JOIN, views.views, p->rows, p->channels);
    step.overlap = s->overlap;
    step.end = s->end;
    step.out[0] /= 2;
    step.out[2] = (int64_t)floor(2 * (double)p->channels - s->overlap + 0.5);
    TRY(scan_step_run(s, "join", &step, NULL, &p->sinogram));
    p->views = step.out[0];
    p->channels = step.out[2];
    return ERR_OK;
}

enum err scan_steps_integrals(struct scan_steps *s, struct projections *p)
{
    if (has_hardening(s)) {
        struct prepare_step step = step_of(PREPARE_POLYNOMIAL, p->views, p->rows, p->channels);
        memcpy(step.coefficient, s->hardening, sizeof s->hardening);
        TRY(scan_step_run(s, "beam hardening", &step, NULL, &p->sinogram));
    }
    if (s->tilted)
        TRY(straighten(s, p));
    return s->joined ? join(s, p) : ERR_OK;
}
