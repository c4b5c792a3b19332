/* Rules about GPUs: copies, launches, idle time, first calls, clocks, and lines inside kernels. */
#include <string.h>

#include "base/text.h"
#include "profiler/findings/rules.h"

static double line_pageable(const struct model_line *l)
{
    return l->copy.pageable_bytes > 0 ? l->copy.h2d.s + l->copy.d2h.s : 0;
}

struct pageable_sum {
    double s;
    int64_t n, bytes;
};

/* Copies from or to pageable memory: all of them, or the asynchronous ones. */
static struct pageable_sum pageable_sum(const struct model *m, int asynchronous)
{
    struct pageable_sum sum = {0};
    for (int i = 0; i < m->transfers_count; i++) {
        const struct model_transfer *t = &m->transfers[i];
        if ((strcmp(t->from, "pageable") && strcmp(t->to, "pageable")) ||
            (asynchronous && !t->asynchronous))
            continue;
        sum.s += t->time.total_s;
        sum.n += t->time.n;
        sum.bytes += t->bytes > 0 ? t->bytes : 0;
    }
    return sum;
}

/* Pinned memory is copied at up to twice the rate. */
int rule_copy_pageable(const struct run_facts *f, struct finding *out)
{
    const struct pageable_sum sum = pageable_sum(f->m, 0);
    if (!(sum.s > SHARE(PAGEABLE_LEAST) * f->wall))
        return 0;
    finding_gain(out, 0, sum.s / 2, "medium");
    finding_evidence(out, "%lld copies of %.1f MiB took %s s on the device (%.1f %% of the run).",
                     (long long)sum.n, (double)sum.bytes / 1048576, NUMBER(3, sum.s),
                     100 * sum.s / f->wall);
    finding_lines_by(out, f->m, line_pageable);
    return 1;
}

int rule_copy_pageable_async(const struct run_facts *f, struct finding *out)
{
    const struct pageable_sum sum = pageable_sum(f->m, 1);
    if (!sum.n || !(sum.s > SHARE(PAGEABLE_ASYNC_LEAST) * f->wall))
        return 0;
    finding_gain(out, 0, sum.s / 2, "high");
    finding_evidence(out, "%lld asynchronous copies of pageable memory took %s s.",
                     (long long)sum.n, NUMBER(3, sum.s));
    finding_lines_by(out, f->m, line_pageable);
    return 1;
}

static double line_gpu_wait(const struct model_line *l)
{
    return l->gpu.wait_s;
}

int rule_gpu_sync(const struct run_facts *f, struct finding *out)
{
    const struct model_totals *t = &f->m->totals;
    double wasted = t->gpu_wait_s - t->gpu_wait_busy_s;
    if (!(wasted > SHARE(SYNC_LEAST) * f->wall))
        return 0;
    finding_gain(out, 0, wasted, "medium");
    finding_evidence(out, "Synchronising calls took %s s; a device was busy for %s s of it.",
                     NUMBER(3, t->gpu_wait_s), NUMBER(3, t->gpu_wait_busy_s));
    finding_lines_by(out, f->m, line_gpu_wait);
    return 1;
}

int rule_gpu_gaps(const struct run_facts *f, struct finding *out)
{
    const struct model_gpu_total *gpu = &f->m->gpu;
    double idle = f->m->totals.gpu_idle_s, sum = 0;
    for (int i = 0; i < gpu->gaps_count; i++)
        sum += gpu->gaps[i].length_s;
    if (!(idle > SHARE(IDLE_LEAST) * f->wall) || !gpu->gaps_count)
        return 0;
    const struct model_gap *g = &gpu->gaps[0];
    finding_gain(out, 0, idle, "medium");
    finding_evidence(
        out,
        "Between its first and last operation the device was idle for %s s; the longest gap is "
        "%s s at %s s, the longest %d together %s s.",
        NUMBER(3, idle), NUMBER(3, g->length_s), NUMBER(3, g->start_s), gpu->gaps_count,
        NUMBER(3, sum));
    for (int i = 0; i < g->lines_count; i++)
        finding_line(out, g->lines[i].file, g->lines[i].line, g->lines[i].n, g->lines[i].value);
    return 1;
}

