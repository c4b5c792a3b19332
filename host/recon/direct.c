/* Direct reconstruction, FBP and FDK: filter, back projection, weights of helical slices. */
#include <stdlib.h>

#include "host/backend/course.h"
#include "host/recon/common/direct_weights.h"
#include "host/recon/recon.h"
#include "host/recon/slabs/out_of_core.h"
#include "base/mark/mark.h"

enum err direct_filter(struct backend *be, const struct ct_model *m, const struct buffer *y,
                       struct buffer *out)
{
    if (is_out_of_core(be, y))
        return out_of_core_run(be, RECON_FILTER, m, y->ptr, out->ptr);
    mark_push("ramp filter", y->bytes);
    enum err e = be->ops->ramp_filter(be, &m->scan, direct_scale(m), y, out);
    mark_pop();
    return e;
}

#define FILTER_SHARE 0.1 /* of a reconstruction's time: 0.03 to 0.2 from 128^3 to 512^3 */

typedef enum err back_projection(struct backend *be, const struct ct_model *m,
                                 const struct buffer *y, struct buffer *x);

static enum err recon_with(back_projection *back, struct backend *be, const struct ct_model *m,
                           const struct buffer *y, struct buffer *scratch, struct buffer *x)
{
    const struct progress_range all = progress_whole(be);
    float *factors;
    TRY(direct_slice_factors(m, &factors));
    progress_part(be, all, 0, FILTER_SHARE);
    enum err e = direct_filter(be, m, y, scratch);
    progress_part(be, all, FILTER_SHARE, 1 - FILTER_SHARE);
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

enum err direct_recon(struct backend *be, const struct ct_model *m, const struct buffer *y,
                      struct buffer *scratch, struct buffer *x)
{
    if (is_out_of_core(be, y))
        return out_of_core_run(be, RECON_DIRECT, m, y->ptr, x->ptr);
    return recon_with(back_project, be, m, y, scratch, x);
}

enum err remove_stripes(struct backend *be, const struct ct_model *m, int64_t size,
                        const struct buffer *y, struct buffer *out)
{
    FAIL_IF(!be->ops->remove_stripes, ERR_UNSUPPORTED,
            "the %s back end has no removal of stripes: use `backend=cpu`", be->ops->name);
    return be->ops->remove_stripes(be, &m->scan, size, y, out);
}

static enum err fourier_back(struct backend *be, const struct ct_model *m, const struct buffer *y,
                             struct buffer *x)
{
    return be->ops->fourier_back(be, &m->scan, &m->volume, y, x);
}

enum err fourier_recon(struct backend *be, const struct ct_model *m, const struct buffer *y,
                       struct buffer *scratch, struct buffer *x)
{
    FAIL_IF(m->scan.beam != BEAM_PARALLEL, ERR_USAGE,
            "Fourier reconstruction is for parallel beams: use fdk");
    FAIL_IF(!be->ops->fourier_back, ERR_UNSUPPORTED,
            "the %s back end has no Fourier reconstruction: use `backend=cpu`", be->ops->name);
    return recon_with(fourier_back, be, m, y, scratch, x);
}

enum err fdk_voxel_recon(struct backend *be, const struct ct_model *m, const struct buffer *y,
                         struct buffer *scratch, struct buffer *x)
{
    return recon_with(back_project_voxel, be, m, y, scratch, x);
}
