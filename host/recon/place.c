/* Decides if the arrays of an operation stay on the device, or pass through it in parts. */
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "host/recon/common/rescale.h"
#include "host/recon/mbir.h"
#include "host/recon/mbir_large.h"
#include "host/recon/slabs/slab_job.h"

static void place_log(enum recon_op op, const struct out_of_core_plan *p, size_t needed,
                      size_t room)
{
    char need[16], have[16], used[16];
    log_info("%s: %s needed, %s available on the device: %lld slabs in %lld pieces, %s at a time",
             recon_op_names[op], mem_human((double)needed, need), mem_human((double)room, have),
             (long long)p->results, (long long)p->pieces, mem_human((double)p->bytes, used));
}

/* That this process may use: what the CPU would compute with. */
static int place_processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
}

/* Cone beams: every subset needs the whole error sinogram, so that it pays to send it only where
 * the CPU would take longer still. */
static enum err place_cone_mbir(struct backend *be, const struct ct_model *m, int64_t pixels,
                                size_t needed, size_t room)
{
    struct mbir_streamed_plan p;
    char need[16], have[16], used[16], advice[256];
    TRY(mbir_streamed_plan(be, m, pixels, room, be->threads > 1 ? be->threads : place_processors(),
                           &p));
    snprintf(
        advice, sizeof advice,
        "every subset of cone beams needs all of its arrays; sent for each of them an iteration "
        "takes %.3g s by the model, and %.3g s on the CPU: use a smaller size or `backend=cpu`",
        p.seconds, p.seconds_on_cpu);
    if (p.seconds >= p.seconds_on_cpu)
        return be->ops->streams->refuse(be, recon_op_names[RECON_MBIR], needed, advice);
    log_info("%s: %s needed, %s available on the device: the error sinogram passes through it in "
             "%lld blocks of %lld views for each subset, %s at a time; by the model an iteration "
             "takes %.3g s, on the CPU %.3g s",
             recon_op_names[RECON_MBIR], mem_human((double)needed, need),
             mem_human((double)room, have), (long long)p.blocks.count,
             (long long)p.blocks.thickness, mem_human((double)p.bytes, used), p.seconds,
             p.seconds_on_cpu);
    return ERR_OK;
}

static enum err place_mbir(struct backend *be, const struct ct_model *m, int64_t pixels,
                           size_t needed, size_t room)
{
    struct mbir_groups_plan p;
    char need[16], have[16], used[16];
    if (m->scan.beam != BEAM_PARALLEL)
        return place_cone_mbir(be, m, pixels, needed, room);
    TRY(mbir_groups_plan(be, m, pixels, room, &p));
    log_info("%s: %s needed, %s available on the device: the slices take their steps in %lld "
             "groups of %lld, %s at a time",
             recon_op_names[RECON_MBIR], mem_human((double)needed, need),
             mem_human((double)room, have), (long long)p.groups.count,
             (long long)p.groups.thickness, mem_human((double)p.bytes, used));
    return ERR_OK;
}

enum err recon_place(struct backend *be, enum recon_op op, const struct ct_model *m, int has_input,
                     size_t arrays, int *out_of_core)
{
    struct slab_job j;
    size_t room;
    *out_of_core = 0;
    if (!be->ops->streams)
        return ERR_OK;
    TRY(be->ops->streams->room(be, &room));
    TRY(slab_job_create(be, op, m, has_input, &j));
    const int64_t pixels = j.pixels.count;
    const struct call_memory calls = slab_calls_memory(&j, op, j.m.scan, j.m.volume);
    const struct call_memory sums =
        be->ops->streams->memory(be, CALL_SUMS, &m->scan, &m->volume, pixels);
    const size_t need = arrays + calls.kept + calls.shared + sums.kept;
    slab_job_free(&j);
    if (need <= room)
        return ERR_OK;
    if (op == RECON_MBIR) {
        TRY(place_mbir(be, m, pixels, need, room));
    } else {
        struct out_of_core_plan p;
        TRY(out_of_core_plan(be, op, m, has_input, room, &p));
        place_log(op, &p, need, room);
    }
    *out_of_core = 1;
    return ERR_OK;
}

static enum err report_create(int64_t iterations, struct mbir_report *r)
{
    FAIL_IF(iterations < 0, ERR_USAGE, "the number of iterations is %lld: it must be 0 or more",
            (long long)iterations);
    const size_t n = (size_t)iterations + 1;
    r->fm_rmse = calloc(n, sizeof *r->fm_rmse);
    r->change_percent = calloc(n, sizeof *r->change_percent);
    r->alpha = calloc(n, sizeof *r->alpha);
    r->subsets = calloc(n, sizeof *r->subsets);
    FAIL_IF(!r->fm_rmse || !r->change_percent || !r->alpha || !r->subsets, ERR_MEMORY,
            "no memory for the trace of %lld iterations", (long long)iterations);
    return ERR_OK;
}

