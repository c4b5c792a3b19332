/* Operations of host/recon on one case, with all arrays on the device or out of core. */
#include "tests/device/problem.h"

const char *const op_names[] = {"forward", "back",   "Hessian", "weighted Hessian",
                                "filter",  "direct", "median"};
const enum recon_op ops_of[OPS] = {RECON_FORWARD, RECON_BACK,   RECON_HESSIAN, RECON_HESSIAN,
                                   RECON_FILTER,  RECON_DIRECT, RECON_MEDIAN};

void problem_open(const struct test_case *c, struct problem *p)
{
    *p = (struct problem){.name = c->name};
    assert_ok(case_model(c, &p->model));
    p->voxels = volume_voxels(&p->model.volume);
    p->samples = scan_samples(&p->model.scan);
    p->x = random_floats(1, -1, 1, p->voxels);
    p->y = random_floats(2, .5, 1.5, p->samples);
}

void problem_close(struct problem *p)
{
    free(p->x);
    free(p->y);
    ct_model_free(&p->model);
}

struct backend *device(size_t limit)
{
    struct backend *be;
    assert_ok(backend_open("cuda", &(struct backend_options){.device_memory = limit}, &be));
    return be;
}

static int is_volume(int op)
{
    return op != FORWARD && op != FILTER;
}

static const float *input_of(const struct problem *p, int op)
{
    return op == FORWARD || op == MEDIAN ? p->x : op == HESSIAN ? NULL : p->y;
}

int64_t input_length(const struct problem *p, int op)
{
    return op == FORWARD || op == MEDIAN ? p->voxels : op == HESSIAN ? 0 : p->samples;
}

int64_t output_length(const struct problem *p, int op)
{
    return is_volume(op) ? p->voxels : p->samples;
}

static enum err call(struct backend *be, const struct problem *p, int op, struct buffer *in,
                     struct buffer *scratch, struct buffer *out)
{
    switch (op) {
    case FORWARD:
        return forward_project(be, &p->model, in, out);
    case BACK:
        return back_project(be, &p->model, in, out);
    case HESSIAN:
    case WEIGHTED:
        return hessian_diagonal(be, &p->model, op == WEIGHTED ? in : NULL, out);
    case FILTER:
        return direct_filter(be, &p->model, in, out);
    case DIRECT:
        return direct_recon(be, &p->model, in, scratch, out);
    default:
        return median_filter(be, &p->model, in, out);
    }
}

enum err run_resident(struct backend *be, const struct problem *p, int op, float *out)
{
    const float *in = input_of(p, op);
    const size_t in_bytes = (size_t)input_length(p, op) * sizeof(float);
    const size_t out_bytes = (size_t)output_length(p, op) * sizeof(float);
    struct buffer from = {0}, to = {0};
    double sum, l2, low, high;
    enum err e = in ? be->ops->upload(be, in, in_bytes, &from) : ERR_OK;
    if (!e)
        e = be->ops->alloc(be, "result", out_bytes, &to);
    if (!e)
        e = call(be, p, op, &from, &from, &to);
    if (!e)
        e = be->ops->fingerprint(be, &to, &sum, &l2, &low, &high);
    if (!e)
        e = be->ops->download(be, &to, out, out_bytes);
    be->ops->release(be, &from);
    be->ops->release(be, &to);
    return e;
}

enum err run_large(struct backend *be, const struct problem *p, int op, float *out)
{
    struct buffer from = {PLACE_HOST, 0, 0, NULL}, to = {PLACE_HOST, 0, 0, out};
    from.ptr = (void *)input_of(p, op);
    from.bytes = (size_t)input_length(p, op) * sizeof(float);
    to.bytes = (size_t)output_length(p, op) * sizeof(float);
    for (int64_t i = 0; i < output_length(p, op); i++)
        out[i] = NAN;
    return call(be, p, op, &from, NULL, &to);
}

float *resident(const struct problem *p, int op)
{
    struct backend *be = device(0);
    float *out = floats(output_length(p, op));
    assert_ok(run_resident(be, p, op, out));
    backend_close(be);
    return out;
}

enum err plan_large(struct backend *be, const struct problem *p, int op, size_t room,
                    struct out_of_core_plan *out)
{
    return out_of_core_plan(be, ops_of[op], &p->model, input_of(p, op) != NULL, room, out);
}

int may_pass(const char *call)
{
    static const char *const names[] = {"cudaFree",
                                        "cudaFreeHost",
                                        "cudaStreamDestroy",
                                        "cudaEventDestroy",
                                        "cufftDestroy",
                                        "cudaHostUnregister",
                                        "cudaStreamBeginCapture",
                                        "cudaStreamEndCapture",
                                        "cudaGraphDestroy",
                                        "cudaGraphExecDestroy",
                                        "cudaGraphInstantiate"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(call, names[i]))
            return 1;
    return 0;
}

#define UPDATES 4e4 /* pixels x views x pieces */
size_t least_room(const struct problem *p, int op)
{
    struct backend *be = device(0);
    struct out_of_core_plan l;
    size_t fails = 0, fits = (size_t)1 << 28;
    while (fits - fails > 1) {
        const size_t middle = fails + (fits - fails) / 2;
        if (plan_large(be, p, op, middle, &l))
            fails = middle;
        else
            fits = middle;
    }
    const double each = (double)volume_pixels(&p->model.volume) * (double)p->model.scan.views;
    assert_ok(plan_large(be, p, op, fits, &l));
    while ((double)l.pieces > fmax(6, UPDATES / each)) {
        fits += fits / 4;
        assert_ok(plan_large(be, p, op, fits, &l));
    }
    backend_close(be);
    return fits;
}
