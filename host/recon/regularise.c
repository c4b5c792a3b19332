/* Automatic regularisation: sigma_y from the signal's root mean square, sigma_x from a typical
 * reconstruction value, both over the support of the object in about 20 views. The decisions
 * (histogram bins, threshold, median) are taken in float32 as NumPy takes them for MBIRJAX. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "host/backend/course.h"
#include "host/geom/ct_model.h"
#include "host/recon/recon.h"

#define BINS      400
#define VIEWS     20
#define CUTOFF    0.1  /* the background cluster ends where the histogram falls below this share */
#define LEVEL     0.25 /* support: at least this share of the median of what is not background */
#define TYPICAL   0.2  /* sigma_x as a share of a typical value at sharpness 0 */
#define EDGE_VIEW 0.02 /* share of view rows whose edge channels may hold object */

/* Every stride-th view. */
struct sampled {
    const struct backend *be; /* asked for the wish to end, which leaves the rest out */
    const float *y, *w;
    int64_t plane, views, stride;
};

static void sampled_range(const struct sampled *s, float *low, float *high)
{
    *low = *high = s->y[0];
    for (int64_t v = 0; v < s->views && !backend_stopped(s->be); v += s->stride)
        for (int64_t i = 0; i < s->plane; i++) {
            float a = s->y[v * s->plane + i];
            *low = a < *low ? a : *low;
            *high = a > *high ? a : *high;
        }
}

/* numpy.linspace(low, high, BINS + 1) in float32; 0 when the range is too narrow for that. */
static int make_edges(float low, float high, float edges[BINS + 1])
{
    if (low == high) {
        low -= 0.5f;
        high += 0.5f;
    }
    float step = (high - low) / BINS;
    for (int i = 0; i < BINS; i++)
        edges[i] = (float)i * step + low;
    edges[BINS] = high;
    for (int i = 0; i < BINS; i++)
        if (!(edges[i] < edges[i + 1]))
            return 0;
    return 1;
}

/* numpy.histogram: the quotient picks a bin, the edges correct it. */
static void sampled_histogram(const struct sampled *s, const float edges[BINS + 1],
                              int64_t bins[BINS])
{
    const float low = edges[0], width = edges[BINS] - edges[0];
    memset(bins, 0, BINS * sizeof *bins);
    for (int64_t v = 0; v < s->views && !backend_stopped(s->be); v += s->stride)
        for (int64_t i = 0; i < s->plane; i++) {
            float a = s->y[v * s->plane + i];
            int bin = (int)((a - low) / width * BINS);
            bin -= bin == BINS;
            bin -= a < edges[bin];
            bin += a >= edges[bin + 1] && bin != BINS - 1;
            bins[bin]++;
        }
}

static int is_peak(const int64_t bins[BINS], int i)
{
    if (i == 0)
        return bins[0] > bins[1];
    return i < BINS - 1 && bins[i] >= bins[i - 1] && bins[i] > bins[i + 1];
}

/* Finds the peak nearest to 0 (the first of two as near), or without peaks the bin nearest to 0. */
static int background_peak(const int64_t bins[BINS], const float centre[BINS])
{
    int nearest = 0, peak = -1;
    for (int i = 0; i < BINS; i++) {
        if (fabsf(centre[i]) < fabsf(centre[nearest]))
            nearest = i;
        if (is_peak(bins, i) && (peak < 0 || fabsf(centre[i]) < fabsf(centre[peak])))
            peak = i;
    }
    return peak < 0 ? nearest : peak;
}

/* Values from here on are not background, with a cluster's width as margin. */
static float sampled_foreground(const struct sampled *s, const float edges[BINS + 1])
{
    int64_t bins[BINS];
    float centre[BINS];
    sampled_histogram(s, edges, bins);
    for (int i = 0; i < BINS; i++)
        centre[i] = 0.5f * (edges[i] + edges[i + 1]);
    const int peak = background_peak(bins, centre);
    const double cutoff = CUTOFF * (double)bins[peak];
    int left = peak, right = peak;
    while (left > 0 && (double)bins[left] > cutoff)
        left--;
    while (right < BINS - 1 && (double)bins[right] > cutoff)
        right++;
    return centre[right] + (centre[right] - centre[left]);
}

