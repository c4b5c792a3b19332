/* Rules over the finished model: each tests one pattern and gives evidence, lines, advice and an
 * upper limit of what it may save. Shares are of meta.wall_s unless a rule says otherwise. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profiler/findings/findings.h"
#include "profiler/findings/gpu_rules.h"
#include "profiler/findings/io_finder.h"
#include "profiler/findings/io_rules.h"
#include "profiler/findings/lock_rules.h"
#include "profiler/findings/rank_rules.h"

enum { LINES_SHOWN = 50 };

struct finder {
    struct model *m;
    VECTOR(struct model_finding) found;
};

/* The number of a line that a rule sorts by and shows; NaN or 0: not concerned. */
typedef double line_value(const struct model_line *line);

ARRAY_ORDER(most_first, struct model_place, COMPARE(y->value, x->value));

static enum err lines_by(struct finder *f, line_value *value, struct model_place **rows, int *count)
{
    VECTOR(struct model_place) all = {0};
    enum err e = ERR_OK;
    for (int i = 0; i < f->m->files_count && value; i++)
        for (int k = 0; k < f->m->files[i].lines_count && e == ERR_OK; k++) {
            const struct model_line *line = &f->m->files[i].lines[k];
            double v = value(line);
            if (v > 0)
                e = vector_add(
                    &all, (struct model_place){f->m->files[i].path, line->line, MODEL_UNKNOWN, v});
        }
    vector_sort(&all, most_first);
    size_t n = all.count < LINES_SHOWN ? all.count : LINES_SHOWN;
    if (e == ERR_OK)
        e = model_items(f->m, &record_model_place, n, rows, count);
    if (e == ERR_OK)
        array_copy(*rows, all.items, n, sizeof *all.items);
    vector_free(&all);
    return e;
}

struct finding {
    const char *id, *severity, *title, *advice, *confidence;
    line_value *value;
};

