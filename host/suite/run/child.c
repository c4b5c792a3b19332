/* The process that runs one operation at one size. Its lines, one JSON object each:
 *   {"gflops", "gbytes_per_s", "cached_gbytes_per_s", "like_runs_gbytes_per_s", "kept_s", "updates"}
 *                                                  before the first run
 *   {"touched", "amplification"}                   before the first run of a read of stores
 *   {"run", "time", "flops", "bytes", ..., "max"}  after each run
 *   {"like_runs_gbytes_per_s"}                     after the last of short ones: copies between them
 *   {"pairs", "median", "low", "high", "bytes"}    after the last: of calls and copies
 *   {"shares"}                                     after the last, of several processes
 *   {"error"}                                      instead of what cannot be done
 *   {"unsupported"}                                instead of what this back end lacks */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/array.h"
#include "host/backend/registry.h"
#include "base/clock.h"
#include "base/json/jsonw.h"
#include "base/log.h"
#include "base/memory.h"
#include "host/suite/catalogue/catalogue.h"
#include "host/suite/catalogue/volume.h"
#include "host/suite/run/plan.h"
#include "host/suite/run/suite.h"
#include "host/suite/statistics/stats.h"
#include "host/suite/statistics/targets.h"
#include "base/mark/mark.h"

#define SHORT_SECONDS 0.002 /* waking a thread takes up to a tenth of 1 ms */
#define SHORT_ENOUGH  0.01
#define SHORT_CALLS   31
#define SHORT_COPIES  100

struct child_run {
    struct run_state s;
    const struct child_plan *plan;
    FILE *out;
    char set[1024]; /* what `settings` point to */
    const char *settings[SETTINGS_MOST];
};

struct measured {
    double seconds;
    struct work work;
    struct fingerprint fingerprint;
    uint64_t uploaded, downloaded, device_peak;
    size_t peak;
    double bytes_in, bytes_out;
};

/* The peak of one process is not that of several. */
static enum err child_calibrate(struct child_run *c)
{
    struct run_state *s = &c->s;
    struct suite_rates rates = {{0, 0}, 0, 0, 0};
    double updates = 0;
    if (!c->plan->team)
        suite_calibrate(s, c->plan->calibrate, &rates);
    if (s->op->updates)
        TRY(s->op->updates(s, &updates));
    struct jsonw w;
    jsonw_init(&w, c->out, 0);
    jsonw_object(&w);
    jsonw_knumber(&w, "gflops", rates.peak.flops_per_s * 1e-9);
    jsonw_knumber(&w, "gbytes_per_s", rates.peak.bytes_per_s * 1e-9);
    jsonw_knumber(&w, "cached_gbytes_per_s", rates.cached_bytes_per_s * 1e-9);
    jsonw_knumber(&w, "like_runs_gbytes_per_s", rates.like_runs_bytes_per_s * 1e-9);
    jsonw_knumber(&w, "kept_s", rates.kept_s);
    jsonw_knumber(&w, "updates", updates);
    jsonw_end(&w);
    fputc('\n', c->out);
    return ERR_OK;
}

/* Measures what happened since `start`. The clock is read first. */
static enum err take_measured(struct child_run *c, int64_t start, struct measured *m)
{
    struct run_state *s = &c->s;
    m->seconds = clock_seconds_since(start);
    m->work = s->op->work(s);
    m->peak = mem_peak();
    m->bytes_in = state_bytes_in(s);
    m->bytes_out = state_bytes_out(s);
    m->device_peak = s->be->device_peak;
    m->uploaded = s->be->uploaded_bytes;
    m->downloaded = s->be->downloaded_bytes;
    s->be->uploaded_bytes = s->be->downloaded_bytes = 0;
    return state_fingerprint(s, &m->fingerprint);
}

/* The same by several processes: the time is until the last of them is done. */
static enum err child_run_team(struct child_run *c, struct measured *m)
{
    const struct suite_team *team = c->plan->team;
    double seconds;
    struct work work;
    mark_push(c->s.op->name, (uint64_t)c->plan->size);
    enum err e = team->run(team->crew, &c->s, &seconds, &work);
    mark_pop();
    TRY(e);
    TRY(take_measured(c, clock_ns(), m));
    m->seconds = seconds;
    m->work = work;
    return ERR_OK;
}

