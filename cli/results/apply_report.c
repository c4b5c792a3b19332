/* Prints the results of `apply`: the JSON of --json, the line of a timed SIZE, warnings about the range of float32. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/json/jsonw.h"
#include "base/log.h"
#include "base/timing/timing.h"
#include "cli/cli.h"
#include "cli/results/ranks_report.h"
#include "host/recon/common/rescale.h"
#include "host/store/format/geometry_json.h"
#include "host/suite/catalogue/catalogue.h"
#include "host/suite/catalogue/volume.h"
#include "host/suite/run/plan.h"
#include "host/suite/run/suite.h"
#include "host/suite/statistics/stats.h"
#include "host/suite/statistics/targets.h"
#include "cli/results/apply_report.h"

static void report_numbers(struct jsonw *w, const char *key, const double *values, int64_t n)
{
    jsonw_karray(w, key);
    for (int64_t i = 0; i < n; i++)
        jsonw_number(w, values[i]);
    jsonw_end(w);
}

static void report_integers(struct jsonw *w, const char *key, const int64_t *values, int64_t n)
{
    jsonw_karray(w, key);
    for (int64_t i = 0; i < n; i++)
        jsonw_int(w, values[i]);
    jsonw_end(w);
}

static void print_mbir(struct jsonw *w, const struct mbir_report *m)
{
    jsonw_kobject(w, "mbir");
    jsonw_kint(w, "iterations", m->iterations);
    jsonw_kbool(w, "stopped_by_threshold", m->stopped_by_threshold);
    jsonw_knumber(w, "initial_scale", m->initial_scale);
    jsonw_knumber(w, "sigma_y", m->sigma_y);
    jsonw_knumber(w, "sigma_x", m->sigma_x);
    jsonw_knumber(w, "sigma_prox", m->sigma_prox);
    report_integers(w, "subsets", m->subsets, m->iterations);
    report_numbers(w, "fm_rmse", m->fm_rmse, m->iterations);
    report_numbers(w, "change_percent", m->change_percent, m->iterations);
    report_numbers(w, "alpha", m->alpha, m->iterations);
    jsonw_end(w);
}

static void print_work(struct jsonw *w, const struct work *work)
{
    jsonw_kobject(w, "work");
    jsonw_knumber(w, "flops", work->flops);
    jsonw_knumber(w, "bytes_min", work->bytes_min);
    jsonw_knumber(w, "bytes_ideal_cache", work->bytes_ideal_cache);
    jsonw_end(w);
}

void apply_report_print(const struct apply_report *r)
{
    const struct run_state *s = r->state;
    struct jsonw w;
    jsonw_init(&w, stdout, 1);
    jsonw_object(&w);
    jsonw_kstring(&w, "operation", s->op->name);
    jsonw_kstring(&w, "backend", s->be->ops->name);
    jsonw_kstring(&w, "device", s->be->device);
    jsonw_kint(&w, "threads", s->be->threads);
    jsonw_key(&w, "parameters");
    if (s->model.scan.angles)
        ct_model_write_json(&w, &s->model);
    else
        jsonw_null(&w);
    report_integers(&w, "shape", r->shape, r->dims);
    jsonw_knumber(&w, "time", r->seconds);
    jsonw_knumber(&w, "first_time", r->first);
    report_numbers(&w, "times", r->times, r->repeats);
    print_work(&w, &r->work);
    jsonw_kint(&w, "peak_host_bytes", (int64_t)r->peak_host_bytes);
    if (s->be->device_peak)
        jsonw_kint(&w, "peak_device_bytes", (int64_t)s->be->device_peak);
    else
        jsonw_knull(&w, "peak_device_bytes");
    jsonw_kobject(&w, "fingerprint");
    fingerprint_write(&w, &r->fingerprint);
    jsonw_end(&w);
    if (s->op->scratch == SCRATCH_MBIR)
        print_mbir(&w, &s->report);
    else
        jsonw_knull(&w, "mbir");
    if (r->crew)
        ranks_report_write(&w, r->crew);
    jsonw_end(&w);
}

/* Returns the inputs' largest magnitude that is farthest from 1; NaN: not all are finite. */
static double given = 1;