void mbir_report_free(struct mbir_report *r)
{
    free(r->fm_rmse);
    free(r->change_percent);
    free(r->alpha);
    free(r->subsets);
    *r = (struct mbir_report){0};
}

static enum err mbir_in_range(struct backend *be, const struct ct_model *m, const struct buffer *y,
                              const struct mbir_options *o, struct buffer *x,
                              struct mbir_report *report)
{
    if (!is_out_of_core(be, y))
        return mbir_whole(be, m, y, o, x, report);
    FAIL_IF(o->fast, ERR_UNSUPPORTED,
            "`schedule=fast`: the arrays do not fit the device; use `backend=cpu`");
    FAIL_IF(o->subsets, ERR_UNSUPPORTED,
            "partitions: the arrays do not fit the device; use `backend=cpu`");
    return (m->scan.beam == BEAM_PARALLEL ? mbir_in_groups : mbir_streamed)(be, m, y, o, x, report);
}

/* The same problem in other units: y, x, initial image and target times 2^data, weights times
 * 2^weights. Its iterations need squares of these, which float32 may not hold. */
struct rescaled {
    struct ct_model m; /* borrows what it points to */
    struct mbir_options options;
    struct buffer y, weights, initial, target;
    int on_host, data, weight;
};

static enum err rescaled_create(struct backend *be, const struct buffer *y,
                                const struct mbir_options *o, struct rescaled *r)
{
    struct regularisation *const g = &r->m.regularisation;
    g->sigma_y = ldexp(g->sigma_y, r->data + r->weight / 2);
    g->sigma_x = ldexp(g->sigma_x, r->data);
    g->sigma_prox = ldexp(g->sigma_prox, r->data);
    TRY(rescale_copy(be, "sinogram near 1", y, r->on_host, r->data, &r->y));
    if (o->weights) {
        TRY(rescale_copy(be, "weights near 1", o->weights, r->on_host, r->weight, &r->weights));
        r->options.weights = &r->weights;
    }
    if (o->initial) {
        TRY(rescale_copy(be, "initial image near 1", o->initial, r->on_host, r->data, &r->initial));
        r->options.initial = &r->initial;
    }
    if (o->prox_target) {
        TRY(rescale_copy(be, "target near 1", o->prox_target, r->on_host, r->data, &r->target));
        r->options.prox_target = &r->target;
    }
    return ERR_OK;
}

static void rescaled_free(struct backend *be, struct rescaled *r)
{
    struct buffer *const all[] = {&r->y, &r->weights, &r->initial, &r->target};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        rescale_release(be, all[i], r->on_host);
}

/* Volume and report in the units of the data as given. */
static enum err rescaled_undo(struct backend *be, const struct rescaled *r, struct buffer *x,
                              struct mbir_report *report)
{
    double largest;
    report->sigma_y = ldexp(report->sigma_y, -r->data - r->weight / 2);
    report->sigma_x = ldexp(report->sigma_x, -r->data);
    report->sigma_prox = ldexp(report->sigma_prox, -r->data);
    for (int64_t i = 0; i < report->iterations; i++)
        report->fm_rmse[i] = ldexp(report->fm_rmse[i], r->weight / 2);
    TRY(rescale_by(be, x, r->on_host, -r->data));
    TRY(rescale_largest(be, x, r->on_host, &largest));
    FAIL_IF(isnan(largest), ERR_INPUT,
            "the volume's values exceed the range of float32 (3.4e38): multiply the sinogram by a "
            "smaller number, for example 2^%d",
            r->data);
    return ERR_OK;
}

static enum err mbir_rescaled(struct backend *be, const struct buffer *y,
                              const struct mbir_options *o, struct rescaled *r, struct buffer *x,
                              struct mbir_report *report)
{
    TRY(rescaled_create(be, y, o, r));
    const enum err e = mbir_in_range(be, &r->m, &r->y, &r->options, x, report);
    if (e && e != ERR_INTERRUPTED)
        return e;
    TRY(rescaled_undo(be, r, x, report));
    return e;
}

enum err mbir_recon(struct backend *be, const struct ct_model *m, const struct buffer *y,
                    const struct mbir_options *o, struct buffer *x, struct mbir_report *report)
{
    struct rescaled r = {.m = *m, .options = *o, .on_host = is_out_of_core(be, y)};
    double largest;
    *report = (struct mbir_report){0};
    FAIL_IF(o->fast && o->compat_06, ERR_USAGE,
            "`schedule=fast` has no subsets of MBIRJAX 0.6: leave out `compat`");
    TRY(report_create(o->max_iterations, report));
    TRY(rescale_largest(be, y, r.on_host, &largest));
    r.data = rescale_exponent(largest);
    if (o->weights) {
        TRY(rescale_largest(be, o->weights, r.on_host, &largest));
        r.weight = rescale_exponent(largest) / 2 * 2; /* sigma_y takes the root of it */
    }
    if (!r.data && !r.weight)
        return mbir_in_range(be, m, y, o, x, report);
    const enum err e = mbir_rescaled(be, y, o, &r, x, report);
    rescaled_free(be, &r);
    return e;
}
