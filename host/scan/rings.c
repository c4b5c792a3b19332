/* A sinogram without stripes in place of one with them. */
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "host/recon/recon.h"
#include "host/scan/rings.h"
#include "base/mark/mark.h"

#define CHUNK_FLOATS ((int64_t)1 << 26) /* of rows that pass a device at a time */

/* Rows `first` to first + count - 1 through a device's memory; `part` is of their size. */
static enum err rows_on_device(struct backend *be, const struct ct_model *m, int64_t first,
                               int64_t count, float *part, const float *y, float *clean)
{
    const struct scan *s = &m->scan;
    const int64_t line = count * s->channels, view = s->rows * s->channels;
    const int64_t at = first * s->channels;
    const size_t bytes = (size_t)(s->views * line) * sizeof(float);
    struct ct_model some = *m;
    struct buffer from = {0}, to = {0};
    some.scan.rows = count;
    for (int64_t v = 0; v < s->views; v++)
        memcpy(part + v * line, y + v * view + at, (size_t)line * sizeof *part);
    TRY(be->ops->upload(be, part, bytes, &from));
    enum err e = be->ops->alloc(be, "sinogram without rings", bytes, &to);
    if (!e)
        e = remove_stripes(be, &some, STRIPES_MEDIAN, &from, &to);
    if (!e)
        e = be->ops->download(be, &to, part, bytes);
    for (int64_t v = 0; v < s->views && !e; v++)
        memcpy(clean + v * view + at, part + v * line, (size_t)line * sizeof *part);
    be->ops->release(be, &from);
    if (to.ptr)
        be->ops->release(be, &to);
    return e;
}

static enum err stripes_on_device(struct backend *be, const struct ct_model *m, const float *y,
                                  float *clean)
{
    const struct scan *s = &m->scan;
    const int64_t row = s->views * s->channels, fit = CHUNK_FLOATS / row;
    const int64_t together = fit < 1 ? 1 : fit < s->rows ? fit : s->rows;
    void *part;
    TRY(mem_alloc("rows of the sinogram", (size_t)(together * row) * sizeof(float), &part));
    enum err e = ERR_OK;
    for (int64_t r = 0; r < s->rows && !e; r += together)
        e = rows_on_device(be, m, r, s->rows - r < together ? s->rows - r : together, part, y,
                           clean);
    mem_free(part);
    return e;
}

static enum err by_sorting(struct backend *be, const struct ct_model *m, float **y)
{
    const size_t bytes = (size_t)scan_samples(&m->scan) * sizeof(float);
    const struct buffer from = {PLACE_HOST, 0, bytes, *y};
    void *clean;
    TRY(mem_alloc("sinogram without rings", bytes, &clean));
    struct buffer to = {PLACE_HOST, 0, bytes, clean};
    mark_push("rings", bytes);
    enum err e = be->ops->streams ? stripes_on_device(be, m, *y, clean)
                                  : remove_stripes(be, m, STRIPES_MEDIAN, &from, &to);
    mark_pop();
    mem_free(e ? clean : *y);
    if (!e)
        *y = clean;
    return e;
}

/* Daubechies 5, width 2, as tomopy and algotom use it; as many levels as the size allows, up to 5.
 */
static enum err by_wavelets(const struct scan_context *c, const struct ct_model *m, float **y)
{
    const struct scan *s = &m->scan;
    struct prepare_step p = {.kind = PREPARE_WAVELET,
                             .in = {s->views, s->rows, s->channels},
                             .out = {s->views, s->rows, s->channels},
                             .order = 5,
                             .damping = 2,
                             .margin = prepare_wavelet_margin(s->views, s->channels)};
    const int most = prepare_levels_most(&p);
    p.levels = most < 5 ? most : 5;
    FAIL_IF(p.levels < 1, ERR_USAGE, "`rings=fw` needs 32 views and channels: take sorting");
    return scan_step_run(c, "rings", &p, NULL, y);
}

enum err scan_remove_rings(const struct scan_context *c, const struct ct_model *m, float **y)
{
    const int64_t start = clock_ns();
    if (c->request->rings == RINGS_KEEP)
        return ERR_OK;
    if (c->request->rings == RINGS_WAVELET)
        return by_wavelets(c, m, y);
    enum err e = by_sorting(c->be, m, y);
    scan_step_time(c->result, "rings", clock_seconds_since(start));
    return e;
}
