/* Sums over whole buffers: chunks of fixed size, float64 partial sums combined in index order, so
 * that a result has the same bits at any number of threads. */
#ifndef TP_CPU_COMMON_REDUCE_H
#define TP_CPU_COMMON_REDUCE_H

#include "host/backend/backend.h"

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

#endif
