/* Finds the blocks that a pixel set touches, and the order of a block's pixels in every view. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/cpu/parallel/pixel_blocks.h"

#define BRICK         4
#define FEWEST_PIXELS 8 /* in a block on average: below, packing outweighs what runs save */

/* Blocks in the order of bricks. */
struct brick_grid {
    int64_t across, down; /* bricks */
};

static int64_t block_number(const struct brick_grid *g, int64_t i, int64_t j)
{
    const int64_t side = BLOCK_SIDE * BRICK, brick = i / side * g->across + j / side;
    return (brick * BRICK + i % side / BLOCK_SIDE) * BRICK + j % side / BLOCK_SIDE;
}

static struct pixel_block empty_block(const struct brick_grid *g, int64_t n)
{
    const int64_t brick = n / (BRICK * BRICK);
    return (struct pixel_block){
        (brick / g->across * BRICK + n / BRICK % BRICK) * BLOCK_SIDE,
        (brick % g->across * BRICK + n % BRICK) * BLOCK_SIDE,
        0,
    };
}

/* Marks the set's pixels; returns the number of blocks that have one, or 0 when one pixel is
 * listed twice. */
static int64_t mark_present(const struct brick_grid *g, int64_t cols,
                            const struct pixel_set *pixels, struct pixel_block *at)
{
    int64_t touched = 0;
    for (int64_t q = 0; q < pixels->count; q++) {
        const int64_t pixel = pixels->indices ? pixels->indices[q] : q;
        const int64_t i = pixel / cols, j = pixel - i * cols;
        const uint64_t bit = 1ull << (i % BLOCK_SIDE * BLOCK_SIDE + j % BLOCK_SIDE);
        struct pixel_block *s = at + block_number(g, i, j);
        if (s->present & bit)
            return 0;
        touched += s->present == 0;
        s->present |= bit;
    }
    return touched;
}

static void describe_views(const struct projector *p, struct block_view *out)
{
    const double cell = p->scan.delta_channel, delta = p->volume.delta;
    const double delta_row = volume_delta_row(&p->volume);
    for (int64_t v = 0; v < p->scan.views; v++) {
        const struct view_geometry *g = &p->views[v];
        const double footprint = fmax(fabs(g->cos) * delta, fabs(g->sin) * delta_row);
        out[v] = (struct block_view){g->cos * delta / cell, -g->sin * delta_row / cell,
                                     footprint / cell, delta * delta_row / footprint};
    }
}

/* Insertion into an order that is nearly this one: that of the views before. */
static void sort_pixels(double col, double row, uint8_t *pixel)
{
    double key[BLOCK_PIXELS];
    for (int q = 0; q < BLOCK_PIXELS; q++) {
        const uint8_t n = pixel[q];
        const double offset = col * (n % BLOCK_SIDE) + row * (n / BLOCK_SIDE);
        int to = q;
        for (; to > 0 && key[to - 1] > offset; to--) {
            key[to] = key[to - 1];
            pixel[to] = pixel[to - 1];
        }
        key[to] = offset;
        pixel[to] = n;
    }
}

static enum err make_orders(const struct projector *p, struct pixel_blocks *out)
{
    const int joint = out->joint;
    const int64_t views = p->scan.views, orders = (views + joint - 1) / joint;
    const double middle = 0.5 * (BLOCK_SIDE - 1);
    uint8_t pixel[BLOCK_PIXELS];
    out->views = malloc((size_t)views * sizeof *out->views);
    out->orders = malloc((size_t)orders * sizeof *out->orders);
    FAIL_IF(!out->views || !out->orders, ERR_MEMORY, "no memory for the pixel orders of %lld views",
            (long long)views);
    describe_views(p, out->views);
    for (int q = 0; q < BLOCK_PIXELS; q++)
        pixel[q] = (uint8_t)q;
    for (int64_t n = 0; n < orders; n++) {
        const struct block_view *at = out->views + n * joint;
        const int both = joint == 2 && n * joint + 1 < views;
        sort_pixels(at[0].col + at[both].col, at[0].row + at[both].row, pixel);
        memcpy(out->orders[n].pixel, pixel, sizeof pixel);
        for (int v = 0; v < 2; v++)
            for (int q = 0; q < BLOCK_PIXELS; q++)
                out->orders[n].offset[v][q] =
                    (float)(at[v & both].col * (pixel[q] % BLOCK_SIDE - middle) +
                            at[v & both].row * (pixel[q] / BLOCK_SIDE - middle));
    }
    return ERR_OK;
}

enum err pixel_blocks_create(const struct projector *p, const struct pixel_set *pixels, int joint,
                             struct pixel_blocks *out)
{
    const struct volume *v = &p->volume;
    const int64_t side = BLOCK_SIDE * BRICK;
    const struct brick_grid g = {(v->cols + side - 1) / side, (v->rows + side - 1) / side};
    const int64_t all = g.across * g.down * BRICK * BRICK;
    *out = (struct pixel_blocks){.joint = joint};
    if (pixels->packed || pixels->count < all / 4 * FEWEST_PIXELS)
        return ERR_OK;
    out->at = malloc((size_t)all * sizeof *out->at);
    FAIL_IF(!out->at, ERR_MEMORY, "no memory for %lld blocks of pixels", (long long)all);
    for (int64_t n = 0; n < all; n++)
        out->at[n] = empty_block(&g, n);
    const int64_t touched = mark_present(&g, v->cols, pixels, out->at);
    if (touched * FEWEST_PIXELS > pixels->count)
        return ERR_OK;
    for (int64_t n = 0; touched && n < all; n++)
        if (out->at[n].present)
            out->at[out->count++] = out->at[n];
    return out->count ? make_orders(p, out) : ERR_OK;
}

void pixel_blocks_free(struct pixel_blocks *b)
{
    free(b->at);
    free(b->views);
    free(b->orders);
    *b = (struct pixel_blocks){0};
}
