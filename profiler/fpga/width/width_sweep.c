/* Finds the fewest bits of each stage that keep the quality: alone, then together, then small
 * floats. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/fpga/width/width_sweep.h"

/* A case with what float64 makes of it. */
struct reference {
    const struct width_case *c;
    const struct width_primitive *p;
    struct width_result result;
    struct formats peaks;
};

static enum err reference_make(struct reference *r, const struct width_primitive *p,
                               const struct width_case *c)
{
    *r = (struct reference){.c = c, .p = p, .peaks = formats_wide()};
    return width_run(c, p, &r->peaks, &r->result);
}

static enum err sweep_measure(const struct reference *r, struct formats *f, struct width_quality *q)
{
    struct width_result got;
    TRY(width_run(r->c, r->p, f, &got));
    *q = (struct width_quality){
        .own = width_rmse(got.own, r->result.own, r->result.own_length),
        .rmse = width_rmse(got.picture, r->result.picture, r->result.picture_length),
        .ssim = width_ssim(got.picture, r->result.picture, r->c->n),
        .faults = f->faults};
    width_result_destroy(&got);
    return ERR_OK;
}

/* Sweeps each stage alone. Its share of the error budget: independent errors add in squares. */
static enum err sweep_alone(struct width_sweep *s, const struct reference *r)
{
    int stages = 0;
    for (int k = 0; k < WIDTH_STAGES; k++)
        stages += s->primitive->stages[k];
    const struct width_limits share = {s->limits.rmse / sqrt(stages), s->limits.ssim};
    for (int k = 0; k < WIDTH_STAGES; k++) {
        s->alone_bits[k] = s->primitive->stages[k] ? -1 : 0;
        for (int b = WIDTH_WIDEST; s->primitive->stages[k] && b >= WIDTH_FEWEST; b--) {
            int keeps = 1, bits[WIDTH_STAGES] = {0};
            bits[k] = b;
            for (int i = 0; i < s->cases; i++) {
                struct formats f = width_formats(s->primitive, &r[i].peaks, bits);
                TRY(sweep_measure(&r[i], &f, &s->alone[i][k][b]));
                keeps &= width_keeps(&s->alone[i][k][b], share);
            }
            if (keeps && (s->alone_bits[k] == -1 || s->alone_bits[k] == b + 1))
                s->alone_bits[k] = b; /* from the wide end: no lucky narrow width */
        }
    }
    return ERR_OK;
}

static enum err try_together(struct width_sweep *s, const struct reference *r, const int *bits,
                             int *keeps)
{
    *keeps = 1;
    for (int i = 0; i < s->cases; i++) {
        struct formats f = width_formats(s->primitive, &r[i].peaks, bits);
        TRY(sweep_measure(&r[i], &f, &s->together[i]));
        *keeps &= width_keeps(&s->together[i], s->limits);
    }
    return ERR_OK;
}

/* Adds one bit for all until the quality holds, then removes one from each, multiplier inputs
 * first, as long as it does. */
static enum err sweep_together(struct width_sweep *s, const struct reference *r)
{
    static const enum width_stage order[] = {STAGE_COEFFICIENT, STAGE_SAMPLE, STAGE_PRODUCT,
                                             STAGE_SUM, STAGE_COORDINATE};
    for (int k = 0; k < WIDTH_STAGES; k++)
        s->bits[k] = s->alone_bits[k] < 0 ? WIDTH_WIDEST : s->alone_bits[k];
    for (int more = 0; !s->reached && more < 8; more++) {
        TRY(try_together(s, r, s->bits, &s->reached));
        for (int k = 0; !s->reached && k < WIDTH_STAGES; k++)
            s->bits[k] += s->bits[k] > 0 && s->bits[k] < WIDTH_WIDEST;
    }
    for (int o = 0; s->reached && o < WIDTH_STAGES; o++) {
        int keeps = 1;
        while (keeps && s->bits[order[o]] > WIDTH_FEWEST) {
            s->bits[order[o]]--;
            TRY(try_together(s, r, s->bits, &keeps));
            s->bits[order[o]] += !keeps;
        }
    }
    return try_together(s, r, s->bits, &(int){0});
}

/* Block float is a way to store: the stages after the sample stay wide. */
static const struct {
    const char *name;
    int bits, exponent_bits, sums_wide;
} tried[] = {{"fp16", 16, 5, 0},     {"fp16", 16, 5, 1},     {"bf16", 16, 8, 0},
             {"bf16", 16, 8, 1},     {"tf32", 19, 8, 0},     {"fp32", 32, 8, 0},
             {"block 8", 8, 0, 1},   {"block 10", 10, 0, 1}, {"block 12", 12, 0, 1},
             {"block 14", 14, 0, 1}, {"block 16", 16, 0, 1}};
