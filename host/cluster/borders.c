/* The slices beside a rank's own: swapped with the neighbours, and the terms of the prior there. */
#include <stdlib.h>

#include "host/base/memory.h"
#include "host/cluster/borders.h"
#include "host/cluster/stage.h"

/* The slices of one border, as a volume of three: the other rank's, and the two (or one) of this
 * rank next to it, in their order in space. */
struct border {
    int other;         /* rank, -1: none */
    float *thin;       /* (pixels, 3), mem_alloc */
    int64_t mine, far; /* this rank's slices in its own volume: at the border, and beside it */
    int theirs;        /* place of the other rank's slice in `thin`; the border's own is 1 */
};

struct borders {
    struct backend *be;
    const struct backend_ops *ops; /* of the machine */
    struct cluster *c;
    const struct ct_model *m; /* borrowed */
    struct border below, above;
    float *line_out, *line_in;             /* a number per pixel */
    float *thin_gradient, *thin_curvature; /* (pixels of a subset, 3) */
};

/* The two slices at a border as they lie in host memory: x itself, or a copy of them alone. */
struct border_edge {
    float *values;
    int64_t stride, mine, far; /* of a pixel's numbers */
    struct buffer copy;        /* on the device */
};

static enum err edge_take(struct borders *o, const struct border *b, const struct buffer *x,
                          struct border_edge *out)
{
    const int64_t slices = o->m->volume.slices, n = volume_pixels(&o->m->volume);
    *out = (struct border_edge){x->ptr, slices, b->mine, b->far, {.place = PLACE_HOST}};
    if (x->place == PLACE_HOST)
        return ERR_OK;
    const int64_t first = b->mine < b->far ? b->mine : b->far;
    const struct volume_step crop = {.kind = VOLUME_PLACE,
                                     .in = {1, n, slices},
                                     .out = {1, n, 2},
                                     .start = {0, 0, first},
                                     .from = {0, 1, 2},
                                     .turn = {1, 1, 1}};
    out->stride = 2;
    out->mine = b->mine - first;
    out->far = b->far - first;
    TRY(o->ops->alloc(o->be, "slices at a border", (size_t)n * 2 * sizeof(float), &out->copy));
    enum err e = o->ops->volume_step(o->be, &crop, x, &out->copy);
    if (!e)
        e = stage_take(o->be, &out->copy, &out->values);
    if (e)
        o->ops->release(o->be, &out->copy);
    return e;
}

static void edge_drop(struct borders *o, struct border_edge *e)
{
    if (e->copy.place == PLACE_HOST)
        return;
    stage_drop(&e->copy, e->values);
    o->ops->release(o->be, &e->copy);
}

/* One number of each pixel to the other rank, and its numbers here. */
static enum err swap_lines(struct borders *o, struct border *b, const struct buffer *x,
                           const int32_t *pixels, int64_t count)
{
    const size_t bytes = (size_t)count * sizeof(float);
    struct border_edge edge;
    if (b->other < 0)
        return ERR_OK;
    TRY(edge_take(o, b, x, &edge));
    for (int64_t i = 0; i < count; i++) {
        const int64_t p = pixels ? pixels[i] : i;
        o->line_out[i] = edge.values[p * edge.stride + edge.mine];
        b->thin[p * 3 + 1] = o->line_out[i];
        b->thin[p * 3 + 2 - b->theirs] = edge.values[p * edge.stride + edge.far];
    }
    edge_drop(o, &edge);
    TRY(cluster_exchange(o->c, b->other, o->line_out, bytes, b->other, o->line_in, bytes));
    for (int64_t i = 0; i < count; i++)
        b->thin[(pixels ? pixels[i] : i) * 3 + b->theirs] = o->line_in[i];
    return ERR_OK;
}

enum err borders_swap(struct borders *o, const struct buffer *x, const int32_t *pixels,
                      int64_t count)
{
    /* ranks of even numbers begin above: everybody's partner is there */
    struct border *first = o->c->place.rank % 2 ? &o->below : &o->above;
    struct border *second = o->c->place.rank % 2 ? &o->above : &o->below;
    TRY(swap_lines(o, first, x, pixels, count));
    return swap_lines(o, second, x, pixels, count);
}

