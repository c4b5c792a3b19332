/* Attributes the costs of a capture as those of a recording are, makes its model, and sets null
 * what the capture does not tell. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analyze/attribute/sites.h"
#include "profiler/analyze/attribute/work.h"
#include "profiler/analyze/build/build.h"
#include "profiler/analyze/gpu/gpu.h"
#include "profiler/import/build/builder.h"

/* Frames as attribution takes them, by frame of the builder. */
static enum err resolve_frames(struct builder *b, struct resolved **out)
{
    struct resolved *all = calloc(b->frames.count + 1, sizeof *all);
    FAIL_IF(!all, ERR_MEMORY, "no memory for the import");
    for (size_t i = 0; i < b->frames.count; i++) {
        const struct model_frame *f = &b->frames.items[i];
        struct resolved x = {.function = f->function,
                             .file = f->line > 0 ? f->file : NULL,
                             .module = f->module,
                             .line = f->line > 0 && f->line < INT32_MAX ? (int)f->line : 0,
                             .python = !strcmp(f->kind, "python")};
        if (!x.module && !x.file && x.function && *x.function == '[')
            x.module = x.function; /* [start-up] of a run that was exported */
        x.owner = frame_owner(&b->image->program, &(struct owner_frame){.file = x.file,
                                                                        .function = x.function,
                                                                        .module = x.module,
                                                                        .python = x.python});
        all[i] = x;
    }
    *out = all;
    return ERR_OK;
}

static struct costs costs_of(const struct builder *b, const struct import_node *n,
                             const struct resolved *leaf)
{
    const int sampled = b->samples > 0;
    struct costs s = {.user = (double)n->cost[IMPORT_CPU],
                      .sys = (double)n->cost[IMPORT_SYS],
                      .wait = (double)n->cost[IMPORT_WAIT],
                      .gpu_kernel = (double)n->cost[IMPORT_GPU],
                      .alloc = (double)n->cost[IMPORT_ALLOC],
                      .samples = sampled ? (double)n->samples : (double)NAN,
                      .cpu_square = sampled ? n->cpu_square : (double)NAN,
                      .allocs = (double)NAN};
    *(leaf && leaf->python ? &s.python : &s.native) = s.user;
    return s;
}

/* The kernels of a node to the line that launched them. */
static enum err finish_launched(struct builder *b, const struct import_node *n,
                                const struct attribution *a)
{
    if (n->kernel < 0 || a->site < 0)
        return ERR_OK;
    return gpu_launched_at(&b->run->gpu.kernels.items[n->kernel], (uint32_t)a->site,
                           (double)n->launches, (double)n->cost[IMPORT_GPU]);
}

struct import_chain {
    VECTOR(struct resolved) frames; /* leaf first */
};

static enum err attribute_node(struct builder *b, uint32_t node, const struct resolved *resolved,
                               struct import_chain *chain)
{
    struct run *r = b->run;
    struct import_node *n = &b->nodes.items[node];
    struct attribution a;
    int64_t any = n->samples;
    for (int k = 0; k < IMPORT_COSTS; k++)
        any |= n->cost[k];
    if (!any)
        return ERR_OK;
    chain->frames.count = 0;
    for (uint32_t at = node; at != TABLE_NONE && chain->frames.count < RESOLVED_MAX;
         at = r->nodes.items[at].parent) {
        const uint32_t frame = r->nodes.items[at].frame;
        if (b->frames.items[frame].thread < 0)
            TRY(vector_add(&chain->frames, resolved[frame]));
    }
    struct resolved *const frames = chain->frames.items;
    const int count = (int)chain->frames.count;
    for (int i = count - 1, python = 0; i >= 0; python |= frames[i--].python)
        if (python && !frames[i].module && !frames[i].python)
            frames[i].owner = OWNER_RUNTIME; /* the interpreter's, or an extension's */
    const struct costs s = costs_of(b, n, count ? frames : NULL);
    TRY(attribute_stack(b->image, frames, count, n->thread, &s, &a));
    n->own = a.own;
    if (s.user + s.sys > 0) {
        struct stack_work works[WORK_MODES];
        TRY(work_find(b->image, NULL, 0, frames, count, works));
        TRY(work_add(r, a.own, works, &s));
    }
    r->own.items[a.own].gpu += s.gpu_kernel;
    struct tree_node *t = &r->nodes.items[node];
    t->cpu += s.user + s.sys;
    t->wait += s.wait;
    t->gpu += s.gpu_kernel;
    t->alloc += s.alloc;
    return finish_launched(b, n, &a);
}