static double line_kernels(const struct model_line *l)
{
    return l->gpu.launches > 0 ? l->gpu.kernel_s : 0;
}

int rule_gpu_small_kernels(const struct run_facts *f, struct finding *out)
{
    double api = 0, time = 0;
    int64_t n = 0;
    for (int i = 0; i < f->m->kernels_count; i++) {
        const struct model_kernel *k = &f->m->kernels[i];
        if (k->time.n < SMALL_LAUNCHES || !(k->time.total_s < k->api_s))
            continue;
        n += k->time.n;
        api += k->api_s;
        time += k->time.total_s;
    }
    if (!(api > SHARE(SMALL_LEAST) * f->wall))
        return 0;
    finding_gain(out, 0, api - time, "medium");
    finding_evidence(out, "%lld launches took %s s on the host for %s s on the device.",
                     (long long)n, NUMBER(3, api), NUMBER(3, time));
    finding_lines_by(out, f->m, line_kernels);
    return 1;
}

int rule_gpu_jit(const struct run_facts *f, struct finding *out)
{
    double s = 0;
    for (int i = 0; i < f->m->gpu.overhead_count; i++) {
        const struct model_sum *o = &f->m->gpu.overhead[i];
        if (!strncmp(o->kind, "JIT", 3) || !strcmp(o->kind, "driver compiler") ||
            !strcmp(o->kind, "lazy function load") ||
            !strcmp(o->kind, "runtime-triggered module load"))
            s += o->s;
    }
    if (!(s > SHARE(JIT_LEAST) * f->wall))
        return 0;
    finding_gain(out, 0, s, "high");
    finding_evidence(out, "Compiling and loading of device code took %s s (%.1f %% of the run).",
                     NUMBER(3, s), 100 * s / f->wall);
    return 1;
}

static double line_kernel_s(const struct model_line *l)
{
    return l->gpu.kernel_s;
}

int rule_gpu_occupancy(const struct run_facts *f, struct finding *out)
{
    for (int i = 0; i < f->m->kernels_count; i++) {
        const struct model_kernel *k = &f->m->kernels[i];
        if (!k->variants_count || !(k->share_of_kernel_time > SHARE(OCCUPANCY_KERNEL)) ||
            !(k->variants[0].occupancy < SHARE(OCCUPANCY_LOW)))
            continue;
        finding_gain(out, (double)NAN, (double)NAN, "low");
        finding_evidence(
            out,
            "%.100s: %.0f %% of the warps that fit, limited by %s; it takes %.0f %% of the kernel "
            "time.",
            k->name, 100 * k->variants[0].occupancy, k->variants[0].limiter,
            100 * k->share_of_kernel_time);
        for (int n = 0; n < f->m->device_lines_count; n++) /* that wait most, with few to hide it */
            if (f->m->device_lines[n].kernel == i && f->m->device_lines[n].file)
                finding_line(out, f->m->device_lines[n].file, f->m->device_lines[n].line,
                             MODEL_UNKNOWN, f->m->device_lines[n].s);
        if (!out->lines.count)
            finding_lines_by(out, f->m, line_kernel_s);
        return 1;
    }
    return 0;
}

int rule_gpu_transfers(const struct run_facts *f, struct finding *out)
{
    const struct model_totals *t = &f->m->totals;
    double share = t->copy_s / (t->kernel_s + t->copy_s);
    if (!(share > SHARE(COPIES_OF_DEVICE)) || !(t->copy_s > SHARE(LEAST) * f->wall))
        return 0;
    finding_gain(out, 0, t->copy_s, "medium");
    finding_evidence(
        out,
        "Copies took %s s on the device and kernels %s s (%.0f %% of both); %s MiB to the "
        "device, %s MiB from it.",
        NUMBER(3, t->copy_s), NUMBER(3, t->kernel_s), 100 * share,
        NUMBER(4, (double)t->h2d_bytes / 1048576), NUMBER(4, (double)t->d2h_bytes / 1048576));
    return 1;
}

