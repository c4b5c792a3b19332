#include <math.h>

#include "host/base/file.h"
#include "host/base/jsonw.h"
#include "host/suite/timing/results.h"

/* Unknown is null: an empty text, a number that is not positive. */
static void known_string(struct jsonw *w, const char *key, const char *s)
{
    jsonw_kstring(w, key, *s ? s : NULL);
}

static void known_number(struct jsonw *w, const char *key, double v)
{
    jsonw_knumber(w, key, v > 0 ? v : (double)NAN);
}

void timing_write_environment(struct jsonw *w, const struct environment *e)
{
    jsonw_object(w);
    known_string(w, "backend", e->backend);
    jsonw_key(w, "devices");
    jsonw_array(w);
    jsonw_string(w, e->device);
    jsonw_end(w);
    jsonw_kstring(w, "tomoprof_version", e->version);
    jsonw_kstring(w, "compiler", e->compiler);
    jsonw_knull(w, "cuda_version");
    jsonw_knull(w, "driver");
    known_string(w, "cpu", e->cpu);
    jsonw_kint(w, "threads", e->threads);
    known_string(w, "isa", e->isa);
    known_number(w, "memory_bytes", e->memory_bytes);
    known_string(w, "os", e->os);
    known_string(w, "kernel", e->kernel);
    jsonw_key(w, "clock");
    jsonw_object(w);
    jsonw_kstring(w, "name", "CLOCK_MONOTONIC");
    jsonw_knumber(w, "read_ns", e->clock.read_ns);
    jsonw_kint(w, "smallest_step_ns", e->clock.smallest_step_ns);
    jsonw_kbool(w, "went_back", e->clock.went_back);
    jsonw_end(w);
    jsonw_end(w);
}

static void write_plan(struct jsonw *w, const struct results *r)
{
    jsonw_key(w, "volume_sizes");
    jsonw_array(w);
    for (int i = 0; i < r->plan.size_count; i++)
        jsonw_int(w, r->plan.sizes[i]);
    jsonw_end(w);
    jsonw_kint(w, "runs_per_size", r->runs);
    jsonw_kint(w, "seed", (int64_t)r->seed);
    jsonw_knumber(w, "timeout_s", r->timeout_s);
    jsonw_kbool(w, "interrupted", r->interrupted);
}

void timing_write_calibration(struct jsonw *w, const struct calibration *c)
{
    jsonw_object(w);
    known_number(w, "gflops", c->peak.flops_per_s * 1e-9);
    known_number(w, "gbytes_per_s", c->peak.bytes_per_s * 1e-9);
    known_number(w, "cached_gbytes_per_s", c->cached_bytes_per_s * 1e-9);
    jsonw_end(w);
}

/* The keys that only a run that succeeded can fill. */
static void write_measured(struct jsonw *w, const struct cell *c, const struct row *row, int traced)
{
    jsonw_kint(w, "h2d_bytes", row->h2d_bytes);
    jsonw_kint(w, "d2h_bytes", row->d2h_bytes);
    known_number(w, "flops", row->work.flops);
    known_number(w, "bytes", row->work.bytes_min);
    jsonw_kint(w, "peak_host_bytes", row->peak_host_bytes);
    known_number(w, "peak_device_bytes", row->peak_device_bytes);
    jsonw_key(w, "fingerprint");
    jsonw_object(w);
    fingerprint_write(w, &row->fingerprint);
    jsonw_end(w);
    jsonw_key(w, "calibration");
    if (traced)
        jsonw_null(w);
    else
        timing_write_calibration(w, &c->before);
}

