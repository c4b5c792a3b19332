/* The emulator's cuda_profiler_api.h: where a measured part begins and ends. */
#ifndef TP_SHIM_CUDA_PROFILER_API_H
#define TP_SHIM_CUDA_PROFILER_API_H

#include "tests/device/shim/cuda_runtime.h"

cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);

#endif
