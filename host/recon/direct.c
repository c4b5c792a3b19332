#include <math.h>
#include <stdlib.h>

#include "host/geom/model.h"
#include "host/recon/slabs/large.h"
#include "host/recon/recon.h"
#include "profiler/mark/mark.h"

double direct_scale(const struct model *m)
{
    const struct scan *s = &m->scan;
    const struct volume *v = &m->volume;
    double scale = M_PI / (double)s->views / (v->delta * volume_delta_row(v));
    if (s->beam == BEAM_CONE)
        scale *= s->delta_row / (volume_delta_slice(v) * scan_magnification(s));
    return scale;
}

enum err direct_filter(struct backend *be, const struct model *m, const struct buffer *y,
                       struct buffer *out)
{
    if (is_large(be, y))
        return large_run(be, RECON_FILTER, m, y->ptr, out->ptr);
    mark_push("ramp filter", y->bytes);
    enum err e = be->ops->ramp_filter(be, &m->scan, direct_scale(m), y, out);
    mark_pop();
    return e;
}

/* Views whose detector reaches slice k when seen along the central ray: |z_k - h| <= half a
 * detector height at the axis. float32, as MBIRJAX decides it. */
static float coverage_factor(const struct model *m, int64_t k)
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
    for (int64_t i = 1; s->beam == BEAM_CONE && s->z_shifts && i < s->views; i++)
        if (s->z_shifts[i] != s->z_shifts[0])
            return 1;
    return 0;
}

enum err direct_slice_factors(const struct model *m, float **out)
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

typedef enum err back_projection(struct backend *be, const struct model *m, const struct buffer *y,
                                 struct buffer *x);

static enum err recon_with(back_projection *back, struct backend *be, const struct model *m,
                           const struct buffer *y, struct buffer *scratch, struct buffer *x)
{
    float *factors;
    TRY(direct_slice_factors(m, &factors));
    enum err e = direct_filter(be, m, y, scratch);
    if (!e) {
        mark_push("back projection", scratch->bytes);
        e = back(be, m, scratch, x);
        mark_pop();
    }
    if (!e && factors) {
        mark_push("slice weights", x->bytes);
        e = be->ops->scale_slices(be, &m->volume, factors, x);
        mark_pop();
    }
    free(factors);
    return e;
}

enum err direct_recon(struct backend *be, const struct model *m, const struct buffer *y,
                      struct buffer *scratch, struct buffer *x)
{
    if (is_large(be, y))
        return large_run(be, RECON_DIRECT, m, y->ptr, x->ptr);
    return recon_with(back_project, be, m, y, scratch, x);
}

enum err fdk_voxel_recon(struct backend *be, const struct model *m, const struct buffer *y,
                         struct buffer *scratch, struct buffer *x)
{
    return recon_with(back_project_voxel, be, m, y, scratch, x);
}
