/* Keeps evenly spaced flows within a limit. */
#include "profiler/analyze/common/flow.h"

enum err flows_add(struct flows *f, const struct flow *one)
{
    f->every = f->every ? f->every : 1;
    if (f->seen++ % f->every)
        return ERR_OK;
    if (f->list.count == FLOWS_MAX) {
        for (size_t i = 0; i < FLOWS_MAX / 2; i++)
            f->list.items[i] = f->list.items[2 * i];
        f->list.count = FLOWS_MAX / 2;
        f->every *= 2;
    }
    return vector_add(&f->list, *one);
}
