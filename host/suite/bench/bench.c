/* Measures the rows of the bench, each in a child process, and turns times into rates. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/backend/registry.h"
#include "base/log.h"
#include "host/geom/ct_model.h"
#include "host/suite/bench/bench.h"
#include "host/suite/run/parent.h"

#define UNKNOWN ((double)NAN)

/* For all runs of one row: the slowest planned one, an iteration of cone MBIR at 512 on one thread,
 * takes some minutes. */
#define TIMEOUT_S 7200

const char *const bench_unit_names[] = {[UNIT_UPDATES] = "updates",
                                        [UNIT_ROWS] = "rows",
                                        [UNIT_VOXELS] = "voxels",
                                        [UNIT_ITERATIONS] = "iterations",
                                        NULL};

enum bench_unit bench_unit_of(const struct operation *op)
{
    return op->first_iteration            ? UNIT_ITERATIONS
           : op->updates                  ? UNIT_UPDATES
           : op->output == ARRAY_SINOGRAM ? UNIT_ROWS
                                          : UNIT_VOXELS;
}

/* Units in one run; those of UNIT_UPDATES are the child's to count. */
static double amount_of(enum bench_unit unit, const struct ct_model *m, double updates)
{
    switch (unit) {
    case UNIT_UPDATES:
        return updates;
    case UNIT_ROWS:
        return (double)(m->scan.views * m->scan.rows);
    case UNIT_VOXELS:
        return (double)volume_voxels(&m->volume);
    case UNIT_ITERATIONS:
        break;
    }
    return 1;
}

void bench_free(struct bench_results *r)
{
    free(r->rows);
    r->rows = NULL;
    r->count = 0;
}

const struct bench_row *bench_find(const struct bench_results *r, const char *operation,
                                   int64_t size, int64_t threads)
{
    for (int i = 0; i < r->count; i++) {
        const struct bench_row *row = &r->rows[i];
        if (row->size == size && row->threads == threads && !strcmp(row->operation, operation))
            return row;
    }
    return NULL;
}

static struct bench_row planned(const struct operation *op, int64_t size, int64_t threads)
{
    struct bench_row row = {.size = size, .threads = threads, .unit = bench_unit_of(op)};
    snprintf(row.operation, sizeof row.operation, "%s", op->name);
    row.status = ROW_SKIPPED;
    strcpy(row.reason, "not reached");
    row.amount = row.min = row.median = row.spread = row.rate = row.roof_share = UNKNOWN;
    row.cycles_per_unit = row.efficiency = row.peak_bytes = row.closed_form_bytes = UNKNOWN;
    return row;
}

static enum err describe_machine(const struct bench_plan *plan, struct bench_results *out)
{
    struct backend *be;
    TRY(backend_open(plan->backend, &(struct backend_options){0}, &be));
    environment_read(be, plan->version, &out->environment);
    backend_close(be);
    FAIL_IF(out->environment.clock.went_back, ERR_FAILED,
            "the monotonic clock of this machine went backwards: its times cannot be trusted");
    timestamp_now(out->timestamp);
    return ERR_OK;
}