/* Seconds of the first instance; NaN: unknown, for neighbours were joined. */
static double range_first_s(const struct model *m, int range)
{
    double first = (double)NAN;
    int64_t earliest = INT64_MAX;
    for (int i = 0; i < m->timeline_count; i++) {
        const struct model_track *t = &m->timeline[i];
        int64_t at = 0;
        if (!t->kind || strcmp(t->kind, "range") || t->resolution_ns > 0)
            continue;
        for (int k = 0; k < t->events_count; k++) {
            at += t->events[k].start;
            if (t->events[k].what == range && at < earliest) {
                earliest = at;
                first = 1e-9 * (double)t->events[k].length;
            }
        }
    }
    return first;
}

int rule_gpu_first(const struct run_facts *f, struct finding *out)
{
    const struct model_range *worst = NULL;
    double most = 0, first_s = 0;
    for (int i = 0; i < f->m->ranges_count; i++) {
        const struct model_range *r = &f->m->ranges[i];
        const double much = FIRST_TIMES * r->time.median_s;
        double first =
            r->time.n >= FIRST_CALLS && r->time.max_s > much ? range_first_s(f->m, i) : (double)NAN;
        double lost = first - r->time.median_s;
        if (first > much && lost > SHARE(LEAST) * f->wall && lost > most) {
            most = lost;
            first_s = first;
            worst = r;
        }
    }
    if (!worst)
        return 0;
    finding_gain(out, 0, most, "medium");
    finding_evidence(out, "%.120s: the first of %lld calls took %s s, the median call %s s.",
                     worst->name, (long long)worst->time.n, NUMBER(3, first_s),
                     NUMBER(3, worst->time.median_s));
    return 1;
}

int rule_gpu_clocks(const struct run_facts *f, struct finding *out)
{
    const struct model_device *d = NULL;
    double most = 0;
    for (int i = 0; i < f->m->devices_count; i++) {
        const struct model_device *x = &f->m->devices[i];
        double lost = x->busy_s * (1 - x->busy_mhz / x->clock_mhz);
        if (x->busy_mhz < SHARE(CLOCK_LOW) * x->clock_mhz && lost > SHARE(LEAST) * f->wall &&
            lost > most) {
            most = lost;
            d = x;
        }
    }
    if (!d)
        return 0;
    finding_gain(out, 0, most, "medium");
    if (d->limited_by && !strcmp(d->limited_by, "heat"))
        out->advice = "Cool the card better, or compare runs at a clock that it can hold.";
    finding_evidence(
        out,
        "%.120s: %.0f MHz in the mean while it worked, at least %.0f, of %.0f MHz; %.0f %% of the "
        "samples were limited%s%s.",
        d->name ? d->name : "a GPU", d->busy_mhz, d->least_mhz, d->clock_mhz,
        100 * d->limited_share, d->limited_by ? " by " : "", d->limited_by ? d->limited_by : "");
    return 1;
}

int rule_gpu_hidden(const struct run_facts *f, struct finding *out)
{
    const struct model_totals *t = &f->m->totals;
    double n = (double)t->launches_without_record;
    if (!(n > 0) || !(n > SHARE(HIDDEN_LAUNCHES) * (double)t->launches))
        return 0;
    finding_gain(out, (double)NAN, (double)NAN, "medium");
    finding_evidence(out, "%.0f of %lld launches have no kernel in the recording.", n,
                     (long long)t->launches);
    return 1;
}

/* Samples of a line for one of the reasons. */
static double line_stalls(const struct model_device_line *l, const char *reason)
{
    for (int i = 0; i < l->stalls_count; i++)
        if (!strcmp(l->stalls[i].reason, reason))
            return (double)l->stalls[i].samples;
    return 0;
}

