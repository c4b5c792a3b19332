/* The emulator's cuFFT, on the CPU back end's FFT: plans, their work areas, and failures on demand.
 */
#include <stdlib.h>

#include <map>

#include "tests/device/shim/cufft.h"
#include "tests/device/shim/memory.h"

extern "C" {
#include "host/cpu/filter/fft.h"
}

namespace
{
struct plan {
    struct fft *fft;
    int n, batch;
    void *area;
    size_t area_bytes;
    bool has_stream;
    cudaStream_t stream;
};
std::map<cufftHandle, plan> plans;
cufftHandle next_handle = 1;
} // namespace

int64_t shim_plans_alive(void)
{
    return (int64_t)plans.size();
}

static cufftResult enter(const char *call)
{
    return shim_enter(call) ? CUFFT_INTERNAL_ERROR : CUFFT_SUCCESS;
}

cufftResult cufftCreate(cufftHandle *handle)
{
    if (enter("cufftCreate"))
        return CUFFT_INTERNAL_ERROR;
    *handle = next_handle++;
    plans[*handle] = plan{};
    return CUFFT_SUCCESS;
}

cufftResult cufftDestroy(cufftHandle handle)
{
    shim_drain();
    fft_free(plans.at(handle).fft);
    plans.erase(handle);
    return enter("cufftDestroy");
}

cufftResult cufftSetAutoAllocation(cufftHandle, int automatic)
{
    return automatic ? CUFFT_INVALID_PLAN : enter("cufftSetAutoAllocation");
}

cufftResult cufftMakePlanMany(cufftHandle handle, int rank, int *n, int *, int, int in_distance,
                              int *, int, int out_distance, cufftType, int batch, size_t *workspace)
{
    plan &p = plans.at(handle);
    if (enter("cufftMakePlanMany"))
        return CUFFT_INTERNAL_ERROR;
    if (rank != 1 || in_distance != *n || out_distance != *n || fft_create(*n, &p.fft))
        return CUFFT_INVALID_PLAN;
    p.n = *n;
    p.batch = batch;
    *workspace = p.area_bytes = (size_t)*n * 8;
    return CUFFT_SUCCESS;
}

cufftResult cufftSetWorkArea(cufftHandle handle, void *memory)
{
    plan &p = plans.at(handle);
    p.area = memory;
    return shim_is_device(memory, p.area_bytes) ? enter("cufftSetWorkArea") : CUFFT_INVALID_PLAN;
}

cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream)
{
    plans.at(handle).has_stream = stream != NULL;
    plans.at(handle).stream = stream;
    return enter("cufftSetStream");
}

static void run(const plan &p, cufftComplex *in, cufftComplex *out, int direction)
{
    const size_t row = (size_t)p.n * 8, padded = (row + 63) / 64 * 64;
    float *a = static_cast<float *>(aligned_alloc(64, padded));
    float *b = static_cast<float *>(aligned_alloc(64, padded));
    shim_unlock();
    for (int i = 0; i < p.batch; i++) {
        memcpy(a, in + (size_t)i * (size_t)p.n, row);
        (direction == CUFFT_FORWARD ? fft_forward : fft_inverse)(p.fft, a, b);
        memcpy(out + (size_t)i * (size_t)p.n, b, row);
    }
    shim_lock();
    free(a);
    free(b);
}

cufftResult cufftExecC2C(cufftHandle handle, cufftComplex *in, cufftComplex *out, int direction)
{
    const plan &p = plans.at(handle);
    if (enter("cufftExecC2C"))
        return CUFFT_INTERNAL_ERROR;
    if (!p.area || !p.has_stream || in != out ||
        !shim_is_device(in, (size_t)p.n * 8 * (size_t)p.batch))
        return CUFFT_INVALID_PLAN;
    shim_enqueue(p.stream, [=] { run(plans.at(handle), in, out, direction); });
    return CUFFT_SUCCESS;
}
