/* The page of a volume as HTML: pictures inside, data for programs as JSON, no script, no network.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/json/jsonw.h"
#include "base/memory.h"
#include "base/page/markup.h"
#include "cli/storage/volume_page.h"
#include "host/store/format/png.h"
#include "profiler/report/page/html.h"

#define WIDEST 512 /* pixels of a picture: a larger one is thinned by means */
#define SHOWN  200 /* pixels on the screen of the longest side */
#define CHART  640 /* pixels of the histogram's width, */
#define TALL   160 /* and height */

static const char *const names[] = {"slice", "row", "column"};
static const char *const plural[] = {"Slices", "Rows", "Columns"};
static const char *const ways[] = {"Rows down, columns across", "Slices down, columns across",
                                   "Slices down, rows across"};

/* Means of step x step values, of those that are finite. */
static void thin_plane(const float *x, int64_t rows, int64_t cols, int64_t step, float *out)
{
    for (int64_t r = 0; r < rows; r += step)
        for (int64_t c = 0; c < cols; c += step) {
            double sum = 0, n = 0;
            for (int64_t i = r; i < r + step && i < rows; i++)
                for (int64_t k = c; k < c + step && k < cols; k++)
                    if (isfinite(x[i * cols + k])) {
                        sum += (double)x[i * cols + k];
                        n++;
                    }
            *out++ = n > 0 ? (float)(sum / n) : NAN;
        }
}

static enum err put_png(FILE *f, int64_t rows, int64_t cols, const float *x, double low,
                        double high)
{
    unsigned char *png = NULL;
    char line[4096];
    size_t bytes = 0;
    const enum err e = png_encode_grey(rows, cols, x, low, high, &png, &bytes);
    for (size_t i = 0; i < bytes && !e; i += 3072)
        fwrite(line, 1, base64(png + i, bytes - i < 3072 ? bytes - i : 3072, line), f);
    free(png);
    return e;
}

/* A picture as large on the screen as the plane is in space, with its scale bar, whose length it
 * returns in *bar where that is not NULL. */
static enum err put_image(FILE *f, const struct volume_page *p, const struct page_section *s,
                          const float *values, double low, double high, const char *what,
                          double *bar)
{
    const struct volume *v = p->v;
    const int64_t longest = s->rows > s->cols ? s->rows : s->cols;
    const int64_t step = (longest + WIDEST - 1) / WIDEST;
    const int64_t rows = (s->rows + step - 1) / step, cols = (s->cols + step - 1) / step;
    const double widest =
        fmax(fmax((double)v->cols * v->delta, (double)v->rows * volume_delta_row(v)),
             (double)v->slices * volume_delta_slice(v));
    const double wide = SHOWN * (double)s->cols * s->pitch_across / widest;
    const double high_px = SHOWN * (double)s->rows * s->pitch_down / widest;
    void *small;
    TRY(mem_alloc("picture", (size_t)(rows * cols) * sizeof(float), &small));
    thin_plane(values, s->rows, s->cols, step, small);
    if (bar)
        *bar = scale_bar(rows, cols, small, s->pitch_across * (double)step, low, high);
    fprintf(f,
            "<img width=%.0f height=%.0f alt=\"%s, %s %" PRId64 "\" src=\"data:image/png;base64,",
            fmax(wide, 1), fmax(high_px, 1), what, names[s->axis], s->plane.index);
    const enum err e = put_png(f, rows, cols, small, low, high);
    fputs("\">", f);
    mem_free(small);
    return e;
}

static void put_quality(FILE *f, struct quality q)
{
    if (isinf(q.psnr))
        fputs("equal", f);
    else if (isfinite(q.psnr))
        fprintf(f, "PSNR %.2f dB", q.psnr);
    else
        fputs("PSNR not defined", f);
    if (isfinite(q.ssim))
        fprintf(f, ", SSIM %.4f", q.ssim);
}

static enum err put_axis(FILE *f, const struct volume_page *p, int axis)
{
    double bar = 0;
    int any = 0;
    for (int i = 0; i < p->sections; i++) {
        const struct page_section *s = &p->section[i];
        if (s->axis != axis)
            continue;
        if (!any++)
            fprintf(f, "<h2>%s</h2><div class=m>", plural[axis]);
        fputs("<figure>", f);
        TRY(put_image(f, p, s, s->plane.values, p->low, p->high, "volume", &bar));
        fprintf(f, "<figcaption>%s %" PRId64, names[axis], s->plane.index);
        if (p->reference) {
            fputs("<br>", f);
            put_quality(f, s->quality);
        }
        fputs("</figcaption></figure>", f);
    }
    if (any)
        fprintf(f, "</div><p>%s. The scale bar is %g long.\n", ways[axis], bar);
    return ERR_OK;
}

/* Volume, reference and difference of the middle of an axis; the difference is grey where it is 0.
 */
static enum err put_beside(FILE *f, const struct volume_page *p, const struct page_section *s)
{
    const int64_t n = s->rows * s->cols;
    double most = 0;
    void *memory;
    TRY(mem_alloc("difference", (size_t)n * sizeof(float), &memory));
    float *d = memory;
    for (int64_t i = 0; i < n; i++) {
        d[i] = s->plane.values[i] - s->reference.values[i];
        most = fabs((double)d[i]) > most ? fabs((double)d[i]) : most;
    }
    fputs("<div class=m><figure>", f);
    enum err e = put_image(f, p, s, s->plane.values, p->low, p->high, "volume", NULL);
    fprintf(f, "<figcaption>volume, %s %" PRId64 "</figcaption></figure><figure>", names[s->axis],
            s->plane.index);
    if (!e)
        e = put_image(f, p, s, s->reference.values, p->low, p->high, "reference", NULL);
    fputs("<figcaption>reference</figcaption></figure><figure>", f);
    if (!e)
        e = put_image(f, p, s, d, most > 0 ? -most : -1, most > 0 ? most : 1, "difference", NULL);
    fprintf(f, "<figcaption>difference, from %.4g to %.4g</figcaption></figure></div>\n", -most,
            most);
    mem_free(memory);
    return e;
}

