/* Vectorised coordinate descent: subsets of pixels in random order, one line-searched step each,
 * every voxel of a subset read before any of them moves. e = y - A x but for one pending move. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "host/recon/mbir_momentum.h"

/* The first `count` cylinders of a packed array. */
static struct buffer packed_part(const struct vcd *t, const struct buffer *whole, int64_t count)
{
    struct buffer part = *whole;
    part.owned = 0;
    part.bytes = (size_t)(count * t->m->volume.slices) * sizeof(float);
    return part;
}

/* The step that minimises the surrogate cost along delta, within [eps, max_overrelaxation]. */
static double mbir_step_length(const struct vcd *t, const struct vcd_sums *data,
                               const struct vcd_sums *prior)
{
    const double eps = (double)FLT_EPSILON, inverse = 1 / (t->r.sigma_y * t->r.sigma_y);
    double alpha = (inverse * data->linear - prior->linear) /
                   (inverse * data->quadratic + prior->quadratic + eps);
    return fmin(fmax(alpha, eps), t->r.max_overrelaxation);
}

/* The last move is taken out of e in the same pass that back projects for this one. */
static enum err mbir_update_subset(struct vcd *t, const struct pixel_set *pixels, struct buffer *x,
                                   struct vcd_totals *totals)
{
    struct backend *be = t->be;
    const struct backend_ops *ops = be->ops;
    const struct volume *v = &t->m->volume;
    const struct prior prior = {&t->r, t->target};
    struct buffer g = packed_part(t, &t->gradient, pixels->count);
    struct buffer h = packed_part(t, &t->curvature, pixels->count);
    struct buffer *delta = &t->step[t->moves % 2];
    struct vcd_sums priors, data;
    double moved;

    *delta = packed_part(t, &t->delta[t->moves % 2], pixels->count);
    PHASE("prior", ops->prior_terms(be, v, &prior, pixels, x, &g, &h));
    PHASE("sinogram update and back projection",
          vcd_update_back(t, t->pending ? &t->move : NULL, pixels, delta));
    if (vcd_stopped(t)) /* in the middle of a pass: x keeps its whole steps */
        return ERR_OK;
    PHASE("direction", ops->vcd_direction(be, v, pixels, t->r.sigma_y, t->damping, &t->hessian, &g,
                                          &h, delta, &priors));
    PHASE("forward projection and sums", vcd_forward_dots(t, pixels, delta, &data));
    if (vcd_stopped(t))
        return ERR_OK;
    const double alpha = mbir_step_length(t, &data, &priors);
    if (t->r.positivity)
        PHASE("positivity", ops->clip_positive(be, v, pixels, x, alpha, delta));
    PHASE("recon update", ops->add_cylinders(be, v, pixels, alpha, delta, x, &moved));
    t->move = (struct vcd_move){*pixels, delta, alpha};
    t->pending = 1;
    t->moves++;
    totals->moved += moved;
    totals->alpha += alpha;
    return ERR_OK;
}

static void mbir_record(const struct vcd *t, const struct vcd_outcome *all, int64_t subsets,
                        struct mbir_report *report)
{
    const double samples = (double)vcd_samples(t);
    const int64_t i = report->iterations++;
    report->fm_rmse[i] = sqrt(all->residual / (t->mean_weight * samples)) / t->r.sigma_y;
    report->change_percent[i] = 100 * all->steps.moved / all->size;
    report->alpha[i] = all->steps.alpha / (double)subsets;
    report->subsets[i] = subsets;
}

/* Back ends that take steps by themselves get the whole iteration. */
enum err vcd_visit_subsets(struct vcd *t, const struct partition *part, const int32_t *order,
                           struct buffer *x, struct vcd_totals *totals)
{
    const struct prior prior = {&t->r, t->target};
    const struct vcd_iteration s = {.volume = &t->m->volume,
                                    .prior = &prior,
                                    .indices = part->indices,
                                    .order = order,
                                    .length = part->length,
                                    .subsets = (int)part->subsets,
                                    .damping = t->damping,
                                    .hessian = &t->hessian,
                                    .weights = vcd_weights(t),
                                    .x = x,
                                    .error = &t->error,
                                    .gP = &t->gradient,
                                    .hP = &t->curvature,
                                    .dP = {&t->delta[0], &t->delta[1]},
                                    .stop = t->options->stop};
    const struct backend_ops *ops = t->be->ops;
    if (!t->passes && ops->vcd_iteration &&
        (!ops->vcd_iteration_fits || ops->vcd_iteration_fits(t->be, t->projector, &s))) {
        PHASE("sweep", ops->vcd_iteration(t->be, t->projector, &s, totals));
        return ERR_OK;
    }
    for (int64_t i = 0; i < part->subsets && !vcd_stopped(t); i++) {
        const struct pixel_set pixels = {part->indices + order[i] * part->length, part->length, 1};
        TRY(mbir_update_subset(t, &pixels, x, totals));
    }
    return ERR_OK;
}

