/* From shapes and settings (KEY=VALUE) to the step of an operation on views. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "host/geom/ct_model.h"
#include "host/recon/center/center.h"
#include "host/store/format/npy.h"
#include "host/suite/catalogue/volume.h"

static void set_shape(struct run_state *s, int64_t views, int64_t channels)
{
    const int64_t shape[3] = {views, s->model.scan.rows, channels};
    memcpy(s->prepare.out, shape, sizeof shape);
    memcpy(s->step.out, shape, sizeof shape);
}

/* A result of the shape of the views. */
static enum err begin_prepare(struct run_state *s, enum prepare_kind kind)
{
    const struct scan *scan = &s->model.scan;
    s->prepare =
        (struct prepare_step){.kind = kind, .in = {scan->views, scan->rows, scan->channels}};
    s->step = (struct volume_step){.kind = VOLUME_PLACE,
                                   .in = {scan->views, scan->rows, scan->channels},
                                   .from = {0, 1, 2},
                                   .turn = {1, 1, 1},
                                   .dtype = VOLUME_F32};
    set_shape(s, scan->views, scan->channels);
    return settings_check(s);
}

/* A number within bounds; `what` says which. */
static enum err setting_bounded(const struct run_state *s, const char *key, double least,
                                double most, double *out)
{
    TRY(setting_number(s, key, out));
    FAIL_IF(!(*out >= least && *out <= most), ERR_USAGE, "`set=%s=%g`: must be from %g to %g", key,
            *out, least, most);
    return ERR_OK;
}

static enum err setting_whole(const struct run_state *s, const char *key, int64_t least,
                              int64_t most, int64_t *out)
{
    double value = (double)*out;
    TRY(setting_bounded(s, key, (double)least, (double)most, &value));
    FAIL_IF(value != floor(value), ERR_USAGE, "`set=%s=%g`: must be a whole number", key, value);
    *out = (int64_t)value;
    return ERR_OK;
}

/* The place of a setting's word in a list. */
static enum err setting_word(const struct run_state *s, const char *key, const char *const *words,
                             int count, int *out)
{
    const char *text = setting(s, key);
    for (int i = 0; text && i < count; i++)
        if (!strcmp(text, words[i])) {
            *out = i;
            return ERR_OK;
        }
    FAIL_IF(text, ERR_USAGE, "`set=%s=%s`: known are %s, %s%s%s", key, text, words[0], words[1],
            count > 2 ? ", " : "", count > 2 ? words[2] : "");
    return ERR_OK;
}

enum err run_view_step(struct run_state *s)
{
    const struct backend_ops *ops = s->be->ops;
    FAIL_IF(!ops->prepare_step, ERR_UNSUPPORTED, "%s has no steps on views: use `backend=cpu`",
            ops->name);
    return ops->prepare_step(s->be, &s->prepare, given_buffer(&s->frames), &s->in.buffer,
                             &s->out.buffer);
}

enum err step_outliers(struct run_state *s)
{
    static const char *const sides[] = {"bright", "dark", "both"};
    int64_t size = 3;
    int side = 2;
    TRY(begin_prepare(s, PREPARE_OUTLIERS));
    s->prepare.threshold = 0.2;
    TRY(setting_whole(s, "size", 3, PREPARE_WINDOW, &size));
    FAIL_IF(size % 2 == 0, ERR_USAGE, "`set=size=%" PRId64 "`: must be 3, 5 or 7", size);
    TRY(setting_bounded(s, "threshold", 0, 1e6, &s->prepare.threshold));
    TRY(setting_word(s, "sides", sides, 3, &side));
    s->prepare.size = (int)size;
    s->prepare.sides = side + 1;
    return ERR_OK;
}

/* Frames of a file, (rows, channels) or their mean over the first axis, at frame `place`. */
static enum err read_frames(struct run_state *s, const char *key, int place)
{
    static const char *const names[] = {"frames", "detector rows", "detector channels"};
    const struct scan *scan = &s->model.scan;
    const int64_t pixels = scan->rows * scan->channels;
    int64_t shape[3] = {-1, scan->rows, scan->channels};
    float *read;
    TRY(npy_read(setting(s, key), 3, shape, names, 1, &read));
    for (int64_t i = 0; i < pixels; i++) {
        double sum = 0;
        for (int64_t k = 0; k < shape[0]; k++)
            sum += (double)read[k * pixels + i];
        s->frames.host[place * pixels + i] = (float)(sum / (double)shape[0]);
    }
    mem_free(read);
    return ERR_OK;
}

