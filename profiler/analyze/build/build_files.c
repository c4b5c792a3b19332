/* Rows of the model for source files, their lines and functions, and for modules without lines. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "profiler/analyze/build/build.h"
#include "profiler/analyze/heap/curves.h"

#define UNKNOWN ((double)NAN)

static double share_or_unknown(double part, double whole)
{
    return whole > 0 ? part / whole : UNKNOWN;
}

static double known_or_unknown(int recorded, double v)
{
    return recorded ? v : UNKNOWN;
}

static int64_t integer_or_unknown(int recorded, double v)
{
    return recorded && v < 9e15 ? (int64_t)v : MODEL_UNKNOWN;
}

struct model_cpu cpu_of(const struct run *r, const struct costs *s)
{
    int k = r->has_cpu;
    return (struct model_cpu){.user = known_or_unknown(k, ns_to_seconds(s->user)),
                              .sys = known_or_unknown(k, ns_to_seconds(s->sys)),
                              .wait = known_or_unknown(r->has_wait, ns_to_seconds(s->wait)),
                              .python = known_or_unknown(k, ns_to_seconds(s->python)),
                              .native = known_or_unknown(k, ns_to_seconds(s->native)),
                              .borrowed = known_or_unknown(k, ns_to_seconds(s->borrowed)),
                              .error = known_or_unknown(k, ns_to_seconds(sqrt(s->cpu_square))),
                              .samples = integer_or_unknown(k, s->samples),
                              .share =
                                  share_or_unknown(s->user + s->sys, r->total.user + r->total.sys)};
}

static struct model_amount files_amount(const struct amount *a)
{
    return (struct model_amount){integer_or_unknown(1, a->n), integer_or_unknown(1, a->bytes),
                                 ns_to_seconds(a->ns)};
}

/* Shared by a line's and a function's rows; `out` begins with model_cpu. */
struct row_costs {
    struct model_cpu *cpu;
    struct model_incl *incl;
    struct model_mem *mem;
    double *gpu_self, *gpu_incl;
    struct model_gpu *gpu;
    struct model_dev_mem *dev_mem;
    struct model_copy *copy;
    struct model_scalene *scalene;
};
#define ROW_COSTS(row)                                                                             \
    {                                                                                              \
        &(row)->cpu, &(row)->cpu_incl, &(row)->mem, &(row)->gpu_self_s, &(row)->gpu_incl_s,        \
            &(row)->gpu, &(row)->dev_mem, &(row)->copy, &(row)->scalene                            \
    }

static void fill_memory(const struct run *r, const struct site *site, const struct row_costs *c)
{
    const struct costs *s = &site->self;
    const struct live_heap *h = &site->heap, *d = &site->device;
    double wall = (double)(r->last - r->origin);
    if (r->has_heap)
        *c->mem = (struct model_mem){
            .alloc_mb = bytes_to_megabytes(s->alloc),
            .error_mb = bytes_to_megabytes(sqrt(s->alloc_variance)),
            .n = s->allocs,
            .n_error = sqrt(s->allocs_variance),
            .peak_mb = bytes_to_megabytes(h->peak),
            .at_peak_mb = bytes_to_megabytes(h->at_peak),
            .avg_mb = bytes_to_megabytes(share_or_unknown(h->integral, wall)),
            .live_end_mb = bytes_to_megabytes(h->end),
            .share = share_or_unknown(s->alloc, r->total.alloc),
            .leak_score = h->allocs > 0 ? 1 - (h->frees + 1) / (h->allocs + 2) : UNKNOWN};
    if (r->heap_cut) /* what was allocated until then is known */
        c->mem->error_mb = c->mem->n_error = c->mem->peak_mb = c->mem->at_peak_mb = c->mem->avg_mb =
            c->mem->live_end_mb = c->mem->leak_score = UNKNOWN;
    if (r->has_gpu)
        *c->dev_mem = (struct model_dev_mem){
            bytes_to_megabytes(s->device_alloc), integer_or_unknown(1, s->device_allocs),
            bytes_to_megabytes(d->peak), bytes_to_megabytes(d->end)};
    c->copy->host_mb = known_or_unknown(r->has_copies, bytes_to_megabytes(s->copied));
    c->copy->host_mb_s =
        known_or_unknown(r->has_copies && !r->copies_cut,
                         share_or_unknown(bytes_to_megabytes(s->copied), ns_to_seconds(wall)));
}

