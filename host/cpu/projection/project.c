/* The projection entries of the back end: which beam, marks, declared work. */
#include <string.h>

#include "host/backend/course.h"
#include "host/cpu/common/projection.h"
#include "host/cpu/common/threads.h"
#include "host/cpu/cone/cone.h"
#include "host/cpu/parallel/parallel.h"
#include "host/cpu/projection/project.h"
#include "base/mark/mark.h"

/* Ideal work of one projection: per voxel and view 2 taps (parallel) or 2 channel taps on the
 * blended column and 2 row taps on the voxel (cone), a multiply-add each. */
static void projection_declare_work(struct backend *be, const struct projector *p,
                                    const struct pixel_set *pixels, int sinograms)
{
    const int alike = p->scan.beam == BEAM_PARALLEL && sinograms == 0; /* one slice is all slices */
    double updates =
        (double)pixels->count * (double)p->scan.views * (double)(alike ? 1 : p->volume.slices);
    double taps = p->scan.beam == BEAM_PARALLEL ? 2 : 4;
    double bytes = 4 * ((double)pixels->count * (double)p->volume.slices +
                        (double)scan_samples(&p->scan) * sinograms);
    backend_declare(be, 2 * taps * updates, bytes, 4 * taps * updates);
}

enum err cpu_forward(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                     const struct buffer *x, struct sinogram y)
{
    mark_push("forward_project", (uint64_t)pixels->count);
    enum err e = p->scan.beam == BEAM_PARALLEL ? parallel_forward(be, p, pixels, x->ptr, y)
                                               : cone_forward(be, p, pixels, x->ptr, y);
    mark_pop();
    projection_declare_work(be, p, pixels, 1);
    return e;
}

enum err cpu_back(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                  struct sinogram y, struct sinogram w, int power, struct buffer *x)
{
    mark_push("back_project", (uint64_t)pixels->count);
    enum err e = p->scan.beam == BEAM_PARALLEL ? parallel_back(be, p, pixels, y, w, power, x->ptr)
                                               : cone_back(be, p, pixels, y, w, power, x->ptr);
    mark_pop();
    projection_declare_work(be, p, pixels, (y.data != NULL) + (w.data != NULL));
    return e;
}

enum err cpu_sino_reorder(struct backend *be, const struct scan *s, struct sinogram in,
                          struct sinogram out)
{
    const struct tile_kernels *k = ISA_PICK(tile_kernels);
    const int64_t plane_size = s->rows * s->channels;
    const float *from = in.data->ptr;
    float *to = out.data->ptr;
#pragma omp parallel for num_threads(cpu_team(be, scan_samples(s))) schedule(static)
    for (int64_t v = 0; v < s->views; v++) {
        const float *a = from + v * plane_size;
        float *b = to + v * plane_size;
        if (backend_stopped(be))
            continue;
        if (in.order == out.order)
            memcpy(b, a, (size_t)plane_size * sizeof *b);
        else if (in.order == SINO_CHANNELS_FASTEST)
            k->load(a, NULL, s->channels, s->rows, b, s->rows);
        else
            k->store(a, s->rows, s->channels, s->rows, b);
    }
    backend_declare(be, 0, 8.0 * (double)scan_samples(s), 8.0 * (double)scan_samples(s));
    return ERR_OK;
}
