/* The Markdown of `bench` for docs/internals/performance.md: targets, rows, growth. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cli/results/bench_report.h"
#include "host/suite/statistics/fit.h"

enum target_kind {
    TARGET_RATE,    /* units a second, at least */
    TARGET_AS_FAST, /* over the rate of than[0], at least */
    TARGET_TIMES,   /* time over those of than[0] and than[1] together, at most */
    TARGET_SECONDS, /* at most */
};

/* What the CPU is to reach on two cores with AVX-512. */
static const struct target {
    const char *operation;
    int64_t size;
    enum target_kind kind;
    double target, stretch; /* stretch 0: none */
    const char *than[2];
} targets[] = {
    {"parallel_forward_project", 256, TARGET_RATE, 25e9, 35e9, {0}},
    {"parallel_back_project", 256, TARGET_RATE, 25e9, 35e9, {0}},
    {"cone_forward_project", 256, TARGET_RATE, 3e9, 5e9, {0}},
    {"cone_back_project", 256, TARGET_RATE, 3e9, 5e9, {0}},
    {"cone_voxel_back_project", 256, TARGET_RATE, 8e9, 11e9, {0}},
    {"ramp_filter_2048", 256, TARGET_RATE, 400e3, 1e6, {0}},
    {"median_filter3d", 256, TARGET_RATE, 1.4e9, 2e9, {0}},
    {"parallel_hessian_diagonal", 256, TARGET_AS_FAST, 1, 0, {"parallel_back_project"}},
    {"cone_hessian_diagonal", 256, TARGET_AS_FAST, 1, 0, {"cone_back_project"}},
    {"parallel_vcd_iteration",
     256,
     TARGET_TIMES,
     3,
     0,
     {"parallel_forward_project", "parallel_back_project"}},
    {"cone_vcd_iteration", 256, TARGET_TIMES, 3, 0, {"cone_forward_project", "cone_back_project"}},
    {"rabbitct_fdk_recon", 512, TARGET_SECONDS, 9, 6.5, {0}},
    {"rabbitct_voxel_recon", 512, TARGET_SECONDS, 9, 6.5, {0}},
};

/* Row that is ok, with the most threads measured; NULL when there is none. */
static const struct bench_row *best_row(const struct bench_results *r, const char *operation,
                                        int64_t size)
{
    const struct bench_row *best = NULL;
    for (int i = 0; i < r->count; i++) {
        const struct bench_row *row = &r->rows[i];
        if (row->status == ROW_OK && row->size == size && !strcmp(row->operation, operation) &&
            (!best || row->threads > best->threads))
            best = row;
    }
    return best;
}

/* What is compared with the target; NAN when a row that it needs is missing. */
static double measured(const struct bench_results *r, const struct target *t,
                       const struct bench_row *row)
{
    const struct bench_row *than[2] = {NULL, NULL};
    for (int i = 0; i < 2 && t->than[i]; i++)
        than[i] = bench_find(r, t->than[i], t->size, row->threads);
    switch (t->kind) {
    case TARGET_RATE:
        return row->rate;
    case TARGET_AS_FAST:
        return than[0] ? row->rate / than[0]->rate : (double)NAN;
    case TARGET_TIMES:
        return than[0] && than[1] ? row->min / (than[0]->min + than[1]->min) : (double)NAN;
    case TARGET_SECONDS:
        break;
    }
    return row->min;
}

static void value_text(const struct target *t, double value, enum bench_unit unit, char out[64])
{
    char rate[24];
    if (!isfinite(value)) {
        snprintf(out, 64, "-");
    } else if (t->kind == TARGET_RATE) {
        bench_rate_text(value, unit, rate);
        snprintf(out, 64, "%s", rate);
    } else if (t->kind == TARGET_SECONDS) {
        snprintf(out, 64, "%.3g s", value);
    } else {
        snprintf(out, 64, "%.3g x %s", value,
                 t->kind == TARGET_TIMES ? "forward + back" : "rate of back");
    }
}

static int reached(const struct target *t, double value, double limit)
{
    int more = t->kind == TARGET_RATE || t->kind == TARGET_AS_FAST;
    return limit > 0 && (more ? value >= limit : value <= limit);
}

static void calibration_text(const struct calibration *c, char out[48])
{
    snprintf(out, 48, "%.0f, %.1f, %.1f", c->peak.flops_per_s * 1e-9, c->peak.bytes_per_s * 1e-9,
             c->cached_bytes_per_s * 1e-9);
}

static void number_cell(double value, double scale, const char *unit)
{
    if (isfinite(value))
        printf(" %.3g%s |", value * scale, unit);
    else
        printf(" - |");
}