static void fill_gpu(const struct run *r, const struct site *site, const struct row_costs *c)
{
    const struct costs *s = &site->self;
    if (!r->has_gpu)
        return;
    *c->gpu_self = ns_to_seconds(costs_gpu(s));
    *c->gpu_incl = ns_to_seconds(costs_gpu(&site->incl));
    c->gpu->launches = integer_or_unknown(1, s->launches);
    c->gpu->kernel_s = ns_to_seconds(s->gpu_kernel);
    c->gpu->copy_s = ns_to_seconds(s->gpu_copy);
    c->gpu->set_s = ns_to_seconds(s->gpu_set);
    c->gpu->built_s = ns_to_seconds(s->built);
    c->gpu->device_s = ns_to_seconds(s->device);
    if (r->gpu.inside.count) {
        c->gpu->inside_s = ns_to_seconds(s->inside);
        c->gpu->inside_incl_s = ns_to_seconds(site->incl.inside);
    }
    c->gpu->wait_s = ns_to_seconds(s->gpu_wait);
    c->gpu->api_s = ns_to_seconds(s->api);
    c->gpu->share = share_or_unknown(costs_gpu(s), costs_gpu(&r->total));
    c->copy->h2d = files_amount(&s->copy[0]);
    c->copy->d2h = files_amount(&s->copy[1]);
    c->copy->d2d = files_amount(&s->copy[2]);
    c->copy->p2p = files_amount(&s->copy[3]);
    c->copy->pageable_bytes = integer_or_unknown(1, s->pageable);
}

static void files_fill_row(const struct run *r, const struct site *site, const struct row_costs *c)
{
    const struct costs *s = &site->self, *i = &site->incl;
    double cpu = r->total.user + r->total.sys, wall = (double)(r->last - r->origin);
    *c->cpu = cpu_of(r, s);
    *c->incl = (struct model_incl){known_or_unknown(r->has_cpu, ns_to_seconds(i->user)),
                                   known_or_unknown(r->has_cpu, ns_to_seconds(i->sys)),
                                   known_or_unknown(r->has_wait, ns_to_seconds(i->wait)),
                                   share_or_unknown(i->user + i->sys, cpu)};
    fill_memory(r, site, c);
    fill_gpu(r, site, c);
    struct model_scalene *a = c->scalene;
    a->n_cpu_percent_python = 100 * share_or_unknown(s->python, cpu);
    a->n_cpu_percent_c = 100 * share_or_unknown(s->native, cpu);
    a->n_sys_percent = 100 * share_or_unknown(s->sys, cpu);
    int cpus = r->options->cpus;
    a->n_core_utilization = cpus > 0 ? share_or_unknown(s->user + s->sys, wall * cpus) : UNKNOWN;
    a->n_gpu_percent = 100 * c->gpu->share;
    a->n_malloc_mb = c->mem->alloc_mb;
    a->n_mallocs = c->mem->n;
    a->n_peak_mb = a->n_growth_mb = c->mem->peak_mb;
    a->n_avg_mb = c->mem->avg_mb;
    a->n_usage_fraction = c->mem->share;
    a->n_copy_mb_s = c->copy->host_mb_s;
}

/* Sites by file; lines by number before functions by where they begin. */
static int site_by_place(const void *a, const void *b)
{
    const struct site *x = *(struct site *const *)a, *y = *(struct site *const *)b;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    if (!x->line != !y->line)
        return x->line ? -1 : 1;
    int p = x->line ? x->line : x->begins, q = y->line ? y->line : y->begins;
    if (p != q)
        return p < q ? -1 : 1;
    return x->name && y->name ? strcmp(x->name, y->name) : 0;
}

