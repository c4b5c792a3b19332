/* At the end of an image: its device time goes to kernels by name and line, to leaves of the
 * stack tree, and to calls by name. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "profiler/analyze/attribute/paths.h"
#include "profiler/analyze/attribute/sites.h"
#include "profiler/analyze/gpu/gpu.h"
#include "profiler/analyze/symbols/cubin.h"

enum err gpu_kernel_of(struct run *r, const char *mangled, uint32_t *index)
{
    const char *name = run_text(r, mangled ? mangled : "[unknown kernel]");
    FAIL_IF(!name, ERR_MEMORY, "no memory for the kernels");
    *index = table_get(&r->gpu.kernel_by_name, (uintptr_t)name);
    if (*index != TABLE_NONE)
        return ERR_OK;
    *index = (uint32_t)r->gpu.kernels.count;
    TRY(vector_add(&r->gpu.kernels, (struct kernel){.mangled = name}));
    return table_put(&r->gpu.kernel_by_name, (uintptr_t)name, *index);
}

static int same_variant(const struct variant *a, const struct variant *b)
{
    return !memcmp(a->grid, b->grid, sizeof a->grid) &&
           !memcmp(a->block, b->block, sizeof a->block) &&
           !memcmp(a->cluster, b->cluster, sizeof a->cluster) && a->registers == b->registers &&
           a->static_shared == b->static_shared && a->dynamic_shared == b->dynamic_shared &&
           a->device == b->device;
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
    }
    return ERR_OK;
}

enum err gpu_attribute_image(struct image *im, void *state)
{
    TRY(merge_variants(im, state));
    TRY(attribute_pairs(im, state));
    TRY(attribute_calls(im, state));
    TRY(find_lines(im, state));
    return gpu_attribute_memory(im, state);
}