static enum err measure_once(struct child_run *c, struct measured *m)
{
    struct run_state *s = &c->s;
    mem_reset_peak();
    backend_reset_peak(s->be);
    backend_take_work(s->be);
    TRY(s->be->ops->sync(s->be));
    if (c->plan->team)
        return child_run_team(c, m);
    int64_t start = clock_ns();
    mark_push(s->op->name, (uint64_t)c->plan->size);
    enum err e = s->op->run(s);
    if (!e)
        e = s->be->ops->sync(s->be);
    mark_pop();
    return e ? e : take_measured(c, start, m);
}

/* The same bits on every run, and a first result that agrees with something else. */
static enum err check_result(struct run_state *s, const struct measured *m,
                             const struct measured *first, int64_t run)
{
    const struct fingerprint *f = &m->fingerprint;
    FAIL_IF(!isfinite(f->sum) || !isfinite(f->l2), ERR_FAILED,
            "wrong result: it holds NaN or infinite values");
    FAIL_IF(!(f->l2 > 0), ERR_FAILED, "wrong result: all of it is zero");
    if (run == 1)
        return s->op->check(s);
    FAIL_IF(memcmp(f, &first->fingerprint, sizeof *f) != 0, ERR_FAILED,
            "wrong result: run %lld differs from run 1 (l2 %.17g and %.17g)", (long long)run, f->l2,
            first->fingerprint.l2);
    return ERR_OK;
}

static void report_run(FILE *out, int64_t run, const struct measured *m)
{
    struct jsonw w;
    jsonw_init(&w, out, 0);
    jsonw_object(&w);
    jsonw_kint(&w, "run", run);
    jsonw_knumber(&w, "time", m->seconds);
    jsonw_knumber(&w, "flops", m->work.flops);
    jsonw_knumber(&w, "bytes", m->work.bytes_min);
    jsonw_knumber(&w, "bytes_ideal_cache", m->work.bytes_ideal_cache);
    jsonw_knumber(&w, "bytes_in", m->bytes_in);
    jsonw_knumber(&w, "bytes_out", m->bytes_out);
    jsonw_kint(&w, "h2d_bytes", (int64_t)m->uploaded);
    jsonw_kint(&w, "d2h_bytes", (int64_t)m->downloaded);
    jsonw_kint(&w, "peak_host_bytes", (int64_t)m->peak);
    jsonw_kint(&w, "peak_device_bytes", (int64_t)m->device_peak);
    fingerprint_write(&w, &m->fingerprint);
    jsonw_end(&w);
    fputc('\n', out);
    fflush(out);
}

static void report_shares(struct child_run *c)
{
    char text[SUITE_SHARES];
    struct jsonw w;
    c->plan->team->shares(c->plan->team->crew, text);
    jsonw_init(&w, c->out, 0);
    jsonw_object(&w);
    jsonw_kstring(&w, "shares", text);
    jsonw_end(&w);
    fputc('\n', c->out);
}

/* For profilers that record this part alone (nsys --capture-range=cudaProfilerApi). */
static void mark_measured(struct child_run *c, int begins)
{
    if (c->s.be->ops->measured)
        c->s.be->ops->measured(c->s.be, begins);
}

ARRAY_ORDER(by_seconds, struct measured, COMPARE(x->seconds, y->seconds));

/* A short call's time is mostly chance: the run is then the median of several calls, each with its
 * own look at the result, as copies are. */
static enum err child_run_short(struct child_run *c, const struct measured *first, int64_t run,
                                struct measured *m)
{
    struct measured calls[SHORT_CALLS] = {*m};
    double sum = m->seconds;
    int n = 1;
    for (; n < SHORT_CALLS && sum < SHORT_ENOUGH; n++) {
        TRY(measure_once(c, &calls[n]));
        TRY(check_result(&c->s, &calls[n], first, run));
        sum += calls[n].seconds;
    }
    qsort(calls, (size_t)n, sizeof *calls, by_seconds);
    *m = calls[(n - 1) / 2];
    return ERR_OK;
}

/* Copies between the runs, beside the one before them: whatever else the machine does then slows
 * both. */
static void report_copies(FILE *out, double *rates, int n)
{
    struct jsonw w;
    jsonw_init(&w, out, 0);
    jsonw_object(&w);
    jsonw_knumber(&w, "like_runs_gbytes_per_s", statistics_of(rates, n).median * 1e-9);
    jsonw_end(&w);
    fputc('\n', out);
}

