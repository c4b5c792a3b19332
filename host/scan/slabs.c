/* Direct methods in slabs: as thick as the memory allows, one after the other. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "host/recon/recon.h"
#include "host/recon/slabs/slab.h"
#include "host/scan/compute.h"
#include "host/scan/steps.h"
#include "host/scan/slabs.h"
#include "host/store/exchange/exchange.h"
#include "host/store/format/volume.h"

#define ALIGN         64
#define ALIGN_FOURIER 16 /* slices that are computed side by side: their bits depend on it */

/* Detector rows that slices need. Helical scans: all, for a slice's weight is the number of views
 * that see it. */
static struct index_range slab_rows_under(const struct ct_model *m, struct index_range slices)
{
    if (m->scan.z_shifts)
        return (struct index_range){0, m->scan.rows};
    return tile_rows(m, (struct index_range){0, m->scan.views}, slices);
}

static int64_t most_rows(const struct ct_model *m, int64_t thickness)
{
    int64_t most = 0;
    for (int64_t first = 0; first < m->volume.slices; first += thickness) {
        const int64_t left = m->volume.slices - first;
        const struct index_range slices = {first, thickness < left ? thickness : left};
        const int64_t count = slab_rows_under(m, slices).count;
        most = most > count ? most : count;
    }
    return most;
}

/* Sinogram, volume, a tenth of both (at least 4 MiB) for tiles; pixel lists, the picture's slice,
 * and what NIfTI files are transposed in. */
static size_t bytes_held(const void *context, int64_t slices)
{
    const struct scan_context *c = context;
    const struct scan_request *r = c->request;
    const struct scan *scan = &c->model.scan;
    const int64_t pixels = volume_pixels(&c->model.volume);
    const int64_t needed = most_rows(&c->model, slices) + 2 * scan_input_halo(r);
    const int64_t rows = needed < scan->rows ? needed : scan->rows;
    const int two = r->rings || r->redundancy == REDUNDANCY_WANG || scan_steps_wanted(r);
    const double sinogram =
        (two ? 8.0 : 4.0) * (double)(scan->views * scan->channels) * (double)rows;
    const double arrays = sinogram + 4.0 * (double)pixels * (double)slices;
    const double tiles = arrays / 10 > 0x1p22 ? arrays / 10 : 0x1p22;
    return (size_t)(arrays + tiles + 12.0 * (double)pixels + volume_writer_bytes(pixels, slices));
}

static enum err plan_in(const struct scan_context *c, size_t available, struct slabs *out)
{
    TRY(slabs_plan("this reconstruction", "of memory", c->model.volume.slices, bytes_held, c,
                   available, out));
    const int64_t align = c->method == SCAN_FOURIER ? ALIGN_FOURIER : ALIGN;
    if (out->count > 1 && out->thickness > align) {
        out->thickness -= out->thickness % align;
        out->count = (out->length + out->thickness - 1) / out->thickness;
    }
    return ERR_OK;
}

enum err scan_slabs_plan(struct scan_context *c)
{
    return plan_in(c, mem_available(), &c->slabs);
}

enum err scan_slabs_keep(struct scan_context *c)
{
    const int64_t available = (int64_t)mem_available();
    const int64_t bytes = c->decoded_bytes;
    struct slabs thinner;
    if (c->slabs.count < 2 || !bytes || bytes > available / 2)
        return ERR_OK;
    const int64_t with_headers = bytes + bytes / 16 + (1 << 16);
    if (plan_in(c, (size_t)(available - with_headers), &thinner))
        return ERR_OK; /* not even one slice would fit beside them */
    c->slabs = thinner;
    c->keep_bytes = with_headers;
    return ERR_OK;
}

static enum err slab_compute(const struct scan_context *part, float *volume)
{
    const struct backend_ops *ops = part->be->ops;
    const size_t y_bytes = (size_t)scan_samples(&part->model.scan) * sizeof(float);
    const size_t x_bytes = (size_t)volume_voxels(&part->model.volume) * sizeof *volume;
    struct buffer y = {0}, x = {0};
    enum err e = ops->upload(part->be, part->sinogram, y_bytes, &y);
    if (!e)
        e = ops->upload(part->be, volume, x_bytes, &x);
    if (!e)
        e = scan_direct(part, &y, &x, volume);
    ops->release(part->be, &y);
    ops->release(part->be, &x);
    return e;
}

enum err scan_slab_volume(const struct scan_context *c, struct slab s, float **volume)
{
    const struct index_range slices = {s.first, s.count};
    const struct index_range views = {0, c->model.scan.views};
    const struct index_range rows = slab_rows_under(&c->model, slices);
    struct scan_context part = *c; /* the slab as a scan; borrows the angles */
    void *x;
    enum err e;
    part.sinogram = NULL;
    part.model = tile_model(&c->model, views, rows, slices);
    *volume = NULL;
    TRY(mem_alloc("slab of the volume", (size_t)volume_voxels(&part.model.volume) * sizeof(float),
                  &x));
    TRY_OUT(scan_input_rows(c, rows.first, rows.count, &part.sinogram));
    TRY_OUT(scan_remove_rings(&part, &part.model, &part.sinogram));
    TRY_OUT(scan_weigh_rays(&part));
    e = slab_compute(&part, x);
out:
    mem_free(part.sinogram);
    if (e)
        mem_free(x);
    else
        *volume = x;
    return e;
}

static enum err write_slab(const struct scan_context *c, struct slab s, struct volume_writer *to,
                           float *middle)
{
    const struct volume *v = &c->model.volume;
    const int64_t pixels = volume_pixels(v), k = v->slices / 2 - s.first;
    float *x;
    TRY(scan_slab_volume(c, s, &x));
    enum err e = volume_writer_add(to, s.first, s.count, x);
    for (int64_t p = 0; k >= 0 && k < s.count && p < pixels; p++)
        middle[p] = x[p * s.count + k];
    mem_free(x);
    return e;
}

enum err scan_slabs_run(struct scan_context *c, float *middle)
{
    const volatile int *stop = c->request->stop;
    const struct slabs *plan = &c->slabs;
    struct volume_writer *to;
    int64_t decoded, again;
    if (c->keep_bytes)
        TRY(exchange_cache_create(c->keep_bytes, &c->kept));
    enum err e = volume_writer_open(c->request->out, &c->model.volume, &to);
    for (int64_t i = 0; !e && i < plan->count; i++) {
        progress("slabs", (double)i, (double)plan->count);
        e = write_slab(c, slab_at(plan, i, 0), to, middle);
        if (!e && stop && *stop)
            e = FAIL(ERR_INTERRUPTED, "interrupted: nothing was written");
    }
    progress_end();
    if (c->kept) {
        exchange_cache_count(c->kept, &decoded, &again);
        log_info("%lld slabs: %lld chunks were decoded, and read %lld times more from memory",
                 (long long)plan->count, (long long)decoded, (long long)again);
    }
    exchange_cache_free(c->kept);
    c->kept = NULL;
    return to ? volume_writer_close(to, e) : e;
}