static void write_row(struct jsonw *w, const struct cell *c, int64_t run, int traced)
{
    static const char *const status[] = {
        [ROW_SKIPPED] = "skipped", [ROW_OK] = "ok", [ROW_FAILED] = "failed"};
    static const char *const unmeasured[] = {"h2d_bytes",   "d2h_bytes",       "flops",
                                             "bytes",       "peak_host_bytes", "peak_device_bytes",
                                             "fingerprint", "calibration"};
    const struct row *row = &c->rows[run];
    int ok = row->status == ROW_OK;
    jsonw_object(w);
    jsonw_kstring(w, "operation", c->op->name);
    jsonw_kint(w, "volume_size", c->size);
    jsonw_kint(w, "run", run + 1);
    jsonw_knumber(w, "time", ok ? row->seconds : (double)NAN);
    jsonw_kbool(w, "traced", traced);
    jsonw_kbool(w, "cold", run == 0);
    jsonw_kstring(w, "status", status[row->status]);
    jsonw_kstring(w, "reason", ok ? NULL : c->reason);
    jsonw_knull(w, "gpu_time");
    if (ok)
        write_measured(w, c, row, traced);
    else
        for (size_t i = 0; i < sizeof unmeasured / sizeof *unmeasured; i++)
            jsonw_knull(w, unmeasured[i]);
    jsonw_knull(w, "clocks");
    jsonw_end(w);
}

static void write_rows(struct jsonw *w, const struct results *r, int traced)
{
    for (int i = 0; i < r->plan.op_count * r->plan.size_count; i++)
        for (int64_t run = 0; run < r->runs; run++)
            write_row(w, &r->cells[i], run, traced);
}

static void write_statistics(struct jsonw *w, const struct cell *c)
{
    const struct statistics *s = &c->statistics;
    jsonw_object(w);
    jsonw_kstring(w, "operation", c->op->name);
    jsonw_kint(w, "volume_size", c->size);
    jsonw_knumber(w, "min", s->min);
    jsonw_knumber(w, "median", s->median);
    jsonw_knumber(w, "mean", s->mean);
    jsonw_knumber(w, "p95", s->p95);
    jsonw_knumber(w, "cv", s->cv);
    jsonw_kint(w, "n", s->n);
    jsonw_kbool(w, "cold", c->cold_only);
    jsonw_knumber(w, "gflops", c->rates.gflops);
    jsonw_knumber(w, "gbytes_per_s", c->rates.gbytes_per_s);
    jsonw_knumber(w, "roof_share", c->rates.roof_share);
    jsonw_knumber(w, "updates_per_s", c->rates.updates_per_s);
    jsonw_kbool(w, "implausible", c->rates.implausible);
    jsonw_end(w);
}

static void write_fit(struct jsonw *w, const struct operation *op, const struct fit *f,
                      double largest)
{
    jsonw_object(w);
    jsonw_kstring(w, "operation", op->name);
    jsonw_knumber(w, "a", f->a);
    jsonw_knumber(w, "b", f->b);
    jsonw_knumber(w, "p", f->p);
    jsonw_knumber(w, "r2", f->r2);
    jsonw_kint(w, "sizes", f->sizes);
    /* What of the time at the largest size does not depend on the size. */
    jsonw_knumber(w, "overhead_share", f->a / (f->a + f->b * pow(largest, f->p)));
    jsonw_kstring(w, "reason", f->reason);
    jsonw_end(w);
}

static void write_all(struct jsonw *w, const struct results *r, const struct results *traced)
{
    const struct plan *p = &r->plan;
    jsonw_object(w);
    jsonw_kstring(w, "schema", "tomoprof-timing/1");
    jsonw_kstring(w, "timestamp", r->timestamp);
    jsonw_key(w, "environment");
    timing_write_environment(w, &r->environment);
    write_plan(w, r);
    jsonw_key(w, "measurements");
    jsonw_array(w);
    write_rows(w, r, 0);
    if (traced)
        write_rows(w, traced, 1);
    jsonw_end(w);
    jsonw_key(w, "statistics");
    jsonw_array(w);
    for (int i = 0; i < p->op_count * p->size_count; i++)
        write_statistics(w, &r->cells[i]);
    jsonw_end(w);
    jsonw_key(w, "scaling");
    jsonw_array(w);
    for (int i = 0; i < p->op_count; i++)
        write_fit(w, p->ops[i], &r->fits[i], (double)p->sizes[p->size_count - 1]);
    jsonw_end(w);
    jsonw_end(w);
}

enum err timing_write(const char *path, const struct results *r, const struct results *traced)
{
    struct outfile f;
    struct jsonw w;
    TRY(outfile_open(&f, path));
    jsonw_init(&w, f.stream, 1);
    write_all(&w, r, traced);
    return outfile_commit(&f);
}
