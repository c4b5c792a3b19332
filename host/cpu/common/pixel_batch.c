/* Computes where the pixels of a batch lie in space, and their cylinders in memory. */
#include "host/cpu/common/projection.h"

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