static enum err finding(struct finder *f, const struct finding *what, double gain,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

static enum err finding(struct finder *f, const struct finding *what, double gain,
                        const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct model_finding blank;
    json_blank(&record_model_finding, &blank);
    TRY(vector_add(&f->found, blank));
    struct model_finding *row = &f->found.items[f->found.count - 1];
    row->id = what->id;
    row->severity = what->severity;
    row->title = what->title;
    row->advice = what->advice;
    row->confidence = what->confidence;
    row->gain_s = gain;
    row->evidence = arena_text(f->m->arena, text);
    return lines_by(f, what->value, &row->lines, &row->lines_count);
}

static double pageable_of(const struct model_line *l)
{
    return l->copy.pageable_bytes > 0 ? l->copy.h2d.s + l->copy.d2h.s : 0;
}

/* Copies from or to pageable memory, asynchronous or not; pinned ones run at up to twice the rate.
 */
static enum err pageable(struct finder *f)
{
    static const struct finding what = {
        "copy.pageable",
        "warning",
        "Copies from and to pageable memory",
        "Allocate the host arrays with cudaMallocHost or register them once.",
        "medium",
        pageable_of};
    static const struct finding async = {
        "copy.pageable_async",
        "warning",
        "Asynchronous copies block the program",
        "A copy of pageable memory blocks the caller: use pinned memory.",
        "high",
        pageable_of};
    double s = 0, asynchronous = 0;
    int64_t n = 0, bytes = 0, n_async = 0;
    for (int i = 0; i < f->m->transfers_count; i++) {
        const struct model_transfer *t = &f->m->transfers[i];
        if (strcmp(t->from, "pageable") && strcmp(t->to, "pageable"))
            continue;
        s += t->time.total_s;
        n += t->time.n;
        bytes += t->bytes > 0 ? t->bytes : 0;
        n_async += t->asynchronous ? t->time.n : 0;
        asynchronous += t->asynchronous ? t->time.total_s : 0;
    }
    if (s > 0.01 * f->m->meta.wall_s)
        TRY(finding(f, &what, s / 2,
                    "%lld copies of %.1f MiB took %.3g s on the device (%.1f %% of the run).",
                    (long long)n, (double)bytes / 1048576, s, 100 * s / f->m->meta.wall_s));
    if (n_async && asynchronous > 0.005 * f->m->meta.wall_s)
        TRY(finding(f, &async, asynchronous / 2,
                    "%lld asynchronous copies of pageable memory took %.3g s.", (long long)n_async,
                    asynchronous));
    return ERR_OK;
}

static double wait_of(const struct model_line *l)
{
    return l->gpu.wait_s;
}

static enum err synchronising(struct finder *f)
{
    static const struct finding what = {
        "gpu.sync",
        "warning",
        "The host waits for an idle device",
        "Synchronise less often: once per batch, or with events where a result is needed.",
        "medium",
        wait_of};
    const struct model_totals *t = &f->m->totals;
    double wasted = t->gpu_wait_s - t->gpu_wait_busy_s;
    if (!(wasted > 0.02 * f->m->meta.wall_s))
        return ERR_OK;
    return finding(f, &what, wasted,
                   "Synchronising calls took %.3g s; a device was busy for %.3g s of it.",
                   t->gpu_wait_s, t->gpu_wait_busy_s);
}

static enum err gaps(struct finder *f)
{
    static const struct finding what = {"gpu.gaps",
                                        "warning",
                                        "The device waits for the host",
                                        "Prepare the next step on the host while the device works: "
                                        "streams, a thread that reads ahead.",
                                        "medium",
                                        NULL};
    double sum = 0;
    for (int i = 0; i < f->m->gpu.gaps_count; i++)
        sum += f->m->gpu.gaps[i].length_s;
    if (!(f->m->totals.gpu_idle_s > 0.1 * f->m->meta.wall_s) || !f->m->gpu.gaps_count)
        return ERR_OK;
    const struct model_gap *g = &f->m->gpu.gaps[0];
    TRY(finding(
        f, &what, f->m->totals.gpu_idle_s,
        "Between its first and last operation the device was idle for %.3g s; the longest gap is "
        "%.3g s at %.3g s, the longest %d together %.3g s.",
        f->m->totals.gpu_idle_s, g->length_s, g->start_s, f->m->gpu.gaps_count, sum));
    struct model_finding *row = &f->found.items[f->found.count - 1];
    row->lines = g->lines;
    row->lines_count = g->lines_count;
    return ERR_OK;
}

static double launches_of(const struct model_line *l)
{
    return (double)l->gpu.launches > 0 ? l->gpu.kernel_s : 0;
}

static enum err small_kernels(struct finder *f)
{
    static const struct finding what = {
        "gpu.small_kernels",
        "warning",
        "Kernels are shorter than their launch",
        "Fuse small kernels, give each more work, or launch them as a CUDA graph.",
        "medium",
        launches_of};
    double api = 0, time = 0;
    int64_t n = 0;
    for (int i = 0; i < f->m->kernels_count; i++) {
        const struct model_kernel *k = &f->m->kernels[i];
        if (k->time.n < 100 || !(k->time.total_s < k->api_s))
            continue;
        n += k->time.n;
        api += k->api_s;
        time += k->time.total_s;
    }
    if (!(api > 0.02 * f->m->meta.wall_s))
        return ERR_OK;
    return finding(f, &what, api - time,
                   "%lld launches took %.3g s on the host for %.3g s on the device.", (long long)n,
                   api, time);
}

static enum err compiling(struct finder *f)
{
    static const struct finding what = {
        "gpu.jit",
        "warning",
        "Device code is compiled or loaded while the program runs",
        "Build for this device (-arch), keep the compiler's cache, or warm up before measuring.",
        "high",
        NULL};
    double s = 0;
    for (int i = 0; i < f->m->gpu.overhead_count; i++) {
        const struct model_sum *o = &f->m->gpu.overhead[i];
        if (!strncmp(o->kind, "JIT", 3) || !strcmp(o->kind, "driver compiler") ||
            !strcmp(o->kind, "lazy function load") ||
            !strcmp(o->kind, "runtime-triggered module load"))
            s += o->s;
    }
    if (!(s > 0.02 * f->m->meta.wall_s))
        return ERR_OK;
    return finding(f, &what, s,
                   "Compiling and loading of device code took %.3g s (%.1f %% of the run).", s,
                   100 * s / f->m->meta.wall_s);
}

static double occupancy_of_line(const struct model_line *l)
{
    return l->gpu.kernel_s;
}

static enum err occupancy(struct finder *f)
{
    static const struct finding what = {"gpu.occupancy",
                                        "info",
                                        "A kernel leaves most of each multiprocessor empty",
                                        "Look at the limiter: smaller blocks, fewer registers "
                                        "(__launch_bounds__), less shared memory.",
                                        "low",
                                        occupancy_of_line};
    for (int i = 0; i < f->m->kernels_count; i++) {
        const struct model_kernel *k = &f->m->kernels[i];
        if (!k->variants_count || !(k->share_of_kernel_time > 0.2) ||
            !(k->variants[0].occupancy < 0.34))
            continue;
        return finding(
            f, &what, (double)NAN,
            "%.100s: %.0f %% of the warps that fit, limited by %s; it takes %.0f %% of the "
            "kernel time.",
            k->name, 100 * k->variants[0].occupancy, k->variants[0].limiter,
            100 * k->share_of_kernel_time);
    }
    return ERR_OK;
}

static double alloc_of(const struct model_line *l)
{
    return l->mem.alloc_mb;
}

static enum err churn(struct finder *f)
{
    static const struct finding what = {
        "mem.churn",
        "info",
        "Memory is allocated over and over",
        "Allocate once outside of the loop and use it again (out= in NumPy).",
        "low",
        alloc_of};
    const struct model_totals *t = &f->m->totals;
    if (!(t->alloc_mb > 10 * t->peak_heap_mb) || !(t->alloc_mb > 1024))
        return ERR_OK;
    return finding(f, &what, (double)NAN,
                   "%.0f MiB were allocated in all, at most %.0f MiB live at once.", t->alloc_mb,
                   t->peak_heap_mb);
}

static double copies_of(const struct model_line *l)
{
    return l->copy.host_mb;
}

static enum err host_copies(struct finder *f)
{
    static const struct finding what = {
        "copy.host",
        "info",
        "Much is copied within host memory",
        "Work on views, write results where they are needed, avoid changes of type and order.",
        "low",
        copies_of};
    double rate = f->m->totals.copy_mb / f->m->meta.wall_s;
    if (!(rate > 1024))
        return ERR_OK;
    return finding(f, &what, f->m->totals.copy_mb / 10240,
                   "%.0f MiB were copied, %.0f MiB/s on average.", f->m->totals.copy_mb, rate);
}

static enum err leaking(struct finder *f)
{
    static const struct finding what = {"mem.leak",
                                        "warning",
                                        "Memory that is never released",
                                        "Release it, or drop the last reference.",
                                        "medium",
                                        NULL};
    double live = 0;
    for (int i = 0; i < f->m->memory.leaks_count; i++)
        live += f->m->memory.leaks[i].live_mb;
    if (!f->m->memory.leaks_count)
        return ERR_OK;
    TRY(finding(f, &what, (double)NAN,
                "%d lines hold %.1f MiB at the end of what they allocated again and again.",
                f->m->memory.leaks_count, live));
    struct model_finding *row = &f->found.items[f->found.count - 1];
    TRY(model_list(f->m, model_place, row, lines, (size_t)f->m->memory.leaks_count));
    for (int i = 0; i < row->lines_count; i++)
        row->lines[i] = (struct model_place){f->m->memory.leaks[i].file, f->m->memory.leaks[i].line,
                                             MODEL_UNKNOWN, f->m->memory.leaks[i].live_mb};
    return ERR_OK;
}

static double sys_of(const struct model_line *l)
{
    return l->cpu.sys;
}

static enum err kernel_time(struct finder *f)
{
    static const struct finding what = {"cpu.system",
                                        "info",
                                        "Much CPU time is spent in the operating system",
                                        "Larger reads and writes, fewer threads that wake each "
                                        "other, memory that is kept instead of "
                                        "returned.",
                                        "low",
                                        sys_of};
    const struct model_cpu *c = &f->m->totals.cpu;
    if (!(c->sys > 0.25 * (c->user + c->sys)) || !(c->sys > 0.05 * f->m->meta.wall_s))
        return ERR_OK;
    return finding(f, &what, c->sys / 2, "The kernel took %.3g s of %.3g s of CPU time.", c->sys,
                   c->user + c->sys);
}

static double python_of(const struct model_line *l)
{
    return l->cpu.python;
}

static enum err interpreter(struct finder *f)
{
    static const struct finding what = {"cpu.python",
                                        "info",
                                        "Much CPU time is spent in the Python interpreter",
                                        "Move the loop into NumPy, JAX or compiled code.",
                                        "medium",
                                        python_of};
    const struct model_cpu *c = &f->m->totals.cpu;
    if (!(c->python > 0.3 * (c->user + c->sys)) || !(c->python > 0.1 * f->m->meta.wall_s))
        return ERR_OK;
    return finding(f, &what, c->python * 0.9, "The interpreter took %.3g s of %.3g s of CPU time.",
                   c->python, c->user + c->sys);
}

static enum err contention(struct finder *f)
{
    struct model_finding row;
    int found;
    TRY(lock_rules(f->m, &row, &found));
    if (found) { /* whose holders decode */
        struct io_finder of;
        io_finder_begin(&of, f->m, NULL, 0);
        if (of.decode_s > 0.5 * of.cpu)
            row.title = "Decoding is serialised by a lock";
    }
    return found ? vector_add(&f->found, row) : ERR_OK;
}

static enum err input_output(struct finder *f)
{
    struct model_finding rows[IO_RULES_MOST];
    int count;
    TRY(io_rules(f->m, rows, &count));
    for (int i = 0; i < count; i++)
        TRY(vector_add(&f->found, rows[i]));
    return ERR_OK;
}

static enum err device(struct finder *f)
{
    struct model_finding rows[GPU_RULES_MOST];
    int count;
    TRY(gpu_rules(f->m, rows, &count));
    for (int i = 0; i < count; i++)
        TRY(vector_add(&f->found, rows[i]));
    return ERR_OK;
}

static enum err ranks(struct finder *f)
{
    struct model_finding rows[RANK_RULES_MOST];
    int count;
    TRY(rank_rules(f->m, rows, &count));
    for (int i = 0; i < count; i++)
        TRY(vector_add(&f->found, rows[i]));
    return ERR_OK;
}

static enum err (*const rules[])(struct finder *) = {
    pageable,    synchronising, gaps,         small_kernels, compiling,
    occupancy,   churn,         host_copies,  leaking,       kernel_time,
    interpreter, contention,    input_output, device,        ranks};

static int by_gain(const void *a, const void *b)
{
    const struct model_finding *x = a, *y = b;
    double p = isfinite(x->gain_s) ? x->gain_s : -1, q = isfinite(y->gain_s) ? y->gain_s : -1;
    return p < q || p > q ? (p < q ? 1 : -1) : strcmp(x->id, y->id);
}

enum err findings_add(struct model *m)
{
    struct finder f = {.m = m};
    enum err e = ERR_OK;
    for (size_t i = 0; i < sizeof rules / sizeof *rules && e == ERR_OK; i++)
        e = rules[i](&f);
    if (e == ERR_OK)
        e = model_list(m, model_finding, m, findings, f.found.count);
    if (e == ERR_OK) {
        gpu_rules_refute(f.found.items, (int)f.found.count);
        vector_sort(&f.found, by_gain);
        array_copy(m->findings, f.found.items, f.found.count, sizeof *f.found.items);
    }
    vector_free(&f.found);
    return e;
}
