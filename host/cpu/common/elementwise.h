/* Entries of the back end's table for whole buffers. Contracts: host/backend/backend.h. */
#ifndef TP_CPU_COMMON_ELEMENTWISE_H
#define TP_CPU_COMMON_ELEMENTWISE_H

#include "host/backend/backend.h"

/* Sums over whole buffers: chunks of fixed size, float64 partial sums combined in index order, so
 * that a result has the same bits at any number of threads. */

#define SUMS        2         /* results of a chunk */
#define CHUNK       (1 << 16) /* elements: 256 KiB of float32, a few microseconds of work */
#define CHUNK_LANES 8 /* independent accumulators, for vectors and short dependency chains */

/* n >= 0 elements of one to three arrays; those that a sum does not use are NULL. */
struct operands {
    const float *a, *b, *c;
};

typedef void chunk_sums(struct operands in, int64_t n, double out[SUMS]);

/* out[i] = sum over the chunks of what `f` gives; n elements in all. ERR_MEMORY. */
enum err sum_chunks(struct backend *be, chunk_sums *f, struct operands in, int64_t n,
                    double out[SUMS]);

enum err cpu_scale(struct backend *be, double alpha, struct buffer *x);
enum err cpu_scale_slices(struct backend *be, const struct volume *v, const float *factor,
                          struct buffer *x);
enum err cpu_move_slices(struct backend *be, const struct slices_move *move,
                         const struct pixel_set *pixels, struct buffer *x, struct buffer *packed);
enum err cpu_sum_abs(struct backend *be, const struct buffer *x, double *out);
enum err cpu_make_weights(struct backend *be, const struct weights_rule *rule,
                          const struct buffer *y, const struct buffer *metal, struct buffer *w);
enum err cpu_weigh_rays(struct backend *be, const struct scan *s, const float *factor,
                        const struct buffer *y, struct buffer *out);
enum err cpu_fingerprint(struct backend *be, const struct buffer *b, double *sum, double *l2,
                         double *min, double *max);

#endif