enum err bench_prepare(const struct bench_plan *plan, struct bench_results *out)
{
    struct run_plan p;
    int64_t threads[PLAN_THREADS];
    int n;
    *out = (struct bench_results){.repeat = plan->repeat, .seed = plan->seed};
    TRY(plan_parse(&bench_menu, plan->ops, plan->sizes, &p));
    TRY(describe_machine(plan, out));
    TRY(plan_parse_threads(plan->threads, out->environment.threads, threads, &n));
    out->rows = calloc((size_t)(p.op_count * p.size_count * n), sizeof *out->rows);
    FAIL_IF(!out->rows, ERR_MEMORY, "no memory left for the results");
    for (int size = 0; size < p.size_count; size++)
        for (int op = 0; op < p.op_count; op++)
            for (int t = 0; t < n; t++)
                out->rows[out->count++] = planned(p.ops[op], p.sizes[size], threads[t]);
    return ERR_OK;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static void take_rates(struct bench_row *row)
{
    const struct peak before = calibration_ceiling(&row->before),
                      after = calibration_ceiling(&row->after),
                      peak = {larger(before.flops_per_s, after.flops_per_s),
                              larger(before.bytes_per_s, after.bytes_per_s)};
    struct rates r = rates_of(row->min, &row->work, row->amount, &peak);
    row->rate = r.updates_per_s;
    row->roof_share = r.roof_share;
    row->implausible = r.implausible;
    if (isnan(r.roof_share))
        return;
    double arithmetic = peak.flops_per_s > 0 ? row->work.flops / peak.flops_per_s : 0;
    double copy = peak.bytes_per_s > 0 ? row->work.bytes_min / peak.bytes_per_s : 0;
    row->bound = arithmetic >= copy ? BOUND_ARITHMETIC : BOUND_COPY;
}

/* Cycles of the counted run that took least time. */
static double cycles_of(const struct cell *c, int64_t runs, double min)
{
    for (int64_t i = 1; i <= runs; i++)
        if (c->rows[i].status == ROW_OK && c->rows[i].seconds == min)
            return c->rows[i].cycles > 0 ? c->rows[i].cycles : UNKNOWN;
    return UNKNOWN;
}

static enum err take_cell(struct cell *c, struct bench_row *row)
{
    struct ct_model m;
    const struct run_row *last = cell_summarise(c, row->runs + 1);
    TRY(model_for_size(c->op, c->size, &m));
    row->min = c->statistics.min;
    row->median = c->statistics.median;
    row->spread = c->statistics.cv;
    row->amount = amount_of(row->unit, &m, c->updates);
    row->work = last->work;
    row->before = c->before;
    row->after = c->after;
    row->cycles_per_unit = cycles_of(c, row->runs, row->min) / row->amount;
    snprintf(row->cycles_reason, sizeof row->cycles_reason, "%s", c->cycles_reason);
    row->peak_bytes = (double)last->peak_host_bytes;
    row->closed_form_bytes = operation_run_bytes(c->op, &m);
    ct_model_free(&m);
    take_rates(row);
    return ERR_OK;
}

static void draw_progress(void *context)
{
    const double *done = context;
    progress("bench", done[0], done[1]);
}

static enum err measure(const struct bench_plan *plan, struct bench_row *row, double done[2])
{
    const struct suite_plan options = {.runs = plan->repeat + 1,
                                       .backend = plan->backend,
                                       .threads = row->threads,
                                       .timeout_s = TIMEOUT_S,
                                       .program = plan->program,
                                       .seed = plan->seed,
                                       .stop = plan->stop,
                                       .bench = 1};
    struct cell c = {.op = bench_operation_named(row->operation), .size = row->size};
    c.rows = calloc((size_t)options.runs, sizeof *c.rows);
    FAIL_IF(!c.rows, ERR_MEMORY, "no memory left for %lld runs: try a smaller --repeat",
            (long long)options.runs);
    cell_run(&options, stderr, &c, draw_progress, done);
    enum err e = ERR_OK;
    row->status = c.rows[plan->repeat].status; /* a row is all of its runs */
    row->runs = row->status == ROW_OK ? plan->repeat : 0;
    snprintf(row->reason, sizeof row->reason, "%s", row->status == ROW_OK ? "" : c.reason);
    if (row->status == ROW_OK)
        e = take_cell(&c, row);
    free(c.rows);
    return e;
}

enum err bench_run(const struct bench_plan *plan, struct bench_results *r,
                   void (*on_row)(const struct bench_row *row))
{
    int failed = 0;
    for (int i = 0; i < r->count && !(plan->stop && *plan->stop); i++) {
        struct bench_row *row = &r->rows[i];
        double done[2] = {i, r->count};
        progress_about(row->operation);
        TRY(measure(plan, row, done));
        const struct bench_row *one = bench_find(r, row->operation, row->size, 1);
        if (one && one->status == ROW_OK && row->status == ROW_OK)
            row->efficiency = one->min / ((double)row->threads * row->min);
        failed += row->status == ROW_FAILED;
        progress_end();
        if (on_row)
            on_row(row);
    }
    progress_end();
    r->interrupted = plan->stop && *plan->stop;
    FAIL_IF(r->interrupted, ERR_INTERRUPTED,
            "interrupted: the rows that are missing are marked as skipped");
    FAIL_IF(failed, ERR_FAILED, "%d of %d rows failed", failed, r->count);
    return ERR_OK;
}
