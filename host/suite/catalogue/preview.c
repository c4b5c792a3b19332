/* Four PNG files and a JSON file of a reconstruction. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json/jsonw.h"
#include "base/memory.h"
#include "host/geom/phantom.h"
#include "host/recon/common/similarity.h"
#include "host/store/format/png.h"
#include "host/suite/catalogue/catalogue.h"

#define PREVIEW_PATH 4400
#define EDGE         256

struct preview {
    int64_t slice, step; /* of the volume; every step-th pixel is shown */
    int64_t rows, cols;  /* shown */
    float *truth;        /* the phantom's slice, (rows, cols) of the volume; then the difference */
    double rmse, low, high, difference;
    double bar; /* of the slice's scale bar, ALU */
    struct quality quality;
};

/* Makes the phantom in one slice of the volume. */
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

static void preview_judge(struct preview *p, const struct volume *v, const float *x, float *slice)
{
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < volume_pixels(v); i++) {
        slice[i] = x[i * v->slices + p->slice];
        low = fmin(low, (double)p->truth[i]);
        high = fmax(high, (double)p->truth[i]);
    }
    p->quality = quality_of_image(v->rows, v->cols, slice, p->truth, high - low);
}

static void preview_subtract(struct preview *p, const struct volume *v, const float *x)
{
    double square = 0;
    for (int64_t i = 0; i < v->rows * v->cols; i++) {
        p->truth[i] = x[i * v->slices + p->slice] - p->truth[i];
        square += (double)p->truth[i] * (double)p->truth[i];
    }
    p->rmse = sqrt(square / (double)(v->rows * v->cols));
    p->difference = 4 * p->rmse; /* beyond it black or white: 1 in 16,000 of normal noise */
}

static enum err write_preview_facts(const struct preview *p, const char *name, int64_t size,
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
    jsonw_knumber(&w, "bar", p->bar);
    jsonw_knumber(&w, "psnr", p->quality.psnr);
    jsonw_knumber(&w, "ssim", p->quality.ssim);
    jsonw_end(&w);
    return outfile_commit(&f);
}

/* A plane of the volume, thinned, with a scale bar. */
struct preview_plane {
    const char *name;
    const float *from;
    int64_t rows, cols, row_stride, col_stride;
    double pitch; /* of a shown pixel, across */
};

static enum err write_plane(struct preview *p, const struct preview_plane *plane, const char *stem,
                            float *buffer)
{
    char path[PREVIEW_PATH];
    for (int64_t r = 0; r < plane->rows; r++)
        for (int64_t c = 0; c < plane->cols; c++)
            buffer[r * plane->cols + c] =
                plane->from[r * plane->row_stride + c * plane->col_stride];
    p->bar = scale_bar(plane->rows, plane->cols, buffer, plane->pitch, p->low, p->high);
    snprintf(path, sizeof path, "%s-%s.png", stem, plane->name);
    return png_write_grey(path, plane->rows, plane->cols, buffer, plane->cols, 1, p->low, p->high);
}

/* The planes through the middle along three axes; the slice comes last, its bar is told. */
static enum err write_planes(struct preview *p, const struct volume *v, const float *x,
                             const char *stem, float *buffer)
{
    const int64_t step = p->step, line = v->cols * v->slices, down = (v->slices + step - 1) / step;
    const double pitch = v->delta * (double)step;
    const struct preview_plane planes[] = {
        {"row", x + v->rows / 2 * line, down, p->cols, step, step * v->slices, pitch},
        {"column", x + v->cols / 2 * v->slices, down, p->rows, step, step * line,
         volume_delta_row(v) * (double)step},
        {"slice", x + p->slice, p->rows, p->cols, step * line, step * v->slices, pitch}};
    for (size_t i = 0; i < sizeof planes / sizeof *planes; i++)
        TRY(write_plane(p, &planes[i], stem, buffer));
    return ERR_OK;
}

static enum err write_pictures(struct preview *p, const struct run_state *s, const float *x,
                               int64_t size, const char *stem, float *buffer)
{
    const struct volume *v = &s->model.volume;
    const int64_t step = p->step;
    char path[PREVIEW_PATH];
    image_window(p->rows, p->cols, x + p->slice, step * v->cols * v->slices, step * v->slices,
                 &p->low, &p->high);
    preview_judge(p, v, x, buffer);
    TRY(write_planes(p, v, x, stem, buffer));
    preview_subtract(p, v, x);
    snprintf(path, sizeof path, "%s-difference.png", stem);
    TRY(png_write_grey(path, p->rows, p->cols, p->truth, step * v->cols, step, -p->difference,
                       p->difference));
    snprintf(path, sizeof path, "%s.json", stem);
    return write_preview_facts(p, s->op->name, size, path);
}

enum err preview_write(struct run_state *s, int64_t size, const char *folder)
{
    const struct volume *v = &s->model.volume;
    if ((strcmp(s->op->group, "reconstruction") != 0 && !s->op->phantom) ||
        s->op->output != ARRAY_VOLUME)
        return ERR_OK;
    int64_t edge = v->rows > v->cols ? v->rows : v->cols;
    edge = edge > v->slices ? edge : v->slices;
    const int64_t step = (edge + EDGE - 1) / EDGE;
    char stem[PREVIEW_PATH - 32];
    void *buffer = NULL;
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
    if (!e) /* a plane of any of the three axes */
        e = mem_alloc("preview", (size_t)(edge * edge) * sizeof(float), &buffer);
    snprintf(stem, sizeof stem, "%s/%s", folder, s->op->name);
    if (!e)
        e = write_pictures(&p, s, x, size, stem, buffer);
    mem_free(buffer);
    mem_free(copy);
    mem_free(p.truth);
    return e;
}
