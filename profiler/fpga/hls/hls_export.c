/* Writes the folder of a primitive's HLS kernel: its template, the tables and types of widths.h,
 * and the golden vectors of the simulation. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "profiler/fpga/embed/embedded.h"
#include "profiler/fpga/hls/hls_export.h"
#include "profiler/fpga/width/width_sweep.h"

/* Writes the parts of a projector's HLS kernel besides the widths: its tables, its input, and the
 * simulated projection alone. */

struct hls_export {
    const struct width_primitive *p;
    const struct width_case *c;
    struct formats formats; /* rounded, as simulated */
    struct width_result exact, rounded;
};

static int primitive_is(const struct hls_export *h, const char *what)
{
    return strstr(h->p->name, what) != NULL;
}

static const struct twin *export_beam(const struct hls_export *h)
{
    return h->p->fan ? &h->c->fan : &h->c->parallel;
}

/* Makes the projection's input: the picture, filtered views, or 1 in every channel. */
static enum err input_of(const struct hls_export *h, double **out, int *length)
{
    const struct width_case *c = h->c;
    struct formats wide = formats_wide();
    *length = primitive_is(h, "forward") ? c->n * c->n : c->views * c->n;
    double *v = *out = calloc((size_t)*length, sizeof *v);
    FAIL_IF(!v, ERR_MEMORY, "no memory left for %d samples", *length);
    if (primitive_is(h, "forward"))
        memcpy(v, c->picture, (size_t)*length * sizeof *v);
    else if (primitive_is(h, "back"))
        TRY(twin_filter(export_beam(h), &wide, h->p->fan ? c->fan_sinogram : c->sinogram, v));
    else
        for (int i = 0; i < *length; i++)
            v[i] = 1;
    return ERR_OK;
}

static void project_tables(const struct hls_export *h, FILE *out)
{
    const struct twin *t = export_beam(h);
    fprintf(out,
            "#define FOOTPRINTS\n#define CHANNELS %d\n#define VIEWS %d\n#define PIXELS %d\n"
            "#define TAPS %d\n#define UNDER %d /* rows under a voxel; 0: parallel beams */\n"
            "#define POWER %d\n#define CENTRE %.17g\ntypedef sum_t result_t;\n"
            "static const double angles[VIEWS] = {",
            t->n, t->views, t->n * t->n, TWIN_TAPS, t->fan ? TWIN_ROWS : 0,
            primitive_is(h, "hessian") ? 2 : 1, t->centre);
    for (int v = 0; v < t->views; v++)
        fprintf(out, "%s%.17g", v ? ", " : "", t->angles[v]);
    fprintf(out, "};\n");
}

static void project_inputs(const struct hls_export *h, FILE *out)
{
    double *v = NULL;
    int n;
    if (!input_of(h, &v, &n))
        for (int i = 0; i < n; i++)
            fprintf(out, "in %.17g\n", v[i]);
    free(v);
}

/* The projection alone, without what makes a picture of it. */
static enum err project_run(const struct hls_export *h, struct formats *f, struct width_result *out)
{
    const struct twin *t = export_beam(h);
    double *in = NULL;
    int n;
    *out = (struct width_result){0};
    out->own_length = primitive_is(h, "forward") ? t->views * t->n : t->n * t->n;
    out->own = calloc((size_t)out->own_length, sizeof *out->own);
    enum err e = out->own ? input_of(h, &in, &n)
                          : FAIL(ERR_MEMORY, "no memory left for %d results", out->own_length);
    if (!e && primitive_is(h, "forward"))
        e = twin_forward(t, f, in, out->own);
    else if (!e)
        e = twin_back(t, f, primitive_is(h, "hessian") ? 2 : 1, in, out->own);
    free(in);
    if (e)
        width_result_destroy(out);
    return e;
}

static void hls_write_array(FILE *out, const char *type, const char *name, int n, const double *v)
{
    fprintf(out, "static const %s %s[%d] = {", type, name, n);
    for (int i = 0; i < n; i++)
        fprintf(out, "%s%.17g", i ? ", " : "", v[i]);
    fprintf(out, "};\n");
}

static void filter_tables(const struct hls_export *h, FILE *out)
{
    const int n = h->c->n;
    double *taps = calloc((size_t)n, sizeof *taps);
    fprintf(out,
            "#define CHANNELS %d\n#define ROWS %d\n#define FACTOR 32\n"
            "typedef sum_t result_t;\n",
            n, h->c->views);
    for (int m = 0; taps && m < n; m++)
        taps[m] = twin_ramp_tap(m);
    if (taps)
        hls_write_array(out, "coefficient_t", "taps", n, taps);
    free(taps);
    if (!h->p->fan)
        return;
    fprintf(out, "#define COSINES\ntypedef ap_fixed<28, 4, AP_RND_CONV, AP_SAT> share_t;\n");
    hls_write_array(out, "share_t", "cosines", n, h->c->fan.cosine);
}