/* A kernel that takes a part of the kernel time that matters, or of which no time is known. */
static const struct model_kernel *line_kernel(const struct model *m,
                                              const struct model_device_line *l)
{
    const struct model_kernel *k =
        l->kernel >= 0 && l->kernel < m->kernels_count ? &m->kernels[l->kernel] : NULL;
    return k && l->file && !(k->share_of_kernel_time < SHARE(INSIDE_KERNEL)) ? k : NULL;
}

static void inside_evidence(struct finding *out, const struct model *m,
                            const struct model_device_line *l)
{
    finding_evidence(out, "%s:%lld in %.80s: ", base_name(l->file), (long long)l->line,
                     m->kernels[l->kernel].name);
    for (int i = 0; i < l->called_at_count && l->called_at[i].file; i++)
        finding_line(out, l->called_at[i].file, l->called_at[i].line, MODEL_UNKNOWN, l->s);
}

/* Names the lines at which one reason takes much of their kernel's samples, the longest first. */
static int inside_stalls(const struct run_facts *f, struct finding *out, const char *reason,
                         const char *what, int (*applies)(const struct model_kernel *k))
{
    const struct model *m = f->m;
    double gain = 0;
    int n = 0;
    for (int i = 0; i < m->device_lines_count; i++) {
        const struct model_device_line *l = &m->device_lines[i];
        const struct model_kernel *k = line_kernel(m, l);
        const double stalls = line_stalls(l, reason), all = (double)l->samples / l->share;
        if (!k || !(stalls > SHARE(INSIDE_STALLS) * all) || (applies && !applies(k)))
            continue;
        finding_line(out, l->file, l->line, MODEL_UNKNOWN, l->s);
        if (!n++) {
            inside_evidence(out, m, l);
            finding_evidence(out, "%.0f of the kernel's %.0f samples are of warps that %s there.",
                             stalls, all, what);
        }
        gain += k->time.total_s * stalls / all;
    }
    if (n)
        finding_gain(out, gain > 0 ? 0 : (double)NAN, gain > 0 ? gain : (double)NAN, "low");
    return n > 0;
}

/* Names the lines that Nsight Compute counted more of than they need. */
static int inside_excess(const struct run_facts *f, struct finding *out, int shared)
{
    const struct model *m = f->m;
    const struct model_device_line *worst = NULL;
    double most = 0;
    for (int i = 0; i < m->device_lines_count; i++) {
        const struct model_device_line *l = &m->device_lines[i];
        const double all = (double)(shared ? l->wavefronts : l->sectors),
                     ideal = (double)(shared ? l->wavefronts_ideal : l->sectors_ideal);
        if (!line_kernel(m, l) || !(ideal >= 0) || !(all - ideal > SHARE(INSIDE_EXCESS) * all))
            continue;
        finding_line(out, l->file, l->line, MODEL_UNKNOWN, l->s);
        if (all - ideal > most) {
            most = all - ideal;
            worst = l;
        }
    }
    if (!worst)
        return 0;
    inside_evidence(out, m, worst);
    finding_evidence(out, "%lld %s where %lld would do.",
                     (long long)(shared ? worst->wavefronts : worst->sectors),
                     shared ? "passes through shared memory" : "sectors of 32 bytes of memory",
                     (long long)(shared ? worst->wavefronts_ideal : worst->sectors_ideal));
    finding_gain(out, (double)NAN, (double)NAN, "high");
    return 1;
}

int rule_gpu_uncoalesced(const struct run_facts *f, struct finding *out)
{
    return inside_excess(f, out, 0) ||
           inside_stalls(f, out, "memory_queue", "find the queue of memory accesses full", NULL);
}

static int uses_shared(const struct model_kernel *k)
{
    return k->variants_count &&
           (k->variants[0].static_shared > 0 || k->variants[0].dynamic_shared > 0);
}

int rule_gpu_bank_conflicts(const struct run_facts *f, struct finding *out)
{
    return inside_excess(f, out, 1) ||
           inside_stalls(f, out, "shared_queue", "find the queue of shared memory full",
                         uses_shared);
}

int rule_gpu_memory_wait(const struct run_facts *f, struct finding *out)
{
    return inside_stalls(f, out, "memory", "wait for global or local memory", NULL);
}
