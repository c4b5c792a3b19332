/* Projections, Hessian and median of a whole model: on the device where the arrays fit, else out of
 * core. */
#include <stdlib.h>

#include "host/geom/ct_model.h"
#include "host/recon/recon.h"
#include "host/recon/slabs/out_of_core.h"

/* A model prepared for projection: a projector and the pixels of the region of reconstruction. */
struct prepared {
    struct backend *be;
    struct projector *projector;
    struct pixel_set pixels;
    int32_t *indices;
};

static void prepared_free(struct prepared *p)
{
    p->be->ops->projector_free(p->be, p->projector);
    free(p->indices);
}

static enum err prepared_create(struct backend *be, const struct ct_model *m, int masked,
                                struct prepared *p)
{
    *p = (struct prepared){be, NULL, {NULL, volume_pixels(&m->volume), 0}, NULL};
    TRY(be->ops->projector_create(be, &m->scan, &m->volume, &p->projector));
    if (masked && m->volume.ror != ROR_NONE) {
        enum err e = volume_pixels_inside(&m->volume, &p->indices, &p->pixels.count);
        if (e) {
            prepared_free(p);
            return e;
        }
        p->pixels.indices = p->indices;
    }
    return ERR_OK;
}

static struct sinogram sinogram_user_order(const struct buffer *data)
{
    return (struct sinogram){(struct buffer *)data, SINO_CHANNELS_FASTEST};
}

enum err forward_project(struct backend *be, const struct ct_model *m, const struct buffer *x,
                         struct buffer *y)
{
    struct prepared p;
    if (is_out_of_core(be, x))
        return out_of_core_run(be, RECON_FORWARD, m, x->ptr, y->ptr);
    TRY(prepared_create(be, m, 1, &p));
    enum err e = be->ops->forward(be, p.projector, &p.pixels, x, sinogram_user_order(y));
    prepared_free(&p);
    return e;
}

enum err back_project(struct backend *be, const struct ct_model *m, const struct buffer *y,
                      struct buffer *x)
{
    struct prepared p;
    if (is_out_of_core(be, y))
        return out_of_core_run(be, RECON_BACK, m, y->ptr, x->ptr);
    TRY(prepared_create(be, m, 1, &p));
    enum err e = p.pixels.indices ? be->ops->zero(be, x) : ERR_OK;
    if (e == ERR_OK)
        e = be->ops->back(be, p.projector, &p.pixels, sinogram_user_order(y),
                          sinogram_user_order(NULL), 1, x);
    prepared_free(&p);
    return e;
}

enum err sparse_forward_project(struct backend *be, const struct ct_model *m,
                                const struct pixel_set *pixels, const struct buffer *x,
                                struct buffer *y)
{
    struct projector *p;
    TRY(be->ops->projector_create(be, &m->scan, &m->volume, &p));
    enum err e = be->ops->forward(be, p, pixels, x, sinogram_user_order(y));
    be->ops->projector_free(be, p);
    return e;
}

enum err sparse_back_project(struct backend *be, const struct ct_model *m,
                             const struct pixel_set *pixels, const struct buffer *y, int power,
                             struct buffer *x)
{
    struct projector *p;
    TRY(be->ops->projector_create(be, &m->scan, &m->volume, &p));
    enum err e = pixels->packed ? ERR_OK : be->ops->zero(be, x);
    if (!e)
        e = be->ops->back(be, p, pixels, sinogram_user_order(y), sinogram_user_order(NULL), power,
                          x);
    be->ops->projector_free(be, p);
    return e;
}

static enum err voxel_check(struct backend *be, const struct ct_model *m)
{
    FAIL_IF(!scan_is_cone(&m->scan), ERR_USAGE,
            "voxel-driven back projection is for cone beams: other geometries have the matched "
            "one");
    FAIL_IF(!be->ops->back_voxel, ERR_UNSUPPORTED,
            "the %s back end has no voxel-driven back projection: use `backend=cpu`",
            be->ops->name);
    return ERR_OK;
}

enum err back_project_voxel(struct backend *be, const struct ct_model *m, const struct buffer *y,
                            struct buffer *x)
{
    struct prepared p;
    TRY(voxel_check(be, m));
    TRY(prepared_create(be, m, 1, &p));
    enum err e = p.pixels.indices ? be->ops->zero(be, x) : ERR_OK;
    if (e == ERR_OK)
        e = be->ops->back_voxel(be, p.projector, &p.pixels, sinogram_user_order(y), x);
    prepared_free(&p);
    return e;
}

enum err hessian_diagonal(struct backend *be, const struct ct_model *m, const struct buffer *w,
                          struct buffer *h)
{
    struct prepared p;
    if (is_out_of_core(be, h))
        return out_of_core_run(be, RECON_HESSIAN, m, w ? w->ptr : NULL, h->ptr);
    TRY(prepared_create(be, m, 0, &p));
    enum err e = be->ops->back(be, p.projector, &p.pixels, sinogram_user_order(NULL),
                               sinogram_user_order(w), 2, h);
    prepared_free(&p);
    return e;
}

enum err median_filter(struct backend *be, const struct ct_model *m, const struct buffer *in,
                       struct buffer *out)
{
    const struct volume *v = &m->volume;
    if (is_out_of_core(be, in))
        return out_of_core_run(be, RECON_MEDIAN, m, in->ptr, out->ptr);
    return be->ops->median3(be, v->rows, v->cols, v->slices, in, out);
}
