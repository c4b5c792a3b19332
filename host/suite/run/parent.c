/* Starts the child of one cell, and makes rows of its lines or of its end. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/child.h"
#include "base/memory.h"
#include "host/geom/ct_model.h"
#include "host/suite/catalogue/catalogue.h"
#include "host/suite/run/results.h"

#define PAIR_SECONDS_MOST 0.02

struct child_rows {
    struct cell *cell;
    int64_t runs;
    int64_t done; /* rows that are ok */
    void (*on_tick)(void *context);
    void *context;
    int said; /* by the child: why rows are not ok */
};

/* All rows from the first that is not ok. */
static void end_rows(struct child_rows *c, enum row_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void end_rows(struct child_rows *c, enum row_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(c->cell->reason, sizeof c->cell->reason, format, args);
    va_end(args);
    err_spell(c->cell->reason);
    for (int64_t i = c->done; i < c->runs; i++)
        c->cell->rows[i].status = status;
}

static double line_number(const cJSON *line, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(line, key);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static void take_calibration(struct child_rows *c, const cJSON *line)
{
    struct calibration *to = c->done ? &c->cell->after : &c->cell->before;
    const struct calibration earlier = *to; /* of a process before this one */
    to->peak.flops_per_s = line_number(line, "gflops") * 1e9;
    to->peak.bytes_per_s = line_number(line, "gbytes_per_s") * 1e9;
    to->cached_bytes_per_s = line_number(line, "cached_gbytes_per_s") * 1e9;
    to->like_runs_bytes_per_s = line_number(line, "like_runs_gbytes_per_s") * 1e9;
    to->peak.flops_per_s = fmax(to->peak.flops_per_s, earlier.peak.flops_per_s);
    to->peak.bytes_per_s = fmax(to->peak.bytes_per_s, earlier.peak.bytes_per_s);
    to->cached_bytes_per_s = fmax(to->cached_bytes_per_s, earlier.cached_bytes_per_s);
    to->kept_s = line_number(line, "kept_s");
    c->cell->updates = line_number(line, "updates");
}

static void take_pairs(struct cell *cell, const cJSON *line)
{
    const struct pair_share one = {(int)line_number(line, "pairs"), line_number(line, "median"),
                                   line_number(line, "low"), line_number(line, "high")};
    pairs_join(&cell->pairs, &one);
    cell->pair_bytes = line_number(line, "bytes");
}

static void take_touched(struct cell *cell, const cJSON *line)
{
    cell->touched = line_number(line, "touched");
    cell->amplification = line_number(line, "amplification");
}

static void take_row(struct cell *cell, struct run_row *row, const cJSON *line)
{
    cell->bytes_in = line_number(line, "bytes_in");
    cell->bytes_out = line_number(line, "bytes_out");
    row->status = ROW_OK;
    row->seconds = line_number(line, "time");
    row->work = (struct work){line_number(line, "flops"), line_number(line, "bytes"),
                              line_number(line, "bytes_ideal_cache")};
    row->h2d_bytes = (int64_t)line_number(line, "h2d_bytes");
    row->d2h_bytes = (int64_t)line_number(line, "d2h_bytes");
    row->peak_host_bytes = (int64_t)line_number(line, "peak_host_bytes");
    row->peak_device_bytes = line_number(line, "peak_device_bytes");
    row->fingerprint = (struct fingerprint){line_number(line, "sum"), line_number(line, "l2"),
                                            line_number(line, "min"), line_number(line, "max")};
}

static void on_line(void *context, char *text)
{
    struct child_rows *c = context;
    cJSON *line = cJSON_Parse(text);
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(line, "error");
    const cJSON *unsupported = cJSON_GetObjectItemCaseSensitive(line, "unsupported");
    c->said |= cJSON_IsString(unsupported) || cJSON_IsString(error);
    if (cJSON_IsString(unsupported))
        end_rows(c, ROW_SKIPPED, "%s", unsupported->valuestring);
    else if (cJSON_IsString(error))
        end_rows(c, ROW_FAILED, "%s", error->valuestring);
    else if (cJSON_HasObjectItem(line, "shares"))
        snprintf(c->cell->shares, sizeof c->cell->shares, "%s",
                 cJSON_GetStringValue(cJSON_GetObjectItem(line, "shares")));
    else if (cJSON_HasObjectItem(line, "touched"))
        take_touched(c->cell, line);
    else if (cJSON_HasObjectItem(line, "pairs"))
        take_pairs(c->cell, line);
    else if (cJSON_HasObjectItem(line, "gflops"))
        take_calibration(c, line);
    else if (cJSON_HasObjectItem(line, "like_runs_gbytes_per_s"))
        c->cell->before.like_runs_bytes_per_s = line_number(line, "like_runs_gbytes_per_s") * 1e9;
    else if ((int64_t)line_number(line, "run") == c->done + 1 && c->done < c->runs)
        take_row(c->cell, &c->cell->rows[c->done++], line);
    cJSON_Delete(line);
}

static void child_tick(void *context)
{
    struct child_rows *c = context;
    if (c->on_tick)
        c->on_tick(c->context);
}

/* Explains the rows that the child did not deliver, where it did not say so itself. */
static void explain_rows(struct child_rows *c, enum child_end end, int number_of_end,
                         double timeout_s)
{
    if (c->done == c->runs || c->said)
        return;
    switch (end) {
    case CHILD_STOPPED:
        end_rows(c, ROW_SKIPPED, "interrupted");
        break;
    case CHILD_TIMED_OUT:
        end_rows(c, ROW_FAILED, "not done after %g s (`timeout`)", timeout_s);
        break;
    case CHILD_SIGNALLED:
        end_rows(c, ROW_FAILED, "killed by signal %d (%s)%s", number_of_end,
                 strsignal(number_of_end),
                 number_of_end == 9 ? ", as the system does when memory runs out" : "");
        break;
    case CHILD_EXITED:
        end_rows(c, ROW_FAILED, "ended with exit code %d and no result: see log.txt",
                 number_of_end);
        break;
    }
}

static double bytes_at(const struct operation *op, int64_t size)
{
    struct ct_model m;
    if (model_for_size(op, size, &m))
        return -1;
    double bytes = operation_bytes(op, &m);
    ct_model_free(&m);
    return bytes;
}

/* 1 when the machine has the memory; else the rows are skipped with both numbers and the largest
 * power of two that fits. */
static int cell_fits(struct child_rows *c)
{
    char need_text[16], have_text[16];
    const struct operation *op = c->cell->op;
    double need = bytes_at(op, c->cell->size), have = (double)mem_available();
    if (need < 0) {
        end_rows(c, ROW_FAILED, "no model of this size");
        return 0;
    }
    if (need <= have)
        return 1;
    int64_t size = 1;
    while (2 * size < c->cell->size)
        size *= 2;
    while (size >= SIZE_MIN && bytes_at(op, size) > have)
        size /= 2;
    mem_human(need, need_text);
    mem_human(have, have_text);
    if (size >= SIZE_MIN)
        end_rows(c, ROW_SKIPPED, "needs %s, %s available: try `sizes` up to %" PRId64, need_text,
                 have_text, size);
    else
        end_rows(c, ROW_SKIPPED, "needs %s, %s available", need_text, have_text);
    return 0;
}

/* In this process, the first of several that work together. */
static void run_here(struct child_rows *c, const struct suite_plan *o)
{
    char shape[SHAPE_TEXT], *lines = NULL, *next;
    size_t bytes = 0;
    FILE *out = open_memstream(&lines, &bytes);
    if (!out) {
        end_rows(c, ROW_FAILED, "no memory for the results");
        return;
    }
    shape_text(c->cell->size, c->cell->shape, shape);
    const struct child_plan plan = {.op = c->cell->op->name,
                                    .backend = o->backend,
                                    .size = c->cell->size,
                                    .runs = o->runs,
                                    .threads = o->threads,
                                    .shape = c->cell->shape[0] ? shape : NULL,
                                    .seed = o->seed,
                                    .set = o->set,
                                    .previews = o->previews,
                                    .team = o->team,
                                    .out = out};
    const enum err e = suite_child(&plan);
    fclose(out);
    for (char *line = lines; line && *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next)
            *next++ = 0;
        on_line(c, line);
    }
    free(lines);
    if (e)
        explain_rows(c, CHILD_EXITED, err_exit_code(e), o->timeout_s);
}

/* libgomp lets idle threads spin for about a millisecond before they sleep: ruinous beside other
 * work, where a spinning thread takes the processor from the thread that it waits for (MBIR of a
 * small case took 80 s instead of 1.1 s at a load of 10). 10,000 turns are some 30 us. It is read
 * before a program's main, hence here. */
static void shorten_spin(void)
{
    if (!getenv("OMP_WAIT_POLICY"))
        setenv("GOMP_SPINCOUNT", "10000", 0);
}

static void run_child(struct child_rows *c, const struct suite_plan *o, FILE *log, int64_t times)
{
    const struct cell *cell = c->cell;
    char size[24], shape[SHAPE_TEXT], runs[24], threads[24], seed[24], fd[8], cpu[24], warmup[24];
    snprintf(size, sizeof size, "%" PRId64, cell->size);
    snprintf(runs, sizeof runs, "%" PRId64, times);
    snprintf(threads, sizeof threads, "%" PRId64, o->threads);
    snprintf(seed, sizeof seed, "%" PRIu64, o->seed);
    snprintf(fd, sizeof fd, "%d", CHILD_FD);
    snprintf(warmup, sizeof warmup, "%" PRId64, o->warmup);
    snprintf(cpu, sizeof cpu, "%g", o->traced_cpu_s);
    const char *argv[29] = {
        o->program,  "child-run", "--op",      cell->op->name, "--size", size, "--runs", runs,
        "--backend", o->backend,  "--threads", threads,        "--seed", seed, "--fd",   fd};
    int n = 16;
    if (o->previews) {
        argv[n++] = "--previews";
        argv[n++] = o->previews;
    }
    if (o->set) {
        argv[n++] = "--set";
        argv[n++] = o->set;
    }
    if (cell->shape[0]) {
        shape_text(cell->size, cell->shape, shape);
        argv[n++] = "--shape";
        argv[n++] = shape;
    }
    if (o->gate && !o->traced) {
        argv[n++] = "--gate";
        argv[n++] = o->gate;
    }
    if (o->warmup && !o->traced) {
        argv[n++] = "--warmup";
        argv[n++] = warmup;
    }
    if (o->calibrate && !o->traced)
        argv[n++] = "--calibrate";
    if (o->traced)
        argv[n++] = "--traced";
    if (o->traced && o->traced_cpu_s > 0) {
        argv[n++] = "--traced-cpu";
        argv[n++] = cpu;
    }
    struct child_program p = {.argv = argv,
                              .environment = o->environment,
                              .log_fd = fileno(log),
                              .own_group = 1, /* Ctrl-C on the terminal reaches the parent alone */
                              .timeout_s = o->timeout_s,
                              .folder = o->previews,
                              .stop = o->stop,
                              .on_line = on_line,
                              .on_tick = child_tick,
                              .context = c};
    enum child_end end;
    int end_number;
    shorten_spin();
    if (child_run(&p, &end, &end_number))
        end_rows(c, ROW_FAILED, "%s", err_text());
    else
        explain_rows(c, end, end_number, o->timeout_s);
}

/* The places of arrays' pages differ from process to process, and with them the share of the copy
 * rate: a crop of 128^3 had 0.77 to 0.93 in ten of them. Long calls need no more than one. */
static void run_more_pairs(struct child_rows *c, const struct suite_plan *o, FILE *log)
{
    for (int i = 1;
         i < PAIR_PROCESSES && c->cell->pairs.share.n && c->done == c->runs &&
         !(o->stop && *o->stop) && c->cell->rows[c->runs - 1].seconds < PAIR_SECONDS_MOST;
         i++)
        run_child(c, o, log, 1);
}

void cell_run(const struct suite_plan *o, FILE *log, struct cell *cell, void (*tick)(void *context),
              void *context)
{
    struct child_rows c = {cell, o->runs, 0, tick, context, 0};
    if (!cell_fits(&c))
        return;
    if (o->team) {
        run_here(&c, o);
        return;
    }
    run_child(&c, o, log, o->runs);
    run_more_pairs(&c, o, log);
}
