/* The rows of the operations on views, their inputs, and the functions that run them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/geom/ct_model.h"
#include "host/geom/phantom.h"
#include "host/recon/center/center.h"
#include "host/suite/catalogue/check.h"
#include "host/suite/catalogue/inputs.h"
#include "host/suite/catalogue/steps.h"

/* The one number of the result. */
static enum err store_center(struct run_state *s, double center)
{
    const float value = (float)center;
    struct buffer b = {0};
    s->center = center;
    TRY(s->be->ops->upload(s->be, &value, sizeof value, &b));
    enum err e = s->be->ops->copy(s->be, &b, &s->out.buffer);
    if (!e)
        e = s->be->ops->sync(s->be);
    s->be->ops->release(s->be, &b);
    return e;
}

static struct center_views views_of(const struct run_state *s)
{
    const struct scan *scan = &s->model.scan;
    return (struct center_views){scan->views, scan->rows, scan->channels, s->in.host, scan->angles};
}

static enum err run_center(struct run_state *s, enum center_method how)
{
    const struct center_views views = views_of(s);
    double center, score;
    TRY(center_find(s->be, how, &views, &center, &score));
    return store_center(s, center);
}

static enum err run_registration(struct run_state *s)
{
    return run_center(s, CENTER_REGISTRATION);
}

static enum err run_entropy(struct run_state *s)
{
    return run_center(s, CENTER_ENTROPY);
}

static enum err run_symmetry(struct run_state *s)
{
    return run_center(s, CENTER_SYMMETRY);
}

#define COUNTS     20000
#define DARK       100
#define BAD_PIXELS 97 /* every so many-th is bad */

/* exp(-y), the longest path 2. */
static enum err make_transmission(struct run_state *s)
{
    int64_t shape[3];
    ct_model_shape(&s->model, ARRAY_SINOGRAM, shape);
    TRY(state_host_array(&s->in, "views", shape));
    phantom_sinogram(&s->model, s->in.host);
    const int64_t n = scan_samples(&s->model.scan);
    float most = 1e-30f;
    for (int64_t i = 0; i < n; i++)
        most = fmaxf(most, s->in.host[i]);
    for (int64_t i = 0; i < n; i++)
        s->in.host[i] = expf(-2 * s->in.host[i] / most);
    noise_add(s->in.host, n, 0.001, s->seed);
    return ERR_OK;
}

static enum err upload_views(struct run_state *s)
{
    int64_t shape[3];
    ct_model_shape(&s->model, ARRAY_SINOGRAM, shape);
    return state_upload(s, &s->in, shape);
}

enum err prepare_transmission(struct run_state *s)
{
    TRY(make_transmission(s));
    return upload_views(s);
}

enum err prepare_counts(struct run_state *s)
{
    TRY(make_transmission(s));
    for (int64_t i = 0; i < scan_samples(&s->model.scan); i++) {
        s->in.host[i] = DARK + COUNTS * s->in.host[i];
        if (i % BAD_PIXELS == 5)
            s->in.host[i] *= i % 2 ? 3.0f : 0.1f;
    }
    return upload_views(s);
}

/* Flat fields with a slope that grows, and darks. */
enum err prepare_frames(struct run_state *s)
{
    const struct scan *scan = &s->model.scan;
    const int64_t pixels = scan->rows * scan->channels, shape[3] = {3, scan->rows, scan->channels};
    TRY(prepare_counts(s));
    TRY(state_host_array(&s->frames, "flat fields", shape));
    for (int64_t i = 0; i < pixels; i++) {
        const float slope = (float)(i % scan->channels) / (float)scan->channels;
        s->frames.host[i] = DARK + (float)(i % 3);
        s->frames.host[pixels + i] = COUNTS * (1 + 0.1f * slope);
        s->frames.host[2 * pixels + i] = COUNTS * (0.9f + 0.3f * slope);
    }
    return state_upload(s, &s->frames, shape);
}

/* The axis a quarter of the detector from its middle, near the last channel. */
static void set_up_off_centre(struct ct_model *m, int64_t size)
{
    m->scan.views = 2 * size;
    m->scan.channel_offset = (double)(size / 4);
}

/* As many as two levels of wavelets need. */
static void set_up_views(struct ct_model *m, int64_t size)
{
    m->scan.views = size < 64 ? 64 : size;
}

/* Enough views for a symmetry; the axis lies beside the middle. */
static void set_up_moved(struct ct_model *m, int64_t size)
{
    m->scan.views = size < 32 ? 32 : size;
    m->scan.channel_offset = 1.5 * (double)size / 64;
}

/* clang-format off */
#define STEP(name_, pattern, text, make, fill, takes_, check_, set_up_, turn_) \
    {.name = name_, .geometry = "any", .group = "prepare", .access_pattern = pattern, .help = text, \
     .input = ARRAY_SINOGRAM, .output = ARRAY_STEP, .prepare = make, .run = run_view_step, \
     .check = check_, .work = work_declared, .step = fill, .settings = takes_, .set_up = set_up_, .turn = turn_, .apart = 1},
#define CENTER(kind, text) \
    {.name = "find_center_" #kind, .geometry = "any", .group = "prepare", .access_pattern = "mixed", \
     .help = "sinogram -> axis, " text, .input = ARRAY_SINOGRAM, .output = ARRAY_STEP, \
     .prepare = prepare_sinogram, .run = run_##kind, .check = check_center, .work = work_declared, \
     .step = step_center, .settings = "turn", .set_up = set_up_moved, .apart = 1}

static const struct operation rows[] = {
    VIEW_STEPS(STEP)
    CENTER(registration, "views half a turn apart"),
    CENTER(entropy, "the sharpest trial slice"),
    CENTER(symmetry, "the sinogram's symmetry"),
};
/* clang-format on */

const struct operation_rows prepare_operations = {rows, sizeof rows / sizeof *rows};