_Static_assert(sizeof tried / sizeof *tried <= WIDTH_FORMATS, "room for the formats");

static struct formats small_formats(const struct width_primitive *p, int i)
{
    struct formats f = formats_wide();
    for (int k = 0; k < WIDTH_STAGES; k++)
        if (p->stages[k] && tried[i].exponent_bits)
            f.of[k] = k == STAGE_SUM && tried[i].sums_wide
                          ? number_float(32, 8)
                          : number_float(tried[i].bits, tried[i].exponent_bits);
    if (!tried[i].exponent_bits)
        f.of[STAGE_SAMPLE] = number_block(tried[i].bits);
    return f;
}

static enum err sweep_formats(struct width_sweep *s, const struct reference *r)
{
    for (int i = 0; i < (int)(sizeof tried / sizeof *tried); i++) {
        struct width_format *to = &s->formats[s->formats_count++];
        strcpy(to->name, tried[i].name);
        to->sums_wide = tried[i].sums_wide;
        for (int c = 0; c < s->cases; c++) {
            struct formats f = small_formats(s->primitive, i);
            TRY(sweep_measure(&r[c], &f, &to->at[c]));
        }
    }
    return ERR_OK;
}

enum err width_sweep(const struct width_primitive *p, const struct width_case *cases, int n,
                     struct width_limits limits, struct width_sweep *out)
{
    struct reference r[WIDTH_CASES] = {0};
    enum err e = ERR_OK;
    FAIL_IF(n < 1 || n > WIDTH_CASES, ERR_INTERNAL, "%d data sets: 1 to %d", n, WIDTH_CASES);
    *out = (struct width_sweep){.primitive = p, .cases = n, .limits = limits};
    for (int i = 0; i < n && !e; i++) {
        e = reference_make(&r[i], p, &cases[i]);
        out->case_names[i] = cases[i].name;
        for (int k = 0; k < WIDTH_STAGES; k++)
            out->range[i][k] = width_range(r[i].peaks.peak[k]);
    }
    if (!e)
        e = sweep_alone(out, r);
    if (!e)
        e = sweep_together(out, r);
    if (!e)
        e = sweep_formats(out, r);
    for (int i = 0; i < n; i++)
        width_result_destroy(&r[i].result);
    return e;
}

/* Error and similarity of two pictures, and whether they keep the stated quality. */

static double range_of(const double *v, int n)
{
    double low = v[0], high = v[0];
    for (int i = 1; i < n; i++) {
        low = fmin(low, v[i]);
        high = fmax(high, v[i]);
    }
    return high > low ? high - low : 1;
}

double width_rmse(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum / n) / range_of(b, n);
}

#define WINDOW 7

/* (2 ab + c1)(2 cov + c2) / ((a^2 + b^2 + c1)(va + vb + c2)) of the window at `p`. */
static double window_ssim(const double *a, const double *b, int edge, double c1, double c2)
{
    double sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0;
    const double n = WINDOW * WINDOW;
    for (int i = 0; i < WINDOW; i++)
        for (int j = 0; j < WINDOW; j++) {
            const double x = a[i * edge + j] - b[0], y = b[i * edge + j] - b[0];
            sa += x, sb += y, saa += x * x, sbb += y * y, sab += x * y;
        }
    const double va = (saa - sa * sa / n) / (n - 1), vb = (sbb - sb * sb / n) / (n - 1);
    const double covariance = (sab - sa * sb / n) / (n - 1);
    const double ma = sa / n + b[0], mb = sb / n + b[0];
    return (2 * ma * mb + c1) * (2 * covariance + c2) / ((ma * ma + mb * mb + c1) * (va + vb + c2));
}

double width_ssim(const double *a, const double *b, int edge)
{
    const double range = range_of(b, edge * edge);
    const double c1 = 1e-4 * range * range, c2 = 9e-4 * range * range;
    double sum = 0;
    int windows = 0;
    for (int i = 0; i + WINDOW <= edge; i++)
        for (int j = 0; j + WINDOW <= edge; j++, windows++)
            sum += window_ssim(a + i * edge + j, b + i * edge + j, edge, c1, c2);
    return windows ? sum / windows : (double)NAN;
}

/* A NaN keeps nothing. */
int width_keeps(const struct width_quality *q, struct width_limits limits)
{
    return q->rmse <= limits.rmse && q->ssim >= limits.ssim;
}
