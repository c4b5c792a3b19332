/* Which squares a pixel set touches, and the order of a square's pixels in every view. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/cpu/parallel/pixel_blocks.h"

#define BRICK         4
#define FEWEST_PIXELS 8 /* in a square on average: below, packing outweighs what runs save */

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

static void describe_views(const struct projector *p, struct square_view *out)
{
    const double cell = p->scan.delta_channel, delta = p->volume.delta;
    const double delta_row = volume_delta_row(&p->volume);
    for (int64_t v = 0; v < p->scan.views; v++) {
        const struct view_geometry *g = &p->views[v];
        const double footprint = fmax(fabs(g->cos) * delta, fabs(g->sin) * delta_row);
        out[v] = (struct square_view){g->cos * delta / cell, -g->sin * delta_row / cell,
                                      footprint / cell, delta * delta_row / footprint};
    }
}

/* Insertion into an order that is nearly this one: that of the views before. */
static void sort_pixels(double col, double row, uint8_t *pixel)
{
    double key[SQUARE];
    for (int q = 0; q < SQUARE; q++) {
        const uint8_t n = pixel[q];
        const double offset = col * (n % SIDE) + row * (n / SIDE);
        int to = q;
        for (; to > 0 && key[to - 1] > offset; to--) {
            key[to] = key[to - 1];
            pixel[to] = pixel[to - 1];
        }
        key[to] = offset;
        pixel[to] = n;
    }
}

static enum err make_orders(const struct projector *p, struct squares *out)
{
    const int joint = out->joint;
    const int64_t views = p->scan.views, orders = (views + joint - 1) / joint;
    const double middle = 0.5 * (SIDE - 1);
    uint8_t pixel[SQUARE];
    out->views = malloc((size_t)views * sizeof *out->views);
    out->orders = malloc((size_t)orders * sizeof *out->orders);
    FAIL_IF(!out->views || !out->orders, ERR_MEMORY, "no memory for the pixel orders of %lld views",
            (long long)views);
    describe_views(p, out->views);
    for (int q = 0; q < SQUARE; q++)
        pixel[q] = (uint8_t)q;
    for (int64_t n = 0; n < orders; n++) {
        const struct square_view *at = out->views + n * joint;
        const int both = joint == 2 && n * joint + 1 < views;
        sort_pixels(at[0].col + at[both].col, at[0].row + at[both].row, pixel);
        memcpy(out->orders[n].pixel, pixel, sizeof pixel);
        for (int v = 0; v < 2; v++)
            for (int q = 0; q < SQUARE; q++)
                out->orders[n].offset[v][q] =
                    (float)(at[v & both].col * (pixel[q] % SIDE - middle) +
                            at[v & both].row * (pixel[q] / SIDE - middle));
    }
    return ERR_OK;
}

enum err squares_create(const struct projector *p, const struct pixel_set *pixels, int joint,
                        struct squares *out)
{
    const struct volume *v = &p->volume;
    const int64_t side = SIDE * BRICK;
    const struct grid g = {(v->cols + side - 1) / side, (v->rows + side - 1) / side};
    const int64_t all = g.across * g.down * BRICK * BRICK;
    *out = (struct squares){.joint = joint};
    if (pixels->packed || pixels->count < all / 4 * FEWEST_PIXELS)
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
    free(s->views);
    free(s->orders);
    *s = (struct squares){0};
}
