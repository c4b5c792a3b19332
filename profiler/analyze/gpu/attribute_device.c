/* At the end of an image: its device time goes to kernels by name and line, to leaves of the
 * stack tree, and to calls by name. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "profiler/analyze/attribute/paths.h"
#include "profiler/analyze/attribute/ranges.h"
#include "profiler/analyze/attribute/sites.h"
#include "profiler/analyze/gpu/gpu.h"
#include "profiler/analyze/gpu/inside.h"

/* Adds a device operation, or an allocation of device memory, to the sample context of the call
 * that made it. */

enum { PAIRS_MAX = 500000, SYNCING_MAX = 200000 };

static enum err activity_pair(struct gpu *g, uint32_t context, uint32_t variant, double ns)
{
    uint64_t key = table_mix(((uint64_t)context << 32) | variant, 7);
    uint32_t index = table_get(&g->pair_by_key, key);
    if (index == TABLE_NONE && g->pairs.count >= PAIRS_MAX)
        index = 0;
    if (index == TABLE_NONE) {
        index = (uint32_t)g->pairs.count;
        TRY(vector_add(&g->pairs, (struct pair){.context = context, .variant = variant}));
        TRY(table_put(&g->pair_by_key, key, index));
    }
    g->pairs.items[index].n++;
    g->pairs.items[index].ns += ns;
    return ERR_OK;
}

enum err gpu_blocked(struct run *r, const struct cuda_call *call)
{
    if (r->gpu.syncing.count >= SYNCING_MAX)
        return ERR_OK;
    TRY(vector_add(&r->gpu.syncing, (struct interval){call->start, call->end}));
    return ERR_OK;
}

static enum err activity_flow(struct image *im, const struct cuda_call *call,
                              const struct activity *a)
{
    const struct flow f = {a->kind == ACTIVITY_KERNEL ? "kernel"
                           : a->kind == ACTIVITY_COPY ? "copy"
                                                      : "set",
                           call->thread,
                           (int32_t)a->device,
                           a->cuda_context,
                           a->stream,
                           call->start,
                           a->start};
    return flows_add(&im->run->flows, &f);
}

enum err gpu_attribute_activity(struct image *im, struct gpu *g, struct cuda_call *call,
                                const struct activity *a)
{
    struct costs *s = &im->contexts.items[call->context].costs;
    double ns = (double)(a->end - a->start), api = (double)(call->end - call->start);
    if (a->kind == ACTIVITY_MEMORY) {
        g->events.items[a->what].context = call->context;
        s->device_alloc += (double)a->bytes;
        s->device_allocs++;
        return ERR_OK;
    }
    im->run->q.before_call += a->start < call->start;
    TRY(activity_flow(im, call, a));
    range_operation(im, call->instance, call->start, a->start, a->end);
    if (a->kind == ACTIVITY_KERNEL) {
        struct variant *v = &g->variants.items[a->what];
        v->api_ns += api;
        v->queue_ns += a->start > call->end ? (double)(a->start - call->end) : 0;
        v->queued_n++;
        s->gpu_kernel += ns;
        return activity_pair(g, call->context, a->what, ns);
    }
    if (a->kind == ACTIVITY_SET) {
        s->gpu_set += ns;
        return ERR_OK;
    }
    s->gpu_copy += ns;
    if (a->direction < DIR_H2H) {
        s->copy[a->direction].n++;
        s->copy[a->direction].bytes += (double)a->bytes;
        s->copy[a->direction].ns += ns;
        s->pageable += a->pageable && a->direction <= DIR_D2H ? (double)a->bytes : 0;
    }
    if (a->synchronous && !call->waited) {
        call->waited = 1;
        s->gpu_wait += api;
        im->run->total.gpu_wait += api;
        return gpu_blocked(im->run, call);
    }
    return ERR_OK;
}

static int same_variant(const struct variant *a, const struct variant *b)
{
    return !memcmp(a->grid, b->grid, sizeof a->grid) &&
           !memcmp(a->block, b->block, sizeof a->block) &&
           !memcmp(a->cluster, b->cluster, sizeof a->cluster) && a->registers == b->registers &&
           a->static_shared == b->static_shared && a->dynamic_shared == b->dynamic_shared &&
           a->carveout == b->carveout && a->device == b->device;
}

/* Moves the image's variants to the run's kernels. */
static enum err merge_variants(struct image *im, struct gpu *g)
{
    struct run *r = im->run;
    for (size_t i = 0; i < g->variants.count; i++) {
        struct variant *v = &g->variants.items[i], *to = NULL;
        TRY(gpu_kernel_of(r, image_string(im, v->name), &v->kernel));
        struct kernel *k = &r->gpu.kernels.items[v->kernel];
        for (size_t n = 0; n < k->variants.count && im->index && n < 64 && !to; n++)
            to = same_variant(&k->variants.items[n], v) ? &k->variants.items[n] : NULL;
        if (to) {
            TRY(dist_merge(&to->time, &v->time));
            to->api_ns += v->api_ns;
            to->queue_ns += v->queue_ns;
            to->queued_n += v->queued_n;
            to->delay_ns += v->delay_ns;
            to->submit_ns += v->submit_ns;
            to->delayed_n += v->delayed_n;
        } else {
            TRY(vector_add(&k->variants, *v));
            v->time = (struct dist){0}; /* it is the run's now */
        }
    }
    for (size_t i = 0; i < r->timeline.count; i++) {
        struct timeline_track *l = &r->timeline.items[i];
        for (size_t n = 0;
             l->process == im->index && !strcmp(l->kind, "kernel") && n < l->track.count; n++)
            l->track.events[n].what = g->variants.items[l->track.events[n].what].kernel;
    }
    return ERR_OK;
}

