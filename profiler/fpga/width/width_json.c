/* Writes sweeps as PREFIX.json; width.schema.json describes it. */
#include <math.h>

#include "base/json/jsonw.h"
#include "profiler/fpga/width/width_sweep.h"

static void width_put_quality(struct jsonw *w, const char *name, const struct width_quality *q)
{
    jsonw_object(w);
    jsonw_kstring(w, "case", name);
    jsonw_knumber(w, "result_rmse", q->own);
    jsonw_knumber(w, "rmse", q->rmse);
    jsonw_knumber(w, "ssim", q->ssim);
    jsonw_kint(w, "saturated", q->faults.saturated);
    jsonw_kint(w, "invalid", q->faults.invalid);
    jsonw_end(w);
}

/* Writes the curve's points, from the worst case. */
static void put_curve(struct jsonw *w, const struct width_sweep *s, int stage)
{
    jsonw_karray(w, "alone");
    for (int b = WIDTH_FEWEST; b <= WIDTH_WIDEST; b++) {
        double rmse = 0, ssim = 1;
        for (int c = 0; c < s->cases; c++) {
            rmse = fmax(rmse, s->alone[c][stage][b].rmse);
            ssim = fmin(ssim, s->alone[c][stage][b].ssim);
        }
        jsonw_object(w);
        jsonw_kint(w, "bits", b);
        jsonw_knumber(w, "rmse", rmse);
        jsonw_knumber(w, "ssim", ssim);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void put_stage(struct jsonw *w, const struct width_sweep *s, int k)
{
    jsonw_object(w);
    jsonw_kstring(w, "stage", width_stage_name((enum width_stage)k));
    jsonw_key(w, "bits");
    s->reached ? jsonw_int(w, s->bits[k]) : jsonw_null(w);
    jsonw_key(w, "alone_bits");
    s->alone_bits[k] > 0 ? jsonw_int(w, s->alone_bits[k]) : jsonw_null(w);
    jsonw_kint(w, "growth", s->primitive->growth[k]);
    jsonw_karray(w, "format");
    for (int c = 0; c < s->cases; c++) {
        const struct number_format f = number_fixed(s->bits[k], s->range[c][k]);
        char name[24];
        jsonw_string(w, number_name(&f, name));
    }
    jsonw_end(w);
    put_curve(w, s, k);
    jsonw_end(w);
}

static void put_formats(struct jsonw *w, const struct width_sweep *s)
{
    jsonw_karray(w, "formats");
    for (int i = 0; i < s->formats_count; i++) {
        const struct width_format *f = &s->formats[i];
        int keeps = 1;
        jsonw_object(w);
        jsonw_kstring(w, "format", f->name);
        jsonw_kbool(w, "sums_wide", f->sums_wide);
        for (int c = 0; c < s->cases; c++)
            keeps &= width_keeps(&f->at[c], s->limits);
        jsonw_kbool(w, "keeps", keeps);
        jsonw_karray(w, "at");
        for (int c = 0; c < s->cases; c++)
            width_put_quality(w, s->case_names[c], &f->at[c]);
        jsonw_end(w);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void put_sweep(struct jsonw *w, const struct width_sweep *s)
{
    jsonw_object(w);
    jsonw_kstring(w, "primitive", s->primitive->name);
    jsonw_kstring(w, "picture", s->primitive->leads_to);
    jsonw_kbool(w, "reached", s->reached);
    jsonw_karray(w, "stages");
    for (int k = 0; k < WIDTH_STAGES; k++)
        if (s->primitive->stages[k])
            put_stage(w, s, k);
    jsonw_end(w);
    jsonw_karray(w, "together");
    for (int c = 0; c < s->cases; c++)
        width_put_quality(w, s->case_names[c], &s->together[c]);
    jsonw_end(w);
    put_formats(w, s);
    jsonw_end(w);
}

enum err width_write_json(const struct width_sweep *s, int n, const struct width_case *cases,
                          const char *version, FILE *out)
{
    struct jsonw w;
    jsonw_init(&w, out, 1);
    jsonw_object(&w);
    jsonw_kstring(&w, "schema", WIDTH_SCHEMA);
    jsonw_kstring(&w, "version", version);
    jsonw_kobject(&w, "quality");
    jsonw_knumber(&w, "rmse", s[0].limits.rmse);
    jsonw_knumber(&w, "ssim", s[0].limits.ssim);
    jsonw_end(&w);
    jsonw_karray(&w, "cases");
    for (int c = 0; c < s[0].cases; c++) {
        jsonw_object(&w);
        jsonw_kstring(&w, "name", cases[c].name);
        jsonw_kint(&w, "channels", cases[c].n);
        jsonw_kint(&w, "views", cases[c].views);
        jsonw_end(&w);
    }
    jsonw_end(&w);
    jsonw_karray(&w, "primitives");
    for (int i = 0; i < n; i++)
        put_sweep(&w, &s[i]);
    jsonw_end(&w);
    jsonw_end(&w);
    FAIL_IF(fputc('\n', out) == EOF || ferror(out), ERR_IO,
            "the width analysis: cannot be written");
    return ERR_OK;
}
