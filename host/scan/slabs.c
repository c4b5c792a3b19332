/* FBP in slabs: as thick as the memory allows, one after the other. */
#include <stdlib.h>
#include <string.h>

#include "host/base/log.h"
#include "host/base/memory.h"
#include "host/scan/rings.h"
#include "host/scan/slabs.h"
#include "host/store/format/volume.h"
#include "host/recon/recon.h"

#define ALIGN 64

struct slab_sizes {
    const struct scan_request *request;
    const struct ct_model *model;
};

/* Sinogram, volume, a tenth of both (at least 4 MiB) for tiles; pixel lists, the picture's slice,
 * and what NIfTI files are transposed in. */
static size_t bytes_held(const void *context, int64_t slices)
{
    const struct slab_sizes *s = context;
    const struct scan *scan = &s->model->scan;
    const int64_t pixels = volume_pixels(&s->model->volume);
    const int64_t halo = 2 * scan_input_halo(s->request);
    const int64_t rows = slices + halo < scan->rows ? slices + halo : scan->rows;
    const double sinogram =
        (s->request->rings || scan_steps_wanted(s->request->steps) ? 8.0 : 4.0) *
        (double)(scan->views * scan->channels) * (double)rows;
    const double arrays = sinogram + 4.0 * (double)pixels * (double)slices;
    const double tiles = arrays / 10 > 0x1p22 ? arrays / 10 : 0x1p22;
    return (size_t)(arrays + tiles + 12.0 * (double)pixels + volume_writer_bytes(pixels, slices));
}

enum err scan_slabs_plan(const struct scan_request *r, const struct ct_model *m, struct slabs *out)
{
    const struct slab_sizes sizes = {r, m};
    TRY(slabs_plan("this reconstruction", "of memory", m->volume.slices, bytes_held, &sizes,
                   mem_available(), out));
    if (out->count > 1 && out->thickness > ALIGN) {
        out->thickness -= out->thickness % ALIGN;
        out->count = (out->length + out->thickness - 1) / out->thickness;
    }
    return ERR_OK;
}

struct slab_arrays {
    float *y, *x; /* host */
    struct buffer y_buffer, x_buffer;
};

static enum err compute(struct backend *be, const struct ct_model *m, struct slab_arrays *w)
{
    const struct backend_ops *ops = be->ops;
    const size_t y_bytes = (size_t)scan_samples(&m->scan) * sizeof *w->y;
    const size_t x_bytes = (size_t)volume_voxels(&m->volume) * sizeof *w->x;
    TRY(ops->upload(be, w->y, y_bytes, &w->y_buffer));
    TRY(ops->upload(be, w->x, x_bytes, &w->x_buffer));
    TRY(direct_recon(be, m, &w->y_buffer, &w->y_buffer, &w->x_buffer));
    return ops->download(be, &w->x_buffer, w->x, x_bytes);
}

static enum err one_slab(struct backend *be, const struct scan_request *r,
                         const struct scan_input *input, struct slab s, struct volume_writer *to,
                         float *middle)
{
    struct ct_model m = input->model;
    struct slab_arrays w = {0};
    m.scan.rows = m.volume.slices = s.count;
    const int64_t pixels = volume_pixels(&m.volume), k = input->model.volume.slices / 2 - s.first;
    void *x;
    enum err e;
    TRY(mem_alloc("slab of the volume", (size_t)volume_voxels(&m.volume) * sizeof(float), &x));
    w.x = x;
    TRY_OUT(scan_input_rows(r, input, s.first, s.count, &w.y));
    if (r->rings)
        TRY_OUT(scan_remove_rings(be, &m, r->rings, r->steps, &w.y));
    TRY_OUT(compute(be, &m, &w));
    e = volume_writer_add(to, s.first, s.count, w.x);
    for (int64_t p = 0; k >= 0 && k < s.count && p < pixels; p++)
        middle[p] = w.x[p * s.count + k];
out:
    be->ops->release(be, &w.y_buffer);
    be->ops->release(be, &w.x_buffer);
    mem_free(w.y);
    mem_free(w.x);
    return e;
}

enum err scan_slabs_run(struct backend *be, const struct scan_request *r,
                        const struct scan_input *input, const struct slabs *plan, float *middle)
{
    struct volume_writer *to;
    enum err e = volume_writer_open(r->out, &input->model.volume, &to);
    for (int64_t i = 0; !e && i < plan->count; i++) {
        progress("fbp", (double)i, (double)plan->count);
        e = one_slab(be, r, input, slab_at(plan, i, 0), to, middle);
        if (!e && r->stop && *r->stop)
            e = FAIL(ERR_INTERRUPTED, "interrupted: nothing was written");
    }
    progress_end();
    return to ? volume_writer_close(to, e) : e;
}