/* The terms of the three slices of a border, into thin_gradient and thin_curvature. */
static enum err thin_terms(struct borders *o, const struct border *b, const struct prior *prior,
                           const struct pixel_set *pixels)
{
    const struct backend_ops *ops = o->ops;
    struct volume v = o->m->volume;
    v.slices = 3;
    const size_t all = (size_t)volume_voxels(&v) * sizeof(float);
    const size_t packed = (size_t)pixels->count * 3 * sizeof(float);
    struct buffer x, g, h;
    TRY(ops->upload(o->be, b->thin, all, &x)); /* of host memory an alias */
    enum err e = ops->upload(o->be, o->thin_gradient, packed, &g);
    if (!e) {
        e = ops->upload(o->be, o->thin_curvature, packed, &h);
        if (!e) {
            e = ops->prior_terms(o->be, &v, prior, pixels, &x, &g, &h);
            if (!e)
                e = ops->download(o->be, &g, o->thin_gradient, packed);
            if (!e)
                e = ops->download(o->be, &h, o->thin_curvature, packed);
            ops->release(o->be, &h);
        }
        ops->release(o->be, &g);
    }
    ops->release(o->be, &x);
    return e;
}

/* The terms at the border's slice, which the machine took for the volume's last. */
static enum err border_terms(struct borders *o, const struct border *b, const struct prior *prior,
                             const struct pixel_set *pixels, float *gP, float *hP)
{
    const int64_t slices = o->m->volume.slices;
    if (b->other < 0)
        return ERR_OK;
    TRY(thin_terms(o, b, prior, pixels));
    for (int64_t q = 0; q < pixels->count; q++) {
        gP[q * slices + b->mine] = o->thin_gradient[q * 3 + 1];
        hP[q * slices + b->mine] = o->thin_curvature[q * 3 + 1];
    }
    return ERR_OK;
}

enum err borders_terms(struct borders *o, const struct prior *prior, const struct pixel_set *pixels,
                       struct buffer *gP, struct buffer *hP)
{
    float *g, *h;
    TRY(stage_take(o->be, gP, &g));
    enum err e = stage_take(o->be, hP, &h);
    if (e) {
        stage_drop(gP, g);
        return e;
    }
    e = border_terms(o, &o->below, prior, pixels, g, h);
    if (!e)
        e = border_terms(o, &o->above, prior, pixels, g, h);
    if (e) {
        stage_drop(gP, g);
        stage_drop(hP, h);
        return e;
    }
    e = stage_give(o->be, g, gP);
    if (e) {
        stage_drop(hP, h);
        return e;
    }
    return stage_give(o->be, h, hP);
}

static enum err floats(const char *what, int64_t count, float **out)
{
    void *p;
    TRY(mem_alloc_zero(what, (size_t)count * sizeof **out, &p));
    *out = p;
    return ERR_OK;
}

static enum err allocate(struct borders *o)
{
    const int64_t pixels = volume_pixels(&o->m->volume);
    TRY(floats("slices of the rank below", 3 * pixels, &o->below.thin));
    TRY(floats("slices of the rank above", 3 * pixels, &o->above.thin));
    TRY(floats("a slice to send", pixels, &o->line_out));
    TRY(floats("a slice to receive", pixels, &o->line_in));
    TRY(floats("prior gradient at a border", 3 * pixels, &o->thin_gradient));
    return floats("prior curvature at a border", 3 * pixels, &o->thin_curvature);
}

enum err borders_open(struct backend *be, struct cluster *c, const struct ct_model *m,
                      struct borders **out)
{
    const int rank = c->place.rank, size = c->place.size;
    const int64_t last = m->volume.slices - 1;
    struct borders *o = *out = calloc(1, sizeof *o);
    FAIL_IF(!o, ERR_MEMORY, "no memory for a rank");
    *o = (struct borders){.be = be, .ops = be->ops, .c = c, .m = m};
    o->below = (struct border){.other = rank - 1, .mine = 0, .far = last > 0, .theirs = 0};
    o->above = (struct border){.other = rank + 1 < size ? rank + 1 : -1,
                               .mine = last,
                               .far = last > 0 ? last - 1 : 0,
                               .theirs = 2};
    return allocate(o);
}

void borders_close(struct borders *o)
{
    if (!o)
        return;
    float *const arrays[] = {o->below.thin, o->above.thin,    o->line_out,
                             o->line_in,    o->thin_gradient, o->thin_curvature};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        mem_free(arrays[i]);
    free(o);
}
