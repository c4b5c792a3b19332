/* Scans and sinograms as models and line integrals, whole or by rows. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "host/recon/center/center.h"
#include "host/store/format/png.h"
#include "base/mark/mark.h"
#include "host/scan/steps.h"
#include "base/memory.h"
#include "base/text.h"
#include "host/scan/input.h"
#include "host/geom/ct_model.h"
#include "host/scan/projections.h"
#include "host/store/exchange/exchange.h"
#include "host/store/format/geometry_json.h"
#include "host/store/format/npy.h"

/* The rotation centre: which method, where it is computed; and trial slices as a picture. */

static enum err center_search(const struct scan_context *c, const struct projections *p,
                              double *center)
{
    const struct center_views v = {p->views, p->rows, p->channels, p->sinogram, p->angles};
    return center_find(c->be, c->request->center_method, &v, center, &c->result->score);
}

/* By the method that was asked for; of joined halves from their overlap. */
static enum err scan_find_center(const struct scan_context *c, const struct projections *p,
                                 double *center)
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

/* Draws nine slices of the middle row, the axis moved by -8 to 8 channels. */
static enum err scan_center_picture(const struct scan_context *c, const struct projections *p,
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

/* "A:B", "A:", ":B" within 0..rows. */
static enum err parse_rows(const char *text, int64_t rows, int64_t *first, int64_t *count)
{
    *first = 0;
    *count = rows;
    if (!text)
        return ERR_OK;
    char *end;
    errno = 0;
    long long a = strtoll(text, &end, 10), b = rows;
    int good = *end++ == ':';
    if (good && *end)
        b = strtoll(end, &end, 10);
    FAIL_IF(!good || *end || errno || a < 0 || a >= b || b > rows, ERR_USAGE,
            "`rows=%s`: must be A:B with 0 <= A < B <= %" PRId64 " (row B is left out)", text,
            rows);
    *first = a;
    *count = b - a;
    return ERR_OK;
}

/* A file of line integrals; others hold counts. */
static int is_sinogram(const struct scan_request *r)
{
    return r->geometry && text_has_suffix(r->source.path, ".npy") && !r->source.flats;
}

static enum err check_center(const struct scan_request *r, int64_t channels)
{
    FAIL_IF(!isnan(r->center) && !(r->center >= 0 && r->center <= (double)(channels - 1)),
            ERR_USAGE, "`center=%g`: the detector has channels 0 to %" PRId64, r->center,
            channels - 1);
    return ERR_OK;
}

/* Distances in pixels at the rotation axis: the volume's voxels have that size. */
static void input_set_cone(const struct exchange_info *info, struct scan *s)
{
    const double magnification = (info->source_iso + info->iso_detector) / info->source_iso;
    s->beam = BEAM_CONE;
    s->source_iso = info->source_iso / info->pixel;
    s->source_detector = (info->source_iso + info->iso_detector) / info->pixel;
    s->delta_row *= magnification;
    s->delta_channel *= magnification;
}

/* The detector of joined halves is not known yet: at most twice as wide. */
static enum err plan_steps(const struct exchange_info *info, struct scan_context *c)
{
    const struct scan_request *r = c->request;
    struct ct_model *m = &c->model;
    const int joined = !isnan(r->overlap);
    FAIL_IF((joined || !isnan(r->tilt)) && info->cone, ERR_USAGE,
            "`overlap` and `tilt` are for parallel beams");
    FAIL_IF(joined && !isnan(r->center), ERR_USAGE,
            "`center`: the overlap tells it; leave it out, or give `overlap=CHANNELS`");
    FAIL_IF((r->center_png || r->center_method) && info->cone, ERR_USAGE,
            "`center_method` and `center_png` are for parallel beams: give `center`");
    FAIL_IF(joined && r->center_method, ERR_USAGE,
            "`center_method`: the overlap tells the axis; leave it out");
    if (!(c->pixel > 0))
        c->pixel = info->pixel;
    if (joined) {
        m->scan.views /= 2;
        m->scan.channels = m->volume.rows = m->volume.cols = 2 * m->scan.channels - 1;
    }
    return ERR_OK;
}

/* The part of a cone beam's detector that is read, of so many rows before binning, and the slices
 * that lie in its middle. A slice is whole where all its voxels are seen on these rows in every
 * view: those near the source need the most of them. */
static void set_cone_rows(int64_t rows, struct scan_context *c)
{
    struct scan *s = &c->model.scan;
    struct volume *v = &c->model.volume;
    struct scan_result *result = c->result;
    const double magnification = s->source_detector / s->source_iso, bin = v->delta,
                 count = (double)s->rows * bin, radius = (double)v->cols * v->delta / 2;
    /* of the middle of the detector from the middle of what is read, in pixels */
    const double off = (double)(rows - 1) / 2 - (double)c->row_first - (count - 1) / 2;
    s->row_offset = off * magnification;
    v->slice_offset = -off;
    const int top = (double)c->row_first + count >= (double)rows; /* there are none beyond */
    const double low = c->row_first ? -off - count / 2 : -(double)INFINITY,
                 high = top ? (double)INFINITY : -off + count / 2; /* at the axis */
    const double near = s->source_iso / (s->source_iso - radius),
                 far = s->source_iso / (s->source_iso + radius);
    for (int64_t k = 0; k < v->slices && radius < s->source_iso; k++) {
        const double z = -off + ((double)k - (double)(v->slices - 1) / 2) * v->delta;
        const double under = z - v->delta / 2, over = z + v->delta / 2;
        if (fmin(under * near, under * far) < low || fmax(over * near, over * far) > high)
            continue;
        if (!result->whole_count++)
            result->whole_first = k;
    }
}

/* A scan by its own metadata, of pitch 1 before binning, and the volume that MBIRJAX would choose
 * for it. */
static enum err plan_scan(struct scan_context *c)
{
    const struct scan_request *r = c->request;
    struct scan_result *result = c->result;
    struct exchange_info info;
    struct ct_model *m = &c->model;
    int64_t rows;
    TRY(exchange_info(&r->source, &info));
    c->decoded_bytes = info.decoded_bytes;
    TRY(parse_rows(r->rows, info.rows, &c->row_first, &rows));
    TRY(check_center(r, info.channels));
    FAIL_IF(rows < r->bin || info.channels < r->bin, ERR_USAGE,
            "`bin=%" PRId64 "`: there are %" PRId64 " rows of %" PRId64 " channels", r->bin, rows,
            info.channels);
    ct_model_init(m);
    m->scan.views = info.views;
    m->scan.rows = m->volume.slices = rows / r->bin;
    m->scan.channels = m->volume.rows = m->volume.cols = info.channels / r->bin;
    m->scan.delta_row = m->scan.delta_channel = m->volume.delta = (double)r->bin;
    TRY(plan_steps(&info, c));
    if (info.cone) {
        input_set_cone(&info, &m->scan);
        set_cone_rows(info.rows, c);
    }
    if (!isnan(r->center)) {
        result->center = r->center;
        result->center_from = "given";
    } else if (info.cone && !isfinite(info.center)) {
        result->center = (double)(info.channels - 1) / 2;
        result->center_from = "the middle, for the file does not say it";
    } else if (isfinite(info.center) && !(r->center_method && !info.cone)) {
        result->center = info.center;
        result->center_from = "from the file";
    }
    return ERR_OK;
}

static enum err plan_geometry(struct scan_context *c)
{
    const struct scan_request *r = c->request;
    FAIL_IF(r->rows, ERR_USAGE, "`rows` is for scans; the geometry file says which rows there are");
    FAIL_IF(!isnan(r->overlap) || !isnan(r->tilt), ERR_USAGE,
            "`overlap` and `tilt` are for scans without `geometry`");
    FAIL_IF(r->center_png || r->center_method, ERR_USAGE,
            "`center_method` and `center_png` are for scans; the geometry file says the axis as "
            "det_channel_offset");
    FAIL_IF(is_sinogram(r) && scan_steps_used(r), ERR_USAGE,
            "%s holds line integrals: the steps on counts are for scans", r->source.path);
    FAIL_IF(r->bin > 1, ERR_USAGE,
            "`bin` is for scans without `geometry`; the geometry file says the detector's size");
    FAIL_IF(r->source.angles, ERR_USAGE, "`angles`: the geometry file says them");
    FAIL_IF(!isnan(r->center), ERR_USAGE,
            "`center` is for scans; the geometry file says it as det_channel_offset");
    return ct_model_read(r->geometry, &c->model);
}

enum err scan_input_plan(struct scan_context *c)
{
    const struct scan_request *r = c->request;
    if (r->geometry)
        return plan_geometry(c);
    FAIL_IF(text_has_suffix(r->source.path, ".npy") && !r->source.flats, ERR_USAGE,
            "`in=%s`: a sinogram needs `geometry=FILE`, which tells its angles and distances; "
            "counts need `flats=FILE`",
            r->source.path);
    return plan_scan(c);
}

/* The axis at channel `center` of the detector: an offset is added to a projected coordinate before
 * it becomes a channel, here of bin pixels. */
static enum err set_center(struct scan_context *c, const struct projections *p)
{
    const struct scan_request *r = c->request;
    struct scan_result *result = c->result;
    const double bin = (double)r->bin;
    double channel;
    if (result->center_from) {
        channel = (result->center + 0.5) / bin - 0.5;
    } else {
        enum err e = scan_find_center(c, p, &channel);
        if (e)
            return err_prefix(e, "%s", r->source.path);
        result->center = (channel + 0.5) * bin - 0.5;
        result->center_from = isnan(r->overlap) ? "found" : "from the overlap";
    }
    if (r->center_png)
        TRY(scan_center_picture(c, p, channel));
    c->model.scan.channel_offset =
        (channel - (double)(p->channels - 1) / 2) * c->model.scan.delta_channel;
    return ERR_OK;
}

/* `rows`: how many of the scan's were read. */
static enum err input_check_shape(const struct scan_request *r, const struct projections *p,
                                  const struct scan *s, int64_t rows)
{
    FAIL_IF(p->views != s->views || p->rows != rows || p->channels != s->channels, ERR_INPUT,
            "%s: holds %" PRId64 " views of %" PRId64 " x %" PRId64
            ", but sinogram_shape in %s says %" PRId64 " of %" PRId64 " x %" PRId64,
            r->source.path, p->views, p->rows, p->channels, r->geometry, s->views, s->rows,
            s->channels);
    return ERR_OK;
}

/* Rows [first, first + count) of those asked for; the model is complete afterwards. */
static enum err read_scan(struct scan_context *c, int64_t first, int64_t count)
{
    const struct scan_request *r = c->request;
    struct projections p;
    struct ct_model *m = &c->model;
    TRY(projections_prepare(c, first, count, &p));
    c->result->repaired = p.repaired;
    if (!isnan(r->overlap)) {
        m->scan.views = p.views;
        m->scan.channels = m->volume.rows = m->volume.cols = p.channels;
    }
    enum err e = r->geometry ? input_check_shape(r, &p, &m->scan, count) : set_center(c, &p);
    if (!e && !r->geometry) {
        m->scan.angles = p.angles;
        p.angles = NULL;
        e = ct_model_resolve(m);
        if (e)
            e = err_prefix(e, "%s", r->source.path);
    }
    if (!e) {
        c->sinogram = p.sinogram;
        p.sinogram = NULL;
    }
    projections_free(&p);
    return e;
}

static const char *const sinogram_names[] = {"views", "detector rows", "detector channels"};

enum err scan_input_read(struct scan_context *c)
{
    const struct scan_request *r = c->request;
    const struct scan *s = &c->model.scan;
    if (!is_sinogram(r))
        return read_scan(c, 0, s->rows);
    int64_t shape[] = {s->views, s->rows, s->channels};
    return npy_read(r->source.path, 3, shape, sinogram_names, 1, &c->sinogram);
}

#define CENTER_ROWS 32 /* that the search of the centre gets */
#define HALO        8

enum err scan_input_prepare(struct scan_context *c)
{
    const int64_t rows = c->model.scan.rows, count = rows < CENTER_ROWS ? rows : CENTER_ROWS;
    if (is_sinogram(c->request))
        return ERR_OK;
    TRY(read_scan(c, (rows - count) / 2, count));
    mem_free(c->sinogram);
    c->sinogram = NULL;
    return ERR_OK;
}

int64_t scan_input_halo(const struct scan_request *r)
{
    return is_sinogram(r) ? 0 : HALO;
}

static enum err copy_rows(const struct scan_context *c, int64_t first, int64_t count, float **out)
{
    const struct scan *s = &c->model.scan;
    const int64_t n = count * s->channels;
    void *rows;
    TRY(mem_alloc("detector rows", (size_t)(s->views * n) * sizeof(float), &rows));
    for (int64_t v = 0; v < s->views; v++)
        memcpy((float *)rows + v * n, c->sinogram + (v * s->rows + first) * s->channels,
               (size_t)n * sizeof(float));
    *out = rows;
    return ERR_OK;
}

enum err scan_input_rows(const struct scan_context *c, int64_t first, int64_t count,
                         float **sinogram)
{
    const struct scan *s = &c->model.scan;
    int64_t shape[] = {s->views, s->rows, s->channels};
    if (c->sinogram)
        return copy_rows(c, first, count, sinogram);
    if (is_sinogram(c->request))
        return npy_read_rows(c->request->source.path, shape, sinogram_names, 1, first, count,
                             sinogram);
    const int64_t from = first > HALO ? first - HALO : 0;
    const int64_t end = first + count + HALO < s->rows ? first + count + HALO : s->rows;
    struct projections p;
    TRY(projections_prepare(c, from, end - from, &p));
    *sinogram = p.sinogram;
    for (int64_t v = 0; v < p.views; v++)
        memmove(p.sinogram + v * count * p.channels,
                p.sinogram + (v * p.rows + first - from) * p.channels,
                (size_t)(count * p.channels) * sizeof *p.sinogram);
    p.sinogram = NULL;
    projections_free(&p);
    return ERR_OK;
}
