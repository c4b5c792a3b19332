/* Services that the program lends to the shared object it opens (cuda.h). */
#ifndef TP_CUDA_COMMON_SERVICES_CUH
#define TP_CUDA_COMMON_SERVICES_CUH

extern "C" {
#include "cuda/cuda.h"
}

extern const struct cuda_services *services;

#endif
