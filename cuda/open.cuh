/* The back end's table of functions. */
#ifndef TP_CUDA_OPEN_CUH
#define TP_CUDA_OPEN_CUH

#include "cuda/common/runtime.cuh"

extern const struct backend_ops cuda_backend_ops;

#endif
