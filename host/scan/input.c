/* Scans and sinograms as models and line integrals, whole or by rows. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "host/scan/input.h"
#include "host/geom/ct_model.h"
#include "host/scan/projections.h"
#include "host/scan/trials.h"
#include "host/store/exchange/exchange.h"
#include "host/store/format/geometry_json.h"
#include "host/store/format/npy.h"

static int is_npy(const char *path)
{
    size_t n = strlen(path);
    return n > 4 && !strcmp(path + n - 4, ".npy");
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
            "--rows %s: must be A:B with 0 <= A < B <= %" PRId64 " (row B is left out)", text,
            rows);
    *first = a;
    *count = b - a;
    return ERR_OK;
}

/* A file of line integrals; others hold counts. */
static int is_sinogram(const struct scan_request *r)
{
    return r->geometry && is_npy(r->in) && !r->flats;
}

static struct exchange_source source_of(const struct scan_request *r)
{
    return (struct exchange_source){r->in,          r->flats, r->darks, r->angles,
                                    r->flats_after, r->drift, NULL};
}

static int64_t bin_of(const struct scan_request *r)
{
    return r->bin > 1 ? r->bin : 1;
}

/* NULL: counts become line integrals, and nothing else is done to them. */
static struct scan_steps *steps_of(const struct scan_request *r)
{
    return scan_steps_wanted(r->steps) || r->drift || r->flats_after ? r->steps : NULL;
}

static enum err check_center(const struct scan_request *r, int64_t channels)
{
    FAIL_IF(r->center && !(*r->center >= 0 && *r->center <= (double)(channels - 1)), ERR_USAGE,
            "--center %g: the detector has channels 0 to %" PRId64, *r->center, channels - 1);
    return ERR_OK;
}

/* Distances in pixels at the rotation axis: the volume's voxels have that size. */
static void set_cone(const struct exchange_info *info, struct scan *s)
{
    const double magnification = (info->source_iso + info->iso_detector) / info->source_iso;
    s->beam = BEAM_CONE;
    s->source_iso = info->source_iso / info->pixel;
    s->source_detector = (info->source_iso + info->iso_detector) / info->pixel;
    s->delta_row *= magnification;
    s->delta_channel *= magnification;
}

/* The detector of joined halves is not known yet: at most twice as wide. */
static enum err plan_steps(const struct scan_request *r, const struct exchange_info *info,
                           struct ct_model *m)
{
    struct scan_steps *s = r->steps;
    FAIL_IF((s->joined || s->tilted) && info->cone, ERR_USAGE,
            "--overlap and --tilt are for parallel beams");
    FAIL_IF(s->joined && r->center, ERR_USAGE,
            "--center: the overlap tells it; leave it out, or give --overlap CHANNELS");
    FAIL_IF((r->center_png || r->search_center) && info->cone, ERR_USAGE,
            "--center-method and --center-png are for parallel beams: give --center");
    FAIL_IF(s->joined && r->search_center, ERR_USAGE,
            "--center-method: the overlap tells the axis; leave it out");
    s->bin = bin_of(r);
    if (!(s->pixel > 0))
        s->pixel = info->pixel;
    if (s->joined) {
        m->scan.views /= 2;
        m->scan.channels = m->volume.rows = m->volume.cols = 2 * m->scan.channels - 1;
    }
    return ERR_OK;
}

/* The part of a cone beam's detector that is read, of so many rows before binning, and the slices
 * that lie in its middle. A slice is whole where all its voxels are seen on these rows in every
 * view: those near the source need the most of them. */
static void set_cone_rows(int64_t rows, struct scan_input *in)
{
    struct scan *s = &in->model.scan;
    struct volume *v = &in->model.volume;
    const double magnification = s->source_detector / s->source_iso, bin = v->delta,
                 count = (double)s->rows * bin, radius = (double)v->cols * v->delta / 2;
    /* of the middle of the detector from the middle of what is read, in pixels */
    const double off = (double)(rows - 1) / 2 - (double)in->row_first - (count - 1) / 2;
    s->row_offset = off * magnification;
    v->slice_offset = -off;
    const int top = (double)in->row_first + count >= (double)rows; /* there are none beyond */
    const double low = in->row_first ? -off - count / 2 : -(double)INFINITY,
                 high = top ? (double)INFINITY : -off + count / 2; /* at the axis */
    const double near = s->source_iso / (s->source_iso - radius),
                 far = s->source_iso / (s->source_iso + radius);
    in->whole_first = in->whole_count = 0;
    for (int64_t k = 0; k < v->slices && radius < s->source_iso; k++) {
        const double z = -off + ((double)k - (double)(v->slices - 1) / 2) * v->delta;
        const double under = z - v->delta / 2, over = z + v->delta / 2;
        if (fmin(under * near, under * far) < low || fmax(over * near, over * far) > high)
            continue;
        if (!in->whole_count++)
            in->whole_first = k;
    }
}

