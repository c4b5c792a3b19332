/* Writes the parts of a projector's HLS kernel besides the widths: its tables, its input, and the
 * simulated projection alone. */
#include <stdlib.h>
#include <string.h>

#include "profiler/fpga/hls/hls_export_project.h"

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

void project_tables(const struct hls_export *h, FILE *out)
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

void project_inputs(const struct hls_export *h, FILE *out)
{
    double *v = NULL;
    int n;
    if (!input_of(h, &v, &n))
        for (int i = 0; i < n; i++)
            fprintf(out, "in %.17g\n", v[i]);
    free(v);
}

enum err project_run(const struct hls_export *h, struct formats *f, struct width_result *out)
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
