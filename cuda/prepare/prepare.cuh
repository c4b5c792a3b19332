/* Steps on views before a reconstruction: an entry of the back end's table, and its parts. */
#ifndef TP_CUDA_PREPARE_PREPARE_CUH
#define TP_CUDA_PREPARE_PREPARE_CUH

#include "cuda/common/reduce.cuh"
#include "cuda/filter/fft.cuh"

extern "C" {
#include "host/backend/prepare_math.h"
}

#define PREPARE_THREADS 256

enum err cuda_prepare_step(struct backend *be, const struct prepare_step *step,
                           const struct buffer *frames, const struct buffer *in,
                           struct buffer *out);

enum err cuda_remove_stripes(struct backend *be, const struct scan *s, int64_t size,
                             const struct buffer *y, struct buffer *out);

/* The parts that are more than one pass: checked, in and out apart. */
enum err prepare_wavelet_rows(struct cuda_backend *be, const struct prepare_step *s,
                              const float *in, float *out);
enum err prepare_phase_views(struct cuda_backend *be, const struct prepare_step *s, const float *in,
                             float *out);
enum err prepare_symmetry_trials(struct cuda_backend *be, const struct prepare_step *s,
                                 const float *in, float *out);

/* Transforms of so many rows of one length, for one call; zeroed before. */
struct prepare_plan {
    const struct fft_calls *fft;
    cufftHandle handle;
    int ready;
    struct workspace area;
};
enum err prepare_plan_make(struct cuda_backend *be, struct prepare_plan *p, int64_t n, int64_t rows,
                           const char *doing);
void prepare_plan_drop(struct cuda_backend *be, struct prepare_plan *p);

#endif
