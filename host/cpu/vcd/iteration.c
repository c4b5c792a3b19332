/* An iteration of VCD over all subsets of a partition. <w e, A delta> = <A' w e, delta> comes from
 * the subset's back projection, so e is read once for each subset, by the pass that takes the last
 * move out of it. */
#include <float.h>
#include <math.h>

#include "host/cpu/common/projection.h"
#include "host/cpu/vcd/iteration.h"
#include "host/cpu/vcd/vcd.h"
#include "base/mark/mark.h"

/* Returns 1 where no window of rows or slices cuts an overlap: else A' of the contract is not the
 * adjoint of A. */
static int cone_is_adjoint(const struct projector *p)
{
    struct volume unmasked = p->volume;
    double least, most;
    unmasked.ror = ROR_NONE;
    for (int64_t i = 0; i < p->scan.views; i++) {
        const struct view_geometry *g = &p->views[i];
        if (g->x != 0 || g->y != 0 || g->upright != 1 || g->spread != 0)
            return 0;
    }
    rows_per_slice(&p->scan, &unmasked, &least, &most);
    return most <= 2.0 * p->windows.back && 2.0 * p->windows.forward * least >= 1;
}

int cpu_vcd_iteration_fits(const struct backend *be, const struct projector *p,
                           const struct vcd_iteration *s)
{
    (void)be;
    return p->scan.beam == BEAM_CONE ? cone_is_adjoint(p) : strips_fit(p, s);
}

/* The step that minimises the surrogate cost along delta, as in host/recon/mbir.c. */
static double iteration_step_length(const struct regularisation *r, double linear, double quadratic,
                                    const struct vcd_sums *prior)
{
    const double eps = (double)FLT_EPSILON, inverse = 1 / (r->sigma_y * r->sigma_y);
    const double alpha =
        (inverse * linear - prior->linear) / (inverse * quadratic + prior->quadratic + eps);
    return fmin(fmax(alpha, eps), r->max_overrelaxation);
}

static struct buffer iteration_packed(const struct iteration *it, const struct buffer *whole)
{
    struct buffer part = *whole;
    part.owned = 0;
    part.bytes = (size_t)(it->s->length * it->p->volume.slices) * sizeof(float);
    return part;
}

/* `last` is the move that is still in e; on return this subset's. In the middle of a pass that was
 * stopped x keeps its whole steps; e is of no use any more. */
static enum err take_subset(struct iteration *it, const int32_t *indices, struct vcd_move *last,
                            struct vcd_totals *totals)
{
    const struct vcd_iteration *s = it->s;
    struct backend *be = it->be;
    const struct regularisation *r = s->prior->regularisation;
    const struct pixel_set pixels = {indices, s->length, 1};
    struct buffer g = iteration_packed(it, s->gP), h = iteration_packed(it, s->hP);
    struct buffer *delta = s->dP[it->odd];
    struct buffer d = iteration_packed(it, delta);
    struct vcd_sums prior;
    double linear, quadratic, moved;

    mark_push("prior", 0);
    enum err e = cpu_prior_terms(be, s->volume, s->prior, &pixels, s->x, &g, &h);
    mark_pop();
    TRY(e);
    mark_push("sinogram update and back projection", 0);
    e = it->passes->update_back(it, last->delta ? last : NULL, &pixels, &d);
    mark_pop();
    TRY(e);
    if (iteration_stopped(it))
        return ERR_OK;
    mark_push("direction", 0);
    e = cpu_vcd_direction_dot(be, s->volume, &pixels, r->sigma_y, s->damping, s->hessian, &g, &h,
                              &d, &prior, &linear);
    mark_pop();
    TRY(e);
    mark_push("forward projection and sums", 0);
    e = it->passes->norm(it, &pixels, &d, &quadratic);
    mark_pop();
    TRY(e);
    if (iteration_stopped(it))
        return ERR_OK;
    const double alpha = iteration_step_length(r, linear, quadratic, &prior);
    if (r->positivity)
        TRY(cpu_clip_positive(be, s->volume, &pixels, s->x, alpha, &d));
    mark_push("recon update", 0);
    e = cpu_add_cylinders(be, s->volume, &pixels, alpha, &d, s->x, &moved);
    mark_pop();
    TRY(e);
    *last = (struct vcd_move){pixels, delta, alpha};
    it->odd = !it->odd;
    totals->moved += moved;
    totals->alpha += alpha;
    return ERR_OK;
}

enum err cpu_vcd_iteration(struct backend *be, struct projector *p, const struct vcd_iteration *s,
                           struct vcd_totals *totals)
{
    struct iteration whole = {be, p, s, &whole_passes, 0}, *it = &whole;
    struct vcd_move last = {0};
    enum err e = ERR_OK;
    if (strips_fit(p, s))
        TRY(strips_open(&whole, &it));
    else
        TRY(orbit_passes_open(&whole, &it));
    for (int64_t i = 0; !e && i < s->subsets && !iteration_stopped(it); i++)
        e = take_subset(it, s->indices + s->order[i] * s->length, &last, totals);
    if (!e && last.delta && !iteration_stopped(it))
        e = it->passes->update_back(it, &last, NULL, NULL);
    if (it->passes->close)
        it->passes->close(it);
    return e;
}
