/* The closing table of a run. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "host/suite/run/results.h"

#define BOLD   PLAIN_BOLD
#define DIM    PLAIN_DIM
#define RED    PLAIN_RED
#define YELLOW PLAIN_YELLOW
#define OFF    PLAIN_END

/* 30 + 11 + 10 + 8 + 11 + 11 + 8 and 6 blanks: 95 columns. */
#define LINE "%-30s %11s %10s %8s %11s %11s %8s"

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
    char size[SHAPE_TEXT], median[16], spread[16], rate[16], peak[16] = "-", growth[24] = "";
    int colour = log_colour();
    shape_text(c->size, c->shape, size);
    if (!c->statistics.n) {
        int failed = c->rows[0].status == ROW_FAILED;
        log_info("%-30s %11s %s%s%s: %.51s", first ? c->op->name : "", size,
                 colour ? failed ? RED : YELLOW : "", failed ? "failed" : "skipped",
                 colour ? OFF : "", c->reason);
        return;
    }
    human_time(c->statistics.median, median);
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

void results_print(const struct results *r)
{
    const char *bold = log_colour() ? BOLD : "", *dim = log_colour() ? DIM : "";
    const char *off = log_colour() ? OFF : "";
    log_info("\n%s" LINE "%s", bold, "operation", "size", "median", "spread", "rate", "of peak",
             "growth", off);
    for (int op = 0; op < r->plan.op_count; op++)
        for (int s = 0; s < r->plan.size_count; s++)
            print_cell(results_cell(r, op, s), &r->fits[op], s == 0);
    log_info("%sspread: standard deviation over mean without the cold run. GUP/s: 10^9 voxel-view "
             "updates a second.%s",
             dim, off);
    log_info(
        "%sof peak: share of this machine's measured peak (arithmetic or copy rate, whichever is "
        "nearer).%s",
        dim, off);
    if (r->plan.size_count < 3)
        log_info("%sgrowth: the exponent of t = a + b N^p needs at least 3 sizes.%s", dim, off);
    print_shares(r);
}
