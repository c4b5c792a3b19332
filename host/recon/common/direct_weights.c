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
