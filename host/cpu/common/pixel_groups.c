/* Pixels that share detector columns, next to each other: groups, and small blocks inside of one.
 */
#include <stdlib.h>

#include "host/cpu/common/projection.h"

/* Side of a block: 8 x 8 pixels touch ~11 columns of a view: 8 views of 64 slices in 22 KiB of
 * L1. */
#define SIDE          8
#define FEWEST_SLICES 16 /* below, the copied indices would weigh more than 1/16 of the volume */

/* The list in its own order, cut every rows*cols entries. */
static enum err groups_of_list(const struct pixel_set *pixels, int64_t length,
                               struct pixel_groups *out)
{
    out->set = *pixels;
    out->indices = NULL;
    out->count = (pixels->count + length - 1) / length;
    out->first = malloc((size_t)(out->count + 1) * sizeof *out->first);
    FAIL_IF(!out->first, ERR_MEMORY, "no memory for %lld pixel blocks", (long long)out->count);
    for (int64_t g = 0; g <= out->count; g++)
        out->first[g] = g < out->count ? g * length : pixels->count;
    return ERR_OK;
}

/* Pixels go to blocks of SIDE x SIDE, those of one group next to each other. */
struct group_grid {
    int64_t rows, cols;     /* of a group, in pixels */
    int64_t across, inside; /* groups per row of groups, blocks per group */
};

static int64_t group_block_of(const struct group_grid *s, int64_t i, int64_t j)
{
    int64_t group = i / s->rows * s->across + j / s->cols;
    int64_t down = i % s->rows / SIDE, right = j % s->cols / SIDE;
    return group * s->inside + down * (s->cols / SIDE) + right;
}

enum err pixel_groups_create(const struct projector *p, const struct pixel_set *pixels,
                             int64_t rows, int64_t cols, struct pixel_groups *out)
{
    const struct volume *v = &p->volume;
    if (pixels->packed || v->slices < FEWEST_SLICES || pixels->count <= BATCH)
        return groups_of_list(pixels, rows * cols, out);
    const struct group_grid s = {rows, cols, (v->cols + cols - 1) / cols,
                                 rows * cols / (SIDE * SIDE)};
    out->count = s.across * ((v->rows + rows - 1) / rows);
    const int64_t blocks = out->count * s.inside;
    int64_t *next = calloc((size_t)(blocks + 1), sizeof *next);
    out->first = malloc((size_t)(out->count + 1) * sizeof *out->first);
    out->indices = malloc((size_t)pixels->count * sizeof *out->indices);
    if (!next || !out->first || !out->indices) {
        free(next);
        pixel_groups_free(out);
        return FAIL(ERR_MEMORY, "no memory for the order of %lld pixels", (long long)pixels->count);
    }
    /* Stable counting sort: next[n + 1] counts block n, then next[n] is where its next pixel goes.
     */
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t q = 0; q < pixels->count; q++) {
            int64_t pixel = pixels->indices ? pixels->indices[q] : q, i = pixel / v->cols;
            int64_t n = group_block_of(&s, i, pixel - i * v->cols);
            if (pass == 0)
                next[n + 1]++;
            else
                out->indices[next[n]++] = (int32_t)pixel;
        }
        for (int64_t n = 0; pass == 0 && n < blocks; n++)
            next[n + 1] += next[n];
        for (int64_t g = 0; pass == 0 && g <= out->count; g++)
            out->first[g] = next[g * s.inside];
    }
    free(next);
    out->set = (struct pixel_set){out->indices, pixels->count, 0};
    return ERR_OK;
}

void pixel_groups_free(struct pixel_groups *g)
{
    free(g->first);
    free(g->indices);
}

/* Computes where the pixels of a batch lie in space, and their cylinders in memory. */

void batch_fill(const struct projector *p, const struct pixel_set *pixels, int64_t first,
                int64_t end, struct pixel_batch *b)
{
    const struct volume *v = &p->volume;
    const double i0 = 0.5 * (double)(v->rows - 1), j0 = 0.5 * (double)(v->cols - 1);
    const double dy = volume_delta_row(v);
    b->n = end - first < BATCH ? (int)(end - first) : BATCH;
    for (int q = 0; q < b->n; q++) {
        int64_t pixel = pixels->indices ? pixels->indices[first + q] : first + q;
        int64_t i = pixel / v->cols;
        b->x[q] = v->delta * ((double)(pixel - i * v->cols) - j0);
        b->y[q] = dy * ((double)i - i0);
        b->cylinder[q] = (pixels->packed ? first + q : pixel) * v->slices;
    }
}
