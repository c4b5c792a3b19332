/* Opening a device; the sentences for everything that CUDA can report. */
#include <cuda_profiler_api.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda/common/internal.cuh"
#include "cuda/memory_plan.cuh"

#define OLDEST 75 /* compute capability */

enum err cuda_failed(cudaError_t code, const char *doing)
{
    cudaGetLastError();
    switch (code) {
    case cudaErrorMemoryAllocation:
        return FAIL(ERR_MEMORY,
                    "the GPU ran out of memory while %s: use a smaller size, or end other programs "
                    "on it (nvidia-smi lists them)",
                    doing);
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
        return FAIL(ERR_UNSUPPORTED,
                    "this build has no code for this GPU (%s): build again with "
                    "-DTP_CUDA_ARCH set to its architecture",
                    cudaGetErrorString(code));
    case cudaErrorDevicesUnavailable:
    case cudaErrorECCUncorrectable:
    case cudaErrorSystemNotReady:
        return FAIL(ERR_FAILED, "the GPU was lost while %s (%s): nvidia-smi may say why", doing,
                    cudaGetErrorString(code));
    default:
        return FAIL(ERR_FAILED, "the GPU failed while %s: %s (%s)", doing, cudaGetErrorString(code),
                    cudaGetErrorName(code));
    }
}

enum err launch_allowed(const char *kernel, int64_t blocks)
{
    FAIL_IF(blocks > INT_MAX, ERR_INPUT, "%s: %lld blocks of threads are more than a GPU takes",
            kernel, (long long)blocks);
    return ERR_OK;
}

enum err launch_done(const char *kernel)
{
    char doing[120];
    const cudaError_t code = cudaGetLastError();
    if (code == cudaSuccess)
        return ERR_OK;
    snprintf(doing, sizeof doing, "starting %s", kernel);
    return cuda_failed(code, doing);
}

/* CUDA 13000 -> 13.0 */
static enum err check_driver(void)
{
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    FAIL_IF(driver == 0, ERR_UNSUPPORTED,
            "no NVIDIA driver is installed, or none reaches this container: install one and "
            "nvidia-container-toolkit, or use --backend cpu");
    FAIL_IF(driver / 1000 < runtime / 1000, ERR_UNSUPPORTED,
            "the NVIDIA driver is too old: it serves CUDA %d.%d, this build needs %d.0%s; update "
            "it, or use --backend cpu",
            driver / 1000, driver % 1000 / 10, runtime / 1000,
            runtime / 1000 == 13 ? " (driver 580 or later)" : "");
    int devices = 0;
    const cudaError_t code = cudaGetDeviceCount(&devices);
    FAIL_IF(code == cudaErrorNoDevice || (code == cudaSuccess && devices == 0), ERR_UNSUPPORTED,
            "the NVIDIA driver finds no GPU (is CUDA_VISIBLE_DEVICES empty?): use --backend cpu");
    TRY_CUDA(code, "being looked for");
    return ERR_OK;
}

static enum err take_device(struct cuda_backend *be)
{
    struct cudaDeviceProp properties;
    char memory[16];
    TRY_CUDA(cudaSetDevice(0), "being opened");
    TRY_CUDA(cudaGetDeviceProperties(&properties, 0), "being opened");
    FAIL_IF(properties.major * 10 + properties.minor < OLDEST, ERR_UNSUPPORTED,
            "the %.60s has compute capability %d.%d, CUDA 13 needs %d.%d: use --backend cpu",
            properties.name, properties.major, properties.minor, OLDEST / 10, OLDEST % 10);
    TRY_CUDA(cudaStreamCreateWithFlags(&be->stream, cudaStreamNonBlocking), "being opened");
    TRY_CUDA(cudaMallocHost((void **)&be->result, MAX_SUMS * sizeof(double) + TABLE_ROOM),
             "being opened");
    be->tables = reinterpret_cast<char *>(be->result + MAX_SUMS);
    be->shared_most = properties.sharedMemPerBlockOptin;
    TRY(lanes_open(be));
    be->multiprocessors = properties.multiProcessorCount;
    const size_t whole = properties.totalGlobalMem;
    snprintf(memory, sizeof memory, "%.0f GiB",
             (double)(be->limit && be->limit < whole ? be->limit : whole) / 0x1p30);
    snprintf(be->base.device, sizeof be->base.device, "%.60s, compute capability %d.%d, %s",
             properties.name, properties.major, properties.minor, memory);
    return ERR_OK;
}

extern const struct backend_ops *cuda_ops(void);

enum err cuda_open(const struct backend_options *options, struct backend **out)
{
    TRY(check_driver());
    struct cuda_backend *be = static_cast<struct cuda_backend *>(calloc(1, sizeof *be));
    FAIL_IF(!be, ERR_MEMORY, "no memory left to open the CUDA back end");
    be->base.ops = cuda_ops();
    be->base.threads = options->threads > 0 ? options->threads : 1; /* of the host: it waits */
    be->limit = options->device_memory;
    const enum err e = take_device(be);
    if (e)
        cuda_close(&be->base);
    else
        *out = &be->base;
    return e;
}

void cuda_measured(struct backend *base, int begins)
{
    (void)base;
    if (begins)
        let_pass(cudaProfilerStart());
    else
        let_pass(cudaProfilerStop());
}

void cuda_close(struct backend *base)
{
    struct cuda_backend *be = device_of(base);
    struct workspace *const held[] = {&be->scratch, &be->partial, &be->views};
    for (struct workspace *w : held)
        workspace_drop(be, w);
    descent_free(be);
    sorted_free(be);
    pixel_cache_free(be);
    fft_plans_free(be->plans);
    ramp_plan_free(be, be->ramp);
    if (be->result)
        let_pass(cudaFreeHost(be->result));
    lanes_close(be);
    if (be->stream)
        let_pass(cudaStreamDestroy(be->stream));
    free(be);
}