/* Unsigned integers in the order of the floats. */
static uint32_t sort_key(float a)
{
    uint32_t bits;
    memcpy(&bits, &a, sizeof bits);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

static float from_key(uint32_t key)
{
    uint32_t bits = key & 0x80000000u ? key & 0x7fffffffu : ~key;
    float a;
    memcpy(&a, &bits, sizeof a);
    return a;
}

/* Counts the values >= least by the 16 bits of their key at `shift`, among those whose higher bits
 * are those of `prefix`. */
static void count_keys(const struct sampled *s, float least, int shift, uint32_t prefix,
                       int64_t *counts)
{
    memset(counts, 0, 65536 * sizeof *counts);
    for (int64_t v = 0; v < s->views && !backend_stopped(s->be); v += s->stride)
        for (int64_t i = 0; i < s->plane; i++) {
            float a = s->y[v * s->plane + i];
            uint32_t key = sort_key(a);
            if (a >= least && (shift || key >> 16 == prefix))
                counts[key >> shift & 0xffff]++;
        }
}

/* The 16 bits that hold rank *rank, which becomes the rank among their values. */
static uint32_t find_rank(const int64_t *counts, int64_t *rank)
{
    uint32_t i = 0;
    while (i < 65535 && *rank >= counts[i])
        *rank -= counts[i++];
    return i;
}

/* Value number `rank` of those >= least in ascending order: two passes, no copy. */
static float sampled_ranked(const struct sampled *s, float least, int64_t rank, int64_t *counts)
{
    count_keys(s, least, 16, 0, counts);
    uint32_t prefix = find_rank(counts, &rank);
    count_keys(s, least, 0, prefix, counts);
    return from_key(prefix << 16 | find_rank(counts, &rank));
}

/* numpy.median of the values >= least. */
static enum err sampled_median(const struct sampled *s, float least, float *out)
{
    int64_t n = 0, *counts = malloc(65536 * sizeof *counts);
    FAIL_IF(!counts, ERR_MEMORY, "no memory for a median");
    for (int64_t v = 0; v < s->views && !backend_stopped(s->be); v += s->stride)
        for (int64_t i = 0; i < s->plane; i++)
            n += s->y[v * s->plane + i] >= least;
    *out = sampled_ranked(s, least, n / 2, counts);
    if (n % 2 == 0)
        *out = (sampled_ranked(s, least, n / 2 - 1, counts) + *out) / 2;
    free(counts);
    return ERR_OK;
}

/* The value from which a sample belongs to the object; -INFINITY when all do. */
static enum err support_level(const struct sampled *s, float *level)
{
    float low, high, edges[BINS + 1];
    *level = -INFINITY;
    sampled_range(s, &low, &high);
    if (high <= 0) {
        log_warn("the sinogram has no positive values: contrast may come out reversed");
        return ERR_OK;
    }
    float least = make_edges(low, high, edges) ? sampled_foreground(s, edges) : INFINITY;
    if (high < least) {
        log_warn("no background found in the sinogram: automatic regularisation may be off");
        return ERR_OK;
    }
    TRY(sampled_median(s, least, level));
    *level *= (float)LEVEL;
    return ERR_OK;
}

static void warn_truncation(const struct sampled *s, int64_t channels, float level)
{
    int64_t rows = 0, touched = 0, inside = 0, all = 0;
    for (int64_t v = 0; v < s->views && !backend_stopped(s->be); v += s->stride)
        for (int64_t first = 0; first < s->plane; first += channels) {
            const float *y = s->y + v * s->plane + first;
            rows++;
            touched += y[0] >= level || y[channels - 1] >= level;
            for (int64_t c = 0; c < channels; c++)
                inside += y[c] >= level;
            all += channels;
        }
    if (inside < all && (double)touched > EDGE_VIEW * (double)rows)
        log_warn("the object reaches the edge of the detector in %.0f %% of the rows: a "
                 "recon_shape 1.1 times as wide may help",
                 100.0 * (double)touched / (double)rows);
}

/* Not inline: GCC 12 at -O3 drops the rounding where two such conversions stand side by side. */
static __attribute__((noinline)) double to_float32(double x)
{
    return (double)(float)x;
}

enum err auto_regularise(const struct backend *be, const struct ct_model *m, const float *y,
                         const float *w, struct regularisation *out)
{
    const struct scan *scan = &m->scan;
    const struct volume *v = &m->volume;
    const int64_t stride = scan->views / (scan->views < VIEWS ? scan->views : VIEWS);
    const struct sampled s = {be, y, w, scan->rows * scan->channels, scan->views, stride};
    float level;
    TRY(support_level(&s, &level));
    if (!scan_is_translation(scan)) /* a plate is wider than the detector */
        warn_truncation(&s, scan->channels, level);

    double energy = 0, magnitude = 0, n = 0;
    for (int64_t i = 0; i < scan->views && !backend_stopped(be); i += stride)
        for (int64_t j = i * s.plane; j < (i + 1) * s.plane; j++)
            if (y[j] >= level) {
                double a = (double)y[j];
                energy += a * a * (w ? (double)w[j] : 1);
                magnitude += fabs(a);
                n++;
            }
    FAIL_IF(backend_stopped(be), ERR_INTERRUPTED,
            "interrupted before sigma_y and sigma_x are known");
    const double pitch = scan->delta_channel / scan_magnification(scan);
    const double rows = (double)v->rows, cols = (double)v->cols;
    const double across = 2 * rows * cols / (rows + cols) * v->delta;
    /* Translation scans look along the rows of the volume, half of which the object fills. */
    const double path = scan_is_translation(scan) ? 0.5 * rows * volume_delta_row(v)
                                                  : fmin(across, (double)scan->channels * pitch);

    *out = m->regularisation;
    out->sigma_y =
        to_float32(pow(10, -out->snr_db / 20) * sqrt(energy / n) * sqrt(v->delta / pitch));
    out->sigma_x = to_float32(TYPICAL * exp2(out->sharpness) * (magnitude / n / path));
    out->sigma_prox = out->sigma_x;
    return ERR_OK;
}