static const char *source_language(const char *path, int python)
{
    static const struct {
        const char *suffix, *language;
    } known_suffixes[] = {{".py", "python"}, {".cu", "cuda"}, {".cuh", "cuda"},
                          {".c", "c"},       {".h", "c"},     {".cc", "c"},
                          {".cpp", "c"},     {".cxx", "c"},   {".hpp", "c"}};
    for (size_t i = 0; i < sizeof known_suffixes / sizeof *known_suffixes; i++)
        if (text_has_suffix(path, known_suffixes[i].suffix))
            return known_suffixes[i].language;
    return python ? "python" : "other";
}

struct kernel_at {
    uint32_t site;
    int rank;
    double n, ns;
};

ARRAY_ORDER(by_site, struct kernel_at, COMPARE(x->site, y->site) ?: COMPARE(y->ns, x->ns));

/* All (site, kernel) pairs, by site and falling time. */
static enum err kernels_at(const struct run *r, struct kernel_at **out, size_t *count)
{
    size_t n = 0;
    for (size_t k = 0; k < r->gpu.kernels.count; k++)
        n += r->gpu.kernels.items[k].launched_at.count;
    struct kernel_at *list = calloc(n + 1, sizeof *list);
    FAIL_IF(!list, ERR_MEMORY, "no memory for the profile");
    *out = list;
    *count = n;
    for (size_t k = 0; k < r->gpu.kernels.count; k++)
        for (size_t i = 0; i < r->gpu.kernels.items[k].launched_at.count; i++) {
            const struct launch_site *s = &r->gpu.kernels.items[k].launched_at.items[i];
            *list++ = (struct kernel_at){s->site, r->gpu.kernels.items[k].rank, s->n, s->ns};
        }
    array_sort(*out, n, sizeof **out, by_site);
    return ERR_OK;
}

/* The first of sorted rows that is of `site`, with which each row begins. */
static size_t rows_first_of(const void *rows, size_t n, size_t size, uint32_t site)
{
    return ARRAY_BOUND(0, n, i, *(const uint32_t *)((const char *)rows + i * size) < site);
}

static enum err top_kernels(struct run *r, struct model_gpu *gpu, uint32_t site,
                            const struct kernel_at *list, size_t n)
{
    size_t low = rows_first_of(list, n, sizeof *list, site), end = low;
    while (end < n && list[end].site == site && end - low < 5)
        end++;
    TRY(model_list(r->m, model_top_kernel, gpu, kernels, end - low));
    for (size_t i = low; i < end; i++)
        gpu->kernels[i - low] = (struct model_top_kernel){
            list[i].rank, integer_or_unknown(1, list[i].n), ns_to_seconds(list[i].ns)};
    return ERR_OK;
}

ARRAY_ORDER(by_line_and_time, struct in_range, COMPARE(x->site, y->site) ?: COMPARE(y->ns, x->ns));

ARRAY_ORDER(by_line_and_cpu, struct in_thread,
            COMPARE(x->site, y->site) ?: COMPARE(y->cpu, x->cpu));

static enum err threads_of(struct run *r, struct model_line *row, uint32_t site)
{
    const struct in_thread *all = r->in_threads.items;
    size_t low = rows_first_of(all, r->in_threads.count, sizeof *all, site), end = low;
    while (end < r->in_threads.count && all[end].site == site)
        end++;
    TRY(model_list(r->m, model_in_thread, row, threads, end - low));
    for (size_t i = low; i < end; i++)
        row->threads[i - low] = (struct model_in_thread){
            (int32_t)all[i].thread, known_or_unknown(r->has_cpu, ns_to_seconds(all[i].cpu)),
            known_or_unknown(r->has_cpu, ns_to_seconds(all[i].incl)),
            known_or_unknown(r->has_wait, ns_to_seconds(all[i].wait)),
            known_or_unknown(r->has_gpu, ns_to_seconds(all[i].gpu))};
    return ERR_OK;
}

