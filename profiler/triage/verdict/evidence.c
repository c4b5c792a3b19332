/* Collects what was measured of a primitive: its row of times, its part of a reconstruction, its
 * ranges and kernels in a profile, its instructions. */
#include <math.h>
#include <string.h>

#include "profiler/triage/verdict/candidate.h"

/* The largest part of a reconstruction that is this primitive. */
static const struct workload_part *part_of(const struct inputs *in, const struct primitive *p,
                                           const struct workload **of)
{
    const struct workload_part *best = NULL;
    for (int i = 0; i < in->workloads->count; i++) {
        const struct workload *w = &in->workloads->item[i];
        for (int k = 0; k < w->count; k++)
            if (w->parts[k].primitive == p && w->parts[k].seconds > 0 &&
                (!best || w->parts[k].seconds > best->seconds)) {
                best = &w->parts[k];
                *of = w;
            }
    }
    return best;
}

/* Times in a profile of any program, by the names of its ranges, else kernels and functions. */
static void from_profile(const struct model *m, struct candidate *c)
{
    struct evidence *e = &c->evidence;
    const struct primitive *p = c->primitive;
    double calls = 0, host = 0, device = 0;
    for (int i = 0; i < m->ranges_count; i++) {
        const struct model_range *r = &m->ranges[i];
        if (!primitive_called(p, r->name) || !(r->time.n > 0))
            continue;
        calls += (double)r->time.n;
        host += r->time.total_s > 0 ? r->time.total_s : 0;
        device += r->gpu_sum_s > 0 ? r->gpu_sum_s : 0;
    }
    for (int i = 0; calls <= 0 && i < m->kernels_count; i++)
        if (primitive_called(p, m->kernels[i].name) && m->kernels[i].time.n > 0) {
            device += m->kernels[i].time.total_s;
            e->calls = (double)m->kernels[i].time.n;
        }
    for (int i = 0; calls <= 0 && i < m->files_count; i++)
        for (int k = 0; k < m->files[i].functions_count; k++) {
            const struct model_function *f = &m->files[i].functions[k];
            if (primitive_called(p, f->name) && f->cpu.user >= 0 && f->cpu.sys >= 0)
                host += f->cpu.user + f->cpu.sys;
        }
    if (calls > 0)
        e->calls = calls;
    e->host_s = host > 0 ? host : (double)NAN;
    e->device_s = device > 0 ? device : (double)NAN;
    if (!(e->seconds > 0) && e->calls > 0 && (host > 0 || device > 0)) {
        e->seconds = (host > 0 ? host : device) / e->calls;
        e->source = "profile";
    }
}

/* Share of one call of each row of the suite, reconstructions credited to their parts. */
static double share_of_run(const struct inputs *in, const struct primitive *p)
{
    double own = 0, total = 0;
    for (int i = 0; i < in->timing->rows_count; i++) {
        const struct timing_row *r = &in->timing->rows[i];
        if (r->size != in->size || !(r->seconds > 0))
            continue;
        total += r->seconds;
        if (!strcmp(r->operation, p->name))
            own += r->seconds;
    }
    for (int i = 0; i < in->workloads->count; i++)
        for (int k = 0; k < in->workloads->item[i].count; k++) {
            const struct workload_part *part = &in->workloads->item[i].parts[k];
            if (part->primitive == p && part->seconds > 0)
                own += part->seconds;
        }
    return total > 0 ? own / total : (double)NAN;
}

static int sizes_of(const struct timing *t, const char *operation)
{
    int n = 0;
    for (int i = 0; i < t->rows_count; i++)
        n += !strcmp(t->rows[i].operation, operation) && t->rows[i].seconds > 0;
    return n;
}

static void from_row(const struct timing_row *row, struct evidence *e)
{
    e->seconds = row->seconds;
    e->runs = row->runs;
    e->cv = row->cv;
    e->source = "row";
    if (row->flops > 0)
        e->flops = row->flops;
    if (row->bytes > 0)
        e->bytes = row->bytes;
    e->flops_counted = row->flops_counted;
    e->bytes_counted = row->bytes_counted;
    e->transfer_measured = row->moved;
    e->gpu_s = row->gpu_time;
}

/* Counted work is preferred to computed work. */
static void evidence_judge_work(struct evidence *e)
{
    const double flops = e->flops_counted > 0 ? e->flops_counted : e->flops,
                 bytes = e->bytes_counted > 0 ? e->bytes_counted : e->bytes;
    if (!(e->flops_counted > 0) || !(e->bytes_counted > 0))
        e->counters_reason =
            "the run holds no counts of the processor: tomoprof run takes none of operations and "
            "bytes, and perf_event_open rarely offers them on virtual machines";
    e->intensity = bytes > 0 ? flops / bytes : (double)NAN;
    e->gflops = flops / e->seconds * 1e-9;
    e->gbytes_per_s = bytes / e->seconds * 1e-9;
}

/* Finds the mix of the run's own kernels where it was counted, else of this project's. */
static void find_mix(const struct inputs *in, struct candidate *c)
{
    struct evidence *e = &c->evidence;
    e->mix_units = (double)NAN;
    e->mix = in->sass ? sass_find(in->sass, c->primitive) : NULL;
    e->mix_source = in->sass && *in->sass->arch ? in->sass->arch : "sass.json";
    if (!e->mix) {
        e->mix = sass_own(c->primitive, &e->mix_units);
        e->mix_source = "this project's kernel, sm_90";
    }
    if (!e->mix)
        e->mix_reason =
            !strncmp(c->primitive->name, "gen_", 4) ? "it runs on the host"
            : c->primitive->streams
                ? "its transforms are cuFFT's, or it has no kernel: not one of tomoprof's cubins"
                : "no cubin of a kernel of that name";
}

void candidate_evidence(const struct inputs *in, struct candidate *c)
{
    const struct primitive *p = c->primitive;
    struct evidence *e = &c->evidence;
    const struct workload *of = NULL;
    const struct timing_row *row = timing_find(in->timing, p->name, in->size);
    const struct workload_part *part = part_of(in, p, &of);
    const double units = primitive_units(p, in->size);

    *e = (struct evidence){.size = in->size, .source = "none", .seconds = (double)NAN};
    e->gpu_s = e->calls = e->cv = e->host_s = e->device_s = e->transfer_measured = (double)NAN;
    e->flops_counted = e->bytes_counted = (double)NAN;
    e->flops = p->flops * units;
    e->bytes = 4 * primitive_traffic(p, in->size, 1);
    if (row) {
        from_row(row, e);
    } else if (part) {
        e->seconds = part->seconds / (part->calls > 0 ? part->calls : 1);
        e->source = part->source;
    }
    if (in->profile)
        from_profile(in->profile, c);
    if (part && part->calls > 0)
        e->calls = part->calls;
    e->sizes = sizes_of(in->timing, p->name);
    e->exponent = timing_exponent(in->timing, p->name, &e->overhead_share, &e->exponent_reason);
    e->run_share = share_of_run(in, p);
    evidence_judge_work(e);
    find_mix(in, c);
}