static enum err attribute_nodes(struct builder *b)
{
    struct resolved *resolved = NULL;
    struct import_chain chain = {0};
    enum err e = resolve_frames(b, &resolved);
    for (uint32_t i = 0; i < b->nodes.count && e == ERR_OK; i++)
        e = attribute_node(b, i, resolved, &chain);
    free(resolved);
    vector_free(&chain.frames);
    return e;
}

/* Threads and processes have the costs of their nodes; nodes of the timeline are moments of the
 * critical path. */
static enum err finish_sum_threads(struct builder *b)
{
    struct run *r = b->run;
    for (size_t i = 0; i < r->threads.count; i++) {
        struct model_thread *t = &r->threads.items[i];
        t->user_s = r->has_cpu ? 0 : (double)NAN;
        t->sys_s = r->has_cpu ? 0 : (double)NAN;
        t->wait_s = r->has_wait ? 0 : (double)NAN;
        if (r->has_cpu)
            r->processes.items[t->process].cpu_s = 0;
        r->processes.items[t->process].start_s = 0;
        r->processes.items[t->process].end_s = (double)INFINITY;
    }
    for (size_t i = 0; i < b->nodes.count; i++) {
        const struct import_node *n = &b->nodes.items[i];
        if (n->thread < 0)
            continue;
        struct model_thread *t = &r->threads.items[n->thread];
        t->user_s += ns_to_seconds((double)n->cost[IMPORT_CPU]);
        t->sys_s += ns_to_seconds((double)n->cost[IMPORT_SYS]);
        t->wait_s += ns_to_seconds((double)n->cost[IMPORT_WAIT]);
        r->processes.items[t->process].cpu_s +=
            ns_to_seconds((double)(n->cost[IMPORT_CPU] + n->cost[IMPORT_SYS]));
        struct tree_frame *f = &r->frames.items[r->nodes.items[i].frame];
        if (f->thread > 0)
            f->function = t->name;
    }
    for (size_t i = 0; i < r->timeline.count; i++) {
        const struct timeline_track *l = &r->timeline.items[i];
        const int waiting = !strcmp(l->kind, "wait");
        for (size_t n = 0; (waiting || !strcmp(l->kind, "cpu")) && n < l->track.count; n++) {
            const struct track_event *e = &l->track.events[n];
            TRY(vector_add(
                &r->moments,
                ((struct moment_of){e->start, e->end, e->busy, b->nodes.items[e->what].own,
                                    l->process, l->thread, waiting, WAITS_EVENTS, 0, 0, 0})));
        }
    }
    return ERR_OK;
}

#define UNKNOWN ((double)NAN)

/* The members that a line and a function have in common. */
static void row_unknowns(const struct builder *b, struct model_cpu *cpu, struct model_incl *incl,
                         struct model_gpu *gpu, struct model_copy *copy,
                         struct model_dev_mem *dev_mem, struct model_scalene *scalene)
{
    struct model_top_kernel *kernels = gpu->kernels;
    const int kernels_count = gpu->kernels_count;
    const double share = gpu->share;
    cpu->borrowed = UNKNOWN;
    if (!b->known[IMPORT_SYS])
        cpu->sys = incl->sys = scalene->n_sys_percent = UNKNOWN;
    json_blank(&record_model_gpu, gpu);
    gpu->share = share;
    gpu->kernels = kernels;
    gpu->kernels_count = kernels_count;
    json_blank(&record_model_copy, copy);
    json_blank(&record_model_dev_mem, dev_mem);
}

static void line_unknowns(const struct builder *b, struct model_file *f)
{
    for (int i = 0; i < f->lines_count; i++) {
        struct model_line *l = &f->lines[i];
        row_unknowns(b, &l->cpu, &l->cpu_incl, &l->gpu, &l->copy, &l->dev_mem, &l->scalene);
    }
    for (int i = 0; i < f->functions_count; i++) {
        struct model_function *l = &f->functions[i];
        row_unknowns(b, &l->cpu, &l->cpu_incl, &l->gpu, &l->copy, &l->dev_mem, &l->scalene);
    }
}

