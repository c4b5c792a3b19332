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

/* Rows of pixels to line integrals; they are filled later, where all are there. */
static enum err read_part(const struct exchange_source *source, int64_t bin, int64_t row_first,
                          int64_t row_count, struct scan_steps *steps, struct exchange_counts *c)
{
    TRY(exchange_read(source, row_first, row_count < 0 ? -1 : row_count * bin, c));
    if (c->rows < bin || c->channels < bin) {
        const long long rows = (long long)c->rows, channels = (long long)c->channels;
        exchange_counts_free(c);
        return FAIL(ERR_USAGE, "--bin %lld: the views have %lld x %lld pixels", (long long)bin,
                    rows, channels);
    }
    bin_pixels(c->counts, c->views, c->rows, c->channels, bin);
    bin_pixels(c->white, 1, c->rows, c->channels, bin);
    bin_pixels(c->dark, 1, c->rows, c->channels, bin);
    bin_pixels(c->after, 1, c->rows, c->channels, bin);
    c->rows /= bin;
    c->channels /= bin;
    if (steps) {
        enum err e = scan_steps_counts(steps, c);
        if (e)
            exchange_counts_free(c);
        return e;
    }
    correct_transmission(c->counts, c->views, c->rows * c->channels, c->white, c->dark);
    return ERR_OK;
}

/* Rows at a time: pixels before they are binned take at most half of what is free. */
static enum err read_parts(const struct exchange_source *source, int64_t bin, int64_t row_first,
                           int64_t row_count, struct scan_steps *steps, struct projections *out)
{
    struct exchange_info info;
    struct exchange_counts c;
    void *y;
    size_t bytes;
    TRY(exchange_info(source, &info));
    if (row_count < 0)
        row_count = (info.rows - row_first) / bin;
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
        TRY(read_part(source, bin, row_first + r * bin, n, steps, &c));
        const size_t run = (size_t)(c.rows * c.channels) * sizeof(float);
        for (int64_t v = 0; v < c.views; v++)
            memcpy(out->sinogram + (v * out->rows + r) * out->channels,
                   c.counts + v * c.rows * c.channels, run);
        free(out->angles);
        out->angles = c.angles;
        c.angles = NULL;
        exchange_counts_free(&c);
    }
    return ERR_OK;
}

static enum err read_all(const struct exchange_source *source, int64_t bin, int64_t row_first,
                         int64_t row_count, struct scan_steps *steps, struct projections *out)
{
    struct exchange_counts c;
    if (bin > 1)
        return read_parts(source, bin, row_first, row_count, steps, out);
    TRY(read_part(source, 1, row_first, row_count, steps, &c));
    *out = (struct projections){c.views, c.rows, c.channels, c.counts, c.angles, 0};
    c.counts = c.angles = NULL;
    exchange_counts_free(&c);
    return ERR_OK;
}

static enum err repair(const char *path, struct projections *p)
{
    int64_t n;
    enum err e = correct_repair(p->sinogram, p->views, p->rows, p->channels, &n);
    p->repaired += n;
    return e ? err_prefix(e, "%s", path) : ERR_OK;
}

/* Transmissions to line integrals, and what is done to these. */
static enum err finish(const char *path, struct scan_steps *steps, struct projections *p)
{
    if (!steps)
        return repair(path, p);
    if (scan_steps_spread(steps)) /* a defect would spread over its view */
        TRY(repair(path, p));
    TRY(scan_steps_transmission(steps, p));
    TRY(repair(path, p));
    return scan_steps_integrals(steps, p);
}

enum err projections_prepare(const struct exchange_source *source, int64_t bin, int64_t row_first,
                             int64_t row_count, struct scan_steps *steps, struct projections *out)
{
    *out = (struct projections){0};
    enum err e = read_all(source, bin, row_first, row_count, steps, out);
    if (!e)
        e = finish(source->path, steps, out);
    if (e)
        projections_free(out);
    return e;
}

enum err projections_read(const struct exchange_source *source, int64_t bin, int64_t row_first,
                          int64_t row_count, struct projections *out)
{
    return projections_prepare(source, bin, row_first, row_count, NULL, out);
}
