/* A worker for the beam of a projector, whichever it is. */
#ifndef TP_CPU_PROJECTION_ANY_WORKER_H
#define TP_CPU_PROJECTION_ANY_WORKER_H

#include "host/cpu/cone/cone_worker.h"
#include "host/cpu/parallel/parallel_worker.h"

union any_worker {
    struct worker base;
    struct parallel_worker parallel;
    struct cone_worker cone;
};

/* Returns the floats of scratch per worker. */
size_t any_worker_floats(const struct projector *p);
/* ld: floats between columns of a tile. */
void any_worker_init(union any_worker *w, const struct projector *p, float *scratch, int64_t ld,
                     int64_t view_stride, int power);

#endif
