/* Steps on volumes: sizes are checked and work is declared here, the loops are in the other files.
 */
#include "host/backend/checks.h"
#include "host/cpu/volume/volume.h"
#include "host/cpu/common/threads.h"
#include "base/mark/mark.h"

/* A larger result would not be in a cache when it is read next: writing past the caches saves
 * reading the old contents first. */
size_t cpu_volume_stream_least = (size_t)12 << 20;

static enum err volume_compute(const struct volume_job *j)
{
    switch (j->step->kind) {
    case VOLUME_MAP:
        return volume_map(j);
    case VOLUME_PLACE:
        volume_place(j);
        return ERR_OK;
    case VOLUME_NEAREST:
    case VOLUME_LINEAR:
        return volume_resample(j);
    case VOLUME_HALVE:
        volume_halve(j);
        return ERR_OK;
    }
    return FAIL(ERR_INTERNAL, "a volume step of kind %d", (int)j->step->kind);
}

enum err cpu_volume_step(struct backend *be, const struct volume_step *step,
                         const struct buffer *in, struct buffer *out)
{
    const int64_t from = volume_step_voxels(step->in), to = volume_step_voxels(step->out);
    const size_t read = (size_t)from * sizeof(float);
    const size_t written = (size_t)to * (size_t)volume_dtype_bytes(step->dtype);
    TRY(backend_check_buffers("a volume step", read, written, in, out));
    if (to == 0)
        return ERR_OK;
    const struct volume_job job = {step,
                                   in->ptr,
                                   out->ptr,
                                   be,
                                   cpu_team(be, from > to ? from : to),
                                   written >= cpu_volume_stream_least,
                                   0};
    mark_push("volume_step", written);
    const enum err e = volume_compute(&job);
    mark_pop();
    backend_declare(be, volume_step_flops(step), volume_step_bytes(step), volume_step_bytes(step));
    return e;
}
