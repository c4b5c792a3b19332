/* Chooses the worker of a projector's beam. */
#include "host/cpu/projection/any_worker.h"

size_t any_worker_floats(const struct projector *p)
{
    return p->scan.beam == BEAM_CONE ? cone_worker_floats(p) : worker_floats(p);
}

void any_worker_init(union any_worker *w, const struct projector *p, float *scratch, int64_t ld,
                     int64_t view_stride, int power)
{
    if (p->scan.beam == BEAM_CONE)
        cone_worker_init(&w->cone, p, scratch, ld, view_stride, power);
    else
        parallel_worker_init(&w->parallel, p, scratch, ld, view_stride, power);
}
