/* Steps on views before a reconstruction: an entry of the back end's table, and its parts. */
#ifndef TP_CUDA_PREPARE_PREPARE_CUH
#define TP_CUDA_PREPARE_PREPARE_CUH

#include "cuda/common/reduce.cuh"

extern "C" {
#include "host/backend/prepare_math.h"
}

#define PREPARE_THREADS 256

enum err cuda_prepare_step(struct backend *be, const struct prepare_step *step,
                           const struct buffer *frames, const struct buffer *in,
                           struct buffer *out);

/* The parts that are more than one pass: checked, in and out apart. */
enum err prepare_wavelet_rows(struct cuda_backend *be, const struct prepare_step *s,
                              const float *in, float *out);
enum err prepare_phase_views(struct cuda_backend *be, const struct prepare_step *s, const float *in,
                             float *out);

#endif
