/* The slices beside a rank's own: swapped with the neighbours, and the terms of the prior there. */
#include <stdlib.h>

#include "host/cluster/ranks_backend.h"

/* The slices of one border, as a volume of three: the other rank's, and the two of this rank next
 * to it, in their order in space. */
struct border {
    int other;          /* rank, -1: none */
    struct buffer thin; /* (pixels, 3) */
    int64_t mine, far;  /* this rank's slices in its own volume: at the border, and beside it */
    int theirs;         /* place of the other rank's slice in `thin`; the border's own is 1 */
};

struct borders {
    struct backend *be;
    const struct backend_ops *ops; /* of the machine */
    struct cluster *c;
    const struct ct_model *m; /* borrowed */
    struct border below, above;
    struct wire line;                            /* a number per pixel */
    struct buffer thin_gradient, thin_curvature; /* (pixels of a subset, 3) */
};

/* Copies one slice of the pixels out of an array of so many slices, or into it. */
static enum err border_move(struct borders *o, enum slices_way how, const struct pixel_set *pixels,
                            int64_t slices, int64_t k, struct buffer *array, struct buffer *line)
{
    const struct slices_move one = {how, slices, k, 1};
    return o->ops->move_slices(o->be, &one, pixels, array, line);
}

/* Sends one number of each pixel to the other rank, and receives its numbers. */
static enum err swap_lines(struct borders *o, struct border *b, struct buffer *x,
                           const struct pixel_set *pixels)
{
    const int64_t slices = o->m->volume.slices;
    struct wire *w = &o->line;
    if (b->other < 0)
        return ERR_OK;
    TRY(border_move(o, SLICES_TAKE, pixels, slices, b->far, x, &w->in));
    TRY(border_move(o, SLICES_PUT, pixels, 3, 2 - b->theirs, &b->thin, &w->in));
    TRY(border_move(o, SLICES_TAKE, pixels, slices, b->mine, x, &w->out));
    TRY(border_move(o, SLICES_PUT, pixels, 3, 1, &b->thin, &w->out));
    TRY(wire_exchange(w, b->other, pixels->count, b->other, pixels->count));
    return border_move(o, SLICES_PUT, pixels, 3, b->theirs, &b->thin, &w->in);
}

enum err borders_swap(struct borders *o, const struct buffer *x, const int32_t *pixels,
                      int64_t count)
{
    /* ranks of even numbers begin above: everybody's partner is there */
    struct border *first = o->c->place.rank % 2 ? &o->below : &o->above;
    struct border *second = o->c->place.rank % 2 ? &o->above : &o->below;
    const struct pixel_set these = {pixels, count, 0};
    struct buffer volume = *x;
    TRY(swap_lines(o, first, &volume, &these));
    return swap_lines(o, second, &volume, &these);
}

/* The terms at the border's slice, which the machine took for the volume's last. */
static enum err border_terms(struct borders *o, struct border *b, const struct prior *prior,
                             const struct pixel_set *pixels, struct buffer *gP, struct buffer *hP)
{
    const int64_t slices = o->m->volume.slices;
    const struct pixel_set packed = {NULL, pixels->count, 1};
    struct buffer *const thin[] = {&o->thin_gradient, &o->thin_curvature}, *const whole[] = {gP,
                                                                                             hP};
    struct volume v = o->m->volume;
    v.slices = 3;
    if (b->other < 0)
        return ERR_OK;
    TRY(o->ops->prior_terms(o->be, &v, prior, pixels, &b->thin, thin[0], thin[1]));
    for (int i = 0; i < 2; i++) {
        TRY(border_move(o, SLICES_TAKE, &packed, 3, 1, thin[i], &o->line.out));
        TRY(border_move(o, SLICES_PUT, &packed, slices, b->mine, whole[i], &o->line.out));
    }
    return ERR_OK;
}

enum err borders_terms(struct borders *o, const struct prior *prior, const struct pixel_set *pixels,
                       struct buffer *gP, struct buffer *hP)
{
    TRY(border_terms(o, &o->below, prior, pixels, gP, hP));
    return border_terms(o, &o->above, prior, pixels, gP, hP);
}

static enum err borders_allocate(struct borders *o)
{
    struct buffer *const arrays[] = {&o->below.thin, &o->above.thin, &o->thin_gradient,
                                     &o->thin_curvature};
    const int64_t pixels = volume_pixels(&o->m->volume);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        TRY(o->ops->alloc(o->be, "slices at a border", (size_t)pixels * 3 * sizeof(float),
                          arrays[i]));
        TRY(o->ops->zero(o->be, arrays[i]));
    }
    return wire_open(o->be, o->c, "a slice to send", pixels, &o->line);
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
    return borders_allocate(o);
}

void borders_close(struct borders *o)
{
    if (!o)
        return;
    struct buffer *const arrays[] = {&o->below.thin, &o->above.thin, &o->thin_gradient,
                                     &o->thin_curvature};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        o->ops->release(o->be, arrays[i]);
    wire_close(&o->line);
    free(o);
}
