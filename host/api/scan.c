/* A prepared scan to its volume, by the steps of the command `recon`. */
#include <string.h>

#include "base/memory.h"
#include "host/api/call.h"
#include "host/scan/compute.h"

struct scan_call {
    tomoprof_scan_options o;
    struct scan_request request;
    struct scan_result result;
    struct scan_context scan;
};

static enum err scan_options_take(const tomoprof_scan_options *given, struct scan_call *s)
{
    tomoprof_scan_options *o = &s->o;
    tomoprof_recon_options counts = TOMOPROF_RECON_OPTIONS;
    int method = SCAN_BY_BEAM, rings, weights, redundancy;
    if (given)
        TRY(sized_copy("options", given, given->size, o, sizeof *o));
    if (o->method) {
        TRY(choice_check("method", o->method, SCAN_METHODS, &method));
        method += SCAN_FBP;
    }
    TRY(choice_check("rings", o->rings, SCAN_RINGS, &rings));
    TRY(choice_check("backproject", o->backproject, SCAN_BACKPROJECT, &s->request.voxel_driven));
    TRY(choice_check("redundancy", o->redundancy, REDUNDANCY_NAMES, &redundancy));
    TRY(choice_check("weights", o->weights, SCAN_WEIGHTS, &weights));
    counts.iterations = s->request.iterations = o->iterations;
    counts.stop_threshold_percent = s->request.threshold_percent = o->stop_threshold_percent;
    counts.seed = s->request.seed = o->seed;
    s->request.method = (enum scan_method)method;
    s->request.rings = (enum scan_rings)rings;
    s->request.redundancy = (enum redundancy)redundancy;
    s->request.weights = (enum scan_weights)weights;
    return recon_options_check(&counts);
}

static enum err check_scan(struct api_call *k)
{
    struct scan_call *s = k->result;
    TRY(scan_options_take(k->options, s));
    s->request.stop = &k->context->stop;
    s->request.on_iteration = call_progress;
    s->request.context = k->context;
    s->scan = (struct scan_context){
        .request = &s->request, .result = &s->result, .be = k->be, .model = *k->m};
    TRY(scan_choose_method(&s->scan));
    FAIL_IF(s->request.weights && s->scan.method != SCAN_MBIR, ERR_USAGE,
            "`weights` are of `method=mbir`");
    k->counts = s->scan.method == SCAN_MBIR;
    return ERR_OK;
}

static enum err compute_scan(struct api_call *k)
{
    struct scan_call *s = k->result;
    const struct operand *y = &k->operands[0], *x = &k->operands[1];
    const size_t bytes = (size_t)y->elements * sizeof(float);
    void *copy;
    float *volume;
    TRY(mem_alloc("sinogram", bytes, &copy));
    s->scan.sinogram = memcpy(copy, y->host, bytes);
    enum err e = scan_compute(&s->scan, &volume);
    if (!e)
        memcpy(x->host, volume, (size_t)x->elements * sizeof(float));
    mem_free(volume);
    mem_free(s->scan.sinogram);
    mbir_report_free(&s->result.report);
    return e;
}

tomoprof_status tomoprof_recon_scan(tomoprof_context *c, const tomoprof_model *m,
                                    const tomoprof_array *y, const tomoprof_scan_options *options,
                                    tomoprof_array *x)
{
    struct scan_call s = {.o = TOMOPROF_SCAN_OPTIONS, .request = {SCAN_REQUEST_DEFAULTS}};
    struct api_call k = {
        .context = c,
        .model = m,
        .needs_model = 1,
        .on_host = 1,
        .operands = {{"y", FORM_SINOGRAM, WAY_IN, y}, {"x", FORM_VOLUME, WAY_OUT, x}},
        .check = check_scan,
        .compute = compute_scan,
        .options = options,
        .result = &s};
    return call_run(&k);
}