static void put_histogram(FILE *f, const struct volume_page *p)
{
    const struct histogram *h = &p->histogram;
    const double wide = (double)CHART / h->bins;
    double most = 1;
    for (int i = 0; i < h->bins; i++)
        most = fmax(most, (double)h->count[i]);
    fputs("<h2>Histogram</h2>", f);
    svg_begin(f, CHART, TALL, "Histogram of the volume, logarithmic", SVG_IN_PAGE);
    for (int i = 0; i < h->bins; i++) {
        const double tall = TALL * log1p((double)h->count[i]) / log1p(most);
        fprintf(f,
                "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"><title>%.6g to %.6g: "
                "%" PRId64 "</title></rect>",
                i * wide, TALL - tall, 0.9 * wide, tall, h->edge[i], h->edge[i + 1], h->count[i]);
    }
    svg_end(f);
    fprintf(f,
            "<p>%d bins from %.6g to %.6g; heights are logarithms of counts, the highest is "
            "%.0f. Finite: %" PRId64 ", not a number: %" PRId64 ", infinite: %" PRId64 ".\n",
            h->bins, h->edge[0], h->edge[h->bins], most, h->finite, h->nan,
            h->minus_infinity + h->plus_infinity);
}

static void put_json(FILE *f, const struct volume_page *p)
{
    const struct histogram *h = &p->histogram;
    struct jsonw w;
    fputs("<script type=\"application/json\" id=data>", f);
    jsonw_init(&w, f, 0);
    jsonw_object(&w);
    jsonw_kstring(&w, "schema", "tomoprof-volume-page/1");
    jsonw_knumber(&w, "black", p->low);
    jsonw_knumber(&w, "white", p->high);
    jsonw_knumber(&w, "psnr", p->quality.psnr);
    jsonw_knumber(&w, "ssim", p->quality.ssim);
    jsonw_karray(&w, "sections");
    for (int i = 0; i < p->sections; i++) {
        const struct page_section *s = &p->section[i];
        jsonw_object(&w);
        jsonw_kstring(&w, "axis", names[s->axis]);
        jsonw_kint(&w, "index", s->plane.index);
        jsonw_knumber(&w, "psnr", s->quality.psnr);
        jsonw_knumber(&w, "ssim", s->quality.ssim);
        jsonw_end(&w);
    }
    jsonw_end(&w);
    jsonw_karray(&w, "edges");
    for (int i = 0; i <= h->bins; i++)
        jsonw_number(&w, h->edge[i]);
    jsonw_end(&w);
    jsonw_karray(&w, "counts");
    for (int i = 0; i < h->bins; i++)
        jsonw_int(&w, h->count[i]);
    jsonw_end(&w);
    jsonw_kint(&w, "nan", h->nan);
    jsonw_kint(&w, "minus_infinity", h->minus_infinity);
    jsonw_kint(&w, "plus_infinity", h->plus_infinity);
    jsonw_end(&w);
    fputs("</script>\n", f);
}

static void put_head(FILE *f, const struct volume_page *p)
{
    const struct volume *v = p->v;
    page_begin(f, p->title,
               ".m{display:flex;flex-wrap:wrap;gap:1em;align-items:flex-start}figure{margin:0}"
               "figcaption{font-size:.87em}img{max-width:100%;height:auto}rect{fill:#2a78d6}"
               "svg{max-width:100%}");
    fprintf(f, "<p>%" PRId64 " slices of %" PRId64 " &times; %" PRId64 " voxels", v->slices,
            v->rows, v->cols);
    fprintf(f, ", each %g &times; %g &times; %g (row, column, slice). ", volume_delta_row(v),
            v->delta, volume_delta_slice(v));
    markup_text(f, p->about, MARKUP_ALL);
    fprintf(f, ". Black is %.4g, white %.4g in all sections.", p->low, p->high);
    if (p->reference) {
        fputs("<p>Against ", f);
        markup_text(f, p->reference, MARKUP_ALL);
        fputs(": <strong>", f);
        put_quality(f, p->quality);
        fputs("</strong> (whole volume; SSIM is the mean over slices).", f);
    }
}

static enum err put_page(FILE *f, const struct volume_page *p)
{
    put_head(f, p);
    for (int axis = 0; axis < 3; axis++)
        TRY(put_axis(f, p, axis));
    if (p->reference)
        fputs("<h2>Beside the reference</h2>", f);
    for (int i = 0; i < p->sections && p->reference; i++)
        if (p->section[i].middle)
            TRY(put_beside(f, p, &p->section[i]));
    put_histogram(f, p);
    put_json(f, p);
    page_end(f);
    return ERR_OK;
}

enum err volume_page_html(const char *path, const struct volume_page *p)
{
    struct outfile f = {0};
    TRY(outfile_open(&f, path));
    enum err e = put_page(f.stream, p);
    if (!e)
        e = outfile_commit(&f);
    outfile_abort(&f);
    return e;
}