struct whole {
    struct vcd *t;
    struct buffer *x;
    struct momentum momentum;
};

static enum err iterate_whole(void *context, const struct partition *part, const int32_t *order,
                              struct vcd_outcome *out)
{
    struct whole *w = context;
    struct vcd *t = w->t;
    const struct backend_ops *ops = t->be->ops;
    struct vcd_sums residual;
    if (t->options->fast)
        PHASE("momentum", momentum_apply(&w->momentum, t, w->x));
    TRY(vcd_visit_subsets(t, part, order, w->x, &out->steps));
    if (vcd_stopped(t))
        return ERR_OK;
    momentum_note(&w->momentum, out->steps.moved);
    PHASE("sinogram update", vcd_take_move(t));
    mark_push("stats", 0);
    enum err e = ops->weighted_dots(t->be, vcd_weights(t), &t->error, &t->error, &residual);
    if (!e)
        e = ops->sum_abs(t->be, w->x, &out->size);
    mark_pop();
    out->residual = residual.linear;
    return e;
}

static const struct partition *next_partition(struct vcd *t, int64_t iteration, int32_t drawn[128],
                                              const int32_t **order)
{
    const struct mbir_subsets *given = t->options->subsets;
    const struct partition *part;
    if (given) {
        part = &given->partitions[given->sequence[iteration]];
        *order = given->orders + t->visited;
        t->visited += part->subsets;
        return part;
    }
    part = schedule_at(&t->schedule, t->options->first_iteration + iteration);
    for (int32_t s = 0; s < part->subsets; s++)
        drawn[s] = s;
    rng_shuffle(&t->schedule.rng, drawn, part->subsets);
    *order = drawn;
    return part;
}

static enum err next_iteration(struct vcd *t, vcd_iterate *iterate, void *context,
                               struct mbir_report *report)
{
    struct vcd_outcome all = {0};
    int32_t drawn[128]; /* the finest partition of the schedule has 128 subsets */
    const int32_t *order;
    const struct partition *part = next_partition(t, report->iterations, drawn, &order);
    TRY(iterate(context, part, order, &all));
    FAIL_IF(vcd_stopped(t), ERR_INTERRUPTED, "interrupted in iteration %lld of %lld",
            (long long)report->iterations + 1, (long long)t->options->max_iterations);
    FAIL_IF(!isfinite(all.residual) || !isfinite(all.size), ERR_INPUT,
            "iteration %lld left the range of float32 (sigma_y %g, sigma_x %g, sigma_prox %g): "
            "bring sinogram, weights, initial image and these numbers nearer to each other",
            (long long)report->iterations + 1, t->r.sigma_y, t->r.sigma_x, t->r.sigma_prox);
    mbir_record(t, &all, part->subsets, report);
    return ERR_OK;
}

enum err vcd_iterations(struct vcd *t, vcd_iterate *iterate, void *context,
                        struct mbir_report *report)
{
    const struct mbir_options *o = t->options;
    report->sigma_y = t->r.sigma_y;
    report->sigma_x = t->r.sigma_x;
    report->sigma_prox = t->r.sigma_prox;
    while (report->iterations < o->max_iterations && !report->stopped_by_threshold) {
        mark_push("iteration", (uint64_t)report->iterations + 1);
        enum err e = next_iteration(t, iterate, context, report);
        mark_pop();
        TRY(e);
        report->stopped_by_threshold =
            report->change_percent[report->iterations - 1] < o->stop_threshold_percent;
        if (o->on_iteration)
            o->on_iteration(o->context, report->iterations, o->max_iterations);
    }
    return ERR_OK;
}

static enum err mbir_run(struct vcd *t, const struct buffer *y, struct buffer *x,
                         struct mbir_report *report)
{
    struct whole whole = {.t = t, .x = x};
    TRY(vcd_create(t, y));
    TRY(vcd_start(t, y, x, &report->initial_scale));
    const enum err e = vcd_iterations(t, iterate_whole, &whole, report);
    const enum err ended = momentum_end(&whole.momentum, t, x);
    return e ? e : ended;
}

enum err mbir_whole(struct backend *be, const struct ct_model *m, const struct buffer *y,
                    const struct mbir_options *o, struct buffer *x, struct mbir_report *report)
{
    struct vcd t = {.be = be, .m = m, .options = o, .target = o->prox_target};
    enum err e = mbir_run(&t, y, x, report);
    vcd_free(&t);
    return e;
}
