/* Scale of the ramp filter, and how often each slice of a helical scan is seen. */
#include <math.h>
#include <stdlib.h>

#include "host/recon/common/direct_weights.h"

double direct_scale(const struct ct_model *m)
{
    const struct scan *s = &m->scan;
    const struct volume *v = &m->volume;
    double scale = M_PI / (double)s->views / (v->delta * volume_delta_row(v));
    if (s->beam == BEAM_CONE && !scan_is_multiaxis(s))
        scale *= s->delta_row / (volume_delta_slice(v) * scan_magnification(s));
    return scale;
}

/* Views whose detector reaches slice k when seen along the central ray: |z_k - h| <= half a
 * detector height at the axis. float32, as MBIRJAX decides it. */
static float coverage_factor(const struct ct_model *m, int64_t k)
{
    const struct scan *s = &m->scan;
    const struct volume *v = &m->volume;
    const float z = (float)(volume_delta_slice(v) * ((double)k - 0.5 * (double)(v->slices - 1)) +
                            v->slice_offset);
    const float half = (float)(0.5 * (double)s->rows * s->delta_row / scan_magnification(s));
    int64_t seen = 0;
    for (int64_t i = 0; i < s->views; i++)
        seen += fabsf(z - s->z_shifts[i]) <= half;
    return seen ? (float)s->views / (float)seen : 0;
}

static int is_helical(const struct scan *s)
{
    for (int64_t i = 1; scan_is_cone(s) && s->z_shifts && i < s->views; i++)
        if (s->z_shifts[i] != s->z_shifts[0])
            return 1;
    return 0;
}

enum err direct_slice_factors(const struct ct_model *m, float **out)
{
    *out = NULL;
    if (!is_helical(&m->scan))
        return ERR_OK;
    float *factor = *out = malloc((size_t)m->volume.slices * sizeof *factor);
    FAIL_IF(!factor, ERR_MEMORY, "no memory for %lld slice weights", (long long)m->volume.slices);
    for (int64_t k = 0; k < m->volume.slices; k++)
        factor[k] = coverage_factor(m, k);
    return ERR_OK;
}

/* Parker's weights (1982) over the whole overscan, Wang's (2002) over what both sides see. The ray
 * of fan angle g at view t is measured again at view t + pi - 2 g with fan angle -g. */

#define DEGREES (180 / M_PI)

static double detector_u(const struct scan *s, int64_t channel)
{
    return ((double)channel - 0.5 * (double)(s->channels - 1)) * s->delta_channel -
           s->channel_offset;
}

static double fan_angle(const struct scan *s, double u)
{
    return s->curved ? u / s->source_detector : atan(u / s->source_detector);
}

/* The step of evenly spaced views, negative where they turn back. */
static enum err view_step(const struct scan *s, double *step)
{
    FAIL_IF(s->views < 3, ERR_INPUT, "angles: %lld views are too few: at least 3 are needed",
            (long long)s->views);
    const double first = (double)s->angles[0];
    *step = ((double)s->angles[s->views - 1] - first) / (double)(s->views - 1);
    FAIL_IF(*step == 0, ERR_INPUT, "angles: all views are the same");
    for (int64_t i = 0; i < s->views; i++)
        FAIL_IF(!(fabs((double)s->angles[i] - first - (double)i * *step) < 0.05 * fabs(*step)),
                ERR_INPUT, "angles: view %lld at %.6g is off its even place %.6g", (long long)i,
                (double)s->angles[i], first + (double)i * *step);
    return ERR_OK;
}

static double parker_weight(double turned, double fan, double half)
{
    const double start = half - fan, end = half + fan;
    if (turned < 2 * start)
        return pow(sin(M_PI / 4 * turned / start), 2);
    if (turned > M_PI - 2 * fan)
        return pow(sin(M_PI / 4 * fmax(M_PI + 2 * half - turned, 0) / end), 2);
    return 1;
}

/* half: half of what the scan turns beyond half a turn. A view lasts a step: its middle counts. */
static enum err parker_factors(const struct scan *s, double step, float *factor)
{
    const double covered = fabs(step) * (double)s->views, half = 0.5 * (covered - M_PI);
    const double edge = fmax(fabs(fan_angle(s, detector_u(s, 0))),
                             fabs(fan_angle(s, detector_u(s, s->channels - 1))));
    FAIL_IF(covered > 2 * M_PI - 0.5 * fabs(step), ERR_INPUT,
            "a full turn of %.4g degrees needs no Parker weights", covered * DEGREES);
    FAIL_IF(half < edge, ERR_INPUT,
            "angles: %.4g degrees are too few for Parker weights: 180 and the fan of %.4g are "
            "needed",
            covered * DEGREES, 2 * edge * DEGREES);
    for (int64_t v = 0; v < s->views; v++)
        for (int64_t c = 0; c < s->channels; c++) {
            const double fan = fan_angle(s, detector_u(s, c)) * (step > 0 ? -1 : 1);
            const double w = parker_weight(((double)v + 0.5) * fabs(step), fan, half);
            factor[v * s->channels + c] = (float)(w * covered / M_PI);
        }
    return ERR_OK;
}

static enum err wang_factors(const struct scan *s, double step, float *factor)
{
    const double covered = fabs(step) * (double)s->views;
    const double low = detector_u(s, 0) - 0.5 * s->delta_channel;
    const double high = detector_u(s, s->channels - 1) + 0.5 * s->delta_channel;
    FAIL_IF(fabs(covered - 2 * M_PI) > 1.5 * fabs(step), ERR_INPUT,
            "angles: Wang weights need a full turn, not %.4g degrees", covered * DEGREES);
    FAIL_IF(low >= 0 || high <= 0, ERR_INPUT,
            "det_channel_offset: the axis is beside the detector, which reaches from %.4g to %.4g",
            low, high);
    const double side = high > -low ? 1 : -1, shared = fan_angle(s, fmin(high, -low));
    for (int64_t v = 0; v < s->views; v++)
        for (int64_t c = 0; c < s->channels; c++) {
            const double place = side * fan_angle(s, detector_u(s, c)) / shared;
            factor[v * s->channels + c] = (float)(1 + sin(M_PI / 2 * fmin(fmax(place, -1), 1)));
        }
    return ERR_OK;
}

enum err redundancy_factors(const struct scan *s, enum redundancy kind, float **out)
{
    double step = 0;
    *out = NULL;
    FAIL_IF(!scan_is_cone(s) || isinf(s->source_detector), ERR_USAGE,
            "Parker and Wang weights are for cone beams");
    TRY(view_step(s, &step));
    float *factor = malloc((size_t)(s->views * s->channels) * sizeof *factor);
    FAIL_IF(!factor, ERR_MEMORY, "no memory for the weights of %lld views", (long long)s->views);
    enum err e = (kind == REDUNDANCY_PARKER ? parker_factors : wang_factors)(s, step, factor);
    if (e)
        free(factor);
    else
        *out = factor;
    return e;
}

enum err redundancy_weigh(struct backend *be, const struct ct_model *m, enum redundancy kind,
                          const struct buffer *y, struct buffer *out)
{
    float *factor;
    TRY(redundancy_factors(&m->scan, kind, &factor));
    enum err e = be->ops->weigh_rays(be, &m->scan, factor, y, out);
    free(factor);
    return e;
}
