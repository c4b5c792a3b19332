/* Direct methods in slabs: as thick as the memory allows, one after the other. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "host/recon/common/rescale.h"
#include "host/recon/helical.h"
#include "host/recon/recon.h"
#include "host/recon/slabs/out_of_core.h"
#include "host/recon/slabs/tile.h"
#include "host/scan/rays.h"
#include "host/scan/rings.h"
#include "host/scan/slabs.h"
#include "host/store/exchange/exchange.h"
#include "host/store/format/volume.h"

#define ALIGN         64
#define ALIGN_FOURIER 16 /* slices that are computed side by side: their bits depend on it */

struct slab_sizes {
    const struct scan_request *request;
    const struct ct_model *model;
};

/* Detector rows that slices need. Helical scans: all, for a slice's weight is the number of views
 * that see it. */
static struct index_range rows_under(const struct ct_model *m, struct index_range slices)
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
        const int64_t count = rows_under(m, slices).count;
        most = most > count ? most : count;
    }
    return most;
}

/* Sinogram, volume, a tenth of both (at least 4 MiB) for tiles; pixel lists, the picture's slice,
 * and what NIfTI files are transposed in. */
static size_t bytes_held(const void *context, int64_t slices)
{
    const struct slab_sizes *s = context;
    const struct scan *scan = &s->model->scan;
    const int64_t pixels = volume_pixels(&s->model->volume);
    const int64_t needed = most_rows(s->model, slices) + 2 * scan_input_halo(s->request);
    const int64_t rows = needed < scan->rows ? needed : scan->rows;
    const int two = s->request->rings || s->request->redundancy == REDUNDANCY_WANG ||
                    scan_steps_wanted(s->request->steps);
    const double sinogram =
        (two ? 8.0 : 4.0) * (double)(scan->views * scan->channels) * (double)rows;
    const double arrays = sinogram + 4.0 * (double)pixels * (double)slices;
    const double tiles = arrays / 10 > 0x1p22 ? arrays / 10 : 0x1p22;
    return (size_t)(arrays + tiles + 12.0 * (double)pixels + volume_writer_bytes(pixels, slices));
}

static enum err plan_in(const struct scan_request *r, const struct ct_model *m, size_t available,
                        struct slabs *out)
{
    const struct slab_sizes sizes = {r, m};
    TRY(slabs_plan("this reconstruction", "of memory", m->volume.slices, bytes_held, &sizes,
                   available, out));
    const int64_t align = r->method == SCAN_FOURIER ? ALIGN_FOURIER : ALIGN;
    if (out->count > 1 && out->thickness > align) {
        out->thickness -= out->thickness % align;
        out->count = (out->length + out->thickness - 1) / out->thickness;
    }
    return ERR_OK;
}

enum err scan_slabs_plan(const struct scan_request *r, const struct ct_model *m, struct slabs *out)
{
    return plan_in(r, m, mem_available(), out);
}

enum err scan_slabs_keep(const struct scan_request *r, struct scan_input *in, struct slabs *plan)
{
    const int64_t available = (int64_t)mem_available();
    const int64_t bytes = in->decoded_bytes;
    struct slabs thinner;
    if (plan->count < 2 || !bytes || bytes > available / 2)
        return ERR_OK;
    const int64_t with_headers = bytes + bytes / 16 + (1 << 16);
    if (plan_in(r, &in->model, (size_t)(available - with_headers), &thinner))
        return ERR_OK; /* not even one slice would fit beside them */
    *plan = thinner;
    in->keep_bytes = with_headers;
    return ERR_OK;
}

struct slab_arrays {
    struct scan_input part; /* the slab as a scan of its own; borrows the angles */
    float *x;               /* host */
    struct buffer y_buffer, x_buffer;
};

/* Each voxel by how much of the turns saw it. */
static enum err helical(struct backend *be, const struct scan_request *r, const struct ct_model *m,
                        struct buffer *y, struct buffer *x, float *volume)
{
    float *factors;
    TRY(helical_back(be, m, r->voxel_driven, y, y, x, &factors));
    const enum err e = be->ops->download(be, x, volume, x->bytes);
    for (int64_t i = 0; i < volume_voxels(&m->volume) && !e; i++)
        volume[i] *= factors[i];
    mem_free(factors);
    return e;
}

static enum err slab_direct(struct backend *be, const struct scan_request *r,
                            const struct ct_model *m, struct buffer *y, struct buffer *x,
                            float *volume)
{
    if (r->helical)
        return helical(be, r, m, y, x, volume);
    TRY((r->method == SCAN_FOURIER ? fourier_recon
         : r->voxel_driven         ? fdk_voxel_recon
                                   : direct_recon)(be, m, y, y, x));
    return x->ptr == volume ? ERR_OK : be->ops->download(be, x, volume, x->bytes);
}

/* The filter and the sums over views are linear, so that only extreme sinograms overflow or vanish
 * on the way. */