static void totals_unknowns(const struct builder *b, struct model_totals *t)
{
    int moments = 0;
    for (size_t i = 0; i < b->run->gpu.devices.count; i++)
        moments |= b->run->gpu.devices.items[i].busy_intervals.count > 0;
    json_blank(&record_model_waits, &t->wait);
    t->cpu.borrowed = UNKNOWN;
    t->launches = t->launches_without_record = t->no_origin_n = MODEL_UNKNOWN;
    t->no_origin_s = t->gpu_wait_s = t->gpu_wait_busy_s = t->peak_device_mb = UNKNOWN;
    if (!b->known[IMPORT_SYS])
        t->cpu.sys = UNKNOWN;
    if (!b->has_api)
        t->api_s = UNKNOWN;
    if (!moments)
        t->gpu_busy_s = t->gpu_idle_s = UNKNOWN;
    if (b->kernels_only)
        t->gpu_sum_s = UNKNOWN;
    if (b->kernels_only || !b->has_gpu) {
        t->copy_s = t->set_s = UNKNOWN;
        t->h2d_bytes = t->d2h_bytes = MODEL_UNKNOWN;
    }
    if (!b->has_gpu) { /* stacks with device time, without its operations */
        t->kernel_s = UNKNOWN;
        t->kernels = MODEL_UNKNOWN;
    }
}

static void device_unknowns(struct model_device *d)
{
    int64_t *const limits[] = {&d->multiprocessors, &d->bus_bits,      &d->memory_bytes,
                               &d->threads_per_sm,  &d->blocks_per_sm, &d->registers_per_sm,
                               &d->shared_per_sm};
    double *const clocks[] = {&d->clock_mhz, &d->memory_clock_mhz, &d->memory_gb_s, &d->peak_mb};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        *limits[i] = *limits[i] > 0 ? *limits[i] : MODEL_UNKNOWN;
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++)
        *clocks[i] = *clocks[i] > 0 ? *clocks[i] : UNKNOWN;
    d->uuid = d->sm = NULL;
}

/* Shares of a wall time that is not known. */
static void wall_unknowns(struct model *m)
{
    m->meta.wall_s = UNKNOWN;
    for (int i = 0; i < m->devices_count; i++)
        m->devices[i].share_of_wall = UNKNOWN;
    for (int i = 0; i < m->kernels_count; i++)
        m->kernels[i].share_of_wall = UNKNOWN;
    for (int i = 0; i < m->apis_count; i++)
        m->apis[i].share_of_wall = UNKNOWN;
}

static void finish_unknowns(const struct builder *b, struct model *m)
{
    if (!b->run->last)
        wall_unknowns(m);
    for (int i = 0; i < m->files_count; i++)
        line_unknowns(b, &m->files[i]);
    for (int i = 0; i < m->unattributed_count; i++)
        m->unattributed[i].cpu.borrowed = UNKNOWN;
    for (int i = 0; i < m->devices_count; i++)
        device_unknowns(&m->devices[i]);
    totals_unknowns(b, &m->totals);
    for (int i = 0; i < m->kernels_count; i++)
        if (!(m->kernels[i].api_s > 0))
            m->kernels[i].api_s = m->kernels[i].queue_s = UNKNOWN;
    for (int i = 0; i < m->ranges_count; i++) {
        m->ranges[i].cpu_s = m->ranges[i].gpu_sum_s = m->ranges[i].gpu_projected_s = UNKNOWN;
        m->ranges[i].gpu_n = MODEL_UNKNOWN;
    }
    for (int i = 0; i < m->threads_count; i++)
        if (!b->known[IMPORT_SYS])
            m->threads[i].sys_s = UNKNOWN;
    for (int i = 0; i < m->processes_count; i++)
        m->processes[i].start_s = m->processes[i].end_s = UNKNOWN;
    for (int i = 0; i < m->stacks_count; i++) {
        struct model_stack *s = &m->stacks[i];
        s->cpu_ns = b->run->has_cpu ? s->cpu_ns : MODEL_UNKNOWN;
        s->wait_ns = b->run->has_wait ? s->wait_ns : MODEL_UNKNOWN;
        s->gpu_ns = b->run->has_gpu ? s->gpu_ns : MODEL_UNKNOWN;
        s->alloc_bytes = b->run->has_heap ? s->alloc_bytes : MODEL_UNKNOWN;
        s->peak_bytes = MODEL_UNKNOWN; /* captures have allocations without their ends */
    }
    m->totals.path_ready_s = UNKNOWN;
    m->quality.overhead_count = 0;
    m->quality.overhead_share = m->quality.borrowed_cpu_share = UNKNOWN;
    m->quality.capture_bytes = m->quality.clock_steps = MODEL_UNKNOWN;
    m->quality.clock_error_ns = UNKNOWN;
    m->quality.clock_method = NULL;
    m->meta.trace_bytes = MODEL_UNKNOWN;
}

