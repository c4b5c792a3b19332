/* 3x3x3 median: an entry of the back end's table (host/backend/backend.h). */
#ifndef TP_CUDA_MEDIAN_MEDIAN_CUH
#define TP_CUDA_MEDIAN_MEDIAN_CUH

#include "cuda/common/device.cuh"

enum err cuda_median3(struct backend *be, int64_t rows, int64_t cols, int64_t slices,
                      const struct buffer *in, struct buffer *out);

#endif
