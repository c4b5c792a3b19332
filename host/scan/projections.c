/* From a scan file's counts to line integrals. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "host/recon/center/center.h"
#include "host/scan/correct.h"
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
