/* A worker for cone beams. */
#ifndef TP_CPU_CONE_CONE_WORKER_H
#define TP_CPU_CONE_CONE_WORKER_H

#include "host/cpu/common/worker.h"
#include "host/cpu/cone/cone_kernel.h"

struct cone_worker {
    struct worker base; /* first: a struct worker * is one of these */
    struct cone_block block;
};

/* Returns the floats of scratch per worker. */
size_t cone_worker_floats(const struct projector *p);
/* ld: floats between columns of a tile. */
void cone_worker_init(struct cone_worker *w, const struct projector *p, float *scratch, int64_t ld,
                      int64_t view_stride, int power);

#endif
