/* Defaults of a reconstruction problem, automatic volume sizes, and every check with the sentence
 * of its error. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "host/geom/ct_model.h"
#include "host/geom/moves.h"
#include "host/geom/windows.h"

void ct_model_init(struct ct_model *m)
{
    *m = (struct ct_model){
        .scan = {.beam = BEAM_PARALLEL, .delta_row = 1, .delta_channel = 1},
        .volume = {.row_aspect = 1, .slice_aspect = 1, .slice_offset = NAN, .ror = ROR_ELLIPSE},
        .regularisation = {.automatic = 1,
                           .sharpness = 1,
                           .snr_db = 30,
                           .sigma_y = 1,
                           .sigma_x = 1,
                           .sigma_prox = 1,
                           .p = 2,
                           .q = 1.2,
                           .T = 1,
                           .neighbour_weights = {1, 1, 1},
                           .max_overrelaxation = 1.5},
    };
}

void ct_model_free(struct ct_model *m)
{
    free((void *)m->scan.angles);
    free((void *)m->scan.z_shifts);
    free((void *)m->scan.moves);
    m->scan.angles = m->scan.z_shifts = NULL;
    m->scan.moves = NULL;
}

float *angles_even(double start, double range, int64_t views)
{
    float *angles = malloc((size_t)(views > 0 ? views : 1) * sizeof *angles);
    double step = ((start + range) - start) / (double)views;
    for (int64_t v = 0; angles && v < views; v++)
        angles[v] = (float)((double)v * step + start);
    return angles;
}

/* Numbers beyond these give footprints and indices that no detector has; within them every product
 * below stays far from overflow in float32. */
#define LENGTH_MIN 1e-9
#define LENGTH_MAX 1e12

static enum err model_check_length(const char *name, double x)
{
    FAIL_IF(!(x >= LENGTH_MIN && x <= LENGTH_MAX), ERR_INPUT,
            "%s is %g: it must be positive, from %g to %g", name, x, LENGTH_MIN, LENGTH_MAX);
    return ERR_OK;
}

static enum err check_offset(const char *name, double x)
{
    FAIL_IF(!(fabs(x) <= LENGTH_MAX), ERR_INPUT, "%s is %g: it must be a number of at most %g",
            name, x, LENGTH_MAX);
    return ERR_OK;
}

static enum err model_check_finite(const char *name, const float *values, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        FAIL_IF(!isfinite(values[i]), ERR_INPUT, "%s[%" PRId64 "] is not a finite number", name, i);
    return ERR_OK;
}

/* Three sizes of an array of float32: each from 1 to 2^31 - 1, the whole below 2^62 bytes. */
static enum err model_check_shape(const char *name, int64_t a, int64_t b, int64_t c)
{
    const int64_t shape[3] = {a, b, c};
    for (int i = 0; i < 3; i++)
        FAIL_IF(shape[i] < 1 || shape[i] > INT32_MAX, ERR_INPUT,
                "%s is (%" PRId64 ", %" PRId64 ", %" PRId64 "): each size must be from 1 to %d",
                name, a, b, c, INT32_MAX);
    size_t bytes;
    return mem_size(name, a, b, c, sizeof(float), &bytes);
}

static enum err check_distances(const struct scan *s)
{
    double far = s->source_detector, near = s->source_iso;
    FAIL_IF(
        !(near > 0), ERR_INPUT,
        "source_iso_dist is %g: cone beams need a positive distance from source to rotation axis",
        near);
    FAIL_IF(
        !(far > 0), ERR_INPUT,
        "source_detector_dist is %g: cone beams need a positive distance from source to detector",
        far);
    FAIL_IF(far < near, ERR_INPUT,
            "source_detector_dist (%g) is smaller than source_iso_dist (%g): the detector must lie "
            "behind the rotation axis",
            far, near);
    if (isfinite(far))
        TRY(model_check_length("source_detector_dist", far));
    if (isfinite(near))
        TRY(model_check_length("source_iso_dist", near));
    if ((double)s->rows * s->delta_row / 2 + fabs(s->row_offset) > far)
        log_warn("the cone angle is more than 45 degrees: expect artefacts");
    return ERR_OK;
}

