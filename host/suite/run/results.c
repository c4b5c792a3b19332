/* Rows to statistics, rates and fits. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/text.h"
#include "host/suite/run/results.h"

static void timestamp_now(char out[TIMESTAMP])
{
    time_t now = time(NULL);
    struct tm utc;
    strftime(out, TIMESTAMP, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
}

enum err results_create(const struct run_plan *plan, const struct suite_plan *options,
                        struct results *out)
{
    memset(out, 0, sizeof *out);
    out->plan = *plan;
    out->runs = options->runs;
    out->seed = options->seed;
    out->set = options->set;
    out->timeout_s = options->timeout_s;
    timestamp_now(out->timestamp);
    int n = plan->op_count * plan->size_count;
    out->cells = calloc((size_t)n, sizeof *out->cells);
    FAIL_IF(!out->cells, ERR_MEMORY, "no memory left for the results");
    for (int i = 0; i < n; i++) {
        struct cell *c = &out->cells[i];
        c->op = plan->ops[i / plan->size_count];
        c->size = plan->sizes[i % plan->size_count];
        memcpy(c->shape, plan->shapes[i % plan->size_count], sizeof c->shape);
        strcpy(c->reason, "not reached");
        c->rows = calloc((size_t)out->runs, sizeof *c->rows);
        if (!c->rows) {
            results_free(out);
            return FAIL(ERR_MEMORY, "no memory left for %lld runs: try a smaller `runs`",
                        (long long)options->runs);
        }
    }
    return ERR_OK;
}

void results_free(struct results *r)
{
    for (int i = 0; r->cells && i < r->plan.op_count * r->plan.size_count; i++)
        free(r->cells[i].rows);
    free(r->cells);
    r->cells = NULL;
}

struct cell *results_cell(const struct results *r, int op, int size)
{
    return &r->cells[op * r->plan.size_count + size];
}

int results_count(const struct results *r, enum row_status status)
{
    int n = 0;
    for (int i = 0; i < r->plan.op_count * r->plan.size_count; i++)
        for (int64_t k = 0; k < r->runs; k++)
            n += r->cells[i].rows[k].status == status;
    return n;
}

struct peak calibration_ceiling(const struct calibration *c)
{
    struct peak peak = c->peak;
    peak.bytes_per_s = fmax(peak.bytes_per_s, c->cached_bytes_per_s);
    peak.bytes_per_s = fmax(peak.bytes_per_s, c->like_runs_bytes_per_s);
    return peak;
}

/* Without the cold run, unless it is the only one that succeeded. */
static void cell_summarise(struct cell *c, int64_t runs)
{
    double *seconds = malloc((size_t)runs * sizeof *seconds);
    const struct run_row *last = NULL;
    int n = 0;
    for (int64_t k = 1; seconds && k < runs; k++)
        if (c->rows[k].status == ROW_OK) {
            last = &c->rows[k];
            seconds[n++] = last->seconds;
        }
    c->cold_only = seconds && !n && c->rows[0].status == ROW_OK;
    if (c->cold_only) {
        last = &c->rows[0];
        seconds[n++] = last->seconds;
    }
    const struct work nothing = {0, 0, 0};
    const struct peak before = calibration_ceiling(&c->before),
                      after = calibration_ceiling(&c->after);
    const struct peak peak = {fmax(before.flops_per_s, after.flops_per_s),
                              fmax(before.bytes_per_s, after.bytes_per_s)};
    c->statistics = statistics_of(seconds, n);
    c->rates = rates_of(c->statistics.median, last ? &last->work : &nothing, c->updates, &peak);
    free(seconds);
}

void results_summarise(struct results *r)
{
    for (int op = 0; op < r->plan.op_count; op++) {
        double size[PLAN_SIZES], seconds[PLAN_SIZES];
        int n = 0;
        for (int s = 0; s < r->plan.size_count; s++) {
            struct cell *c = results_cell(r, op, s);
            cell_summarise(c, r->runs);
            if (c->statistics.n && c->statistics.median > 0 && !c->shape[0]) {
                size[n] = (double)c->size;
                seconds[n++] = c->statistics.median;
            }
        }
        r->fits[op] = fit_power(size, seconds, n);
    }
}

/* The closing table of a run. */

#define BOLD   PLAIN_BOLD
#define DIM    PLAIN_DIM
#define RED    PLAIN_RED
#define YELLOW PLAIN_YELLOW
#define OFF    PLAIN_END