static enum err line_ranges(struct run *r, struct model_line *row, uint32_t site)
{
    size_t low = rows_first_of(r->ranges.inside.items, r->ranges.inside.count,
                               sizeof *r->ranges.inside.items, site);
    size_t end = low;
    while (end < r->ranges.inside.count && r->ranges.inside.items[end].site == site &&
           r->ranges.inside.items[end].ns > 0 && end - low < 20)
        end++;
    TRY(model_list(r->m, model_in_range, row, ranges, end - low));
    for (size_t i = low; i < end; i++)
        row->ranges[i - low] = (struct model_in_range){(int32_t)r->ranges.inside.items[i].range,
                                                       ns_to_seconds(r->ranges.inside.items[i].ns)};
    return ERR_OK;
}

static enum err io_of(struct run *r, const struct site *site, struct model_line_io **out)
{
    const struct costs *s = &site->self;
    if (!(s->io_calls > 0))
        return ERR_OK;
    *out = arena_take(r->m->arena, sizeof **out);
    FAIL_IF(!*out, ERR_MEMORY, "no memory for the profile");
    **out = (struct model_line_io){s->io_calls, bytes_to_megabytes(s->io_read),
                                   bytes_to_megabytes(s->io_write), ns_to_seconds(s->io_ns),
                                   ns_to_seconds(s->io_waited)};
    return ERR_OK;
}

static enum err files_rows(struct run *r, struct model_file *f, struct site **sites, size_t n,
                           const struct kernel_at *kernels, size_t kernels_count)
{
    size_t lines = 0;
    while (lines < n && sites[lines]->line)
        lines++;
    TRY(model_list(r->m, model_line, f, lines, lines));
    TRY(model_list(r->m, model_function, f, functions, n - lines));
    for (size_t i = lines; i < n; i++) {
        struct model_function *row = &f->functions[i - lines];
        const struct row_costs c = ROW_COSTS(row);
        files_fill_row(r, sites[i], &c);
        TRY(io_of(r, sites[i], &row->io));
        row->name = sites[i]->name;
        row->line = sites[i]->begins > 0 ? sites[i]->begins : MODEL_UNKNOWN;
        row->scalene.lineno = row->line;
        row->scalene.line = row->name;
        sites[i]->mark = (uint32_t)(i - lines); /* its index, for the lines */
    }
    f->cpu_share = f->gpu_share = 0;
    for (size_t i = 0; i < lines; i++) {
        struct model_line *row = &f->lines[i];
        const struct row_costs c = ROW_COSTS(row);
        files_fill_row(r, sites[i], &c);
        TRY(io_of(r, sites[i], &row->io));
        row->line = row->scalene.lineno = sites[i]->line;
        if (sites[i]->function >= 0)
            row->function = (int32_t)r->sites.items[sites[i]->function].mark;
        if (!r->heap_cut)
            TRY(curve_row(r, sites[i], row));
        TRY(line_ranges(r, row, (uint32_t)(sites[i] - r->sites.items)));
        TRY(threads_of(r, row, (uint32_t)(sites[i] - r->sites.items)));
        f->cpu_share += row->cpu.share;
        f->gpu_share += row->gpu.share;
        TRY(top_kernels(r, &row->gpu, (uint32_t)(sites[i] - r->sites.items), kernels,
                        kernels_count));
    }
    return ERR_OK;
}

static enum err all_files(struct run *r, struct site **sites, const struct kernel_at *kernels,
                          size_t kernels_count)
{
    struct model *m = r->m;
    TRY(model_list(m, model_file, m, files, r->sources.count));
    size_t at = 0;
    for (size_t i = 0; i < r->sources.count; i++) {
        size_t end = at;
        while (end < r->sites.count && sites[end]->file == i)
            end++;
        struct model_file *f = &m->files[i];
        f->path = r->sources.items[i].path;
        f->user = r->sources.items[i].user;
        f->language = source_language(f->path, r->sources.items[i].python);
        TRY(files_rows(r, f, sites + at, end - at, kernels, kernels_count));
        at = end;
    }
    return ERR_OK;
}

