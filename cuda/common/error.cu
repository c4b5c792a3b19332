/* Sentences for everything that CUDA can report, and the checks around a launch. */
#include <limits.h>
#include <stdio.h>

#include "cuda/common/runtime.cuh"

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
    case cudaErrorJitCompilerNotFound:
        return FAIL(ERR_UNSUPPORTED,
                    "this build has no machine code for this GPU, and the driver's compiler, "
                    "libnvidia-ptxjitcompiler.so.1, is missing: install the whole driver, or build "
                    "again with -DTP_CUDA_ARCH set to its architecture");
    case cudaErrorDevicesUnavailable:
        return FAIL(ERR_FAILED,
                    "the GPU was lost while %s (%s), or another program has it for itself: "
                    "nvidia-smi -q -d COMPUTE shows its compute mode, nvidia-smi -c 0 shares it",
                    doing, cudaGetErrorString(code));
    case cudaErrorSystemNotReady:
        return FAIL(ERR_FAILED,
                    "the GPU cannot be used yet while %s (%s): machines with NVSwitch need "
                    "nvidia-fabricmanager of the driver's version to run",
                    doing, cudaGetErrorString(code));
    case cudaErrorSystemDriverMismatch:
        return FAIL(ERR_FAILED,
                    "the GPU failed while %s (%s): the driver was updated since this machine was "
                    "started; start it again",
                    doing, cudaGetErrorString(code));
    case cudaErrorCompatNotSupportedOnDevice:
        return FAIL(ERR_FAILED,
                    "the GPU failed while %s (%s): NVIDIA's package cuda-compat serves data-centre "
                    "GPUs alone; remove its folder from LD_LIBRARY_PATH, or update the driver",
                    doing, cudaGetErrorString(code));
    case cudaErrorInitializationError:
    case cudaErrorUnknown:
        return FAIL(ERR_FAILED,
                    "the GPU failed while %s: %s (%s). Does nvidia-smi see it, and does "
                    "/dev/nvidia-uvm exist? After a suspend or an update of the driver, start the "
                    "machine again",
                    doing, cudaGetErrorString(code), cudaGetErrorName(code));
    case cudaErrorECCUncorrectable:
        return FAIL(ERR_FAILED, "the GPU was lost while %s (%s): nvidia-smi may say why", doing,
                    cudaGetErrorString(code));
    case cudaErrorLaunchTimeout:
        return FAIL(
            ERR_FAILED,
            "the GPU was stopped while %s: it also drives a display, and the system ends "
            "work that takes seconds. Set TOMOPROF_CUDA_LAUNCH=0.1 for shorter launches, use "
            "another GPU (CUDA_VISIBLE_DEVICES) or `backend=cpu`, or raise the limit (Windows: "
            "TdrDelay; X: Option "
            "\"Interactive\" \"0\")",
            doing);
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