static void flat_log_tables(const struct hls_export *h, FILE *out)
{
    const int n = h->c->n;
    double bases[TWIN_LOG_SEGMENTS], slopes[TWIN_LOG_SEGMENTS], octaves[17];
    double *whites = calloc((size_t)n, sizeof *whites);
    fprintf(out,
            "#define CHANNELS %d\n#define ROWS %d\n#define DARK_STEP %uu\n"
            "typedef sum_t result_t;\ntypedef ap_fixed<17, 0, AP_RND_CONV, AP_SAT> fraction_t;\n",
            n, h->c->views, (unsigned)fmax(1, h->formats.of[STAGE_SAMPLE].step));
    for (int i = 0; i < TWIN_LOG_SEGMENTS; i++)
        twin_log_segment(i, &bases[i], &slopes[i]);
    for (int e = 0; e < 17; e++)
        octaves[e] = e * M_LN2;
    for (int k = 0; whites && k < n; k++)
        whites[k] = log(h->c->white[k] - h->c->dark[k]);
    hls_write_array(out, "coefficient_t", "bases", TWIN_LOG_SEGMENTS, bases);
    hls_write_array(out, "coefficient_t", "slopes", TWIN_LOG_SEGMENTS, slopes);
    hls_write_array(out, "coefficient_t", "octaves", 17, octaves);
    hls_write_array(out, "int", "darks", n, h->c->dark);
    if (whites)
        hls_write_array(out, "coefficient_t", "whites", n, whites);
    free(whites);
}

static void median_tables(const struct hls_export *h, FILE *out)
{
    fprintf(out,
            "#define LINE %d\n#define LINES %d\n#define PLANES 3\ntypedef sample_t result_t;\n",
            h->c->n + 2, h->c->n + 2);
}

static void samples_in(FILE *out, const double *v, int n)
{
    for (int i = 0; i < n; i++)
        fprintf(out, "in %.17g\n", v[i]);
}

static void filter_inputs(const struct hls_export *h, FILE *out)
{
    samples_in(out, h->p->fan ? h->c->fan_sinogram : h->c->sinogram, h->c->views * h->c->n);
}

static void flat_log_inputs(const struct hls_export *h, FILE *out)
{
    samples_in(out, h->c->counts, h->c->views * h->c->n);
}

/* Three slices, each padded by its edge. */
static void median_inputs(const struct hls_export *h, FILE *out)
{
    const double *const slices[3] = {h->c->below, h->c->picture, h->c->above};
    const int n = h->c->n;
    for (int z = 0; z < 3; z++)
        for (int y = -1; y <= n; y++)
            for (int x = -1; x <= n; x++) {
                const int row = y < 0 ? 0 : y >= n ? n - 1 : y;
                const int col = x < 0 ? 0 : x >= n ? n - 1 : x;
                samples_in(out, &slices[z][row * n + col], 1);
            }
}

#define BACK    "back_project.cpp", project_tables, project_inputs, project_run
#define FORWARD "forward_project.cpp", project_tables, project_inputs, project_run
static const struct template
{
    const char *primitive, *kernel;
    void (*tables)(const struct hls_export *h, FILE *out);
    void (*inputs)(const struct hls_export *h, FILE *out);
    enum err (*run)(const struct hls_export *h, struct formats *f, struct width_result *out);
}
templates[] = {
    {"parallel_fbp_filter", "parallel_fbp_filter.cpp", filter_tables, filter_inputs, NULL},
    {"cone_fdk_filter", "parallel_fbp_filter.cpp", filter_tables, filter_inputs, NULL},
    {"flat_field_and_log", "flat_field_and_log.cpp", flat_log_tables, flat_log_inputs, NULL},
    {"median_filter3d", "median_filter3d.cpp", median_tables, median_inputs, NULL},
    {"parallel_forward_project", FORWARD},
    {"parallel_back_project", BACK},
    {"parallel_hessian_diagonal", BACK},
    {"cone_forward_project", FORWARD},
    {"cone_back_project", BACK},
    {"cone_hessian_diagonal", BACK},
};

static const struct template *template_find(const char *primitive)
{
    for (size_t i = 0; i < sizeof templates / sizeof *templates; i++)
        if (!strcmp(templates[i].primitive, primitive))
            return &templates[i];
    return NULL;
}

