/* A sinogram without stripes in place of one with them. */
#include "host/base/clock.h"
#include "host/base/memory.h"
#include "host/recon/recon.h"
#include "host/scan/rings.h"
#include "profiler/mark/mark.h"

static enum err by_sorting(struct backend *be, const struct ct_model *m, float **y)
{
    const size_t bytes = (size_t)scan_samples(&m->scan) * sizeof(float);
    const struct buffer from = {PLACE_HOST, 0, bytes, *y};
    void *clean;
    TRY(mem_alloc("sinogram without rings", bytes, &clean));
    struct buffer to = {PLACE_HOST, 0, bytes, clean};
    mark_push("rings", bytes);
    enum err e = remove_stripes(be, m, STRIPES_MEDIAN, &from, &to);
    mark_pop();
    mem_free(e ? clean : *y);
    if (!e)
        *y = clean;
    return e;
}

/* Daubechies 5, width 2, as tomopy and algotom use it; as many levels as the size allows, up to 5.
 */
static enum err by_wavelets(const struct ct_model *m, struct scan_steps *steps, float **y)
{
    const struct scan *s = &m->scan;
    struct prepare_step p = {.kind = PREPARE_WAVELET,
                             .in = {s->views, s->rows, s->channels},
                             .out = {s->views, s->rows, s->channels},
                             .order = 5,
                             .damping = 2,
                             .margin = prepare_wavelet_margin(s->views, s->channels)};
    const int most = prepare_levels_most(&p);
    p.levels = most < 5 ? most : 5;
    FAIL_IF(p.levels < 1, ERR_USAGE, "--rings fw needs 32 views and channels: take sorting");
    return scan_step_run(steps, "rings", &p, NULL, y);
}

enum err scan_remove_rings(struct backend *be, const struct ct_model *m, enum scan_rings how,
                           struct scan_steps *steps, float **y)
{
    const int64_t start = clock_ns();
    if (how == RINGS_WAVELET)
        return by_wavelets(m, steps, y);
    enum err e = by_sorting(be, m, y);
    scan_step_time(steps, "rings", clock_seconds_since(start));
    return e;
}
