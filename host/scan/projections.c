/* From a scan file's counts to line integrals. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "host/backend/prepare_math.h"
#include "host/recon/center/center.h"
#include "host/scan/projections.h"
#include "host/scan/steps.h"

enum err find_center(const struct projections *p, double *center, double *score)
{
    const struct center_views views = {p->views, p->rows, p->channels, p->sinogram, p->angles};
    return center_registration(&views, center, score);
}

void projections_free(struct projections *p)
{
    mem_free(p->sinogram);
    free(p->angles);
    *p = (struct projections){0};
}

/* Means of bin x bin pixels, in place: (views, rows, channels) become (views, rows / bin, channels
 * / bin). */
static void bin_pixels(float *x, int64_t views, int64_t rows, int64_t channels, int64_t bin)
{
    float *to = x;
    if (bin == 1)
        return;
    for (int64_t v = 0; v < views; v++)
        for (int64_t r = 0; r < rows / bin; r++)
            for (int64_t c = 0; c < channels / bin; c++) {
                const float *from = x + (v * rows + r * bin) * channels + c * bin;
                double sum = 0;
                for (int64_t i = 0; i < bin; i++)
                    for (int64_t k = 0; k < bin; k++)
                        sum += (double)from[i * channels + k];
                *to++ = (float)(sum / (double)(bin * bin));
            }
}

/* Rows of pixels to line integrals, or with steps to transmissions; they are filled later, where
 * all are there. */
static enum err projections_read_part(const struct scan_context *c,
                                      const struct exchange_source *source, int64_t row_first,
                                      int64_t row_count, struct exchange_counts *x)
{
    const int64_t bin = c->request->bin;
    TRY(exchange_read(source, row_first, row_count < 0 ? -1 : row_count * bin, x));
    if (x->rows < bin || x->channels < bin) {
        const long long rows = (long long)x->rows, channels = (long long)x->channels;
        exchange_counts_free(x);
        return FAIL(ERR_USAGE, "`bin=%lld`: the views have %lld x %lld pixels", (long long)bin,
                    rows, channels);
    }
    bin_pixels(x->counts, x->views, x->rows, x->channels, bin);
    bin_pixels(x->white, 1, x->rows, x->channels, bin);
    bin_pixels(x->dark, 1, x->rows, x->channels, bin);
    bin_pixels(x->after, 1, x->rows, x->channels, bin);
    x->rows /= bin;
    x->channels /= bin;
    if (scan_steps_used(c->request)) {
        enum err e = scan_steps_counts(c, x);
        if (e)
            exchange_counts_free(x);
        return e;
    }
    correct_transmission(x->counts, x->views, x->rows * x->channels, x->white, x->dark);
    return ERR_OK;
}

/* Rows at a time: pixels before they are binned take at most half of what is free. */
static enum err projections_read_parts(const struct scan_context *c,
                                       const struct exchange_source *source, int64_t row_first,
                                       int64_t row_count, struct projections *out)
{
    const int64_t bin = c->request->bin;
    struct exchange_info info;
    struct exchange_counts x;
    void *y;
    size_t bytes;
    TRY(exchange_info(source, &info));
    const double row = 4.0 * (double)info.views * (double)info.channels * (double)bin;
    int64_t most = (int64_t)((double)mem_available() / 2 / row);
    most = most < 1 ? 1 : most;
    *out = (struct projections){
        .views = info.views, .rows = row_count, .channels = info.channels / bin};
    TRY(mem_size("sinogram", out->views, out->rows, out->channels, sizeof(float), &bytes));
    TRY(mem_alloc("sinogram", bytes, &y));
    out->sinogram = y;
    for (int64_t r = 0, n; r < row_count; r += n) {
        n = row_count - r < most ? row_count - r : most;
        TRY(projections_read_part(c, source, row_first + r * bin, n, &x));
        const size_t run = (size_t)(x.rows * x.channels) * sizeof(float);
        for (int64_t v = 0; v < x.views; v++)
            memcpy(out->sinogram + (v * out->rows + r) * out->channels,
                   x.counts + v * x.rows * x.channels, run);
        free(out->angles);
        out->angles = x.angles;
        x.angles = NULL;
        exchange_counts_free(&x);
    }
    return ERR_OK;
}