/* The laws of any profile, and what the source itself says. */
static enum err more_checks(struct builder *b, struct model *m)
{
    struct model_quality *q = &m->quality;
    const struct model_check *laws = q->checks;
    const int n = q->checks_count;
    TRY(model_list(m, model_check, q, checks, (size_t)n + b->checks.count));
    array_copy(q->checks, laws, (size_t)n, sizeof *laws);
    array_copy(q->checks + n, b->checks.items, b->checks.count, sizeof *laws);
    for (size_t i = 0; i < b->checks.count; i++)
        q->complete &= b->checks.items[i].ok;
    return ERR_OK;
}

static enum err builder_finish(struct builder *b, struct model **out)
{
    struct run *r = b->run;
    const double wall = r->m->meta.wall_s;
    const int known = isfinite(wall) && wall > 0 && wall < 1e7;
    r->has_cpu = b->known[IMPORT_CPU] || b->known[IMPORT_SYS];
    r->has_wait = b->known[IMPORT_WAIT];
    r->has_gpu = b->has_gpu || b->known[IMPORT_GPU];
    r->has_heap = b->known[IMPORT_ALLOC];
    r->last = known                ? (uint64_t)(1e9 * wall)
              : b->end > b->origin ? (uint64_t)(b->end - b->origin)
                                   : 0;
    if (!b->has_gpu)
        r->total.gpu_set = (double)b->added[IMPORT_GPU]; /* of any kind */
    TRY(attribute_nodes(b));
    TRY(finish_sum_threads(b));
    TRY(build_model(r));
    r->m->meta.wall_s = known ? wall : r->m->meta.wall_s;
    finish_unknowns(b, r->m);
    TRY(more_checks(b, r->m));
    *out = r->m;
    r->m = NULL;
    return ERR_OK;
}

static void builder_free(struct builder *b)
{
    for (size_t i = 0; b->run && i < b->run->gpu.kernels.count; i++)
        free((void *)b->run->gpu.kernels.items[i].counted);
    if (b->run)
        build_free(b->run);
    if (b->image)
        table_free(&b->image->work_of);
    free(b->image);
    vector_free(&b->frames);
    vector_free(&b->nodes);
    vector_free(&b->checks);
    table_free(&b->index);
    table_free(&b->tracks);
    memset(b, 0, sizeof *b);
}

static enum err builder_create(struct builder *b, const char *path)
{
    static const struct analyze_options options = {.no_source =
                                                       1}; /* a capture may name any file */
    const char *slash = strrchr(path, '/');
    *b = (struct builder){
        .run = calloc(1, sizeof *b->run), .image = calloc(1, sizeof *b->image), .end = INT64_MIN};
    enum err e = b->run && b->image ? model_create(&b->run->m)
                                    : FAIL(ERR_MEMORY, "no memory for the import");
    if (e == ERR_OK) {
        b->run->options = &options;
        b->run->home = getenv("HOME");
        b->run->heap_cut = 1; /* what was released is not known */
        b->image->run = b->run;
        b->image->program.stripped = 1;
        b->base = run_text(b->run, slash ? slash + 1 : path);
        e = b->base ? ERR_OK : FAIL(ERR_MEMORY, "no memory for the import");
    }
    if (e)
        builder_free(b);
    return e;
}

enum err builder_model(const char *path, enum err (*fill)(struct builder *b, const void *context),
                       const void *context, struct model **out)
{
    struct builder b;
    TRY(builder_create(&b, path));
    enum err e = fill(&b, context);
    if (!e)
        e = builder_finish(&b, out);
    builder_free(&b);
    return e;
}