static enum err module_rows(struct run *r)
{
    TRY(model_list(r->m, model_module, r->m, unattributed, r->modules.count));
    for (size_t i = 0; i < r->modules.count; i++) {
        struct model_module *row = &r->m->unattributed[i];
        const struct costs *s = &r->module_costs.items[i];
        row->module = r->modules.items[i].name;
        row->cpu = cpu_of(r, s);
        row->gpu_s = known_or_unknown(r->has_gpu, ns_to_seconds(costs_gpu(s)));
        row->alloc_mb = known_or_unknown(r->has_heap, bytes_to_megabytes(s->alloc));
        row->copy_mb = known_or_unknown(r->has_copies, bytes_to_megabytes(s->copied));
    }
    return ERR_OK;
}

enum err build_files(struct run *r)
{
    struct kernel_at *kernels = NULL;
    size_t kernels_count = 0;
    struct site **sites = calloc(r->sites.count + 1, sizeof *sites);
    FAIL_IF(!sites, ERR_MEMORY, "no memory for the profile");
    for (size_t i = 0; i < r->sites.count; i++)
        sites[i] = &r->sites.items[i];
    array_sort(sites, r->sites.count, sizeof *sites, site_by_place);
    vector_sort(&r->ranges.inside, by_line_and_time);
    vector_sort(&r->in_threads, by_line_and_cpu);
    enum err e = kernels_at(r, &kernels, &kernels_count);
    if (e == ERR_OK)
        e = all_files(r, sites, kernels, kernels_count);
    free(kernels);
    free(sites);
    return e == ERR_OK ? module_rows(r) : e;
}

enum err build_totals(struct run *r)
{
    struct model_totals *t = &r->m->totals;
    const struct costs *s = &r->total;
    int gpu = r->has_gpu;
    t->cpu = cpu_of(r, s);
    if (r->has_wait)
        t->wait = (struct model_waits){
            ns_to_seconds(r->waits[TRACE_RUNNABLE]), ns_to_seconds(r->waits[TRACE_SLEEP]),
            ns_to_seconds(r->waits[TRACE_DISK]), ns_to_seconds(r->waits[TRACE_IN_CUDA]),
            ns_to_seconds(r->waits[TRACE_STOPPED])};
    t->gpu_sum_s = known_or_unknown(gpu, ns_to_seconds(costs_gpu(s)));
    t->kernel_s = known_or_unknown(gpu, ns_to_seconds(s->gpu_kernel));
    t->copy_s = known_or_unknown(gpu, ns_to_seconds(s->gpu_copy));
    t->set_s = known_or_unknown(gpu, ns_to_seconds(s->gpu_set));
    t->kernels = integer_or_unknown(gpu, r->gpu.kernels_n);
    t->launches = integer_or_unknown(gpu, r->gpu.launches_n);
    t->launches_without_record = integer_or_unknown(gpu, (double)r->q.unmatched_launches);
    t->no_origin_n = integer_or_unknown(gpu, r->gpu.no_origin_n);
    t->no_origin_s = known_or_unknown(gpu, ns_to_seconds(r->gpu.no_origin_ns));
    t->gpu_wait_s = known_or_unknown(gpu, ns_to_seconds(s->gpu_wait));
    t->api_s = known_or_unknown(gpu, ns_to_seconds(s->api));
    t->h2d_bytes = integer_or_unknown(gpu, s->copy[0].bytes);
    t->d2h_bytes = integer_or_unknown(gpu, s->copy[1].bytes);
    t->alloc_mb = known_or_unknown(r->has_heap, bytes_to_megabytes(s->alloc));
    t->allocs = known_or_unknown(r->has_heap, s->allocs);
    t->copy_mb = known_or_unknown(r->has_copies, bytes_to_megabytes(s->copied));
    return ERR_OK;
}