/* 30 + 11 + 10 + 8 + 11 + 11 + 8 and 6 blanks: 95 columns. */
#define LINE "%-30s %11s %10s %8s %11s %11s %8s"

static void human_rate(const struct rates *r, char out[16])
{
    if (r->updates_per_s > 0)
        snprintf(out, 16, "%.3g GUP/s", r->updates_per_s * 1e-9);
    else if (r->gflops > 0)
        snprintf(out, 16, "%.3g GF/s", r->gflops);
    else if (r->gbytes_per_s > 0)
        snprintf(out, 16, "%.3g GB/s", r->gbytes_per_s);
    else
        snprintf(out, 16, "-");
}

static void print_cell(const struct cell *c, const struct fit *fit, int first)
{
    char size[SHAPE_TEXT], median[16], spread[16], rate[16], peak[16] = "-", growth[24] = "";
    int colour = log_colour();
    shape_text(c->size, c->shape, size);
    if (!c->statistics.n) {
        int failed = c->rows[0].status == ROW_FAILED;
        log_styled("%-30s %11s %s%s%s: %.51s", first ? c->op->name : "", size,
                   colour ? failed ? RED : YELLOW : "", failed ? "failed" : "skipped",
                   colour ? OFF : "", c->reason);
        return;
    }
    timing_seconds(c->statistics.median, median);
    human_rate(&c->rates, rate);
    if (c->cold_only || isnan(c->statistics.cv))
        snprintf(spread, sizeof spread, c->cold_only ? "cold" : "1 run");
    else
        snprintf(spread, sizeof spread, "%.1f %%", c->statistics.cv * 100);
    if (c->rates.implausible)
        snprintf(peak, sizeof peak, "implausible");
    else if (!isnan(c->rates.roof_share))
        snprintf(peak, sizeof peak, "%.3g %%", c->rates.roof_share * 100);
    if (first && !isnan(fit->p))
        snprintf(growth, sizeof growth, "N^%.2f", fit->p);
    log_info(LINE, first ? c->op->name : "", size, median, spread, rate, peak, growth);
}

/* Prints the shares of several processes, below the table. */
static void print_shares(const struct results *r)
{
    if (!(r->environment.facts.ranks > 0))
        return;
    log_info("\n%.0f processes; of each its share and mean time:", r->environment.facts.ranks);
    for (int op = 0; op < r->plan.op_count; op++)
        for (int s = 0; s < r->plan.size_count; s++) {
            const struct cell *c = results_cell(r, op, s);
            if (*c->shares)
                log_info("%-30s %11" PRId64 " %s", c->op->name, c->size, c->shares);
        }
}

/* Prints how much of the stores the reads of group storage need, below the table. */
static void print_touched(const struct results *r)
{
    int rows = 0;
    for (int op = 0; op < r->plan.op_count; op++)
        for (int s = 0; s < r->plan.size_count; s++) {
            const struct cell *c = results_cell(r, op, s);
            if (!(c->touched > 0))
                continue;
            if (!rows++)
                log_info("\n%-36s %5s %15s %14s", "read of a store", "size", "chunks touched",
                         "amplification");
            log_info("%-36s %5" PRId64 " %15.0f %14.2f", c->op->name, c->size, c->touched,
                     c->amplification);
        }
    if (rows)
        log_info("amplification: bytes decoded, or fetched, for each one wanted.");
}

void results_print(const struct results *r)
{
    const char *bold = log_colour() ? BOLD : "", *dim = log_colour() ? DIM : "";
    const char *off = log_colour() ? OFF : "";
    log_styled("\n%s" LINE "%s", bold, "operation", "size", "median", "spread", "rate", "of peak",
               "growth", off);
    for (int op = 0; op < r->plan.op_count; op++)
        for (int s = 0; s < r->plan.size_count; s++)
            print_cell(results_cell(r, op, s), &r->fits[op], s == 0);
    log_styled(
        "%sspread: standard deviation over mean without the cold run. GUP/s: 10^9 voxel-view "
        "updates a second.%s",
        dim, off);
    log_styled(
        "%sof peak: share of this machine's measured peak (arithmetic or copy rate, whichever is "
        "nearer).%s",
        dim, off);
    if (r->plan.size_count < 3)
        log_styled("%sgrowth: the exponent of t = a + b N^p needs at least 3 sizes.%s", dim, off);
    print_shares(r);
    print_touched(r);
}