static void hls_write_widths(const struct hls_export *h, const struct template *t, FILE *out)
{
    const struct width_result *x = &h->exact, *r = &h->rounded;
    fprintf(out,
            "/* %s: widths from a sweep against float64 (docs/internals/triage-width.md), ranges "
            "from the "
            "data of\n * golden.txt: check them against yours. */\n"
            "#ifndef WIDTHS_H\n#define WIDTHS_H\n\n#include <ap_fixed.h>\n\n",
            h->p->name);
    for (int k = 0; k < WIDTH_STAGES; k++) {
        const struct number_format *f = &h->formats.of[k];
        if (h->p->stages[k])
            fprintf(out, "typedef ap_fixed<%d, %d, AP_RND_CONV, AP_SAT> %s_t;\n", f->bits,
                    f->range + 1, width_stage_name((enum width_stage)k));
    }
    /* A thousandth for the bench's own sums. */
    fprintf(out, "#define LIMIT %.6g\n", 1.001 * width_rmse(r->own, x->own, x->own_length));
    t->tables(h, out);
    fprintf(out, "\n#endif\n");
}

static void hls_write_golden(const struct hls_export *h, const struct template *t, FILE *out)
{
    t->inputs(h, out);
    for (int i = 0; i < h->exact.own_length; i++)
        fprintf(out, "out %.17g %.17g\n", h->rounded.own[i], h->exact.own[i]);
}

typedef void writer(const struct hls_export *h, const struct template *t, FILE *out);

static enum err write_made(const char *folder, const char *name, writer *write,
                           const struct hls_export *h, const struct template *t)
{
    struct outfile f = {0};
    char *path = NULL;
    FAIL_IF(asprintf(&path, "%s/%s", folder, name) < 0, ERR_MEMORY, "no memory left");
    enum err e = outfile_open(&f, path);
    if (!e) {
        write(h, t, f.stream);
        e = outfile_commit(&f);
    }
    outfile_abort(&f);
    free(path);
    return e;
}

/* Writes the kernel from the templates, and the parts that only projectors need. */
static enum err write_templates(const char *folder, const struct template *t)
{
    static const char *const projectors[] = {"projector.h", "footprints.cpp"};
    for (const struct embedded_file *f = hls_templates; f->name; f++) {
        const char *dot = strrchr(f->name, '.'), *name = f->name;
        int wanted = !dot || strcmp(dot, ".cpp") != 0 || !strcmp(f->name, "bench.cpp");
        for (int i = 0; i < 2; i++)
            if (!strcmp(f->name, projectors[i]))
                wanted = t->run != NULL;
        if (!strcmp(f->name, t->kernel)) {
            wanted = 1;
            name = "kernel.cpp";
        }
        if (wanted)
            TRY(embedded_write(folder, name, f->text));
    }
    return ERR_OK;
}

static enum err hls_write_all(const char *folder, const struct template *t,
                              const struct hls_export *h)
{
    char *fallback = NULL;
    FAIL_IF(asprintf(&fallback, "%s/fallback", folder) < 0, ERR_MEMORY, "no memory left");
    enum err e = dir_make(fallback);
    free(fallback);
    TRY(e);
    TRY(write_templates(folder, t));
    TRY(write_made(folder, "widths.h", hls_write_widths, h, t));
    return write_made(folder, "golden.txt", hls_write_golden, h, t);
}

static enum err hls_simulate(const struct template *t, const struct hls_export *h,
                             struct formats *f, struct width_result *out)
{
    return t->run ? t->run(h, f, out) : width_run(h->c, h->p, f, out);
}

enum err hls_export_write(const char *primitive, const struct width_case *c, const char *folder)
{
    const struct template *t = template_find(primitive);
    const struct width_needed *needed = width_needed(primitive);
    FAIL_IF(!t || !needed, ERR_USAGE,
            "%s: no kernel template; there are the projectors, Hessians, filters, "
            "flat_field_and_log and median_filter3d",
            primitive);
    struct hls_export h = {.p = width_primitive_named(primitive), .c = c};
    struct formats wide = formats_wide();
    TRY(hls_simulate(t, &h, &wide, &h.exact));
    h.formats = width_formats(h.p, &wide, needed->bits);
    struct formats used = h.formats;
    enum err e = hls_simulate(t, &h, &used, &h.rounded);
    if (!e)
        e = hls_write_all(folder, t, &h);
    width_result_destroy(&h.exact);
    width_result_destroy(&h.rounded);
    return e;
}
