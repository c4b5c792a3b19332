#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/mem.h"
#include "host/cli/recon_input.h"
#include "host/geom/model.h"
#include "host/io/exchange.h"
#include "host/io/model_json.h"
#include "host/io/npy.h"

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

static enum err check_center(const struct recon_request *r, int64_t channels)
{
    FAIL_IF(r->center && !(*r->center >= 0 && *r->center <= (double)(channels - 1)), ERR_USAGE,
            "--center %g: the detector has channels 0 to %" PRId64, *r->center, channels - 1);
    return ERR_OK;
}

/* A parallel scan of pitch 1 and the volume that MBIRJAX would choose for it. */
static enum err plan_scan(const struct recon_request *r, struct recon_input *out)
{
    struct exchange_info info;
    struct model *m = &out->model;
    int64_t rows;
    TRY(exchange_info(r->in, &info));
    TRY(parse_rows(r->rows, info.rows, &out->row_first, &rows));
    TRY(check_center(r, info.channels));
    model_init(m);
    m->scan.views = info.views;
    m->scan.rows = m->volume.slices = rows;
    m->scan.channels = m->volume.rows = m->volume.cols = info.channels;
    m->volume.delta = 1;
    return ERR_OK;
}

enum err recon_input_plan(const struct recon_request *r, struct recon_input *out)
{
    *out = (struct recon_input){.center = (double)NAN, .score = (double)NAN};
    if (!r->geometry) {
        FAIL_IF(is_npy(r->in), ERR_USAGE,
                "--in %s: a sinogram needs --geometry FILE, which tells its angles and distances",
                r->in);
        return plan_scan(r, out);
    }
    FAIL_IF(r->rows, ERR_USAGE, "--rows is for scans; the geometry file says which rows there are");
    FAIL_IF(r->center, ERR_USAGE,
            "--center is for scans; the geometry file says it as det_channel_offset");
    return model_read(r->geometry, &out->model);
}

/* The axis at channel `center`: an offset is added to a projected coordinate before it becomes a
 * channel. */
static enum err set_center(const struct recon_request *r, const struct projections *p,
                           struct recon_input *out)
{
    if (r->center) {
        out->center = *r->center;
    } else {
        enum err e = find_center(p, &out->center, &out->score);
        if (e)
            return err_prefix(e, "%s", r->in);
    }
    out->model.scan.channel_offset = out->center - (double)(p->channels - 1) / 2;
    return ERR_OK;
}

static enum err check_shape(const struct recon_request *r, const struct projections *p,
                            const struct scan *s)
{
    FAIL_IF(p->views != s->views || p->rows != s->rows || p->channels != s->channels, ERR_INPUT,
            "%s: holds %" PRId64 " views of %" PRId64 " x %" PRId64
            ", but sinogram_shape in %s says %" PRId64 " of %" PRId64 " x %" PRId64,
            r->in, p->views, p->rows, p->channels, r->geometry, s->views, s->rows, s->channels);
    return ERR_OK;
}

static enum err read_scan(const struct recon_request *r, struct recon_input *out)
{
    struct projections p;
    struct model *m = &out->model;
    TRY(exchange_read(r->in, out->row_first, m->scan.rows, &p));
    out->repaired = p.repaired;
    enum err e = r->geometry ? check_shape(r, &p, &m->scan) : set_center(r, &p, out);
    if (!e && !r->geometry) {
        m->scan.angles = p.angles;
        p.angles = NULL;
        e = model_resolve(m);
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

enum err recon_input_read(const struct recon_request *r, struct recon_input *out)
{
    if (!is_npy(r->in))
        return read_scan(r, out);
    static const char *const names[] = {"views", "detector rows", "detector channels"};
    const struct scan *s = &out->model.scan;
    int64_t shape[] = {s->views, s->rows, s->channels};
    return npy_read(r->in, 3, shape, names, 1, &out->sinogram);
}

void recon_input_free(struct recon_input *i)
{
    model_free(&i->model);
    mem_free(i->sinogram);
    i->sinogram = NULL;
}