static enum err projections_read_rows(const struct scan_context *c, int64_t row_first,
                                      int64_t row_count, struct projections *out)
{
    struct exchange_source source = c->request->source;
    struct exchange_counts x;
    source.kept = c->kept;
    row_first = c->row_first + row_first * c->request->bin;
    if (c->request->bin > 1)
        return projections_read_parts(c, &source, row_first, row_count, out);
    TRY(projections_read_part(c, &source, row_first, row_count, &x));
    *out = (struct projections){x.views, x.rows, x.channels, x.counts, x.angles, 0};
    x.counts = x.angles = NULL;
    exchange_counts_free(&x);
    return ERR_OK;
}

static enum err projections_repair(const char *path, struct projections *p)
{
    int64_t n;
    enum err e = correct_repair(p->sinogram, p->views, p->rows, p->channels, &n);
    p->repaired += n;
    return e ? err_prefix(e, "%s", path) : ERR_OK;
}

/* Transmissions to line integrals, and what is done to these. */
static enum err projections_finish(const struct scan_context *c, struct projections *p)
{
    const char *path = c->request->source.path;
    if (!scan_steps_used(c->request))
        return projections_repair(path, p);
    if (!isnan(c->request->phase[PHASE_DELTA_BETA])) /* spreads a defect over its view */
        TRY(projections_repair(path, p));
    TRY(scan_steps_transmission(c, p));
    TRY(projections_repair(path, p));
    return scan_steps_integrals(c, p);
}

enum err projections_prepare(const struct scan_context *c, int64_t row_first, int64_t row_count,
                             struct projections *out)
{
    *out = (struct projections){0};
    enum err e = projections_read_rows(c, row_first, row_count, out);
    if (!e)
        e = projections_finish(c, out);
    if (e)
        projections_free(out);
    return e;
}

enum err projections_read(const struct exchange_source *source, int64_t row_first,
                          int64_t row_count, struct projections *out)
{
    const struct scan_request r = {SCAN_REQUEST_DEFAULTS, .source = *source};
    struct scan_result result;
    const struct scan_context c = {.request = &r, .result = &result, .kept = source->kept};
    return projections_prepare(&c, row_first, row_count, out);
}

/* Corrections of counts: transmission, and defects filled ring by ring. */

void correct_transmission(float *y, int64_t views, int64_t pixels, const float *white,
                          const float *dark)
{
    const struct prepare_job all = {.high = (float)INFINITY};
#pragma omp parallel for schedule(static) if (views * pixels >= 1 << 16)
    for (int64_t v = 0; v < views; v++)
        for (int64_t i = 0; i < pixels; i++) {
            float *x = y + v * pixels + i;
            *x = prepare_log(&all, prepare_transmission(*x, white[i], dark[i]));
        }
}

enum state { VALID, INVALID, QUEUED };

/* A view under repair. `queue` holds the invalid samples that touch a valid one; their new values
 * wait in `values` until the ring is complete, so that no sample depends on the order of the queue.
 */
struct repair {
    float *y;
    int64_t rows, channels;
    unsigned char *state;
    int32_t *queue, *next;
    float *values;
};

struct neighbours {
    int64_t m0, m1, n0, n1;
};

static struct neighbours repair_neighbours(const struct repair *r, int64_t i)
{
    int64_t m = i / r->channels, n = i % r->channels;
    return (struct neighbours){m ? m - 1 : 0, m + 1 < r->rows ? m + 1 : m, n ? n - 1 : 0,
                               n + 1 < r->channels ? n + 1 : n};
}

