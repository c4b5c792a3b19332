/* The rotation centre: which method, where it is computed; and trial slices as a picture. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "host/recon/center/center.h"
#include "host/scan/trials.h"
#include "host/store/format/png.h"
#include "base/mark/mark.h"

static enum err center_search(const struct scan_context *c, const struct projections *p,
                              double *center)
{
    const struct center_views v = {p->views, p->rows, p->channels, p->sinogram, p->angles};
    switch (c->request->center_method) {
    case CENTER_ENTROPY:
        return center_entropy(c->be, &v, center);
    case CENTER_SYMMETRY:
        return center_symmetry(c->be, &v, center);
    default:
        return center_registration(&v, center, &c->result->score);
    }
}

enum err scan_find_center(const struct scan_context *c, const struct projections *p, double *center)
{
    if (!isnan(c->request->overlap)) { /* the wide detector has 2 n - overlap channels */
        const double overlap = c->result->overlap, n = 0.5 * ((double)p->channels + overlap);
        *center = floor(n + 0.5) - 0.5 * overlap - 0.5;
        return ERR_OK;
    }
    const int64_t start = clock_ns();
    mark_push("search of the centre", (uint64_t)p->channels);
    enum err e = center_search(c, p, center);
    mark_pop();
    scan_step_time(c->result, "search of the centre", clock_seconds_since(start));
    return e;
}

#define SIDE   3
#define TRIALS (SIDE * SIDE)
#define WIDEST 512 /* of a slice in the picture: its middle */

enum err scan_center_picture(const struct scan_context *c, const struct projections *p,
                             double center)
{
    const char *const path = c->request->center_png;
    static const double moves[TRIALS] = {-8, -4, -2, -1, 0, 1, 2, 4, 8};
    const struct center_views v = {p->views, p->rows, p->channels, p->sinogram, p->angles};
    const int64_t n = p->channels, width = n < WIDEST ? n : WIDEST, skip = (n - width) / 2;
    double centers[TRIALS], low, high;
    void *slices, *picture;
    for (int i = 0; i < TRIALS; i++)
        centers[i] = center + moves[i];
    TRY(mem_alloc("trial slices", (size_t)(TRIALS * n * n) * sizeof(float), &slices));
    enum err e = mem_alloc("a picture of trial slices",
                           (size_t)(TRIALS * width * width) * sizeof(float), &picture);
    if (e) {
        mem_free(slices);
        return e;
    }
    e = center_slices(c->be, &v, centers, TRIALS, slices);
    for (int64_t i = 0; !e && i < TRIALS * width; i++) {
        const int64_t trial = i / width, row = i % width;
        memcpy((float *)picture + ((trial / SIDE * width + row) * SIDE + trial % SIDE) * width,
               (float *)slices + (trial * n + row + skip) * n + skip,
               (size_t)width * sizeof(float));
    }
    if (!e) {
        const float *middle = (const float *)slices + TRIALS / 2 * n * n;
        image_window(n, n, middle, n, 1, &low, &high);
        e = png_write_grey(path, SIDE * width, SIDE * width, picture, SIDE * width, 1, low, high);
    }
    mem_free(picture);
    mem_free(slices);
    if (!e)
        log_info(
            "%s: slices with the axis at %.2f and -8 -4 -2 | -1 0 1 | 2 4 8 channels from there",
            path, center);
    return e;
}