/* A scan by its own metadata, of pitch 1 before binning, and the volume that MBIRJAX would choose
 * for it. */
static enum err plan_scan(const struct scan_request *r, struct scan_input *out)
{
    const struct exchange_source source = source_of(r);
    const int64_t bin = bin_of(r);
    struct exchange_info info;
    struct ct_model *m = &out->model;
    int64_t rows;
    TRY(exchange_info(&source, &info));
    out->decoded_bytes = info.decoded_bytes;
    TRY(parse_rows(r->rows, info.rows, &out->row_first, &rows));
    TRY(check_center(r, info.channels));
    FAIL_IF(rows < bin || info.channels < bin, ERR_USAGE,
            "--bin %" PRId64 ": there are %" PRId64 " rows of %" PRId64 " channels", bin, rows,
            info.channels);
    ct_model_init(m);
    m->scan.views = info.views;
    m->scan.rows = m->volume.slices = rows / bin;
    m->scan.channels = m->volume.rows = m->volume.cols = info.channels / bin;
    m->scan.delta_row = m->scan.delta_channel = m->volume.delta = (double)bin;
    TRY(plan_steps(r, &info, m));
    if (info.cone) {
        set_cone(&info, &m->scan);
        set_cone_rows(info.rows, out);
    }
    out->center = r->center ? *r->center : info.center;
    out->center_from = r->center ? "given" : isfinite(info.center) ? "from the file" : NULL;
    if (r->search_center && !info.cone)
        out->center_from = NULL;
    if (info.cone && !out->center_from) {
        out->center = (double)(info.channels - 1) / 2;
        out->center_from = "the middle, for the file does not say it";
    }
    return ERR_OK;
}

enum err scan_input_plan(const struct scan_request *r, struct scan_input *out)
{
    *out = (struct scan_input){.center = (double)NAN, .score = (double)NAN};
    if (!r->geometry) {
        FAIL_IF(is_npy(r->in) && !r->flats, ERR_USAGE,
                "--in %s: a sinogram needs --geometry FILE, which tells its angles and distances; "
                "counts need --flats FILE",
                r->in);
        return plan_scan(r, out);
    }
    FAIL_IF(r->rows, ERR_USAGE, "--rows is for scans; the geometry file says which rows there are");
    FAIL_IF(r->steps->joined || r->steps->tilted, ERR_USAGE,
            "--overlap and --tilt are for scans without --geometry");
    FAIL_IF(r->center_png || r->search_center, ERR_USAGE,
            "--center-method and --center-png are for scans; the geometry file says the axis as "
            "det_channel_offset");
    FAIL_IF(is_sinogram(r) && steps_of(r), ERR_USAGE,
            "%s holds line integrals: the steps on counts are for scans", r->in);
    FAIL_IF(bin_of(r) > 1, ERR_USAGE,
            "--bin is for scans without --geometry; the geometry file says the detector's size");
    FAIL_IF(r->angles, ERR_USAGE, "--angles: the geometry file says them");
    FAIL_IF(r->center, ERR_USAGE,
            "--center is for scans; the geometry file says it as det_channel_offset");
    return ct_model_read(r->geometry, &out->model);
}

/* The axis at channel `center` of the detector: an offset is added to a projected coordinate before
 * it becomes a channel, here of bin pixels. */
static enum err set_center(const struct scan_request *r, const struct projections *p,
                           struct scan_input *out)
{
    const double bin = (double)bin_of(r);
    double channel;
    if (out->center_from) {
        channel = (out->center + 0.5) / bin - 0.5;
    } else {
        enum err e = scan_find_center(r, p, &channel, &out->score);
        if (e)
            return err_prefix(e, "%s", r->in);
        out->center = (channel + 0.5) * bin - 0.5;
        out->center_from = r->steps->joined ? "from the overlap" : "found";
    }
    if (r->center_png)
        TRY(scan_center_picture(r, p, channel));
    out->model.scan.channel_offset =
        (channel - (double)(p->channels - 1) / 2) * out->model.scan.delta_channel;
    return ERR_OK;
}

