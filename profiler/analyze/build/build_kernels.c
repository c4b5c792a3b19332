/* Rows of the model for kernels, with their launch configurations, occupancy and launching
 * lines. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profiler/analyze/attribute/stack_tree.h"
#include "profiler/analyze/attribute/sites.h"
#include "profiler/analyze/build/build.h"
#include "profiler/analyze/build/stat.h"
#include "profiler/analyze/gpu/gpu.h"
#include "profiler/analyze/gpu/occupancy.h"
#include "profiler/analyze/symbols/demangle.h"

enum { VARIANTS_SHOWN = 16, PLACES_SHOWN = 16 };

static int kernel_by_total(const void *a, const void *b)
{
    const struct kernel *x = *(struct kernel *const *)a, *y = *(struct kernel *const *)b;
    if (x->total < y->total || x->total > y->total)
        return x->total < y->total ? 1 : -1;
    return strcmp(x->readable ? x->readable : x->mangled, y->readable ? y->readable : y->mangled);
}

ARRAY_ORDER(by_time, struct variant, COMPARE(y->time.sum, x->time.sum));

ARRAY_ORDER(by_ns, struct launch_site, COMPARE(y->ns, x->ns));

static enum err kernel_triple(struct run *r, const uint32_t from[3], int64_t **to, int *count)
{
    int64_t *v = arena_take(r->m->arena, 3 * sizeof *v);
    FAIL_IF(!v, ERR_MEMORY, "no memory for the profile");
    for (int i = 0; i < 3; i++)
        v[i] = from[i];
    *to = v;
    *count = 3;
    return ERR_OK;
}

static int64_t number_or_unknown(uint32_t v)
{
    return v == VARIANT_UNKNOWN ? MODEL_UNKNOWN : (int64_t)v;
}

static enum err variant_row(struct run *r, struct variant *v, struct model_variant *row)
{
    if (v->grid[0] != VARIANT_UNKNOWN)
        TRY(kernel_triple(r, v->grid, &row->grid, &row->grid_count));
    if (v->block[0] != VARIANT_UNKNOWN)
        TRY(kernel_triple(r, v->block, &row->block, &row->block_count));
    if (v->cluster[0] != VARIANT_UNKNOWN)
        TRY(kernel_triple(r, v->cluster, &row->cluster, &row->cluster_count));
    row->registers = number_or_unknown(v->registers);
    row->static_shared = number_or_unknown(v->static_shared);
    row->dynamic_shared = number_or_unknown(v->dynamic_shared);
    row->carveout_bytes = number_or_unknown(v->carveout);
    row->local_bytes = v->local_bytes < 1ull << 53 ? (int64_t)v->local_bytes : MODEL_UNKNOWN;
    row->time = stat_of(&v->time);
    const struct trace_device *d = &r->gpu.devices.items[v->device].d;
    uint64_t threads = (uint64_t)v->block[0] * v->block[1];
    threads = threads <= 4096 ? threads * v->block[2] : 0;
    struct occupancy o =
        occupancy_of(d, threads, v->registers, (uint64_t)v->static_shared + v->dynamic_shared);
    row->occupancy = o.share;
    row->limiter = o.limiter;
    double blocks = (double)v->grid[0] * v->grid[1] * v->grid[2];
    if (o.blocks && d->multiprocessors)
        row->waves = blocks / ((double)o.blocks * d->multiprocessors);
    if (v->occupancy > 0) {
        row->occupancy = v->occupancy;
        row->waves = v->waves;
    }
    return ERR_OK;
}

static enum err build_kernel_row(struct run *r, struct kernel *k, struct model_kernel *row)
{
    struct dist all = {0};
    enum err e = ERR_OK;
    double api = 0, queue = 0, ns = 0, delay = 0, submit = 0, delayed = 0;
    for (size_t i = 0; i < k->variants.count && e == ERR_OK; i++) {
        e = dist_merge(&all, &k->variants.items[i].time);
        api += k->variants.items[i].api_ns;
        queue += k->variants.items[i].queue_ns;
        delay += k->variants.items[i].delay_ns;
        submit += k->variants.items[i].submit_ns;
        delayed += k->variants.items[i].delayed_n;
        ns += k->variants.items[i].time.sum;
    }
    row->time = stat_of(&all);
    dist_free(&all);
    TRY(e);
    char *readable = k->readable ? NULL : demangle(k->mangled);
    row->name = k->readable ? k->readable : run_text(r, readable ? readable : k->mangled);
    free(readable);
    if (k->counted) {
        row->dram_read_bytes = k->counted->dram_read;
        row->dram_write_bytes = k->counted->dram_write;
        row->compute_share = k->counted->compute / ns;
        row->memory_share = k->counted->memory / ns;
        row->occupancy_achieved = k->counted->achieved / ns;
    }
    row->mangled = k->mangled;
    row->file = k->file;
    row->line = k->line > 0 ? k->line : MODEL_UNKNOWN;
    row->api_s = ns_to_seconds(api);
    row->queue_s = ns_to_seconds(queue);
    row->queue_delay_s = delayed > 0 ? ns_to_seconds(delay / delayed) : (double)NAN;
    row->submit_delay_s = delayed > 0 ? ns_to_seconds(submit / delayed) : (double)NAN;
    row->share_of_kernel_time = k->total / r->total.gpu_kernel;
    row->share_of_wall = k->total / (double)(r->last - r->origin);
    vector_sort(&k->variants, by_time);
    size_t configurations = k->variants.count;
    if (configurations == 1 && number_or_unknown(k->variants.items[0].grid[0]) == MODEL_UNKNOWN &&
        number_or_unknown(k->variants.items[0].registers) == MODEL_UNKNOWN)
        configurations = 0; /* a capture that does not tell them */
    size_t shown = configurations < VARIANTS_SHOWN ? configurations : VARIANTS_SHOWN;
    TRY(model_list(r->m, model_variant, row, variants, shown));
    row->variants_left_out = (int64_t)(configurations - shown);
    for (size_t i = 0; i < shown; i++)
        TRY(variant_row(r, &k->variants.items[i], &row->variants[i]));
    vector_sort(&k->launched_at, by_ns);
    shown = k->launched_at.count < PLACES_SHOWN ? k->launched_at.count : PLACES_SHOWN;
    TRY(model_list(r->m, model_place, row, launched_at, shown));
    for (size_t i = 0; i < shown; i++) {
        const struct launch_site *at = &k->launched_at.items[i];
        const struct site *s = &r->sites.items[at->site];
        row->launched_at[i] = (struct model_place){r->sources.items[s->file].path, s->line,
                                                   (int64_t)at->n, ns_to_seconds(at->ns)};
    }
    return ERR_OK;
}

