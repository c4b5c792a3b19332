/* Adds a device operation, or an allocation of device memory, to the sample context of the call
 * that made it. */
#include "profiler/analyze/attribute/ranges.h"
#include "profiler/analyze/gpu/gpu.h"

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