/* Without settings, as in the suite, the frames are there already. */
enum err step_flat_field(struct run_state *s)
{
    const struct scan *scan = &s->model.scan;
    const int64_t pixels = scan->rows * scan->channels, shape[3] = {3, scan->rows, scan->channels};
    TRY(begin_prepare(s, PREPARE_FLAT));
    s->prepare.drift_step = scan->views > 1 ? 1.0 / (double)(scan->views - 1) : 0;
    if (s->frames.host)
        return ERR_OK;
    FAIL_IF(
        !setting(s, "flats"), ERR_USAGE,
        "correct_flat_field needs `set=flats=FILE`, an array (frames, detector rows, channels)");
    TRY(state_host_array(&s->frames, "flat fields", shape));
    memset(s->frames.host, 0, (size_t)pixels * sizeof(float));
    TRY(read_frames(s, "flats", 1));
    memcpy(s->frames.host + 2 * pixels, s->frames.host + pixels, (size_t)pixels * sizeof(float));
    if (setting(s, "after"))
        TRY(read_frames(s, "after", 2));
    if (setting(s, "darks"))
        TRY(read_frames(s, "darks", 0));
    return state_upload(s, &s->frames, shape);
}

enum err step_air(struct run_state *s)
{
    static const char *const per[] = {"row", "view"};
    const int64_t channels = s->model.scan.channels;
    TRY(begin_prepare(s, PREPARE_AIR));
    s->prepare.left = s->prepare.right = channels / 32 > 0 ? channels / 32 : 1;
    TRY(setting_whole(s, "left", 0, channels, &s->prepare.left));
    TRY(setting_whole(s, "right", 0, channels, &s->prepare.right));
    FAIL_IF(s->prepare.left + s->prepare.right < 1 || s->prepare.left + s->prepare.right > channels,
            ERR_USAGE,
            "`set=left=%" PRId64 " right=%" PRId64 "`: together 1 to %" PRId64
            " channels are needed",
            s->prepare.left, s->prepare.right, channels);
    return setting_word(s, "per", per, 2, &s->prepare.whole_view);
}

enum err step_log(struct run_state *s)
{
    TRY(begin_prepare(s, PREPARE_LOG));
    s->prepare.low = 1e-6;
    s->prepare.high = 1e6;
    TRY(setting_bounded(s, "low", 0, 1e30, &s->prepare.low));
    TRY(setting_bounded(s, "high", 0, 1e30, &s->prepare.high));
    FAIL_IF(s->prepare.low > s->prepare.high, ERR_USAGE, "`set=low=%g high=%g`: low is above high",
            s->prepare.low, s->prepare.high);
    return ERR_OK;
}

/* "1,0.1": the coefficients of y, y^2, .. */
static enum err prepare_coefficients(const char *text, double out[PREPARE_COEFFICIENTS])
{
    const char *at = text;
    for (int i = 0; i < PREPARE_COEFFICIENTS; i++) {
        char *end;
        out[i] = strtod(at, &end);
        FAIL_IF(end == at || !isfinite(out[i]) || (*end && *end != ','), ERR_USAGE,
                "%s: finite numbers with commas between them are needed: those of y, y^2, ..",
                text);
        if (!*end)
            return ERR_OK;
        at = end + 1;
    }
    return FAIL(ERR_USAGE, "%s: more than %d coefficients", text, PREPARE_COEFFICIENTS);
}

enum err step_hardening(struct run_state *s)
{
    const char *text = setting(s, "coefficients");
    TRY(begin_prepare(s, PREPARE_POLYNOMIAL));
    s->prepare.coefficient[0] = 1;
    s->prepare.coefficient[1] = 0.1;
    return text ? prepare_coefficients(text, s->prepare.coefficient) : ERR_OK;
}

enum err step_tilt(struct run_state *s)
{
    double angle = 0.5;
    TRY(begin_prepare(s, PREPARE_TILT));
    TRY(setting_bounded(s, "angle", -45, 45, &angle));
    s->prepare.cosine = cos(angle * M_PI / 180);
    s->prepare.sine = sin(angle * M_PI / 180);
    return ERR_OK;
}

