/* Two PNG files and a JSON file of a reconstruction. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host/base/file.h"
#include "host/base/jsonw.h"
#include "host/base/memory.h"
#include "host/geom/phantom.h"
#include "host/store/format/png.h"
#include "host/suite/catalogue/catalogue.h"
#include "host/suite/catalogue/preview.h"

#define PREVIEW_PATH 4400
#define EDGE         256

struct preview {
    int64_t slice, step; /* of the volume; every step-th pixel is shown */
    int64_t rows, cols;  /* shown */
    float *truth;        /* the phantom's slice, (rows, cols) of the volume; then the difference */
    double rmse, low, high, difference;
};

/* The phantom in one slice of the volume. */
static enum err true_slice(const struct run_state *s, int64_t slice, float **out)
{
    const struct volume *v = &s->model.volume;
    struct ellipsoid e[PHANTOM_MAX];
    int n =
        s->op->phantom ? s->op->phantom(s, e) : phantom_ellipsoids(PHANTOM_TWO_ELLIPSOIDS, v, e);
    struct volume one = *v;
    one.slices = 1;
    one.slice_offset +=
        ((double)slice - 0.5 * (double)(v->slices - 1)) * v->delta * v->slice_aspect;
    TRY(mem_alloc("preview", (size_t)(v->rows * v->cols) * sizeof(float), (void **)out));
    phantom_fill(e, n, &one, *out);
    return ERR_OK;
}

static void subtract(struct preview *p, const struct volume *v, const float *x)
{
    double square = 0;
    for (int64_t i = 0; i < v->rows * v->cols; i++) {
        p->truth[i] = x[i * v->slices + p->slice] - p->truth[i];
        square += (double)p->truth[i] * (double)p->truth[i];
    }
    p->rmse = sqrt(square / (double)(v->rows * v->cols));
    p->difference = 4 * p->rmse; /* beyond it black or white: 1 in 16,000 of normal noise */
}

static enum err write_facts(const struct preview *p, const char *name, int64_t size,
                            const char *path)
{
    struct outfile f = {0};
    struct jsonw w;
    TRY(outfile_open(&f, path));
    jsonw_init(&w, f.stream, 0);
    jsonw_object(&w);
    jsonw_kstring(&w, "operation", name);
    jsonw_kint(&w, "size", size);
    jsonw_kint(&w, "slice", p->slice);
    jsonw_knumber(&w, "rmse", p->rmse);
    jsonw_knumber(&w, "low", p->low);
    jsonw_knumber(&w, "high", p->high);
    jsonw_knumber(&w, "difference", p->difference);
    jsonw_end(&w);
    return outfile_commit(&f);
}

static enum err write_all(struct preview *p, const struct run_state *s, const float *x,
                          int64_t size, const char *folder)
{
    const struct volume *v = &s->model.volume;
    const int64_t step = p->step;
    char path[PREVIEW_PATH];
    image_window(p->rows, p->cols, x + p->slice, step * v->cols * v->slices, step * v->slices,
                 &p->low, &p->high);
    snprintf(path, sizeof path, "%s/%s-slice.png", folder, s->op->name);
    TRY(png_write_grey(path, p->rows, p->cols, x + p->slice, step * v->cols * v->slices,
                       step * v->slices, p->low, p->high));
    subtract(p, v, x);
    snprintf(path, sizeof path, "%s/%s-difference.png", folder, s->op->name);
    TRY(png_write_grey(path, p->rows, p->cols, p->truth, step * v->cols, step, -p->difference,
                       p->difference));
    snprintf(path, sizeof path, "%s/%s.json", folder, s->op->name);
    return write_facts(p, s->op->name, size, path);
}

enum err preview_write(struct run_state *s, int64_t size, const char *folder)
{
    const struct volume *v = &s->model.volume;
    if ((strcmp(s->op->group, "reconstruction") != 0 && !s->op->phantom) ||
        s->op->output != ARRAY_VOLUME)
        return ERR_OK;
    int64_t edge = v->rows > v->cols ? v->rows : v->cols, step = (edge + EDGE - 1) / EDGE;
    struct preview p = {.slice = v->slices / 2,
                        .step = step,
                        .rows = (v->rows + step - 1) / step,
                        .cols = (v->cols + step - 1) / step};
    const float *x;
    float *copy = NULL;
    enum err e = dir_make(folder);
    if (!e)
        e = true_slice(s, p.slice, &p.truth);
    if (!e)
        e = state_result(s, &x, &copy);
    if (!e)
        e = write_all(&p, s, x, size, folder);
    mem_free(copy);
    mem_free(p.truth);
    return e;
}