static enum err check_scan(const struct scan *s)
{
    TRY(model_check_shape("sinogram_shape", s->views, s->rows, s->channels));
    FAIL_IF(!s->angles, ERR_INPUT, "angles are missing: give one per view, in radians");
    TRY(model_check_finite("angles", s->angles, s->views));
    TRY(model_check_length("delta_det_row", s->delta_row));
    TRY(model_check_length("delta_det_channel", s->delta_channel));
    TRY(check_offset("det_row_offset", s->row_offset));
    TRY(check_offset("det_channel_offset", s->channel_offset));
    if (s->z_shifts && !s->moves)
        TRY(model_check_finite("helical_z_shifts", s->z_shifts, s->views));
    if (s->beam == BEAM_CONE)
        TRY(check_distances(s));
    return s->moves ? moves_check(s) : ERR_OK;
}

static enum err check_positive(const char *name, double x)
{
    FAIL_IF(!(x > 0 && x <= LENGTH_MAX), ERR_INPUT, "%s is %g: it must be positive", name, x);
    return ERR_OK;
}

static enum err check_regularisation(const struct regularisation *r)
{
    const struct {
        const char *name;
        double value;
    } positive[] = {{"p", r->p},
                    {"q", r->q},
                    {"T", r->T},
                    {"sigma_y", r->sigma_y},
                    {"sigma_x", r->sigma_x},
                    {"sigma_prox", r->sigma_prox},
                    {"max_overrelaxation", r->max_overrelaxation}};
    for (size_t i = 0; i < sizeof positive / sizeof *positive; i++)
        TRY(check_positive(positive[i].name, positive[i].value));
    FAIL_IF(!(fabs(r->sharpness) <= 100), ERR_INPUT,
            "sharpness is %g: it must lie within -100 to 100", r->sharpness);
    FAIL_IF(!(fabs(r->snr_db) <= 500), ERR_INPUT, "snr_db is %g: it must lie within -500 to 500",
            r->snr_db);
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        double w = r->neighbour_weights[i];
        FAIL_IF(!(w >= 0 && w <= LENGTH_MAX), ERR_INPUT,
                "qggmrf_nbr_wts[%d] is %g: it must be a number >= 0", i, w);
        sum += w;
    }
    FAIL_IF(!(sum > 0), ERR_INPUT, "qggmrf_nbr_wts are all zero: at least one must be positive");
    return ERR_OK;
}

/* The smallest and the largest helical shift (0, 0 without). */
static void z_range(const struct scan *s, float *low, float *high)
{
    *low = *high = s->z_shifts ? s->z_shifts[0] : 0;
    for (int64_t v = 1; s->z_shifts && v < s->views; v++) {
        *low = fminf(*low, s->z_shifts[v]);
        *high = fmaxf(*high, s->z_shifts[v]);
    }
}

/* MBIRJAX evaluates the argument in float64 and rounds it in float32 (JAX): 27.0000001 has the
 * ceiling 27. Clipped so that the conversion is defined; model_check_shape refuses what was clipped. */
static int64_t model_clipped_size(float rounded)
{
    return rounded >= 1 && rounded < 0x1p40f ? (int64_t)rounded : rounded >= 1 ? INT64_MAX : 0;
}

static void automatic_shape(const struct scan *s, struct volume *v)
{
    double M = scan_magnification(s), dc = s->delta_channel, dy = volume_delta_row(v);
    double channels = (double)s->channels;
    int cone = s->beam == BEAM_CONE;
    if (!v->rows)
        v->rows = model_clipped_size(cone ? rintf((float)(channels * (dc / dy / M)))
                                          : ceilf((float)(channels * dc / (dy * M))));
    if (!v->cols)
        v->cols = model_clipped_size(cone ? rintf((float)(channels * (dc / v->delta / M)))
                                          : ceilf((float)(channels * dc / (v->delta * M))));
    if (v->slices)
        return;
    v->slices = s->rows;
    if (cone) {
        float low, high;
        z_range(s, &low, &high);
        float height = (float)((double)s->rows * (s->delta_row / M)) + (high - low);
        v->slices = model_clipped_size(fmaxf(1, ceilf(height / (float)volume_delta_slice(v))));
    }
}