static void print_target(const struct bench_results *r, const struct target *t)
{
    const struct bench_row *row = best_row(r, t->operation, t->size);
    const enum bench_unit unit = bench_unit_of(bench_operation_named(t->operation));
    char goal[64], stretch[64] = "", value[64];
    value_text(t, t->target, unit, goal);
    if (t->stretch > 0)
        value_text(t, t->stretch, unit, stretch);
    printf("| %s | %" PRId64 " | %s%s%s%s%s | ", t->operation, t->size,
           t->kind == TARGET_TIMES || t->kind == TARGET_SECONDS ? "at most " : "", goal,
           *stretch ? " (" : "", stretch, *stretch ? ")" : "");
    if (!row) {
        puts("not measured | | | | | |");
        return;
    }
    double v = measured(r, t, row);
    value_text(t, v, unit, value);
    printf("%s | %s | %" PRId64 " | %.4g |", value,
           reached(t, v, t->stretch)  ? "stretch"
           : reached(t, v, t->target) ? "yes"
           : isfinite(v)              ? "no"
                                      : "-",
           row->threads, row->median);
    number_cell(row->spread, 100, " %");
    number_cell(row->roof_share, 100, row->bound == BOUND_COPY ? " % copy" : " % arithmetic");
    putchar('\n');
}

static void print_row(const struct bench_row *row)
{
    char rate[24], before[48], after[48], peak[16], closed[16];
    printf("| %s | %" PRId64 " | %" PRId64 " |", row->operation, row->size, row->threads);
    if (row->status != ROW_OK) {
        printf(" %s | | | | | | | | |\n", row->reason);
        return;
    }
    bench_rate_text(row->rate, row->unit, rate);
    calibration_text(&row->before, before);
    calibration_text(&row->after, after);
    printf(" %.4g | %.4g |", row->min, row->median);
    number_cell(row->spread, 100, " %");
    printf(" %s |", rate);
    number_cell(row->roof_share, 100, row->implausible ? " % implausible" : " %");
    number_cell(row->cycles_per_unit, 1, "");
    number_cell(row->efficiency, 100, " %");
    printf(" %s; %s | %s; %s |\n", mem_human(row->peak_bytes, peak),
           mem_human(row->closed_form_bytes, closed), before, after);
}

/* Time and work of one operation with one number of threads by ascending size. */
struct series {
    int n;
    double size[PLAN_SIZES], seconds[PLAN_SIZES], work[PLAN_SIZES];
};

static struct series series_of(const struct bench_results *r, const struct bench_row *like)
{
    struct series s = {0};
    for (int i = 0; i < r->count && s.n < PLAN_SIZES; i++) {
        const struct bench_row *row = &r->rows[i];
        if (row->status != ROW_OK || row->threads != like->threads ||
            strcmp(row->operation, like->operation) != 0)
            continue;
        int at = s.n++;
        for (; at > 0 && s.size[at - 1] > (double)row->size; at--) {
            s.size[at] = s.size[at - 1];
            s.seconds[at] = s.seconds[at - 1];
            s.work[at] = s.work[at - 1];
        }
        s.size[at] = (double)row->size;
        s.seconds[at] = row->min;
        s.work[at] = row->work.flops > 0 ? row->work.flops : row->work.bytes_min;
    }
    return s;
}

static void print_growth(const struct bench_results *r)
{
    for (int i = 0; i < r->count; i++) {
        const struct bench_row *row = &r->rows[i];
        int first = 1;
        for (int k = 0; k < i && first; k++)
            first = r->rows[k].threads != row->threads ||
                    strcmp(r->rows[k].operation, row->operation) != 0;
        struct series s = series_of(r, row);
        if (!first || s.n < 3)
            continue;
        struct fit time = fit_power(s.size, s.seconds, s.n), work = fit_power(s.size, s.work, s.n);
        printf("| %s | %" PRId64 " | %.0f to %.0f |", row->operation, row->threads, s.size[0],
               s.size[s.n - 1]);
        number_cell(time.p, 1, "");
        number_cell(work.p, 1, "");
        number_cell(s.seconds[0] / s.work[0] / (s.seconds[s.n - 1] / s.work[s.n - 1]), 100, " %");
        putchar('\n');
    }
}

void bench_report_markdown(const struct bench_results *r)
{
    const struct environment *e = &r->environment;
    printf("Measured %s on %s, %d threads, %s, back end %s.\n\n", r->timestamp, e->cpu, e->threads,
           e->isa, e->backend);
    puts("| operation | N | target (stretch) | measured | reached | threads | median s | spread | "
         "share of peak |\n|---|---|---|---|---|---|---|---|---|");
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        print_target(r, &targets[i]);
    puts(
        "\n| operation | N | threads | least s | median s | spread | rate | share of peak | cycles "
        "per unit | t1/(n tn) | peak memory; closed form | calibration before; after: GFLOP/s, "
        "GB/s, "
        "GB/s in cache |\n|---|---|---|---|---|---|---|---|---|---|---|---|");
    for (int i = 0; i < r->count; i++)
        print_row(&r->rows[i]);
    puts("\n| operation | threads | N | growth of time | growth of work | rate at the largest N "
         "over "
         "the smallest |\n|---|---|---|---|---|---|");
    print_growth(r);
}
