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

static enum err search(const struct scan_request *r, const struct projections *p, double *center,
                       double *score)
{
    const struct center_views v = {p->views, p->rows, p->channels, p->sinogram, p->angles};
    struct backend *be = r->steps->be;
    switch (r->center_method) {
    case CENTER_ENTROPY:
        return center_entropy(be, &v, center);
    case CENTER_SYMMETRY:
        return center_symmetry(be, &v, center);
    default:
        return find_center(p, center, score);
    }
}

enum err scan_find_center(const struct scan_request *r, const struct projections *p, double *center,
                          double *score)
{
    struct scan_steps *s = r->steps;
    *score = (double)NAN;
    if (s->joined) { /* the wide detector has 2 n - overlap channels */
        const double n = 0.5 * ((double)p->channels + s->overlap);
        *center = floor(n + 0.5) - 0.5 * s->overlap - 0.5;
        return ERR_OK;
    }
    const int64_t start = clock_ns();
    mark_push("search of the centre", (uint64_t)p->channels);
    enum err e = search(r, p, center, score);
    mark_pop();
    scan_step_time(s, "search of the centre", clock_seconds_since(start));
    return e;
}

#define SIDE   3
#define TRIALS (SIDE * SIDE)
#define WIDEST 512 /* of a slice in the picture: its middle */

enum err scan_center_picture(const struct scan_request *r, const struct projections *p,
                             double center)
{
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
    e = center_slices(r->steps->be, &v, centers, TRIALS, slices);
    for (int64_t i = 0; !e && i < TRIALS * width; i++) {
        const int64_t trial = i / width, row = i % width;
        memcpy((float *)picture + ((trial / SIDE * width + row) * SIDE + trial % SIDE) * width,
               (float *)slices + (trial * n + row + skip) * n + skip,
               (size_t)width * sizeof(float));
    }
    if (!e) {
        const float *middle = (const float *)slices + TRIALS / 2 * n * n;
        image_window(n, n, middle, n, 1, &low, &high);
        e = png_write_grey(r->center_png, SIDE * width, SIDE * width, picture, SIDE * width, 1, low,
                           high);
    }
    mem_free(picture);
    mem_free(slices);
    if (!e)
        log_info(
            "%s: slices with the axis at %.2f and -8 -4 -2 | -1 0 1 | 2 4 8 channels from there",
            r->center_png, center);
    return e;
}