/* `rows`: how many of the scan's were read. */
static enum err check_shape(const struct scan_request *r, const struct projections *p,
                            const struct scan *s, int64_t rows)
{
    FAIL_IF(p->views != s->views || p->rows != rows || p->channels != s->channels, ERR_INPUT,
            "%s: holds %" PRId64 " views of %" PRId64 " x %" PRId64
            ", but sinogram_shape in %s says %" PRId64 " of %" PRId64 " x %" PRId64,
            r->in, p->views, p->rows, p->channels, r->geometry, s->views, s->rows, s->channels);
    return ERR_OK;
}

/* Rows [first, first + count) of those asked for; the model is complete afterwards. */
static enum err read_scan(const struct scan_request *r, int64_t first, int64_t count,
                          struct scan_input *out)
{
    struct projections p;
    struct ct_model *m = &out->model;
    const struct exchange_source source = source_of(r);
    const int64_t bin = bin_of(r);
    TRY(projections_prepare(&source, bin, out->row_first + first * bin, count, steps_of(r), &p));
    out->repaired = p.repaired;
    if (r->steps->joined) {
        m->scan.views = p.views;
        m->scan.channels = m->volume.rows = m->volume.cols = p.channels;
    }
    enum err e = r->geometry ? check_shape(r, &p, &m->scan, count) : set_center(r, &p, out);
    if (!e && !r->geometry) {
        m->scan.angles = p.angles;
        p.angles = NULL;
        e = ct_model_resolve(m);
        if (e)
            e = err_prefix(e, "%s", r->in);
    }
    if (!e) {
        out->sinogram = p.sinogram;
        p.sinogram = NULL;
    }
    projections_free(&p);
    return e;
}

static const char *const sinogram_names[] = {"views", "detector rows", "detector channels"};

enum err scan_input_read(const struct scan_request *r, struct scan_input *out)
{
    const struct scan *s = &out->model.scan;
    if (!is_sinogram(r))
        return read_scan(r, 0, s->rows, out);
    int64_t shape[] = {s->views, s->rows, s->channels};
    return npy_read(r->in, 3, shape, sinogram_names, 1, &out->sinogram);
}

#define CENTER_ROWS 32 /* that find_center gets */
#define HALO        8

enum err scan_input_prepare(const struct scan_request *r, struct scan_input *out)
{
    const int64_t rows = out->model.scan.rows, count = rows < CENTER_ROWS ? rows : CENTER_ROWS;
    if (is_sinogram(r))
        return ERR_OK;
    TRY(read_scan(r, (rows - count) / 2, count, out));
    mem_free(out->sinogram);
    out->sinogram = NULL;
    return ERR_OK;
}

int64_t scan_input_halo(const struct scan_request *r)
{
    return is_sinogram(r) ? 0 : HALO;
}

static enum err copy_rows(const struct scan_input *in, int64_t first, int64_t count, float **out)
{
    const struct scan *s = &in->model.scan;
    const int64_t n = count * s->channels;
    void *rows;
    TRY(mem_alloc("detector rows", (size_t)(s->views * n) * sizeof(float), &rows));
    for (int64_t v = 0; v < s->views; v++)
        memcpy((float *)rows + v * n, in->sinogram + (v * s->rows + first) * s->channels,
               (size_t)n * sizeof(float));
    *out = rows;
    return ERR_OK;
}

enum err scan_input_rows(const struct scan_request *r, const struct scan_input *in, int64_t first,
                         int64_t count, float **sinogram)
{
    const struct scan *s = &in->model.scan;
    int64_t shape[] = {s->views, s->rows, s->channels};
    if (in->sinogram)
        return copy_rows(in, first, count, sinogram);
    if (is_sinogram(r))
        return npy_read_rows(r->in, shape, sinogram_names, 1, first, count, sinogram);
    const int64_t from = first > HALO ? first - HALO : 0;
    const int64_t end = first + count + HALO < s->rows ? first + count + HALO : s->rows;
    struct projections p;
    struct exchange_source source = source_of(r);
    const int64_t bin = bin_of(r);
    source.kept = in->kept;
    TRY(projections_prepare(&source, bin, in->row_first + from * bin, end - from, steps_of(r), &p));
    *sinogram = p.sinogram;
    for (int64_t v = 0; v < p.views; v++)
        memmove(p.sinogram + v * count * p.channels,
                p.sinogram + (v * p.rows + first - from) * p.channels,
                (size_t)(count * p.channels) * sizeof *p.sinogram);
    p.sinogram = NULL;
    projections_free(&p);
    return ERR_OK;
}

void scan_input_free(struct scan_input *i)
{
    ct_model_free(&i->model);
    mem_free(i->sinogram);
    i->sinogram = NULL;
}