static enum err check_parallel(const struct scan *s, const struct volume *v, int automatic_slices)
{
    FAIL_IF(v->slice_aspect != 1, ERR_INPUT, "voxel_slice_aspect is %g: parallel beams need 1",
            v->slice_aspect);
    FAIL_IF(v->slice_offset != 0, ERR_INPUT, "recon_slice_offset is %g: only cone beams have it",
            v->slice_offset);
    FAIL_IF(s->z_shifts, ERR_INPUT, "helical_z_shifts: only cone beams have them");
    FAIL_IF(s->curved, ERR_INPUT, "use_curved_detector: only cone beams have it");
    FAIL_IF(v->slices != s->rows, ERR_INPUT,
            "recon_shape has %" PRId64 " slices and the detector %" PRId64
            " rows: for parallel beams they must be equal",
            v->slices, s->rows);
    double slices = (double)s->rows * (s->delta_row / v->delta);
    FAIL_IF(automatic_slices && (double)rintf((float)slices) != (double)s->rows, ERR_INPUT,
            "delta_det_row %g and delta_voxel %g make %.0f slices of %" PRId64
            " detector rows: parallel beams need one each; give recon_shape, or equal pitches",
            s->delta_row, v->delta, slices, s->rows);
    return ERR_OK;
}

/* Nearest to the source that any pixel comes: over the corners for each view's angle, and over the
 * middles of the sides at any angle (the footprint bounds divide by d minus that). */
static double reach_to_source(const struct scan *s, const struct volume *v)
{
    double half_x = v->delta * (double)v->cols / 2,
           half_y = volume_delta_row(v) * (double)v->rows / 2;
    double reach = fmax(half_x, half_y);
    if (s->moves) { /* a translation scan: no column comes nearer than its row */
        double least, most;
        moves_depth(s, &least, &most);
        return half_y + fmax(fabs(least), fabs(most));
    }
    for (int64_t k = 0; k < s->views; k++) {
        double sn = fabs(sin((double)s->angles[k])), c = fabs(cos((double)s->angles[k]));
        double y = sn * (half_x - v->delta / 2) + c * (half_y - volume_delta_row(v) / 2);
        reach = fmax(reach, y);
    }
    return reach;
}

/* A voxel this many detector cells wide, or this small a part of one, is a mistake of units, and
 * would make footprints of as many taps. */
#define PITCH_RATIO_MAX 1e5

/* Share of source_iso that the volume may reach: beyond, the magnification bound D/(d - reach) runs
 * away. */
#define CLEAR_OF_SOURCE 0.999

static enum err check_volume(const struct scan *s, const struct volume *v)
{
    double M = scan_magnification(s);
    const double pitches[3] = {v->delta, volume_delta_row(v), volume_delta_slice(v)};
    const char *const names[3] = {"delta_voxel", "voxel_row_aspect", "voxel_slice_aspect"};
    for (int i = 0; i < 3; i++) {
        TRY(model_check_length(names[i], pitches[i]));
        double cells = pitches[i] * M / (i < 2 ? s->delta_channel : s->delta_row);
        FAIL_IF(!(cells < PITCH_RATIO_MAX && cells > 1 / PITCH_RATIO_MAX), ERR_INPUT,
                "%s makes a voxel %g times as wide as a detector cell: check the units", names[i],
                cells);
    }
    TRY(model_check_shape("recon_shape", v->rows, v->cols, v->slices));
    FAIL_IF(v->rows > INT32_MAX / v->cols, ERR_INPUT,
            "recon_shape: %" PRId64 " x %" PRId64 " pixels are more than 2^31", v->rows, v->cols);
    TRY(check_offset("recon_slice_offset", v->slice_offset));
    if (s->beam == BEAM_CONE && isfinite(s->source_detector)) {
        double reach = reach_to_source(s, v);
        FAIL_IF(!(reach < CLEAR_OF_SOURCE * s->source_iso), ERR_INPUT,
                "source_iso_dist is %g and the volume reaches %g from the axis: it must stay clear "
                "of the "
                "source; give a smaller recon_shape or delta_voxel, or check the distances",
                s->source_iso, reach);
    }
    return ERR_OK;
}

/* Geometries in which the operators, MBIRJAX's to the letter, drop part of the signal. */
static void warn_clipping(const struct scan *s, const struct volume *v)
{
    double least, most;
    rows_per_slice(s, v, &least, &most);
    int forward = tap_windows(s, v).forward;
    if (s->beam == BEAM_CONE && 1 / least > 2 * forward + 1e-6)
        log_warn(
            "a detector row spans up to %.1f slices and forward projection looks at %d, as MBIRJAX "
            "does: signal is lost; a voxel_slice_aspect of at least %.2g avoids it",
            1 / least, 2 * forward + 1, v->slice_aspect / least / (2 * forward));
}