/* A kernel's own line, where its code begins, shows its time too. */
static enum err attribute_to_kernel_line(struct run *r, const struct kernel *k, const char *name)
{
    int line, function;
    if (!k->recorded)
        return ERR_OK;
    TRY(site_of(r, k->recorded, k->line, NULL, 0, &line));
    TRY(site_of(r, k->recorded, 0, name, k->line, &function));
    r->sites.items[line].self.device += k->total;
    r->sites.items[function].self.device += k->total;
    if (r->sites.items[line].function < 0)
        r->sites.items[line].function = function;
    r->sources.items[r->sites.items[line].file].user = 1;
    return ERR_OK;
}

static enum err kernels_ranked(struct run *r, struct kernel **order, size_t used)
{
    array_sort(order, used, sizeof *order, kernel_by_total);
    for (size_t i = 0; i < used; i++)
        order[i]->rank = (int)i;
    TRY(model_list(r->m, model_kernel, r->m, kernels, used));
    for (size_t i = 0; i < used; i++) {
        TRY(build_kernel_row(r, order[i], &r->m->kernels[i]));
        TRY(attribute_to_kernel_line(r, order[i], r->m->kernels[i].name));
    }
    return ERR_OK;
}

enum err build_kernels(struct run *r)
{
    struct kernel **order = calloc(r->gpu.kernels.count + 1, sizeof *order);
    FAIL_IF(!order, ERR_MEMORY, "no memory for the profile");
    for (size_t i = 0; i < r->gpu.kernels.count; i++) {
        order[i] = &r->gpu.kernels.items[i];
        for (size_t n = 0; n < order[i]->variants.count; n++)
            order[i]->total += order[i]->variants.items[n].time.sum;
    }
    enum err e = kernels_ranked(r, order, r->gpu.kernels.count);
    free(order);
    for (size_t i = 0; i < r->timeline.count; i++) {
        struct timeline_track *l = &r->timeline.items[i];
        for (size_t n = 0; !strcmp(l->kind, "kernel") && n < l->track.count; n++)
            l->track.events[n].what = (uint32_t)r->gpu.kernels.items[l->track.events[n].what].rank;
    }
    return e;
}
