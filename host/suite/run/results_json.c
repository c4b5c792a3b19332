/* Fills timing.json's model from the results of a run. */
#include <math.h>

#include "host/suite/run/results.h"

/* Unknown is null: a number that is not positive. */
static double known_number(double v)
{
    return v > 0 ? v : (double)NAN;
}

static struct timing_calibration calibration_of(const struct calibration *c)
{
    return (struct timing_calibration){
        known_number(c->peak.flops_per_s * 1e-9), known_number(c->peak.bytes_per_s * 1e-9),
        known_number(c->cached_bytes_per_s * 1e-9), known_number(c->like_runs_bytes_per_s * 1e-9),
        known_number(c->kept_s)};
}

/* The keys that only a run that succeeded can fill. */
static enum err add_measured(struct timing_file *t, const struct cell *c, const struct run_row *row,
                             struct timing_measurement *m)
{
    m->time = row->seconds;
    m->h2d_bytes = row->h2d_bytes;
    m->d2h_bytes = row->d2h_bytes;
    m->flops = known_number(row->work.flops);
    m->bytes = known_number(row->work.bytes_min);
    m->peak_host_bytes = row->peak_host_bytes;
    m->chunks_touched = known_number(c->touched);
    m->amplification = known_number(c->amplification);
    if (row->peak_device_bytes > 0)
        m->peak_device_bytes = (int64_t)row->peak_device_bytes;
    m->fingerprint = arena_take(t->arena, sizeof *m->fingerprint);
    m->calibration = m->traced ? NULL : arena_take(t->arena, sizeof *m->calibration);
    FAIL_IF(!m->fingerprint || (!m->traced && !m->calibration), ERR_MEMORY,
            "no memory left for the times");
    *m->fingerprint = (struct timing_fingerprint){row->fingerprint.sum, row->fingerprint.l2,
                                                  row->fingerprint.min, row->fingerprint.max};
    if (m->calibration)
        *m->calibration = calibration_of(&c->before);
    return ERR_OK;
}

/* `timed`: runs of the timed pass before these, where they are of the traced one; else -1. */
static enum err add_measurement(struct timing_file *t, const struct cell *c, int64_t run,
                                int64_t timed, struct timing_measurement *m)
{
    static const char *const status[] = {
        [ROW_SKIPPED] = "skipped", [ROW_OK] = "ok", [ROW_FAILED] = "failed"};
    const struct run_row *row = &c->rows[run];
    m->operation = c->op->name;
    m->volume_size = c->size;
    if (c->shape[0]) {
        char *text = arena_take(t->arena, SHAPE_TEXT);
        FAIL_IF(!text, ERR_MEMORY, "no memory left for the times");
        shape_text(c->size, c->shape, text);
        m->shape = text;
    }
    m->run = (timed < 0 ? 0 : timed) + run + 1;
    m->traced = timed >= 0;
    m->cold = run == 0;
    m->status = status[row->status];
    if (row->status == ROW_OK)
        return add_measured(t, c, row, m);
    m->reason = c->reason;
    return ERR_OK;
}

static int cells_of(const struct results *r)
{
    return r->plan.op_count * r->plan.size_count;
}

/* Into the places from *at on. */
static enum err add_rows(struct timing_file *t, const struct results *r, int64_t timed, int *at)
{
    for (int i = 0; i < cells_of(r); i++)
        for (int64_t run = 0; run < r->runs; run++)
            TRY(add_measurement(t, &r->cells[i], run, timed, &t->measurements[(*at)++]));
    return ERR_OK;
}

static void add_statistics(const struct cell *c, struct timing_statistics *out)
{
    const struct statistics *s = &c->statistics;
    *out = (struct timing_statistics){.operation = c->op->name,
                                      .volume_size = c->size,
                                      .min = s->min,
                                      .median = s->median,
                                      .mean = s->mean,
                                      .p95 = s->p95,
                                      .cv = s->cv,
                                      .n = s->n,
                                      .cold = c->cold_only,
                                      .gflops = c->rates.gflops,
                                      .gbytes_per_s = c->rates.gbytes_per_s,
                                      .roof_share = c->rates.roof_share,
                                      .updates_per_s = c->rates.updates_per_s,
                                      .implausible = c->rates.implausible};
}

static void add_fit(const struct operation *op, const struct fit *f, double largest,
                    struct timing_scaling *out)
{
    *out = (struct timing_scaling){
        .operation = op->name,
        .a = f->a,
        .b = f->b,
        .p = f->p,
        .r2 = f->r2,
        .sizes = f->sizes,
        /* Share of the time at the largest size that does not depend on the size. */
        .overhead_share = f->a / (f->a + f->b * pow(largest, f->p)),
        .reason = f->reason,
    };
}

static enum err fill_timing(struct timing_file *t, const struct results *r,
                            const struct results *traced)
{
    const struct run_plan *p = &r->plan;
    int at = 0;
    int64_t rows = cells_of(r) * r->runs + (traced ? cells_of(traced) * traced->runs : 0);
    t->schema = TIMING_SCHEMA;
    t->timestamp = r->timestamp;
    t->volume_sizes = (int64_t *)p->sizes;
    t->volume_sizes_count = p->size_count;
    t->runs_per_size = r->runs;
    t->seed = (int64_t)r->seed;
    t->settings = r->set;
    t->timeout_s = r->timeout_s;
    t->interrupted = r->interrupted;
    TRY(timing_list(t, timing_measurement, measurements, (size_t)rows));
    TRY(timing_list(t, timing_statistics, statistics, (size_t)cells_of(r)));
    TRY(timing_list(t, timing_scaling, scaling, (size_t)p->op_count));
    TRY(add_rows(t, r, -1, &at));
    if (traced)
        TRY(add_rows(t, traced, r->runs, &at));
    for (int i = 0; i < cells_of(r); i++)
        add_statistics(&r->cells[i], &t->statistics[i]);
    for (int i = 0; i < p->op_count; i++)
        add_fit(p->ops[i], &r->fits[i], (double)p->sizes[p->size_count - 1], &t->scaling[i]);
    return ERR_OK;
}

enum err results_write(const char *path, const struct results *r, const struct results *traced)
{
    struct timing_file *t;
    TRY(timing_file_create(&t));
    t->environment = r->environment.facts;
    enum err e = fill_timing(t, r, traced);
    if (!e)
        e = timing_file_write(t, path);
    timing_file_free(t);
    return e;
}