static enum err automatic_moves(const struct scan *s, struct volume *v)
{
    TRY(check_positive("voxel_slice_aspect", v->slice_aspect));
    FAIL_IF(!(v->row_aspect >= 0), ERR_INPUT, "voxel_row_aspect is %g: it must be positive",
            v->row_aspect);
    moves_automatic(s, v);
    FAIL_IF(!v->rows || !v->cols || !v->slices, ERR_INPUT,
            "recon_shape would be (%" PRId64 ", %" PRId64 ", %" PRId64
            "), from how far the views reach: each size must be positive; give recon_shape",
            v->rows, v->cols, v->slices);
    return ERR_OK;
}

enum err ct_model_resolve(struct ct_model *m)
{
    const struct scan *s = &m->scan;
    struct volume *v = &m->volume;
    TRY(check_scan(s));
    TRY(check_regularisation(&m->regularisation));
    FAIL_IF(v->rows < 0 || v->cols < 0 || v->slices < 0, ERR_INPUT,
            "recon_shape is (%" PRId64 ", %" PRId64 ", %" PRId64 "): sizes must be positive",
            v->rows, v->cols, v->slices);
    if (s->moves)
        TRY(automatic_moves(s, v));
    if (v->delta == 0)
        v->delta = s->delta_channel / scan_magnification(s);
    TRY(model_check_length("delta_voxel", v->delta));
    TRY(check_positive("voxel_row_aspect", v->row_aspect));
    TRY(check_positive("voxel_slice_aspect", v->slice_aspect));
    if (isnan(v->slice_offset)) {
        float low, high;
        z_range(s, &low, &high);
        v->slice_offset = scan_is_cone(s) ? (double)(0.5f * (low + high)) : 0;
    }
    int automatic_slices = v->slices == 0;
    automatic_shape(s, v);
    if (s->beam == BEAM_PARALLEL)
        TRY(check_parallel(s, v, automatic_slices));
    TRY(check_volume(s, v));
    warn_clipping(s, v);
    return ERR_OK;
}

/* The pixels inside the elliptical region of reconstruction, decided in float64 as MBIRJAX does. */

/* ((k - k0) / k0)^2 for k in 0..n). Kept in memory so that the sum below is two rounded squares
 * added, as in NumPy, and never one fused multiply-add: pixels exactly on the ellipse depend on it.
 */
static double *squared_offsets(int64_t n)
{
    double *out = malloc((size_t)n * sizeof *out);
    double middle = (double)(n - 1) / 2;
    for (int64_t k = 0; out && k < n; k++) {
        double t = ((double)k - middle) / middle;
        out[k] = t * t;
    }
    return out;
}

static int64_t mask_collect(const struct volume *v, const double *row, const double *col,
                            int32_t *out)
{
    int64_t n = 0;
    for (int64_t i = 0; i < v->rows; i++)
        for (int64_t j = 0; j < v->cols; j++) {
            if (row && !(col[j] + row[i] <= 1.0)) /* a NaN (size 1) keeps nothing */
                continue;
            if (out)
                out[n] = (int32_t)(i * v->cols + j);
            n++;
        }
    return n;
}

enum err volume_pixels_inside(const struct volume *v, int32_t **pixels, int64_t *count)
{
    *pixels = NULL;
    *count = 0;
    FAIL_IF(v->rows <= 0 || v->cols <= 0 || v->rows > INT32_MAX / v->cols, ERR_INPUT,
            "recon_shape: %" PRId64 " x %" PRId64 " pixels do not fit a 32-bit index", v->rows,
            v->cols);
    double *row = NULL, *col = NULL;
    enum err e = ERR_OK;
    if (v->ror == ROR_ELLIPSE) {
        row = squared_offsets(v->rows);
        col = squared_offsets(v->cols);
        if (!row || !col) {
            e = FAIL(ERR_MEMORY, "no memory left for the mask of the region of reconstruction");
            goto out;
        }
    }
    int64_t n = mask_collect(v, row, col, NULL);
    *pixels = malloc((size_t)(n ? n : 1) * sizeof **pixels);
    if (!*pixels) {
        e = FAIL(ERR_MEMORY, "no memory left for the list of %" PRId64 " pixels", n);
        goto out;
    }
    *count = mask_collect(v, row, col, *pixels);
out:
    free(row);
    free(col);
    return e;
}
