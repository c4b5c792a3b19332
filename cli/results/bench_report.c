/* The table of `bench` on stderr, and its list of operations. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/log.h"
#include "cli/results/bench_report.h"

#define UNSTEADY 0.1 /* change of the calibration while a row ran that is worth a word */

/* 25 + 5 + 7 + 10 + 8 + 16 + 8 + 7 and blanks: 93 columns. */
#define LINE "%-25s %5s %7s %10s %8s %16s %8s %7s"

void bench_report_list(void)
{
    const struct operation *op;
    for (int i = 0; (op = bench_operation_at(i)); i++)
        printf("%-26s %s\n", op->name, op->help);
}

void bench_report_head(void)
{
    log_info(LINE, "operation", "size", "threads", "least s", "spread", "rate", "of peak", "t1/nt");
}

void bench_rate_text(double rate, enum bench_unit unit, char out[24])
{
    static const struct {
        double scale;
        const char *name;
    } units[] = {[UNIT_UPDATES] = {1e-9, "GUP/s"},
                 [UNIT_ROWS] = {1e-3, "k rows/s"},
                 [UNIT_VOXELS] = {1e-9, "Gvoxel/s"},
                 [UNIT_ITERATIONS] = {1, "it/s"}};
    double value = rate * units[unit].scale;
    if (value > 0)
        snprintf(out, 24, value < 1000 ? "%.3g %s" : "%.0f %s", value, units[unit].name);
    else
        snprintf(out, 24, "-");
}

static void percent_text(double share, char out[16])
{
    if (isfinite(share))
        snprintf(out, 16, "%.3g %%", share * 100);
    else
        snprintf(out, 16, "-");
}

void bench_report_row(const struct bench_row *row)
{
    char size[24], threads[24], least[24], spread[16], rate[24], peak[16], efficiency[16];
    if (row->status != ROW_OK) {
        log_info("%-25s %5" PRId64 " %7" PRId64 " %s: %s", row->operation, row->size, row->threads,
                 row->status == ROW_FAILED ? "failed" : "skipped", row->reason);
        return;
    }
    snprintf(size, sizeof size, "%" PRId64, row->size);
    snprintf(threads, sizeof threads, "%" PRId64, row->threads);
    snprintf(least, sizeof least, "%.4g", row->min);
    percent_text(row->spread, spread);
    percent_text(row->roof_share, peak);
    percent_text(row->efficiency, efficiency);
    bench_rate_text(row->rate, row->unit, rate);
    log_info(LINE "%s%s", row->operation, size, threads, least, spread, rate, peak, efficiency,
             row->implausible ? " implausible" : "",
             bench_drift(row) > UNSTEADY ? " unsteady" : "");
}

static const char *const verdicts[] = {[VERDICT_UNKNOWN] = "unknown",
                                       [VERDICT_SAME] = "same",
                                       [VERDICT_FASTER] = "faster",
                                       [VERDICT_SLOWER] = "slower",
                                       [VERDICT_UNSTEADY] = "unsteady"};

enum err bench_report_against(const struct bench_results *now, const char *path,
                              const struct bench_results *then, double percent, int fail)
{
    int common = 0, slower = 0, other_cpu;
    const struct bench_row *worst = NULL;
    double largest = 0;
    TRY(bench_same_class(path, then, now, &other_cpu));
    if (other_cpu)
        log_warn("%s was measured on another processor, %s: only rough comparisons hold", path,
                 then->environment.cpu);
    log_info("against %s of %s: time x calibration, now over then", path, then->timestamp);
    log_info("%-25s %5s %7s %7s  %s", "operation", "size", "threads", "ratio", "verdict");
    for (int i = 0; i < now->count; i++) {
        const struct bench_row *row = &now->rows[i];
        const struct bench_row *old = bench_find(then, row->operation, row->size, row->threads);
        if (!old)
            continue;
        struct bench_comparison c = bench_compare(row, old, percent / 100);
        common++;
        slower += c.verdict == VERDICT_SLOWER;
        if (c.verdict == VERDICT_SLOWER && c.ratio > largest) {
            largest = c.ratio;
            worst = row;
        }
        log_info("%-25s %5" PRId64 " %7" PRId64 " %7.3f  %s", row->operation, row->size,
                 row->threads, c.ratio, verdicts[c.verdict]);
    }
    FAIL_IF(!common, ERR_INPUT, "%s: has none of these operations, sizes and threads", path);
    FAIL_IF(fail && slower, ERR_FAILED,
            "%d of %d rows are more than %g %% slower than in %s: %s at %" PRId64 " with %" PRId64
            " threads most, %.2f times",
            slower, common, percent, path, worst->operation, worst->size, worst->threads, largest);
    return ERR_OK;
}