enum err gpu_launched_at(struct kernel *k, uint32_t site, double n, double ns)
{
    uint32_t at = table_get(&k->launched_at_by_site, site);
    if (at == TABLE_NONE) {
        at = (uint32_t)k->launched_at.count;
        TRY(vector_add(&k->launched_at, (struct launch_site){.site = site}));
        TRY(table_put(&k->launched_at_by_site, site, at));
    }
    k->launched_at.items[at].n += n;
    k->launched_at.items[at].ns += ns;
    return ERR_OK;
}

static enum err attribute_pairs(struct image *im, struct gpu *g)
{
    struct run *r = im->run;
    for (size_t i = 0; i < g->pairs.count; i++) {
        const struct pair *p = &g->pairs.items[i];
        uint32_t kernel = g->variants.items[p->variant].kernel;
        const struct sample_context *s = &im->contexts.items[p->context];
        TRY(attribute_device_leaf(im, p->context, r->gpu.kernels.items[kernel].mangled, "kernel",
                                  p->ns));
        if (s->site >= 0)
            TRY(gpu_launched_at(&r->gpu.kernels.items[kernel], (uint32_t)s->site, p->n, p->ns));
    }
    static const char *const names[] = {"[copy h2d]", "[copy d2h]", "[copy d2d]", "[copy p2p]"};
    for (size_t i = 0; i < im->contexts.count; i++) {
        struct costs s = im->contexts.items[i].costs;
        for (int d = 0; d < 4; d++) {
            TRY(attribute_device_leaf(im, (uint32_t)i, names[d], "copy", s.copy[d].ns));
            s.gpu_copy -= s.copy[d].ns;
        }
        TRY(attribute_device_leaf(im, (uint32_t)i, "[copy]", "copy", s.gpu_copy));
        TRY(attribute_device_leaf(im, (uint32_t)i, "[memset]", "set", s.gpu_set));
    }
    return ERR_OK;
}

static enum err attribute_calls(struct image *im, struct gpu *g)
{
    struct run *r = im->run;
    for (size_t i = 0; i < g->names.count; i++) {
        const char *name = image_string(im, g->names.items[i].name);
        struct counter *t =
            counter_of(&r->gpu.apis, NULL, run_text(r, name ? name : "[unknown call]"),
                       g->names.items[i].api_class, 0, 0, 0);
        FAIL_IF(!t, ERR_MEMORY, "no memory for the calls");
        t->errors += g->names.items[i].errors;
        TRY(dist_merge(&t->time, &g->names.items[i].time));
    }
    return ERR_OK;
}

/* Finds the lines where kernels begin, by the device code that the capture saved. */
static enum err find_lines(struct image *im, struct gpu *g)
{
    struct run *r = im->run;
    for (size_t i = 0; i < g->cubins.count; i++) {
        char path[4200], *bytes = NULL;
        size_t n;
        struct cubin *c = NULL;
        snprintf(path, sizeof path, "%s/cubin-%016llx.bin", r->folder,
                 (unsigned long long)g->cubins.items[i]);
        if (file_read_all(path, 256u << 20, &bytes, &n) != ERR_OK ||
            cubin_open(bytes, n, path, &c) != ERR_OK) {
            free(bytes);
            r->q.cubins_bad++;
            continue;
        }
        free(bytes);
        const enum err e = inside_resolve(im, g, c, g->cubins.items[i]);
        for (size_t k = 0; k < r->gpu.kernels.count; k++) {
            struct cubin_kernel found;
            if (r->gpu.kernels.items[k].file ||
                !cubin_kernel(c, r->gpu.kernels.items[k].mangled, &found) || !found.begin.file ||
                found.begin.line <= 0)
                continue;
            const char *recorded = run_text(r, found.begin.file);
            r->gpu.kernels.items[k].recorded = recorded;
            r->gpu.kernels.items[k].file = path_shown(r, recorded);
            r->gpu.kernels.items[k].line = found.begin.line;
        }
        cubin_free(c);
        TRY(e);
    }
    return inside_rest(im, g);
}

enum err gpu_attribute_image(struct image *im, void *state)
{
    TRY(merge_variants(im, state));
    TRY(attribute_pairs(im, state));
    TRY(attribute_calls(im, state));
    TRY(find_lines(im, state));
    return gpu_attribute_memory(im, state);
}