static enum err slab_check(double given, const struct buffer *volume)
{
    double largest;
    TRY(rescale_largest(NULL, volume, 1, &largest));
    FAIL_IF(isnan(largest) || (largest == 0 && given > 0 && given < RESCALE_TINY), ERR_INPUT,
            "the volume %s, the sinogram (values up to %g) %s: values left the range of float32, "
            "1.2e-38 to 3.4e38. Multiply the sinogram by a power of two that brings it near 1",
            isnan(largest) ? "holds NaN or infinity" : "is 0 everywhere", given,
            isnan(largest) ? "does not" : "is not");
    return ERR_OK;
}

enum err scan_slab_direct(struct backend *be, const struct scan_request *r,
                          const struct ct_model *m, struct buffer *y, struct buffer *x,
                          float *volume)
{
    const struct buffer result = {PLACE_HOST, 0, x->bytes, volume};
    double given;
    TRY(rescale_largest(be, y, is_out_of_core(be, y), &given));
    TRY(slab_direct(be, r, m, y, x, volume));
    return slab_check(given, &result);
}

static enum err compute(struct backend *be, const struct scan_request *r, struct slab_arrays *w)
{
    const struct backend_ops *ops = be->ops;
    const struct ct_model *m = &w->part.model;
    const size_t y_bytes = (size_t)scan_samples(&m->scan) * sizeof(float);
    const size_t x_bytes = (size_t)volume_voxels(&m->volume) * sizeof *w->x;
    TRY(ops->upload(be, w->part.sinogram, y_bytes, &w->y_buffer));
    TRY(ops->upload(be, w->x, x_bytes, &w->x_buffer));
    return scan_slab_direct(be, r, m, &w->y_buffer, &w->x_buffer, w->x);
}

enum err scan_slab_volume(struct backend *be, const struct scan_request *r,
                          const struct scan_input *input, struct slab s, float **volume)
{
    const struct index_range slices = {s.first, s.count};
    const struct index_range views = {0, input->model.scan.views};
    const struct index_range rows = rows_under(&input->model, slices);
    struct slab_arrays w = {.part = *input};
    void *x;
    enum err e;
    w.part.sinogram = NULL; /* the whole one stays with `input` */
    w.part.model = tile_model(&input->model, views, rows, slices);
    *volume = NULL;
    TRY(mem_alloc("slab of the volume", (size_t)volume_voxels(&w.part.model.volume) * sizeof(float),
                  &x));
    w.x = x;
    TRY_OUT(scan_input_rows(r, input, rows.first, rows.count, &w.part.sinogram));
    if (r->rings)
        TRY_OUT(scan_remove_rings(be, &w.part.model, r->rings, r->steps, &w.part.sinogram));
    TRY_OUT(scan_weigh_rays(r->redundancy, &w.part));
    e = compute(be, r, &w);
out:
    be->ops->release(be, &w.y_buffer);
    be->ops->release(be, &w.x_buffer);
    mem_free(w.part.sinogram);
    if (e)
        mem_free(x);
    else
        *volume = x;
    return e;
}

static enum err one_slab(struct backend *be, const struct scan_request *r,
                         const struct scan_input *input, struct slab s, struct volume_writer *to,
                         float *middle)
{
    const struct volume *v = &input->model.volume;
    const int64_t pixels = volume_pixels(v), k = v->slices / 2 - s.first;
    float *x;
    TRY(scan_slab_volume(be, r, input, s, &x));
    enum err e = volume_writer_add(to, s.first, s.count, x);
    for (int64_t p = 0; k >= 0 && k < s.count && p < pixels; p++)
        middle[p] = x[p * s.count + k];
    mem_free(x);
    return e;
}

enum err scan_slabs_run(struct backend *be, const struct scan_request *r,
                        const struct scan_input *input, const struct slabs *plan, float *middle)
{
    struct volume_writer *to;
    struct scan_input in = *input;
    int64_t decoded, again;
    if (in.keep_bytes)
        TRY(exchange_kept_make(in.keep_bytes, &in.kept));
    enum err e = volume_writer_open(r->out, &input->model.volume, &to);
    for (int64_t i = 0; !e && i < plan->count; i++) {
        progress("slabs", (double)i, (double)plan->count);
        e = one_slab(be, r, &in, slab_at(plan, i, 0), to, middle);
        if (!e && r->stop && *r->stop)
            e = FAIL(ERR_INTERRUPTED, "interrupted: nothing was written");
    }
    progress_end();
    if (in.kept) {
        exchange_kept_count(in.kept, &decoded, &again);
        log_info("%lld slabs: %lld chunks were decoded, and read %lld times more from memory",
                 (long long)plan->count, (long long)decoded, (long long)again);
    }
    exchange_kept_free(in.kept);
    return to ? volume_writer_close(to, e) : e;
}
