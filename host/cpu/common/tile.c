/* Tiles: sinogram planes with rows fastest and guard columns, filled and written back. */
#include <string.h>

#include "host/cpu/common/projection.h"

int64_t scratch_floats(const struct projector *p, const struct pixel_set *pixels, int sinogram)
{
    int64_t read = sinogram ? scan_samples(&p->scan) : 0;
    int64_t floats = (read + pixels->count * p->volume.slices) / 10;
    return floats < 1 << 20 ? 1 << 20 : floats;
}

static const float *tile_plane(struct sinogram y, const struct scan *s, int64_t view)
{
    return y.data && y.data->ptr ? (const float *)y.data->ptr + view * s->rows * s->channels : NULL;
}

/* Copies one column of a tile from data whose rows are fastest already. */
static void copy_column(const float *y, const float *w, int64_t rows, float *column)
{
    for (int64_t r = 0; r < rows; r++)
        column[r] = (y ? y[r] : 1) * (w ? w[r] : 1);
}

void tile_load(const struct projector *p, struct sinogram y, struct sinogram w, int64_t view,
               int64_t row0, int64_t rows, float *tile, int64_t ld)
{
    const struct scan *s = &p->scan;
    const float *from = tile_plane(y, s, view), *weight = tile_plane(w, s, view);
    enum sino_order order = from ? y.order : w.order;
    float *first = tile + p->taps * ld;
    size_t guard = (size_t)(p->taps * ld) * sizeof *tile;
    memset(tile, 0, guard);
    memset(first + s->channels * ld, 0, guard);
    if (order == SINO_ROWS_FASTEST) {
        for (int64_t c = 0; c < s->channels; c++)
            copy_column(from ? from + c * s->rows + row0 : NULL,
                        weight ? weight + c * s->rows + row0 : NULL, rows, first + c * ld);
    } else {
        int64_t skip = row0 * s->channels;
        ISA_PICK(tile_kernels)
            ->load(from ? from + skip : NULL, weight ? weight + skip : NULL, s->channels, rows,
                   first, ld);
    }
    for (int64_t c = 0; rows < ld && c < s->channels; c++)
        memset(first + c * ld + rows, 0, (size_t)(ld - rows) * sizeof *tile);
}

void tile_store(const struct projector *p, const float *tile, int64_t ld, int64_t view,
                int64_t row0, int64_t rows, struct sinogram y)
{
    const struct scan *s = &p->scan;
    const float *first = tile + p->taps * ld;
    float *to = (float *)y.data->ptr + view * s->rows * s->channels;
    if (y.order == SINO_CHANNELS_FASTEST) {
        ISA_PICK(tile_kernels)->store(first, ld, s->channels, rows, to + row0 * s->channels);
        return;
    }
    for (int64_t c = 0; c < s->channels; c++)
        memcpy(to + c * s->rows + row0, first + c * ld, (size_t)rows * sizeof *to);
}
