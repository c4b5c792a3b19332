/* Steps on volumes: sizes are checked and work is declared here, kernels are in the other files. */
#include "cuda/volume/volume.cuh"

static enum err step_check(const struct volume_step *s)
{
    for (int i = 0; i < 2; i++) {
        const int64_t *n = i ? s->out : s->in;
        FAIL_IF(n[0] * n[1] > UINT32_MAX - SUM_CHUNK || n[2] > INT32_MAX / 2, ERR_UNSUPPORTED,
                "a volume of %lld x %lld x %lld voxels: on a GPU, rows x columns and slices are "
                "limited to 2^32 and 2^30: use `backend=cpu`",
                (long long)n[0], (long long)n[1], (long long)n[2]);
    }
    return ERR_OK;
}

static enum err volume_launch(struct cuda_backend *be, const struct volume_step *s, const float *in,
                              void *out)
{
    float *const floats = static_cast<float *>(out);
    switch (s->kind) {
    case VOLUME_MAP:
        return volume_map(be, s, in, out);
    case VOLUME_PLACE:
        return volume_place(be, s, in, floats);
    case VOLUME_NEAREST:
    case VOLUME_LINEAR:
        return volume_resample(be, s, in, floats);
    case VOLUME_HALVE:
        return volume_halve(be, s, in, floats);
    }
    return FAIL(ERR_INTERNAL, "a volume step of kind %d", (int)s->kind);
}

enum err cuda_volume_step(struct backend *base, const struct volume_step *step,
                          const struct buffer *in, struct buffer *out)
{
    const int64_t to = volume_step_voxels(step->out);
    const size_t read = (size_t)volume_step_voxels(step->in) * sizeof(float);
    const size_t written = (size_t)to * (size_t)volume_dtype_bytes(step->dtype);
    TRY(backend_check_buffers("a volume step", read, written, in, out));
    TRY(step_check(step));
    if (to > 0)
        TRY(volume_launch(device_of(base), step, floats_of(in), out->ptr));
    backend_declare(base, volume_step_flops(step), volume_step_bytes(step),
                    volume_step_bytes(step));
    return ERR_OK;
}