static enum err center_views_of(struct run_state *s, struct center_views *out)
{
    struct scan *scan = &s->model.scan;
    double turn = s->op->turn > 0 ? s->op->turn * 180 / M_PI : 180;
    if (strstr(s->op->settings, "turn"))
        TRY(setting_bounded(s, "turn", 1, 36000, &turn));
    if (!scan->angles)
        scan->angles = angles_even(0, turn * M_PI / 180, scan->views);
    FAIL_IF(!scan->angles, ERR_MEMORY, "no memory left for the angles");
    *out = (struct center_views){scan->views, scan->rows, scan->channels, s->in.host, scan->angles};
    return ERR_OK;
}

enum err step_join(struct run_state *s)
{
    static const char *const ends[] = {"last", "first"};
    struct prepare_step *p = &s->prepare;
    const struct scan *scan = &s->model.scan;
    const char *text = setting(s, "overlap");
    struct center_views views;
    double score;
    int end = 0;
    TRY(begin_prepare(s, PREPARE_JOIN));
    FAIL_IF(scan->views < 2 || scan->views % 2, ERR_USAGE,
            "join_half_turns needs an even number of views over a full turn, there are %" PRId64,
            scan->views);
    if (!text || !strcmp(text, "auto")) {
        TRY(center_views_of(s, &views));
        TRY(center_overlap(&views, &p->overlap, &p->end, &score));
    } else {
        TRY(setting_bounded(s, "overlap", 1, (double)scan->channels, &p->overlap));
        TRY(setting_word(s, "end", ends, 2, &end));
        p->end = end ? -1 : 1;
    }
    set_shape(s, scan->views / 2, (int64_t)floor(2 * (double)scan->channels - p->overlap + 0.5));
    return ERR_OK;
}

enum err step_wavelet(struct run_state *s)
{
    struct prepare_step *p = &s->prepare;
    const struct scan *scan = &s->model.scan;
    int64_t order = 5, levels = 5;
    TRY(begin_prepare(s, PREPARE_WAVELET));
    p->damping = 2;
    TRY(setting_whole(s, "order", 1, PREPARE_ORDERS, &order));
    TRY(setting_whole(s, "levels", 1, PREPARE_LEVELS, &levels));
    TRY(setting_bounded(s, "damping", 0.1, 10, &p->damping));
    p->margin = prepare_wavelet_margin(scan->views, scan->channels);
    p->order = (int)order;
    p->levels = (int)levels < prepare_levels_most(p) ? (int)levels : prepare_levels_most(p);
    FAIL_IF(p->levels < 1, ERR_USAGE,
            "remove_stripes_wavelet needs 32 views and channels, there are %" PRId64
            " and %" PRId64,
            scan->views, scan->channels);
    return ERR_OK;
}

enum err step_sorting(struct run_state *s)
{
    int64_t size = STRIPES_MEDIAN;
    TRY(begin_prepare(s, PREPARE_WAVELET)); /* of its kind; run_sorting reads the size alone */
    TRY(setting_whole(s, "size", 1, 999, &size));
    FAIL_IF(size % 2 == 0, ERR_USAGE, "`set=size=%" PRId64 "`: must be odd", size);
    s->prepare.size = (int)size;
    return ERR_OK;
}

enum err run_sorting(struct run_state *s)
{
    return remove_stripes(s->be, &s->model, s->prepare.size, &s->in.buffer, &s->out.buffer);
}

/* Takes lengths in mm, energy in keV. */
enum err step_phase(struct run_state *s)
{
    double distance = 10, energy = 20, pixel = 0.001, delta_beta = 100;
    TRY(begin_prepare(s, PREPARE_PHASE));
    TRY(setting_bounded(s, "distance", 0, 1e6, &distance));
    TRY(setting_bounded(s, "energy", 0.01, 1e5, &energy));
    TRY(setting_bounded(s, "pixel", 1e-6, 100, &pixel));
    TRY(setting_bounded(s, "delta_beta", 0, 1e7, &delta_beta));
    s->prepare.ratio = prepare_phase_ratio(distance, energy, pixel, delta_beta);
    return ERR_OK;
}

enum err step_center(struct run_state *s)
{
    struct center_views views;
    TRY(begin_prepare(s, PREPARE_SYMMETRY));
    TRY(center_views_of(s, &views));
    const int64_t one[3] = {1, 1, 1};
    memcpy(s->prepare.out, one, sizeof one);
    memcpy(s->step.out, one, sizeof one);
    return ERR_OK;
}