static enum err child_run_rows(struct child_run *c)
{
    struct measured first = {0}, now;
    double rates[SHORT_COPIES];
    int copies_done = 0;
    const int repeats = !c->plan->traced && !c->plan->team && !strcmp(c->s.op->group, "volume");
    for (int64_t run = 1; run <= c->plan->runs; run++) {
        TRY(measure_once(c, &now));
        TRY(check_result(&c->s, &now, &first, run));
        if (run == 1) {
            first = now;
        } else if (repeats && now.seconds < SHORT_SECONDS) {
            TRY(child_run_short(c, &first, run, &now));
            const double rate =
                copies_done < SHORT_COPIES ? suite_copy_rate(c->s.be, c->s.op, &c->s.model, 1) : 0;
            if (rate > 0)
                rates[copies_done++] = rate;
        }
        report_run(c->out, run, &now);
    }
    if (copies_done)
        report_copies(c->out, rates, copies_done);
    return ERR_OK;
}

static double child_cpu_s(void)
{
    struct timespec t = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Runs on, without rows, until a profile has samples enough. */
static enum err child_run_on(struct child_run *c, double begin_s)
{
    struct measured unused;
    while (c->plan->traced && child_cpu_s() - begin_s < c->plan->traced_cpu_s)
        TRY(measure_once(c, &unused));
    return ERR_OK;
}

static enum err child_run_each(struct child_run *c)
{
    const double begin_s = child_cpu_s();
    struct measured unused;
    for (int64_t i = 0; i < c->plan->warmup; i++)
        TRY(measure_once(c, &unused));
    mark_measured(c, 1);
    enum err e = child_run_rows(c);
    if (!e)
        e = child_run_on(c, begin_s);
    mark_measured(c, 0);
    return e;
}

/* For the gate's shares of the copy rate. */
static enum err child_run_pairs(struct child_run *c)
{
    struct targets targets;
    struct pair_share share = {.n = 0};
    double bytes;
    TRY(targets_read(c->plan->gate, &targets));
    const enum err e = suite_pairs(&c->s, (double)c->plan->size, &targets, &share, &bytes);
    targets_free(&targets);
    TRY(e);
    if (!share.n)
        return ERR_OK;
    struct jsonw w;
    jsonw_init(&w, c->out, 0);
    jsonw_object(&w);
    jsonw_kint(&w, "pairs", share.n);
    jsonw_knumber(&w, "median", share.median);
    jsonw_knumber(&w, "low", share.low);
    jsonw_knumber(&w, "high", share.high);
    jsonw_knumber(&w, "bytes", bytes);
    jsonw_end(&w);
    fputc('\n', c->out);
    return ERR_OK;
}

struct iterations {
    struct child_run *child;
    struct measured *rows; /* [runs] */
    int64_t start;
    enum err e;
};

static void take_iteration(void *context, int64_t done, int64_t total)
{
    struct iterations *i = context;
    int64_t row = done - i->child->s.op->first_iteration;
    (void)total;
    if (row >= 0 && !i->e)
        i->e = i->child->s.be->ops->sync(i->child->s.be);
    if (row >= 0 && !i->e)
        i->e = take_measured(i->child, i->start, &i->rows[row]);
    if (row == -1)
        mark_measured(i->child, 1);
    backend_take_work(i->child->s.be);
    i->start = clock_ns();
}

/* Times one call by the iteration; nothing is reported before its result is checked. */
static enum err child_run_iterations(struct child_run *c)
{
    const int64_t runs = c->plan->runs;
    struct iterations i = {.child = c, .rows = calloc((size_t)runs, sizeof *i.rows)};
    FAIL_IF(!i.rows, ERR_MEMORY, "no memory left for %lld runs", (long long)runs);
    c->s.mbir.max_iterations = c->s.op->first_iteration + runs - 1;
    c->s.mbir.on_iteration = take_iteration;
    c->s.mbir.context = &i;
    mem_reset_peak();
    backend_reset_peak(c->s.be);
    mark_push(c->s.op->name, (uint64_t)c->plan->size);
    enum err e = c->s.op->run(&c->s);
    mark_pop();
    mark_measured(c, 0);
    e = e ? e : i.e;
    if (!e)
        e = check_result(&c->s, &i.rows[runs - 1], NULL, 1);
    for (int64_t run = 0; run < runs && !e; run++)
        report_run(c->out, run + 1, &i.rows[run]);
    free(i.rows);
    return e;
}

static enum err child_touch(struct child_run *c)
{
    double chunks, amplification;
    struct jsonw w;
    TRY(c->s.op->touch(&c->s, &chunks, &amplification));
    jsonw_init(&w, c->out, 0);
    jsonw_object(&w);
    jsonw_knumber(&w, "touched", chunks);
    jsonw_knumber(&w, "amplification", amplification);
    jsonw_end(&w);
    fputc('\n', c->out);
    return ERR_OK;
}

/* Keeps the settings that the operation takes: others of the run may take the rest. */
static enum err child_settings(struct child_run *c)
{
    int count, kept = 0;
    FAIL_IF(strlen(c->plan->set) >= sizeof c->set, ERR_USAGE, "`set`: more than %zu bytes",
            sizeof c->set - 1);
    snprintf(c->set, sizeof c->set, "%s", c->plan->set);
    TRY(settings_split(c->set, c->settings, SETTINGS_MOST, &count));
    for (int i = 0; i < count; i++)
        if (setting_taken(c->s.op, c->settings[i]))
            c->settings[kept++] = c->settings[i];
    c->s.settings = c->settings;
    c->s.settings_count = kept;
    return ERR_OK;
}

static enum err child_run_all(struct child_run *c)
{
    if (!c->plan->traced)
        TRY(child_calibrate(c));
    mark_push("prepare", (uint64_t)c->plan->size);
    enum err e = state_prepare(&c->s);
    mark_pop();
    TRY(e);
    if (c->s.op->touch)
        TRY(child_touch(c));
    if (c->plan->team)
        TRY(c->plan->team->send(c->plan->team->crew, &c->s));
    TRY(c->s.op->first_iteration ? child_run_iterations(c) : child_run_each(c));
    if (c->plan->gate && !c->plan->team && !c->plan->traced)
        TRY(child_run_pairs(c));
    if (c->plan->team)
        report_shares(c);
    if (c->plan->previews && preview_write(&c->s, c->plan->size, c->plan->previews))
        log_warn("no preview: %s", err_text()); /* the times do not need it */
    return ERR_OK;
}

/* A child must not outlive the suite that counts on it, and is the first to go when memory runs
 * out. */
static void tie_to_parent(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    FILE *f = fopen("/proc/self/oom_score_adj", "we");
    if (f) {
        fputs("1000", f);
        fclose(f);
    }
}

static void report_error(FILE *out, enum err e)
{
    struct jsonw w;
    jsonw_init(&w, out, 0);
    jsonw_object(&w);
    jsonw_kstring(&w, e == ERR_UNSUPPORTED ? "unsupported" : "error", err_text());
    jsonw_end(&w);
    fputc('\n', out);
}

/* Operations that take shapes look at the volume's sizes alone. */
static enum err take_shape(const char *text, struct volume *v)
{
    int64_t n[3];
    FAIL_IF(!shape_parse(text, n), ERR_USAGE, "`shape=%s`: ROWSxCOLUMNSxSLICES is needed", text);
    v->rows = n[0];
    v->cols = n[1];
    v->slices = n[2];
    return ERR_OK;
}

enum err suite_child(const struct child_plan *p)
{
    struct child_run c = {.plan = p};
    struct backend_options options = {.threads = (int)p->threads};
    struct backend *be = NULL;
    c.s.op = operation_named(p->op);
    c.s.seed = p->seed;
    FAIL_IF(!c.s.op, ERR_USAGE, "no operation is called \"%s\"", p->op);
    c.out = p->out ? p->out : fdopen(p->fd, "w");
    FAIL_IF(!c.out, ERR_USAGE, "`fd=%d`: %s", p->fd, strerror(errno));
    if (!p->team)
        tie_to_parent();
    enum err e = backend_open(p->backend, &options, &be);
    c.s.be = be;
    if (!e)
        e = model_for_size(c.s.op, p->size, &c.s.model);
    if (!e && p->set)
        e = child_settings(&c);
    if (!e && p->shape)
        e = take_shape(p->shape, &c.s.model.volume);
    if (!e)
        e = child_run_all(&c);
    if (e)
        report_error(c.out, e);
    if (p->team && p->team->release(p->team->crew))
        report_error(c.out, ERR_FAILED);
    if (be)
        state_free(&c.s);
    backend_close(be);
    if (!p->out && fclose(c.out) && !e)
        e = FAIL(ERR_IO, "`fd=%d`: %s", p->fd, strerror(errno));
    return e;
}
