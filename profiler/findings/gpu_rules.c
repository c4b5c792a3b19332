/* Transfers beside kernels, first calls, launches without a record. Whether a kernel's access to
 * memory is scattered (G3) needs counters that are not recorded. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profiler/findings/gpu_rules.h"

#define AGAIN                                                                                      \
    "Record it again after the change, then compare both runs (tomoprof compare RUN1 RUN2)."

static struct model_finding row(const char *id, const char *severity, const char *title,
                                double gain, const char *advice)
{
    struct model_finding f;
    json_blank(&record_model_finding, &f);
    f.id = id;
    f.severity = severity;
    f.title = title;
    f.advice = advice;
    f.confidence = "medium";
    f.gain_s = gain;
    f.gain_low_s = isfinite(gain) ? 0 : (double)NAN;
    f.test = AGAIN;
    return f;
}

/* G2 */
static int transfers(const struct model *m, struct model_finding *out, char text[400])
{
    const struct model_totals *t = &m->totals;
    double share = t->copy_s / (t->kernel_s + t->copy_s);
    if (!(share > 0.3) || !(t->copy_s > 0.05 * m->meta.wall_s))
        return 0;
    *out = row("gpu.transfers", "warning", "Copies take much of the device's time", t->copy_s,
               "Keep arrays on the device between steps, or copy in a stream of its own while "
               "kernels run.");
    out->refuted_by = "Refuted if a run without the copies takes as long.";
    snprintf(text, 400,
             "Copies took %.3g s on the device and kernels %.3g s (%.0f %% of both); %.4g MiB to "
             "the device, %.4g MiB from it.",
             t->copy_s, t->kernel_s, 100 * share, (double)t->h2d_bytes / 1048576,
             (double)t->d2h_bytes / 1048576);
    return 1;
}

/* Length of the first instance, s; NaN: not known, for neighbours were joined. */
static double first_of(const struct model *m, int range)
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

/* G4 */
static int first_call(const struct model *m, struct model_finding *out, char text[400])
{
    double most = 0;
    for (int i = 0; i < m->ranges_count; i++) {
        const struct model_range *r = &m->ranges[i];
        double first =
            r->time.n >= 4 && r->time.max_s > 10 * r->time.median_s ? first_of(m, i) : (double)NAN;
        double lost = first - r->time.median_s;
        if (!(first > 10 * r->time.median_s) || !(lost > 0.05 * m->meta.wall_s) || lost <= most)
            continue;
        most = lost;
        *out = row("gpu.first", "info", "The first call costs more than ten later ones", lost,
                   "Measure later calls alone. Keep compiled kernels in a cache, or call once with "
                   "a small input while data are loaded.");
        out->refuted_by = "Refuted if a second call in the same process takes as long as the "
                          "first.";
        snprintf(text, 400, "%.120s: the first of %lld calls took %.3g s, the median call %.3g s.",
                 r->name, (long long)r->time.n, first, r->time.median_s);
    }
    return most > 0;
}

/* G5 */
static int clocks(const struct model *m, struct model_finding *out, char text[400])
{
    double most = 0;
    for (int i = 0; i < m->devices_count; i++) {
        const struct model_device *d = &m->devices[i];
        double lost = d->busy_s * (1 - d->busy_mhz / d->clock_mhz);
        if (!(d->busy_mhz < 0.9 * d->clock_mhz) || !(lost > 0.05 * m->meta.wall_s) || lost <= most)
            continue;
        most = lost;
        *out = row("gpu.clocks", "warning", "The GPU's clock is below what it could be", lost,
                   d->limited_by && !strcmp(d->limited_by, "heat")
                       ? "Cool the card better, or compare runs at a clock that it can hold."
                       : "Raise the power limit, or compare runs at a fixed clock.");
        out->refuted_by = "Refuted if the run takes as long at the highest clock: then memory "
                          "limits.";
        snprintf(text, 400,
                 "%.120s: %.0f MHz in the mean while it worked, at least %.0f, of %.0f MHz; %.0f "
                 "%% of the samples were limited%s%s.",
                 d->name ? d->name : "a GPU", d->busy_mhz, d->least_mhz, d->clock_mhz,
                 100 * d->limited_share, d->limited_by ? " by " : "",
                 d->limited_by ? d->limited_by : "");
    }
    return most > 0;
}

/* G6 */
static int hidden(const struct model *m, struct model_finding *out, char text[400])
{
    const struct model_totals *t = &m->totals;
    double n = (double)t->launches_without_record;
    if (!(n > 0) || !(n > 0.05 * (double)t->launches))
        return 0;
    *out =
        row("gpu.hidden", "info", "Some launches have no kernel in the recording", (double)NAN,
            "The data quality names the reason: a graph, another tool or a lost buffer. Times of "
            "the device are too low by these kernels.");
    out->refuted_by = "Refuted if the launches failed (errors of the CUDA calls).";
    snprintf(text, 400, "%.0f of %lld launches have no kernel in the recording.", n,
             (long long)t->launches);
    return 1;
}

enum err gpu_rules(struct model *m, struct model_finding *rows, int *count)
{
    static int (*const rules[])(const struct model *, struct model_finding *,
                                char *) = {transfers, first_call, clocks, hidden};
    *count = 0;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        char text[400];
        if (!rules[i](m, &rows[*count], text))
            continue;
        rows[*count].evidence = arena_text(m->arena, text);
        FAIL_IF(!rows[*count].evidence, ERR_MEMORY, "no memory for the findings");
        ++*count;
    }
    return ERR_OK;
}

void gpu_rules_refute(struct model_finding *rows, int count)
{
    static const struct {
        const char *id, *refuted_by;
    } tests[] = {
        {"gpu.gaps", "Refuted if the host computes nothing that the device waits for."},
        {"gpu.sync", "Refuted if a run that synchronises once takes as long."},
        {"gpu.small_kernels", "Refuted if the same launches as one CUDA graph take as long."},
        {"gpu.jit", "Refuted if a second run of the program takes as long to compile."},
        {"copy.pageable", "Refuted if copies from pinned memory take as long."},
        {"copy.pageable_async", "Refuted if copies from pinned memory take as long."},
        {"copy.host", "Refuted if a run without these copies takes as long."},
    };
    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof tests / sizeof *tests; k++)
            if (!rows[i].refuted_by && !strcmp(rows[i].id, tests[k].id)) {
                rows[i].refuted_by = tests[k].refuted_by;
                rows[i].test = AGAIN;
                rows[i].gain_low_s = isfinite(rows[i].gain_s) ? 0 : (double)NAN;
            }
}
