/* Flows as rows of the model. */
#include "profiler/analyze/build/flow_rows.h"

enum err flow_rows(struct model *m, const struct flows *flows)
{
    TRY(model_list(m, model_flow, m, flows, flows->list.count));
    for (size_t i = 0; i < flows->list.count; i++) {
        const struct flow *f = &flows->list.items[i];
        m->flows[i] =
            (struct model_flow){f->thread,       (int64_t)f->called, f->kind,          f->device,
                                f->cuda_context, f->stream,          (int64_t)f->began};
    }
    return ERR_OK;
}
