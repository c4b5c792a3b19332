#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host/base/log.h"
#include "host/suite/results.h"

#define BOLD   "\033[1m"
#define DIM    "\033[2m"
#define RED    "\033[31m"
#define YELLOW "\033[33m"
#define OFF    "\033[0m"

/* 26 + 6 + 10 + 8 + 11 + 11 + 8 and 6 blanks: 86 columns. */
#define LINE "%-26s %6s %10s %8s %11s %11s %8s\n"

static void human_time(double seconds, char out[16])
{
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    int u = 0;
    while (u < 3 && seconds < units[u].unit)
        u++;
    snprintf(out, 16, "%.3g %s", seconds / units[u].unit, units[u].name);
}

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
    char size[24], median[16], spread[16], rate[16], roof[16] = "-", growth[24] = "";
    int colour = log_colour();
    snprintf(size, sizeof size, "%lld", (long long)c->size);
    if (!c->statistics.n) {
        int failed = c->rows[0].status == ROW_FAILED;
        fprintf(stderr, "%-26s %6s %s%s%s: %.56s\n", first ? c->op->name : "", size,
                colour ? failed ? RED : YELLOW : "", failed ? "failed" : "skipped",
                colour ? OFF : "", c->reason);
        return;
    }
    human_time(c->statistics.median, median);
    human_rate(&c->rates, rate);
    snprintf(spread, sizeof spread,
             c->cold_only              ? "cold"
             : isnan(c->statistics.cv) ? "1 run"
                                       : "%.1f %%",
             c->statistics.cv * 100);
    if (c->rates.implausible)
        snprintf(roof, sizeof roof, "implausible");
    else if (!isnan(c->rates.roof_share))
        snprintf(roof, sizeof roof, "%.0f %%", c->rates.roof_share * 100);
    if (first && !isnan(fit->p))
        snprintf(growth, sizeof growth, "N^%.2f", fit->p);
    fprintf(stderr, LINE, first ? c->op->name : "", size, median, spread, rate, roof, growth);
}

void table_print(const struct results *r)
{
    int colour = log_colour();
    if (log_level_now() < LOG_INFO)
        return;
    fprintf(stderr, "\n%s" LINE "%s", colour ? BOLD : "", "operation", "size", "median", "spread",
            "rate", "of roof", "growth", colour ? OFF : "");
    for (int op = 0; op < r->plan.op_count; op++)
        for (int s = 0; s < r->plan.size_count; s++)
            print_cell(results_cell(r, op, s), &r->fits[op], s == 0);
    fprintf(stderr,
            "%sspread: standard deviation over mean, cold run left out. GUP/s: 10^9 voxel-view "
            "updates a second.\n"
            "of roof: share of this machine's measured peak (arithmetic or copy rate, whichever is "
            "nearer).%s\n",
            colour ? DIM : "", colour ? OFF : "");
}
