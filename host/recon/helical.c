/* Two back projections of ones: of the scan, and of a full turn that sees everything at one height.
 * Their ratio is the number of views that a voxel is seen in, footprints and distances included. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "host/recon/helical.h"
#include "host/recon/recon.h"
#include "host/recon/weights.h"

#define TURN 180 /* views of the full turn */

static enum err helical_back_project(struct backend *be, const struct ct_model *m, int voxel_driven,
                                     const struct buffer *y, struct buffer *x)
{
    return (voxel_driven ? back_project_voxel : back_project)(be, m, y, x);
}

/* Back-projects ones, onto the host. `y` becomes ones. */
static enum err of_ones(struct backend *be, const struct ct_model *m, int voxel_driven,
                        struct buffer *y, float **out)
{
    const size_t bytes = (size_t)volume_voxels(&m->volume) * sizeof(float);
    struct buffer x = {0};
    void *host = NULL;
    enum err e = ERR_OK;
    TRY_OUT(gen_weights(be, WEIGHTS_ONE, y, y));
    TRY_OUT(be->ops->alloc(be, "views that see a voxel", bytes, &x));
    TRY_OUT(helical_back_project(be, m, voxel_driven, y, &x));
    TRY_OUT(mem_alloc("views that see a voxel", bytes, &host));
    TRY_OUT(be->ops->download(be, &x, host, bytes));
    *out = host;
    host = NULL;
out:
    mem_free(host);
    be->ops->release(be, &x);
    return e;
}

/* A full turn around one slice at the height of the source, which its few rows hold whole. */
static enum err one_turn(struct backend *be, const struct ct_model *m, int voxel_driven,
                         float **out)
{
    float angles[TURN];
    struct ct_model turn = *m;
    const struct volume *v = &m->volume;
    const double far =
        0.5 * fmax((double)v->cols * v->delta, (double)v->rows * volume_delta_row(v));
    const double near = fmax(m->scan.source_iso - far, 0.05 * m->scan.source_iso);
    const double widest = m->scan.source_detector / near;
    struct buffer y = {0};
    for (int i = 0; i < TURN; i++)
        angles[i] = (float)(2 * M_PI * i / TURN);
    turn.scan.angles = angles;
    turn.scan.z_shifts = NULL;
    turn.scan.views = TURN;
    turn.scan.rows = 2 * (int64_t)ceil(widest * volume_delta_slice(v) / m->scan.delta_row) + 5;
    turn.scan.row_offset = 0;
    turn.volume.slices = 1;
    turn.volume.slice_offset = 0;
    TRY(be->ops->alloc(be, "one turn", (size_t)scan_samples(&turn.scan) * sizeof(float), &y));
    const enum err e = of_ones(be, &turn, voxel_driven, &y, out);
    be->ops->release(be, &y);
    return e;
}

static enum err helical_check(const struct scan *s)
{
    FAIL_IF(!scan_is_cone(s) || !s->z_shifts || isinf(s->source_detector), ERR_USAGE,
            "helical weights are for cone beams whose views move along the axis: "
            "helical_z_shifts of the geometry file says how far");
    return ERR_OK;
}

enum err helical_back(struct backend *be, const struct ct_model *m, int voxel_driven,
                      const struct buffer *y, struct buffer *scratch, struct buffer *x,
                      float **factors)
{
    float *seen = NULL, *turn = NULL;
    enum err e = ERR_OK;
    const int64_t slices = m->volume.slices;
    TRY(helical_check(&m->scan));
    TRY(direct_filter(be, m, y, scratch));
    TRY(helical_back_project(be, m, voxel_driven, scratch, x));
    TRY_OUT(one_turn(be, m, voxel_driven, &turn));
    TRY_OUT(of_ones(be, m, voxel_driven, scratch, &seen));
    const float views = (float)m->scan.views / TURN;
    for (int64_t i = 0; i < volume_voxels(&m->volume); i++)
        seen[i] = seen[i] > 0 ? views * turn[i / slices] / seen[i] : 0;
    *factors = seen;
    seen = NULL;
out:
    mem_free(seen);
    mem_free(turn);
    return e;
}
