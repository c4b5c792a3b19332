/* Runs one operation piece by piece: what is computed with each piece on the device. */
#include "host/recon/common/direct_weights.h"
#include "host/recon/slabs/slab_job.h"

static int next_piece(void *context, struct piece *p)
{
    struct slab_job *j = context;
    if (j->at >= piece_count(j))
        return 0;
    piece_at(j, j->at++, p);
    return 1;
}

static struct sinogram user_order(struct buffer *data)
{
    return (struct sinogram){data, SINO_CHANNELS_FASTEST};
}

static enum err piece_project(struct slab_job *j, const struct piece *p, struct buffer *in,
                              struct buffer *out)
{
    const struct backend_ops *ops = j->be->ops;
    struct projector *projector;
    enum err e;
    if (!p->problem.scan.rows || !p->problem.volume.slices)
        return ops->zero(j->be, out);
    if (j->op == RECON_DIRECT)
        TRY(ops->ramp_filter(j->be, &p->problem.scan, direct_scale(&j->m), in, in));
    if (j->op != RECON_FORWARD && j->pixels.indices)
        TRY(ops->zero(j->be, out));
    TRY(ops->projector_create(j->be, &p->problem.scan, &p->problem.volume, &projector));
    if (j->op == RECON_FORWARD)
        e = ops->forward(j->be, projector, &j->pixels, in, user_order(out));
    else if (j->op == RECON_HESSIAN)
        e = ops->back(j->be, projector, &j->pixels, user_order(NULL), user_order(in), 2, out);
    else
        e = ops->back(j->be, projector, &j->pixels, user_order(in), user_order(NULL), 1, out);
    ops->projector_free(j->be, projector);
    return e;
}

static enum err compute_piece(void *context, const struct piece *p, struct buffer *in,
                              struct buffer *out)
{
    struct slab_job *j = context;
    const struct volume *v = &p->problem.volume;
    if (j->op == RECON_FILTER)
        return j->be->ops->ramp_filter(j->be, &p->problem.scan, direct_scale(&j->m), in, out);
    if (j->op == RECON_MEDIAN)
        return j->be->ops->median3(j->be, v->rows, v->cols, v->slices, in, out);
    return piece_project(j, p, in, out);
}

static enum err weigh_slices(void *context, const struct piece *p, struct buffer *out)
{
    struct slab_job *j = context;
    const float *factors = j->factors + p->out.part[2].first;
    return j->be->ops->scale_slices(j->be, &p->problem.volume, factors, out);
}

/* Slices that two results need are computed with twice: what was declared counts them once. */
static void declare_once(const struct slab_job *j, struct work *w)
{
    double done = 0;
    const double ideal = (double)j->m.scan.views * (double)j->m.volume.slices;
    for (int64_t i = 0; j->op == RECON_FORWARD && i < piece_count(j); i++) {
        struct piece p;
        piece_at(j, i, &p);
        done += (double)p.problem.scan.views * (double)p.problem.volume.slices;
    }
    const double share = done > ideal ? ideal / done : 1;
    w->flops *= share;
    w->bytes_min *= share;
    w->bytes_ideal_cache *= share;
}

static enum err slab_job_run(struct slab_job *j, const float *in, float *out)
{
    struct backend *be = j->be;
    size_t room;
    TRY(be->ops->streams->room(be, &room));
    TRY(slab_job_plan(j, room));
    const struct piece_sizes sizes = piece_sizes_of(j);
    const struct slab_pipeline s = {.be = be,
                                    .in = in,
                                    .out = out,
                                    .in_bytes = (size_t)sizes.in * sizeof(float),
                                    .out_bytes = (size_t)sizes.out * sizeof(float),
                                    .depth = j->depth,
                                    .sums = j->op != RECON_FORWARD && j->views.count > 1,
                                    .next = next_piece,
                                    .compute = compute_piece,
                                    .complete = j->factors ? weigh_slices : NULL,
                                    .context = j};
    const struct work before = backend_take_work(be);
    const enum err e = pipeline_run(&s);
    declare_once(j, &be->declared);
    backend_declare(be, before.flops, before.bytes_min, before.bytes_ideal_cache);
    return e;
}

enum err out_of_core_run(struct backend *be, enum recon_op op, const struct ct_model *m,
                         const float *in, float *out)
{
    struct slab_job j;
    TRY(slab_job_create(be, op, m, in != NULL, &j));
    const enum err e = slab_job_run(&j, in, out);
    slab_job_free(&j);
    return e;
}