enum err apply_range_input(struct run_state *s, const struct array_pair *a)
{
    double largest;
    TRY(rescale_largest(s->be, &a->buffer, s->large, &largest));
    if (isnan(largest) || (largest > 0 && fabs(log(largest)) > fabs(log(given))))
        given = largest;
    return ERR_OK;
}

enum err apply_range_result(const struct run_state *s, const struct fingerprint *f)
{
    static const char advice[] = "Multiply the input by a power of two that brings it near 1";
    const double largest = fmax(fabs(f->min), fabs(f->max));
    if (isnan(given) || s->op->output == ARRAY_PARTITION || s->op->output == ARRAY_FILE)
        return ERR_OK;
    if (!isfinite(f->sum) && s->op->step)
        log_warn("%s: the result holds NaN or infinity, the input does not", s->op->name);
    FAIL_IF(!isfinite(f->sum) && !s->op->step, ERR_INPUT,
            "%s: the result holds NaN or infinity, the input (values up to %g) does not: values "
            "left the range of float32, 1.2e-38 to 3.4e38. %s",
            s->op->name, given, advice);
    if (s->op->step)
        return ERR_OK;
    FAIL_IF(largest == 0 && given > 0 && given < RESCALE_TINY, ERR_INPUT,
            "%s: the result is 0 everywhere, the input (values up to %g) is not: values left the "
            "range of float32, 1.2e-38 to 3.4e38. %s",
            s->op->name, given, advice);
    if (largest == 0 && given > 0)
        log_warn("%s: the result is 0 everywhere, the input (values up to %g) is not", s->op->name,
                 given);
    if (largest > 0 && largest < (double)FLT_MIN)
        log_warn("%s: the result's values (up to %g) are below 1.2e-38, where float32 loses "
                 "digits. %s",
                 s->op->name, largest, advice);
    return ERR_OK;
}

#define COPY_TRIES 3
#define SETTINGS   8

enum err apply_settings(struct run_state *s, const char *text)
{
    static char room[4096];
    static const char *items[SETTINGS];
    FAIL_IF(strlen(text) >= sizeof room, ERR_USAGE, "--set: %zu bytes; at most %zu are accepted",
            strlen(text), sizeof room - 1);
    strcpy(room, text);
    s->settings = items;
    return settings_split(room, items, SETTINGS, &s->settings_count);
}

enum err apply_size_model(struct run_state *s, const char *text)
{
    int64_t n[3] = {0, 0, 0};
    char *end;
    const long long edge = strtoll(text, &end, 10);
    if (shape_parse(text, n)) {
        FAIL_IF(!s->op->step, ERR_USAGE, "%s takes an edge, %s is a shape of volume operations",
                s->op->name, text);
        TRY(model_for_size(s->op, SIZE_MIN, &s->model));
        s->model.volume.rows = n[0];
        s->model.volume.cols = n[1];
        s->model.volume.slices = n[2];
        return ERR_OK;
    }
    FAIL_IF(end == text || *end || edge < SIZE_MIN || edge > SIZE_MAX_EDGE, ERR_USAGE,
            "the size \"%s\" is not accepted: an edge of %d to %d, or a shape like 512x512x30",
            text, SIZE_MIN, SIZE_MAX_EDGE);
    return model_for_size(s->op, edge, &s->model);
}

