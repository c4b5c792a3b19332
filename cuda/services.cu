/* The entry of the shared object, and the functions of other folders that it borrows from the
 * program: error texts and marks would otherwise exist twice. */
#include <stdarg.h>
#include <stdio.h>

#include "cuda/common/internal.cuh"
#include "cuda/memory_plan.cuh"
#include "cuda/common/services.cuh"

const struct cuda_services *services;

#ifdef __CUDACC__ /* the tests of tests/device are linked with the originals */
extern "C" {

enum err err_set(enum err code, const char *file, int line, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return services->err_set(code, file, line, "%s", text);
}

void mark_push(const char *name, uint64_t payload)
{
    services->mark_push(name, payload);
}

void mark_pop(void)
{
    services->mark_pop();
}
}
#endif

/* In the order of backend.h: C++17 knows no designated initialisers. */
static const struct backend_ops cuda_backend_ops = {
    "cuda",
    cuda_open,
    cuda_close,
    cuda_alloc,
    cuda_release,
    cuda_upload,
    cuda_download,
    cuda_zero,
    cuda_copy,
    cuda_sync,
    cuda_projector_create,
    cuda_projector_free,
    cuda_forward,
    cuda_back,
    NULL, /* back_voxel */
    cuda_ramp_filter,
    cuda_median3,
    cuda_prior_terms,
    cuda_vcd_direction,
    cuda_weighted_dots,
    cuda_forward_dots,
    cuda_update_back,
    cuda_clip_positive,
    cuda_add_cylinders,
    cuda_vcd_sweep,
    NULL, /* vcd_sweep_fits: always */
    cuda_scale,
    cuda_scale_slices,
    cuda_sum_abs,
    cuda_sino_reorder,
    cuda_fingerprint,
    cuda_measure_peak,
    cuda_measure_ceilings,
    cuda_measured,
    &cuda_lanes,
};

extern "C" __attribute__((visibility("default"))) const struct backend_ops *
tomoprof_cuda(const struct cuda_services *lent)
{
    if (lent->seam != sizeof(struct backend_ops))
        return NULL;
    services = lent;
    return &cuda_backend_ops;
}

const struct backend_ops *cuda_ops(void)
{
    return &cuda_backend_ops;
}
