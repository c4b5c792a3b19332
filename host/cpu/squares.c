/* Which squares a pixel set touches, and the order of a square's pixels in every view. */
#include <stdlib.h>

#include "host/cpu/squares.h"
#include "host/cpu/worker.h"

#define BRICK         4
#define FEWEST_PIXELS 8 /* in a square on average: below, packing outweighs what runs save */
#define FEWEST_SLICES 16

/* Squares in the order of bricks. */
struct grid {
    int64_t across, down; /* bricks */
};

static int64_t square_number(const struct grid *g, int64_t i, int64_t j)
{
    const int64_t side = SIDE * BRICK, brick = i / side * g->across + j / side;
    return (brick * BRICK + i % side / SIDE) * BRICK + j % side / SIDE;
}

static struct square empty_square(const struct grid *g, int64_t n)
{
    const int64_t brick = n / (BRICK * BRICK);
    return (struct square){
        (brick / g->across * BRICK + n / BRICK % BRICK) * SIDE,
        (brick % g->across * BRICK + n % BRICK) * SIDE,
        0,
    };
}

/* Marks the set's pixels; returns the number of squares that have one, or 0 when one pixel is
 * listed twice. */
static int64_t mark_present(const struct grid *g, int64_t cols, const struct pixel_set *pixels,
                            struct square *at)
{
    int64_t touched = 0;
    for (int64_t q = 0; q < pixels->count; q++) {
        const int64_t pixel = pixels->indices ? pixels->indices[q] : q;
        const int64_t i = pixel / cols, j = pixel - i * cols;
        const uint64_t bit = 1ull << (i % SIDE * SIDE + j % SIDE);
        struct square *s = at + square_number(g, i, j);
        if (s->present & bit)
            return 0;
        touched += s->present == 0;
        s->present |= bit;
    }
    return touched;
}

/* Insertion into the order of the view before, which is nearly this one's. */
static void sort_view(const struct projector *p, const struct view_geometry *g,
                      struct square_order *o)
{
    const double c = g->cos * p->volume.delta / p->scan.delta_channel;
    const double s = g->sin * volume_delta_row(&p->volume) / p->scan.delta_channel;
    for (int q = 0; q < SQUARE; q++) {
        const uint8_t pixel = o->pixel[q];
        const double offset = c * (pixel % SIDE) - s * (pixel / SIDE);
        int to = q;
        for (; to > 0 && o->offset[to - 1] > offset; to--) {
            o->offset[to] = o->offset[to - 1];
            o->pixel[to] = o->pixel[to - 1];
        }
        o->offset[to] = offset;
        o->pixel[to] = pixel;
    }
}

static enum err make_orders(const struct projector *p, struct squares *out)
{
    out->orders = malloc((size_t)p->scan.views * sizeof *out->orders);
    FAIL_IF(!out->orders, ERR_MEMORY, "no memory for the pixel orders of %lld views",
            (long long)p->scan.views);
    for (int64_t v = 0; v < p->scan.views; v++) {
        if (v > 0)
            out->orders[v] = out->orders[v - 1];
        else
            for (int q = 0; q < SQUARE; q++)
                out->orders[v].pixel[q] = (uint8_t)q;
        sort_view(p, &p->views[v], &out->orders[v]);
    }
    return ERR_OK;
}

enum err squares_create(const struct projector *p, const struct pixel_set *pixels,
                        struct squares *out)
{
    const struct volume *v = &p->volume;
    const int64_t side = SIDE * BRICK;
    const struct grid g = {(v->cols + side - 1) / side, (v->rows + side - 1) / side};
    const int64_t all = g.across * g.down * BRICK * BRICK;
    *out = (struct squares){0};
    if (pixels->packed || v->slices < FEWEST_SLICES || pixels->count < all / 4 * FEWEST_PIXELS)
        return ERR_OK;
    out->at = malloc((size_t)all * sizeof *out->at);
    FAIL_IF(!out->at, ERR_MEMORY, "no memory for %lld squares of pixels", (long long)all);
    for (int64_t n = 0; n < all; n++)
        out->at[n] = empty_square(&g, n);
    const int64_t touched = mark_present(&g, v->cols, pixels, out->at);
    if (touched * FEWEST_PIXELS > pixels->count)
        return ERR_OK;
    for (int64_t n = 0; touched && n < all; n++)
        if (out->at[n].present)
            out->at[out->count++] = out->at[n];
    return out->count ? make_orders(p, out) : ERR_OK;
}

void squares_free(struct squares *s)
{
    free(s->at);
    free(s->orders);
    *s = (struct squares){0};
}
