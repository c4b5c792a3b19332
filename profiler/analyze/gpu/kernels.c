/* Kernels of a run by their name. */
#include "profiler/analyze/gpu/gpu.h"

enum err gpu_kernel_of(struct run *r, const char *mangled, uint32_t *index)
{
    const char *name = run_text(r, mangled ? mangled : "[unknown kernel]");
    FAIL_IF(!name, ERR_MEMORY, "no memory for the kernels");
    *index = table_get(&r->gpu.kernel_by_name, (uintptr_t)name);
    if (*index != TABLE_NONE)
        return ERR_OK;
    *index = (uint32_t)r->gpu.kernels.count;
    TRY(vector_add(&r->gpu.kernels, (struct kernel){.mangled = name}));
    return table_put(&r->gpu.kernel_by_name, (uintptr_t)name, *index);
}
