/* Rows to statistics, rates and fits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host/suite/run/results.h"

void timestamp_now(char out[TIMESTAMP])
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
