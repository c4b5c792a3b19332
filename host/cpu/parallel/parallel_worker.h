/* A worker for parallel beams. */
#ifndef TP_CPU_PARALLEL_PARALLEL_WORKER_H
#define TP_CPU_PARALLEL_PARALLEL_WORKER_H

#include "host/cpu/common/worker.h"
#include "host/cpu/parallel/parallel_kernel.h"

struct parallel_worker {
    struct worker base; /* first: a struct worker * is one of these */
    struct parallel_block block;
};

/* scratch: worker_floats() floats; ld: floats between columns of a tile. */
void parallel_worker_init(struct parallel_worker *w, const struct projector *p, float *scratch,
                          int64_t ld, int64_t view_stride, int power);

#endif
