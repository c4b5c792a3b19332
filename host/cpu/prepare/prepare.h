/* Steps on views before a reconstruction. Contract: host/backend/backend.h and prepare.h. */
#ifndef TP_CPU_PREPARE_PREPARE_H
#define TP_CPU_PREPARE_PREPARE_H

#include "host/backend/backend.h"

enum err cpu_prepare_step(struct backend *be, const struct prepare_step *step,
                          const struct buffer *frames, const struct buffer *in, struct buffer *out);

/* Steps that are more than one pass: sizes are checked, in and out apart. */
enum err prepare_wavelet_rows(struct backend *be, const struct prepare_step *s, int team,
                              const float *in, float *out);
enum err prepare_phase_views(struct backend *be, const struct prepare_step *s, int team,
                             const float *in, float *out);
enum err prepare_symmetry(struct backend *be, const struct prepare_step *s, int team,
                          const float *in, float *out);

/* Stripes of a sinogram, which become rings. Contract: host/backend/backend.h. */

enum err cpu_remove_stripes(struct backend *be, const struct scan *s, int64_t size,
                            const struct buffer *y, struct buffer *out);

#endif
