/* The CPU back end's table of functions, its opening, and its buffers, which are plain host memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/backend/cpu_name.h"
#include "base/memory.h"
#include "host/backend/course.h"
#include "host/cpu/cpu.h"
#include "host/cpu/common/elementwise.h"
#include "host/cpu/common/isa.h"
#include "host/cpu/common/peak.h"
#include "host/cpu/common/threads.h"
#include "host/cpu/cone/cone.h"
#include "host/cpu/filter/ramp.h"
#include "host/cpu/fourier/fourier.h"
#include "host/cpu/median/median.h"
#include "host/cpu/prepare/prepare.h"
#include "host/cpu/projection/project.h"
#include "host/cpu/vcd/vcd.h"
#include "host/cpu/volume/volume.h"
#include "base/mark/mark.h"

/* More threads than any single machine has: a larger wish is a typing error. */
#define MAX_THREADS 4096

static enum err cpu_open(const struct backend_options *options, struct backend **out)
{
    FAIL_IF(options->threads < 0 || options->threads > MAX_THREADS, ERR_USAGE,
            "`threads=%d` is outside 0 (all) to %d", options->threads, MAX_THREADS);
    struct backend *be = calloc(1, sizeof *be);
    FAIL_IF(!be, ERR_MEMORY, "no memory left to open the CPU back end");
    be->ops = &cpu_backend;
    be->threads = options->threads ? options->threads : cpu_threads_usable();
    char model[CPU_NAME];
    cpu_name(model);
    snprintf(be->device, sizeof be->device, "%.80s, %d thread%s, %s", *model ? model : "CPU",
             be->threads, be->threads == 1 ? "" : "s", isa_name(cpu_isa()));
    *out = be;
    return ERR_OK;
}

static void cpu_close(struct backend *be)
{
    free(be);
}

static enum err cpu_alloc(struct backend *be, const char *what, size_t bytes, struct buffer *out)
{
    (void)be;
    *out = (struct buffer){PLACE_HOST, 1, bytes, NULL};
    return mem_alloc(what, bytes, &out->ptr);
}

static void cpu_release(struct backend *be, struct buffer *b)
{
    (void)be;
    if (b->owned)
        mem_free(b->ptr);
    *b = (struct buffer){0};
}

static enum err cpu_upload(struct backend *be, const void *host, size_t bytes, struct buffer *out)
{
    (void)be;
    mark_push("upload", 0); /* the payload is the bytes moved: none */
    *out = (struct buffer){PLACE_HOST, 0, bytes, (void *)host};
    mark_pop();
    return ERR_OK;
}

#define PIECE ((size_t)4 << 20) /* bytes between two looks: 1 ms */

/* Gives each thread one range of bytes, so that a fresh target is first touched by the thread that
 * will use it. A wish to end is looked for but leaves nothing out: a copy may be what is kept. */
static void in_parallel(const struct backend *be, char *to, const char *from, size_t bytes)
{
    const int parts = bytes < (1 << 20) ? 1 : be->threads;
#pragma omp parallel for num_threads(parts) schedule(static)
    for (int t = 0; t < parts; t++) {
        size_t begin = bytes / (size_t)parts * (size_t)t;
        size_t end = t + 1 < parts ? bytes / (size_t)parts * (size_t)(t + 1) : bytes;
        for (size_t at = begin; at < end; at += PIECE) {
            const size_t n = end - at < PIECE ? end - at : PIECE;
            if (from)
                memcpy(to + at, from + at, n);
            else
                memset(to + at, 0, n);
            (void)backend_stopped(be);
        }
    }
}

static enum err cpu_download(struct backend *be, const struct buffer *b, void *host, size_t bytes)
{
    FAIL_IF(bytes > b->bytes, ERR_INTERNAL, "download of %zu bytes from a buffer of %zu", bytes,
            b->bytes);
    int moved = host != b->ptr && bytes > 0;
    mark_push("download", moved ? bytes : 0);
    if (moved)
        in_parallel(be, host, b->ptr, bytes);
    mark_pop();
    return ERR_OK;
}

static enum err cpu_zero(struct backend *be, struct buffer *b)
{
    if (b->bytes)
        in_parallel(be, b->ptr, NULL, b->bytes);
    return ERR_OK;
}

static enum err cpu_copy(struct backend *be, const struct buffer *from, struct buffer *to)
{
    FAIL_IF(from->bytes != to->bytes, ERR_INTERNAL, "copy of %zu bytes into a buffer of %zu",
            from->bytes, to->bytes);
    if (from->bytes && from->ptr != to->ptr)
        in_parallel(be, to->ptr, from->ptr, from->bytes);
    return ERR_OK;
}

static enum err cpu_sync(struct backend *be)
{
    (void)be; /* every call has finished its work when it returns */
    return ERR_OK;
}

const struct backend_ops cpu_backend = {
    .name = "cpu",
    .open = cpu_open,
    .close = cpu_close,
    .alloc = cpu_alloc,
    .release = cpu_release,
    .upload = cpu_upload,
    .download = cpu_download,
    .zero = cpu_zero,
    .copy = cpu_copy,
    .sync = cpu_sync,
    .projector_create = cpu_projector_create,
    .projector_free = cpu_projector_free,
    .forward = cpu_forward,
    .back = cpu_back,
    .back_voxel = cpu_back_voxel,
    .fourier_back = cpu_fourier_back,
    .remove_stripes = cpu_remove_stripes,
    .prepare_step = cpu_prepare_step,
    .weigh_rays = cpu_weigh_rays,
    .ramp_filter = cpu_ramp_filter,
    .median3 = cpu_median3,
    .volume_step = cpu_volume_step,
    .make_weights = cpu_make_weights,
    .prior_terms = cpu_prior_terms,
    .vcd_direction = cpu_vcd_direction,
    .weighted_dots = cpu_weighted_dots,
    .forward_dots = cpu_forward_dots,
    .update_back = cpu_update_back,
    .clip_positive = cpu_clip_positive,
    .add_cylinders = cpu_add_cylinders,
    .vcd_iteration = cpu_vcd_iteration,
    .vcd_iteration_fits = cpu_vcd_iteration_fits,
    .scale = cpu_scale,
    .scale_slices = cpu_scale_slices,
    .move_slices = cpu_move_slices,
    .sum_abs = cpu_sum_abs,
    .sino_reorder = cpu_sino_reorder,
    .fingerprint = cpu_fingerprint,
    .measure_peak = cpu_measure_peak,
    .glance_peak = cpu_glance_peak,
};
