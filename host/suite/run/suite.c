/* A whole run: timed pass, traced pass, files, verdict. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/backend/registry.h"
#include "base/log.h"
#include "base/run_folder.h"
#include "host/suite/run/results.h"
#include "host/suite/run/suite.h"
#include "host/suite/statistics/targets.h"

struct suite_session {
    const struct suite_plan *options;
    struct results results, traced; /* traced: empty without a traced pass */
    FILE *log;
    char folder[RUN_PATH], previews[RUN_PATH + 16];
    struct targets targets; /* of --gate; none without it */
    double done, total;     /* of the progress line: children weighted by their share of the work */
};

int suite_describe(int index, char line[SUITE_LINE])
{
    const struct operation *op = operation_at(index);
    if (op)
        snprintf(line, SUITE_LINE, "%-30s %-14s %-7s %s", op->name, op->group, op->access_pattern,
                 op->help);
    return op != NULL;
}

static void log_text(struct suite_session *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void log_text(struct suite_session *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(s->log, format, args);
    va_end(args);
    fputc('\n', s->log);
    fflush(s->log); /* children append to the same file */
}

static enum err open_log(struct suite_session *s)
{
    char path[RUN_PATH + 16];
    snprintf(path, sizeof path, "%s/log.txt", s->folder);
    s->log = fopen(path, "ae");
    FAIL_IF(!s->log, ERR_IO, "%s: cannot write: %s", path, strerror(errno));
    const struct environment *e = &s->results.environment;
    log_text(s, "tomoprof %s, %s, %s", e->facts.tomoprof_version, e->facts.compiler, e->device);
    return ERR_OK;
}

static enum err write_timing(struct suite_session *s)
{
    char path[RUN_PATH + 16];
    results_summarise(&s->results);
    snprintf(path, sizeof path, "%s/timing.json", s->folder);
    return results_write(path, &s->results, s->traced.cells ? &s->traced : NULL);
}

/* Share of one child in the whole: a start of some 0.3 s, and work that grows as N^4 (voxels x
 * views). */
static double cell_weight(int64_t size)
{
    return 1 + pow((double)size / 128, 4);
}

/* A cold run and one like all others. */
static int64_t traced_runs(const struct suite_plan *options)
{
    if (options->traced_runs)
        return options->traced_runs;
    return options->runs < 2 ? options->runs : 2;
}

static void suite_draw_progress(void *context)
{
    const struct suite_session *s = context;
    double children = s->results.plan.op_count * s->results.plan.size_count;
    progress("suite", children * s->done / s->total, children);
}

static void progress_cell(const struct cell *c)
{
    char what[80];
    snprintf(what, sizeof what, "%s %" PRId64, c->op->name, c->size);
    progress_about(what);
}

static int suite_stopped(const struct suite_session *s)
{
    return s->options->stop && *s->options->stop;
}

static void log_cell(struct suite_session *s, const struct cell *c, int64_t runs)
{
    int64_t ok = 0;
    while (ok < runs && c->rows[ok].status == ROW_OK)
        ok++;
    if (ok == runs) {
        log_text(s, "%s %" PRId64 ": ok%s%s", c->op->name, c->size, *c->shares ? "; " : "",
                 c->shares);
        return;
    }
    const char *how = c->rows[ok].status == ROW_FAILED ? "failed" : "skipped";
    log_text(s, "%s %" PRId64 ": run %" PRId64 " %s: %s", c->op->name, c->size, ok + 1, how,
             c->reason);
    if (!suite_stopped(s))
        log_warn("%s at %" PRId64 " %s: %s", c->op->name, c->size, how, c->reason);
}

/* Small sizes first, so that an early end leaves results of every operation. */
static enum err run_cells(struct suite_session *s)
{
    const struct run_plan *p = &s->results.plan;
    struct suite_plan options = *s->options;
    snprintf(s->previews, sizeof s->previews, "%s/previews", s->folder);
    options.previews = s->previews;
    for (int size = 0; size < p->size_count; size++)
        for (int op = 0; op < p->op_count && !suite_stopped(s); op++) {
            struct cell *c = results_cell(&s->results, op, size);
            progress_cell(c);
            suite_draw_progress(s);
            cell_run(&options, s->log, c, suite_draw_progress, s);
            log_cell(s, c, s->options->runs);
            s->done += cell_weight(c->size);
            TRY(write_timing(s)); /* what there is survives even the loss of this process */
        }
    s->results.interrupted = suite_stopped(s);
    return write_timing(s);
}

/* Runs once more with the capture library what was timed. That a trace cannot be had is not a
 * failure of the run. */
static enum err run_traced(struct suite_session *s)
{
    const struct run_plan *p = &s->results.plan;
    char **environment = s->options->tracer->environment(s->folder);
    if (!environment) {
        log_warn("no traced pass: %s", err_text());
        log_text(s, "no traced pass: %s", err_text());
        return ERR_OK;
    }
    struct suite_plan options = *s->options;
    options.runs = traced_runs(s->options);
    options.environment = environment;
    options.traced = 1;
    options.previews = NULL;
    log_text(s, "traced pass");
    enum err e = results_create(p, &options, &s->traced);
    for (int i = 0; i < p->op_count * p->size_count && !e && !suite_stopped(s); i++) {
        int op = i % p->op_count, size = i / p->op_count;
        struct cell *c = results_cell(&s->traced, op, size);
        progress_cell(c);
        suite_draw_progress(s);
        if (results_cell(&s->results, op, size)->statistics.n) {
            cell_run(&options, s->log, c, suite_draw_progress, s);
            log_cell(s, c, options.runs);
        } else {
            strcpy(c->reason, "not timed either");
        }
        s->done += cell_weight(c->size);
        e = write_timing(s);
    }
    s->options->tracer->release(environment);
    s->results.interrupted = suite_stopped(s);
    return e ? e : write_timing(s);
}

static enum err judge_targets(const struct suite_session *s)
{
    const struct results *r = &s->results;
    const int n = r->plan.op_count * r->plan.size_count;
    struct target_row *rows = calloc((size_t)n, sizeof *rows);
    char(*shapes)[SHAPE_TEXT] = calloc((size_t)n, sizeof *shapes);
    struct targets_count count = {0, 0, 0, 0};
    for (int i = 0; i < n && rows && shapes; i++) {
        const struct cell *c = &r->cells[i];
        shape_text(c->size, c->shape, shapes[i]);
        rows[i] = (struct target_row){.operation = c->op->name,
                                      .shape = shapes[i],
                                      .size = (double)c->size,
                                      .seconds = c->statistics.median,
                                      .bytes_in = c->bytes_in,
                                      .bytes_out = c->bytes_out,
                                      .bytes_moved = c->rows[0].work.bytes_min,
                                      .copy_bytes_per_s = c->before.like_runs_bytes_per_s,
                                      .implausible = c->rates.implausible,
                                      .reason = c->statistics.n ? NULL : c->reason,
                                      .pairs = c->pairs.share,
                                      .pair_bytes = c->pair_bytes};
    }
    if (rows && shapes)
        count = targets_print(&s->targets, rows, n);
    free(rows);
    free(shapes);
    return targets_conclude(&s->targets, &count, s->options->gate, "what was run");
}

static enum err suite_conclude(const struct suite_session *s)
{
    const struct results *r = &s->results;
    int cells = r->plan.op_count * r->plan.size_count;
    int ok = results_count(r, ROW_OK) + results_count(&s->traced, ROW_OK);
    int failed = results_count(r, ROW_FAILED) + results_count(&s->traced, ROW_FAILED);
    int all = cells * (int)r->runs + (s->traced.cells ? cells * (int)s->traced.runs : 0);
    results_print(r);
    log_info("%d of %d rows ok, %d failed, %d skipped: %s/timing.json", ok, all, failed,
             all - ok - failed, s->folder);
    FAIL_IF(r->interrupted, ERR_INTERRUPTED,
            "interrupted: %s/timing.json holds the %d rows that were measured", s->folder, ok);
    FAIL_IF(failed, ERR_FAILED,
            "%d of %d rows failed: the reasons are in %s/timing.json and log.txt", failed, all,
            s->folder);
    return s->options->gate ? judge_targets(s) : ERR_OK;
}

/* Refuses a back end that cannot work before anything is written, and learns what it runs on. */
static enum err suite_read_environment(const struct suite_plan *plan, struct environment *out)
{
    struct backend_options options = {.threads = (int)plan->threads, .look = 1};
    struct backend *be;
    TRY(backend_open(plan->backend, &options, &be));
    environment_read(be, plan->version, out);
    if (!strcmp(plan->backend, "auto") && *backend_passed_over())
        log_info("the back end %s computes: %s", out->backend, backend_passed_over());
    backend_close(be);
    FAIL_IF(out->facts.clock.went_back, ERR_FAILED,
            "the monotonic clock of this machine went backwards: its times cannot be trusted");
    return ERR_OK;
}

enum err suite_run(const struct suite_plan *options)
{
    struct suite_session s = {.options = options};
    struct run_plan plan;
    TRY(plan_parse(options->group, options->ops, options->sizes, options->large, &plan));
    TRY(plan_check_settings(&plan, options->set));
    if (options->gate)
        TRY(targets_read(options->gate, &s.targets));
    TRY(results_create(&plan, options, &s.results));
    enum err e = suite_read_environment(options, &s.results.environment);
    if (options->team)
        s.results.environment.facts.ranks = options->team->size;
    for (int size = 0; size < plan.size_count; size++)
        s.total += plan.op_count * cell_weight(plan.sizes[size]) * (options->tracer ? 2 : 1);
    if (!e)
        e = run_make(options->out, s.folder);
    if (!e)
        e = open_log(&s);
    if (!e)
        e = run_cells(&s);
    if (!e && options->tracer && !suite_stopped(&s))
        e = run_traced(&s);
    if (!e)
        e = run_latest(s.folder);
    progress_end();
    if (!e)
        e = suite_conclude(&s);
    if (s.log)
        fclose(s.log);
    results_free(&s.results);
    results_free(&s.traced);
    targets_free(&s.targets);
    return e;
}