static enum err judge_apply(const struct apply_report *r, const char *text, const char *gate,
                            double copy, int implausible)
{
    struct run_state *s = r->state;
    struct target_row row = {.operation = s->op->name,
                             .shape = text,
                             .size = cbrt((double)volume_voxels(&s->model.volume)),
                             .seconds = r->seconds,
                             .bytes_in = state_bytes_in(s),
                             .bytes_out = state_bytes_out(s),
                             .bytes_moved = r->work.bytes_min,
                             .copy_bytes_per_s = copy,
                             .implausible = implausible};
    struct targets targets;
    TRY(targets_read(gate, &targets));
    enum err e = r->crew ? ERR_OK : suite_pairs(s, row.size, &targets, &row.pairs, &row.pair_bytes);
    if (!e) {
        const struct targets_count count = targets_print(&targets, &row, 1);
        char what[160];
        snprintf(what, sizeof what, "%s at %s", s->op->name, text);
        e = targets_conclude(&targets, &count, gate, what);
    }
    targets_free(&targets);
    return e;
}

static void rate_text(char out[40], double bytes, double seconds, const char *what)
{
    snprintf(out, 40, bytes > 0 ? ", %.4g MB/s %s" : "", bytes / seconds * 1e-6, what);
}

enum err apply_size_report(const struct apply_report *r, const char *text, const char *gate)
{
    const struct run_state *s = r->state;
    const struct statistics t = statistics_of(r->times, (int)r->repeats);
    char in[40], out[40], share[64] = "";
    double copy = NAN, like_runs = NAN;
    if (s->in.host && gate && (like_runs = suite_copy_rate(s->be, s->op, &s->model, 1)) <= 0)
        like_runs = NAN;
    const struct work bytes = {0, r->work.bytes_min, r->work.bytes_min};
    struct rates rates = {.implausible = 1};
    for (int i = 0; i < COPY_TRIES && rates.implausible; i++) { /* copies may be disturbed, too */
        const double rate = s->in.host ? suite_copy_rate(s->be, s->op, &s->model, 0) : 0;
        copy = rate > 0 ? fmax(copy, rate) : copy;
        const struct peak peak = {0, fmax(copy, like_runs)}; /* of a number and NAN the number */
        rates = rates_of(t.median, &bytes, 0, &peak);
    }
    rate_text(in, state_bytes_in(s), t.median, "in");
    rate_text(out, state_bytes_out(s), t.median, "out");
    if (!isnan(rates.roof_share))
        snprintf(share, sizeof share, ", %.3g %% of copy%s", 100 * rates.roof_share,
                 rates.implausible ? ": implausible" : "");
    const double seconds[] = {t.median, t.mean, t.min, t.p95};
    char times[sizeof seconds / sizeof *seconds][TIMING_SECONDS];
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++)
        timing_seconds(seconds[i], times[i]);
    log_info("%s %s on %s: median %s, mean %s, min %s, p95 %s, cv %.2g of %d runs%s%s%s",
             s->op->name, text, s->be->device, times[0], times[1], times[2], times[3], t.cv, t.n,
             r->work.bytes_min > 0 ? in : "", r->work.bytes_min > 0 ? out : "", share);
    return gate ? judge_apply(r, text, gate, like_runs, rates.implausible) : ERR_OK;
}

enum err apply_flame(const char *name, const char *size, int64_t runs, int threads)
{
    char count[24], used[24];
    const char *program;
    enum child_end end;
    int number;
    TRY(cli_program(&program));
    snprintf(count, sizeof count, "%" PRId64, runs + 1);
    snprintf(used, sizeof used, "%d", threads);
    const char *const words[] = {program,     "run",    "--ops", name,           "--sizes",
                                 size,        "--runs", count,   "--flamegraph", "--no-triage",
                                 "--threads", used,     NULL};
    const struct child_program p = {
        .argv = words, .output_fd = STDERR_FILENO, .log_fd = STDERR_FILENO, .stop = &cli_stop};
    TRY(child_run(&p, &end, &number));
    FAIL_IF(end != CHILD_EXITED || number, ERR_FAILED, "the profiled run of %s failed", name);
    return ERR_OK;
}
