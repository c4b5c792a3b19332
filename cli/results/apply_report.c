/* What `op --json` prints. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json/jsonw.h"
#include "cli/results/apply_report.h"
#include "cli/results/ranks_report.h"
#include "host/store/format/geometry_json.h"
#include "host/suite/catalogue/catalogue.h"

static void numbers(struct jsonw *w, const char *key, const double *values, int64_t n)
{
    jsonw_karray(w, key);
    for (int64_t i = 0; i < n; i++)
        jsonw_number(w, values[i]);
    jsonw_end(w);
}

static void integers(struct jsonw *w, const char *key, const int64_t *values, int64_t n)
{
    jsonw_karray(w, key);
    for (int64_t i = 0; i < n; i++)
        jsonw_int(w, values[i]);
    jsonw_end(w);
}

static void print_mbir(struct jsonw *w, const struct mbir_report *m)
{
    jsonw_kobject(w, "mbir");
    jsonw_kint(w, "iterations", m->iterations);
    jsonw_kbool(w, "stopped_by_threshold", m->stopped_by_threshold);
    jsonw_knumber(w, "initial_scale", m->initial_scale);
    jsonw_knumber(w, "sigma_y", m->sigma_y);
    jsonw_knumber(w, "sigma_x", m->sigma_x);
    jsonw_knumber(w, "sigma_prox", m->sigma_prox);
    integers(w, "subsets", m->subsets, m->iterations);
    numbers(w, "fm_rmse", m->fm_rmse, m->iterations);
    numbers(w, "change_percent", m->change_percent, m->iterations);
    numbers(w, "alpha", m->alpha, m->iterations);
    jsonw_end(w);
}

static void print_work(struct jsonw *w, const struct work *work)
{
    jsonw_kobject(w, "work");
    jsonw_knumber(w, "flops", work->flops);
    jsonw_knumber(w, "bytes_min", work->bytes_min);
    jsonw_knumber(w, "bytes_ideal_cache", work->bytes_ideal_cache);
    jsonw_end(w);
}

void apply_report_print(const struct apply_report *r)
{
    const struct run_state *s = r->state;
    struct jsonw w;
    jsonw_init(&w, stdout, 1);
    jsonw_object(&w);
    jsonw_kstring(&w, "operation", s->op->name);
    jsonw_kstring(&w, "backend", s->be->ops->name);
    jsonw_kstring(&w, "device", s->be->device);
    jsonw_kint(&w, "threads", s->be->threads);
    jsonw_key(&w, "parameters");
    if (s->model.scan.angles)
        ct_model_write_json(&w, &s->model);
    else
        jsonw_null(&w);
    integers(&w, "shape", r->shape, r->dims);
    jsonw_knumber(&w, "time", r->seconds);
    jsonw_knumber(&w, "first_time", r->first);
    numbers(&w, "times", r->times, r->repeats);
    print_work(&w, &r->work);
    jsonw_kint(&w, "peak_host_bytes", (int64_t)r->peak_host_bytes);
    if (s->be->device_peak)
        jsonw_kint(&w, "peak_device_bytes", (int64_t)s->be->device_peak);
    else
        jsonw_knull(&w, "peak_device_bytes");
    jsonw_kobject(&w, "fingerprint");
    fingerprint_write(&w, &r->fingerprint);
    jsonw_end(&w);
    if (s->op->scratch == SCRATCH_MBIR)
        print_mbir(&w, &s->report);
    else
        jsonw_knull(&w, "mbir");
    if (r->crew)
        ranks_report_write(&w, r->crew);
    jsonw_end(&w);
}
