/* Makes an operation ready to run: where its arrays go, its input, its output. */
#include "host/suite/catalogue/catalogue.h"
#include "host/suite/catalogue/check.h"
#include "host/suite/catalogue/state.h"

enum err state_place(struct run_state *s, int has_weights, double extra)
{
    enum recon_op op;
    if (!operation_recon(s->op, &op))
        return ERR_OK;
    const int has_input = s->op->input != ARRAY_NONE || has_weights;
    const double arrays = operation_run_bytes(s->op, &s->model) + extra;
    return recon_place(s->be, op, &s->model, has_input, (size_t)arrays, &s->large);
}

enum err state_prepare(struct run_state *s)
{
    s->subsets = SUITE_SUBSETS;
    s->mbir = (struct mbir_options){.max_iterations = 1, .seed = (uint32_t)s->seed};
    TRY(state_place(s, 0, check_device_bytes(s)));
    if (s->op->prepare)
        TRY(s->op->prepare(s));
    if (s->op->scratch == SCRATCH_SINOGRAM)
        TRY(state_allocate_scratch(s));
    TRY(state_allocate_output(s));
    return s->op->ready ? s->op->ready(s) : ERR_OK;
}
