/* Momentum: an iteration starts from x + MOMENTUM (x - x of the iteration before), and the error
 * sinogram, which is linear in x, goes with it. An iteration that is near the minimum takes a share
 * 1 - r of what is left of each mode away, 0 <= r < 1; with momentum the modes that converge most
 * slowly lose sqrt(MOMENTUM r) or less of it at a time, and none diverges. */
#include "host/recon/mbir_momentum.h"

#define MOMENTUM 0.5 /* of 0.3, 0.5 and Nesterov's, the fastest on three scans */

size_t momentum_bytes(const struct ct_model *m)
{
    return (size_t)(volume_voxels(&m->volume) + scan_samples(&m->scan)) * sizeof(float);
}

/* now, before = now + MOMENTUM (now - before), now */
static enum err momentum_mix(struct backend *be, const struct volume *v, int64_t cylinders,
                             struct buffer *now, struct buffer *before)
{
    const struct pixel_set all = {NULL, cylinders, 0};
    const struct buffer kept = *now;
    double moved;
    TRY(be->ops->scale(be, -MOMENTUM, before));
    TRY(be->ops->add_cylinders(be, v, &all, 1 + MOMENTUM, now, before, &moved));
    *now = *before;
    *before = kept;
    return ERR_OK;
}

static enum err momentum_keep(struct momentum *p, struct vcd *t, const struct buffer *x)
{
    const struct backend_ops *ops = t->be->ops;
    if (!p->image.ptr)
        TRY(ops->alloc(t->be, "the image before", x->bytes, &p->image));
    if (!p->error.ptr)
        TRY(ops->alloc(t->be, "the error sinogram before", t->error.bytes, &p->error));
    TRY(ops->copy(t->be, x, &p->image));
    return ops->copy(t->be, &t->error, &p->error);
}

enum err momentum_apply(struct momentum *p, struct vcd *t, struct buffer *x)
{
    const struct scan *s = &t->m->scan;
    struct volume columns = t->m->volume;
    if (!p->iterations) {
        p->given = *x;
        return ERR_OK;
    }
    /* The first image is that of FBP, whose noise gives no direction; a change that grows came from
     * a direction that was too far. */
    if (p->iterations == 1 || p->moved > p->before)
        return momentum_keep(p, t, x);
    columns.slices = s->rows;
    TRY(momentum_mix(t->be, &t->m->volume, volume_pixels(&t->m->volume), x, &p->image));
    return momentum_mix(t->be, &columns, s->views * s->channels, &t->error, &p->error);
}

void momentum_note(struct momentum *p, double moved)
{
    p->before = p->iterations ? p->moved : moved;
    p->moved = moved;
    p->iterations++;
}

enum err momentum_end(struct momentum *p, struct vcd *t, struct buffer *x)
{
    const struct backend_ops *ops = t->be->ops;
    enum err e = ERR_OK;
    if (p->image.ptr && x->ptr != p->given.ptr) {
        e = ops->copy(t->be, x, &p->given);
        p->image = *x;
        *x = p->given;
    }
    ops->release(t->be, &p->image);
    ops->release(t->be, &p->error);
    return e;
}