/* Median of the valid neighbours, the mean of the middle two of an even number; their number into
 * *count. */
static float neighbour_median(const struct repair *r, int64_t i, int *count)
{
    float near[9];
    int c = 0;
    struct neighbours w = repair_neighbours(r, i);
    for (int64_t m = w.m0; m <= w.m1; m++)
        for (int64_t n = w.n0; n <= w.n1; n++) {
            if (r->state[m * r->channels + n] != VALID)
                continue;
            float x = r->y[m * r->channels + n];
            int at = c++;
            for (; at && near[at - 1] > x; at--)
                near[at] = near[at - 1];
            near[at] = x;
        }
    *count = c;
    if (!c)
        return NAN;
    return c % 2 ? near[c / 2] : (near[c / 2 - 1] + near[c / 2]) / 2;
}

/* Fills the queued ring and queues the next one; returns its length. */
static int64_t fill_ring(struct repair *r, int64_t n)
{
    int64_t queued = 0;
    int unused;
    for (int64_t q = 0; q < n; q++)
        r->values[q] = neighbour_median(r, r->queue[q], &unused);
    for (int64_t q = 0; q < n; q++) {
        r->y[r->queue[q]] = r->values[q];
        r->state[r->queue[q]] = VALID;
    }
    for (int64_t q = 0; q < n; q++) {
        struct neighbours w = repair_neighbours(r, r->queue[q]);
        for (int64_t m = w.m0; m <= w.m1; m++)
            for (int64_t c = w.n0; c <= w.n1; c++) {
                int64_t i = m * r->channels + c;
                if (r->state[i] != INVALID)
                    continue;
                r->state[i] = QUEUED;
                r->next[queued++] = (int32_t)i;
            }
    }
    int32_t *swap = r->queue;
    r->queue = r->next;
    r->next = swap;
    return queued;
}

/* Returns the number of samples filled, or -1 when none is valid. */
static int64_t repair_view(struct repair *r)
{
    int64_t pixels = r->rows * r->channels, invalid = 0, n = 0;
    for (int64_t i = 0; i < pixels; i++) {
        r->state[i] = isnan(r->y[i]) ? INVALID : VALID;
        invalid += r->state[i] == INVALID;
    }
    if (!invalid || invalid == pixels)
        return invalid ? -1 : 0;
    for (int64_t i = 0; i < pixels; i++) {
        int count;
        if (r->state[i] != INVALID)
            continue;
        neighbour_median(r, i, &count);
        if (count)
            r->queue[n++] = (int32_t)i;
    }
    for (int64_t q = 0; q < n; q++)
        r->state[r->queue[q]] = QUEUED;
    while (n)
        n = fill_ring(r, n);
    return invalid;
}

enum err correct_repair(float *y, int64_t views, int64_t rows, int64_t channels, int64_t *repaired)
{
    *repaired = 0;
    int64_t pixels = rows * channels, first = 0;
    while (first < views * pixels && !isnan(y[first]))
        first++;
    if (first == views * pixels)
        return ERR_OK;
    FAIL_IF(pixels > INT32_MAX, ERR_INPUT,
            "views of %" PRId64 " samples are too large to be repaired", pixels);
    void *block;
    TRY(mem_alloc("the repair of defects", (size_t)pixels * (3 * sizeof(float) + 1), &block));
    struct repair r = {.rows = rows, .channels = channels, .queue = block};
    r.next = r.queue + pixels;
    r.values = (float *)(r.next + pixels);
    r.state = (unsigned char *)(r.values + pixels);
    enum err e = ERR_OK;
    for (int64_t v = first / pixels; v < views && !e; v++) {
        r.y = y + v * pixels;
        int64_t n = repair_view(&r);
        if (n < 0)
            e = FAIL(ERR_INPUT,
                     "view %" PRId64 " has no valid sample: are its flat fields or its data dark?",
                     v);
        *repaired += n;
    }
    mem_free(block);
    return e;
}
