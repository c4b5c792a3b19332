#include <stdlib.h>

#include "host/cpu/common/projection.h"

#define SQUARE                                                                                     \
    8 /* 8 x 8 pixels touch ~11 columns of a view: 8 views of 64 slices in 22 KiB of L1 */
#define FEWEST_SLICES 16 /* below, the copied indices would weigh more than 1/16 of the volume */

/* The list in its own order, cut every rows*cols entries. */
static enum err runs(const struct pixel_set *pixels, int64_t length, struct pixel_blocks *out)
{
    out->set = *pixels;
    out->indices = NULL;
    out->count = (pixels->count + length - 1) / length;
    out->first = malloc((size_t)(out->count + 1) * sizeof *out->first);
    FAIL_IF(!out->first, ERR_MEMORY, "no memory for %lld pixel blocks", (long long)out->count);
    for (int64_t b = 0; b <= out->count; b++)
        out->first[b] = b < out->count ? b * length : pixels->count;
    return ERR_OK;
}

/* Where pixels go: squares of SQUARE x SQUARE pixels, those of one block next to each other. */
struct squares {
    int64_t rows, cols;     /* of a block, in pixels */
    int64_t across, inside; /* blocks per row of blocks, squares per block */
};

static int64_t square_of(const struct squares *s, int64_t i, int64_t j)
{
    int64_t block = i / s->rows * s->across + j / s->cols;
    int64_t down = i % s->rows / SQUARE, right = j % s->cols / SQUARE;
    return block * s->inside + down * (s->cols / SQUARE) + right;
}

enum err pixel_blocks_create(const struct projector *p, const struct pixel_set *pixels,
                             int64_t rows, int64_t cols, struct pixel_blocks *out)
{
    const struct volume *v = &p->volume;
    if (pixels->packed || v->slices < FEWEST_SLICES || pixels->count <= BATCH)
        return runs(pixels, rows * cols, out);
    const struct squares s = {rows, cols, (v->cols + cols - 1) / cols,
                              rows * cols / (SQUARE * SQUARE)};
    out->count = s.across * ((v->rows + rows - 1) / rows);
    const int64_t squares = out->count * s.inside;
    int64_t *next = calloc((size_t)(squares + 1), sizeof *next);
    out->first = malloc((size_t)(out->count + 1) * sizeof *out->first);
    out->indices = malloc((size_t)pixels->count * sizeof *out->indices);
    if (!next || !out->first || !out->indices) {
        free(next);
        pixel_blocks_free(out);
        return FAIL(ERR_MEMORY, "no memory for the order of %lld pixels", (long long)pixels->count);
    }
    /* Stable counting sort: next[n + 1] counts square n, then next[n] is where its next pixel goes.
     */
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t q = 0; q < pixels->count; q++) {
            int64_t pixel = pixels->indices ? pixels->indices[q] : q, i = pixel / v->cols;
            int64_t n = square_of(&s, i, pixel - i * v->cols);
            if (pass == 0)
                next[n + 1]++;
            else
                out->indices[next[n]++] = (int32_t)pixel;
        }
        for (int64_t n = 0; pass == 0 && n < squares; n++)
            next[n + 1] += next[n];
        for (int64_t b = 0; pass == 0 && b <= out->count; b++)
            out->first[b] = next[b * s.inside];
    }
    free(next);
    out->set = (struct pixel_set){out->indices, pixels->count, 0};
    return ERR_OK;
}

void pixel_blocks_free(struct pixel_blocks *b)
{
    free(b->first);
    free(b->indices);
}
