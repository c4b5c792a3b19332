#include <stdlib.h>

#include "host/cpu/project.h"

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

enum err pixel_blocks_create(const struct projector *p, const struct pixel_set *pixels,
                             int64_t rows, int64_t cols, struct pixel_blocks *out)
{
    const struct volume *v = &p->volume;
    if (pixels->packed || v->slices < FEWEST_SLICES || pixels->count <= rows * cols)
        return runs(pixels, rows * cols, out);
    const int64_t across = (v->cols + cols - 1) / cols,
                  blocks = across * ((v->rows + rows - 1) / rows);
    out->count = blocks;
    out->first = calloc((size_t)(blocks + 2), sizeof *out->first);
    out->indices = malloc((size_t)pixels->count * sizeof *out->indices);
    if (!out->first || !out->indices) {
        pixel_blocks_free(out);
        return FAIL(ERR_MEMORY, "no memory for the order of %lld pixels", (long long)pixels->count);
    }
    /* Counting sort, stable: first[b + 2] counts block b, then holds where its next pixel goes. */
    int64_t *next = out->first + 1;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t q = 0; q < pixels->count; q++) {
            int64_t pixel = pixels->indices ? pixels->indices[q] : q, i = pixel / v->cols;
            int64_t b = i / rows * across + (pixel - i * v->cols) / cols;
            if (pass == 0)
                next[b + 1]++;
            else
                out->indices[next[b]++] = (int32_t)pixel;
        }
        for (int64_t b = 0; pass == 0 && b < blocks; b++)
            next[b + 1] += next[b];
    }
    out->set = (struct pixel_set){out->indices, pixels->count, 0};
    return ERR_OK;
}

void pixel_blocks_free(struct pixel_blocks *b)
{
    free(b->first);
    free(b->indices);
}
