/* Takes the device's records of an image: kernels, copies, memsets, memory, calls, graph nodes. */
#include <stdlib.h>
#include <string.h>

#include "profiler/analyze/attribute/ranges.h"
#include "profiler/analyze/gpu/clock.h"
#include "profiler/analyze/gpu/gpu.h"
#include "profiler/analyze/gpu/inside.h"

enum { EVENTS_MAX = 1000000, VARIANTS_MAX = 60000 };

static enum err gpu_create(struct image *im, void *state)
{
    struct gpu *g = state;
    (void)im;
    TRY(correlate_create(&g->correlator));
    return utilization_create(&g->utilization);
}

static void gpu_free(struct image *im, void *state)
{
    struct gpu *g = state;
    (void)im;
    correlate_free(g->correlator);
    utilization_free(g->utilization);
    for (size_t i = 0; i < g->variants.count; i++)
        dist_free(&g->variants.items[i].time);
    for (size_t i = 0; i < g->names.count; i++)
        dist_free(&g->names.items[i].time);
    vector_free(&g->variants);
    vector_free(&g->pairs);
    vector_free(&g->events);
    vector_free(&g->nodes);
    vector_free(&g->names);
    vector_free(&g->cubins);
    table_free(&g->variant_by_key);
    table_free(&g->pair_by_key);
    table_free(&g->node_by_id);
    table_free(&g->name_by_id);
    vector_free(&g->more);
    vector_free(&g->instructions.list);
    table_free(&g->instructions.by_key);
    table_free(&g->device_by_id);
    clock_free(g);
}

/* Finds the run's device behind an image's device number. */
static enum err gpu_device(struct image *im, struct gpu *g, uint32_t id, uint32_t *index)
{
    struct run *r = im->run;
    *index = table_get(&g->device_by_id, id);
    if (*index != TABLE_NONE)
        return ERR_OK;
    *index = (uint32_t)r->gpu.devices.count;
    TRY(vector_add(&r->gpu.devices, (struct run_device){.d.id = id}));
    return table_put(&g->device_by_id, id, *index);
}

static enum err gpu_device_record(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_device *d = (const void *)item->record;
    struct gpu *g = state;
    static const uint8_t none[16];
    struct run *r = im->run;
    uint32_t index = table_get(&g->device_by_id, d->id);
    for (uint32_t i = 0; i < r->gpu.devices.count && index == TABLE_NONE; i++)
        if (memcmp(d->uuid, none, 16) && !memcmp(r->gpu.devices.items[i].d.uuid, d->uuid, 16)) {
            index = i; /* as another process saw it */
            TRY(table_put(&g->device_by_id, d->id, i));
        }
    TRY(gpu_device(im, g, d->id, &index));
    r->gpu.devices.items[index].d = *d;
    r->gpu.devices.items[index].name = arena_text_n(r->m->arena, item->tail, d->name_bytes);
    return ERR_OK;
}

static enum err gpu_find_node(struct gpu *g, uint64_t id, struct graph_node **out)
{
    uint32_t index = table_get(&g->node_by_id, id);
    if (index == TABLE_NONE) {
        index = (uint32_t)g->nodes.count;
        TRY(vector_add(&g->nodes, (struct graph_node){.id = id}));
        TRY(table_put(&g->node_by_id, id, index));
    }
    *out = &g->nodes.items[index];
    return ERR_OK;
}

/* Adds the common part of kernels, copies and memsets. */
static enum err gpu_operation(struct image *im, struct gpu *g, const struct activity *a,
                              uint64_t node, const struct device_operation *o)
{
    struct run_device *d = &im->run->gpu.devices.items[o->device];
    double ns = (double)(a->end - a->start);
    d->first = d->sum > 0 && d->first < a->start ? d->first : a->start;
    d->last = d->last > a->end ? d->last : a->end;
    d->sum += ns;
    if (node) {
        struct graph_node *n;
        TRY(gpu_find_node(g, node, &n));
        n->ns += ns;
    }
    struct activity placed = *a;
    placed.device = o->device;
    placed.cuda_context = o->cuda_context;
    placed.stream = o->stream;
    TRY(utilization_add(im, g->utilization, o));
    return correlate_activity(im, g, &placed);
}

static enum err variant_of(struct gpu *g, const struct trace_kernel *k, uint32_t dev,
                           uint32_t *index)
{
    struct variant v = {.name = k->name,
                        .registers = k->registers,
                        .static_shared = k->static_shared,
                        .dynamic_shared = k->dynamic_shared,
                        .carveout = k->shared_executed ? k->shared_executed : VARIANT_UNKNOWN,
                        .device = dev,
                        .local_bytes = k->local_bytes,
                        .kernel = TABLE_NONE};
    memcpy(v.grid, k->grid, sizeof v.grid);
    memcpy(v.block, k->block, sizeof v.block);
    memcpy(v.cluster, k->cluster, sizeof v.cluster);
    if (k->launch_type == TRACE_LAUNCH_GRAPH) {
        v.grid[0] = v.block[0] = v.cluster[0] = v.registers = VARIANT_UNKNOWN;
        v.static_shared = v.dynamic_shared = v.carveout = VARIANT_UNKNOWN;
        v.local_bytes = UINT64_MAX;
    }
    uint64_t key = table_hash(&v, offsetof(struct variant, device) + sizeof v.device);
    *index = table_get(&g->variant_by_key, key);
    if (*index != TABLE_NONE)
        return ERR_OK;
    if (g->variants.count >= VARIANTS_MAX) {
        *index = 0;
        return ERR_OK;
    }
    *index = (uint32_t)g->variants.count;
    TRY(vector_add(&g->variants, v));
    return table_put(&g->variant_by_key, key, *index);
}

/* Both are of CUPTI's clock, whose steps between host and device may put them in the other order. */
static double ns_after(uint64_t from, uint64_t to)
{
    return to > from ? (double)(to - from) : 0;
}

static enum err gpu_kernel(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_kernel *k = (const void *)item->record;
    struct gpu *g = state;
    struct activity a = {.kind = ACTIVITY_KERNEL, .correlation = k->correlation};
    struct device_operation o = {
        .cuda_context = k->context, .stream = k->stream, .graph = k->graph != 0};
    im->run->gpu.kernels_n++;
    TRY(clock_need(im, g));
    if (!gpu_times(im, g, k->start, k->end, &a.start, &a.end))
        return ERR_OK;
    TRY(gpu_device(im, g, k->device, &o.device));
    TRY(variant_of(g, k, o.device, &a.what));
    struct variant *v = &g->variants.items[a.what];
    TRY(dist_add(&v->time, a.end - a.start));
    if (k->queued) {
        v->delay_ns += ns_after(k->queued, k->start);
        v->submit_ns += ns_after(k->queued, k->submitted);
        v->delayed_n++;
    }
    o.start = a.start;
    o.end = a.end;
    o.what = a.what;
    o.kind = ACTIVITY_KERNEL;
    im->run->total.gpu_kernel += (double)(a.end - a.start);
    return gpu_operation(im, g, &a, k->graph_node, &o);
}

static enum direction direction_of(uint32_t kind)
{
    static const uint8_t of[] = {
        [TRACE_COPY_UNKNOWN] = DIR_OTHER, [TRACE_COPY_HTOD] = DIR_H2D,
        [TRACE_COPY_DTOH] = DIR_D2H,      [TRACE_COPY_HTOA] = DIR_H2D,
        [TRACE_COPY_ATOH] = DIR_D2H,      [TRACE_COPY_ATOA] = DIR_D2D,
        [TRACE_COPY_ATOD] = DIR_D2D,      [TRACE_COPY_DTOA] = DIR_D2D,
        [TRACE_COPY_DTOD] = DIR_D2D,      [TRACE_COPY_HTOH] = DIR_H2H,
        [TRACE_COPY_PTOP] = DIR_P2P,      [TRACE_COPY_DECOMPRESS] = DIR_DECOMPRESS};
    return kind < sizeof of ? of[kind] : DIR_OTHER;
}

static enum err gpu_copy(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_gpu_copy *c = (const void *)item->record;
    struct gpu *g = state;
    struct run *r = im->run;
    struct activity a = {.kind = ACTIVITY_COPY, .correlation = c->correlation, .bytes = c->bytes};
    struct device_operation o = {
        .cuda_context = c->context, .stream = c->stream, .graph = c->graph != 0};
    TRY(clock_need(im, g));
    if (!gpu_times(im, g, c->start, c->end, &a.start, &a.end))
        return ERR_OK;
    if (c->bytes > 1ull << 53) {
        r->q.bad_values++;
        a.bytes = 0;
    }
    a.direction = (uint16_t)direction_of(c->kind);
    a.pageable = c->from == TRACE_MEMORY_PAGEABLE || c->to == TRACE_MEMORY_PAGEABLE;
    a.synchronous = !c->asynchronous;
    TRY(gpu_device(im, g, c->device, &o.device));
    struct counter *t =
        counter_of(&r->gpu.transfers, NULL, NULL, a.direction, c->from < 8 ? c->from : 0,
                   c->to < 8 ? c->to : 0, c->asynchronous != 0);
    FAIL_IF(!t, ERR_MEMORY, "no memory for the transfers");
    t->value += (double)a.bytes;
    TRY(dist_add(&t->time, a.end - a.start));
    a.what = o.what = (uint32_t)(t - r->gpu.transfers.items);
    o.start = a.start;
    o.end = a.end;
    o.kind = ACTIVITY_COPY;
    r->total.gpu_copy += (double)(a.end - a.start);
    if (a.direction < DIR_H2H) {
        r->total.copy[a.direction].n++;
        r->total.copy[a.direction].bytes += (double)a.bytes;
    }
    return gpu_operation(im, g, &a, c->graph_node, &o);
}

static enum err gpu_set(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_gpu_set *s = (const void *)item->record;
    struct gpu *g = state;
    struct run *r = im->run;
    struct activity a = {.kind = ACTIVITY_SET, .correlation = s->correlation, .bytes = s->bytes};
    struct device_operation o = {
        .cuda_context = s->context, .stream = s->stream, .graph = s->graph != 0};
    TRY(clock_need(im, g));
    if (!gpu_times(im, g, s->start, s->end, &a.start, &a.end))
        return ERR_OK;
    TRY(gpu_device(im, g, s->device, &o.device));
    struct counter *t =
        counter_of(&r->gpu.sets, NULL, NULL, s->memory_kind < 8 ? s->memory_kind : 0, 0, 0, 0);
    FAIL_IF(!t, ERR_MEMORY, "no memory for the memsets");
    t->value += (double)s->bytes;
    TRY(dist_add(&t->time, a.end - a.start));
    o.what = (uint32_t)(t - r->gpu.sets.items);
    o.start = a.start;
    o.end = a.end;
    o.kind = ACTIVITY_SET;
    r->total.gpu_set += (double)(a.end - a.start);
    return gpu_operation(im, g, &a, s->graph_node, &o);
}

static enum err gpu_memory(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_gpu_memory *m = (const void *)item->record;
    struct gpu *g = state;
    int on_device = m->memory_kind == TRACE_MEMORY_DEVICE || m->memory_kind == TRACE_MEMORY_ARRAY ||
                    m->memory_kind == TRACE_MEMORY_DEVICE_STATIC;
    TRY(clock_need(im, g));
    if (m->operation < 1 || m->operation > 2 || !on_device)
        return ERR_OK; /* pools hold what is in other records, host memory is the heap's */
    if (g->events.count >= EVENTS_MAX || m->bytes > 1ull << 53) {
        im->run->q.heap_full++;
        return ERR_OK;
    }
    struct memory_event e = {.address = m->address,
                             .bytes = m->bytes,
                             .context = TABLE_NONE,
                             .order = (uint32_t)g->events.count,
                             .allocate = m->operation == 1};
    e.time = image_time(im, clock_of(g, m->at));
    TRY(gpu_device(im, g, m->device, &e.device));
    TRY(vector_add(&g->events, e));
    struct activity a = {.kind = ACTIVITY_MEMORY,
                         .correlation = m->correlation,
                         .start = e.time,
                         .end = e.time,
                         .bytes = m->bytes,
                         .what = e.order};
    return e.allocate ? correlate_activity(im, g, &a) : ERR_OK;
}

static enum err gpu_call_name(struct gpu *g, const struct trace_api *r, struct call_name **out)
{
    uint32_t index = table_get(&g->name_by_id, r->name);
    if (index == TABLE_NONE && g->names.count >= 4096)
        index = 0;
    if (index == TABLE_NONE) {
        index = (uint32_t)g->names.count;
        TRY(vector_add(&g->names, (struct call_name){.name = r->name, .api_class = r->api_class}));
        TRY(table_put(&g->name_by_id, r->name, index));
    }
    *out = &g->names.items[index];
    return ERR_OK;
}

/* Correlation ids of records that precede theirs wait. */
static void more_ids(struct call_ids *more, const struct trace_api *r)
{
    int room = (int)(sizeof more->id / sizeof *more->id);
    for (uint32_t i = 0; i < r->correlations && i < 4 && more->count < room; i++)
        more->id[more->count++] = r->correlation[i];
}

static enum err gpu_calls(struct image *im, struct gpu *g, struct call_ids *more,
                          const struct trace_api *r, struct cuda_call call)
{
    more_ids(more, r);
    for (int i = 0; i < more->count; i += 4) {
        call.correlations = (uint8_t)(more->count - i < 4 ? more->count - i : 4);
        memcpy(call.correlation, more->id + i, call.correlations * sizeof *more->id);
        TRY(correlate_call(im, g, &call));
        call.expected = 0; /* one record of the call is enough */
    }
    more->count = 0;
    return ERR_OK;
}

static enum err gpu_api(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_api *r = (const void *)item->record;
    struct gpu *g = state;
    struct run *run = im->run;
    struct thread *t;
    TRY(image_thread(im, r->tid, &t));
    TRY(vector_room(&g->more, im->threads.count));
    struct call_ids *more = &g->more.items[t - im->threads.items];
    if (r->flags & TRACE_API_MORE) {
        more_ids(more, r);
        return ERR_OK;
    }
    if (r->end_ns < r->start_ns) {
        run->q.bad_values++;
        return ERR_OK;
    }
    if (image_left_out(im, r->start_ns)) {
        more->count = 0;
        return ERR_OK;
    }
    struct cuda_call call = {.start = image_time(im, r->start_ns),
                             .end = image_time(im, r->end_ns),
                             .instance = range_now(im, t),
                             .thread = t->row,
                             .api_class = (uint8_t)r->api_class};
    call.end = call.end > call.start ? call.end : call.start;
    int captured = r->flags & TRACE_API_CAPTURED;
    TRY(image_context(im, r->tid, r->stack, 0, &call.context));
    struct costs *s = &im->contexts.items[call.context].costs;
    double ns = (double)(call.end - call.start);
    s->api += ns;
    run->total.api += ns;
    if (r->api_class == TRACE_API_LAUNCH && !captured && !r->result) {
        s->launches++;
        run->gpu.launches_n++;
        call.expected = 1;
    }
    if (r->api_class == TRACE_API_SYNC) {
        s->gpu_wait += ns;
        run->total.gpu_wait += ns;
        TRY(gpu_blocked(run, &call));
    }
    struct call_name *name;
    TRY(gpu_call_name(g, r, &name));
    name->errors += r->result != 0;
    TRY(dist_add(&name->time, call.end - call.start));
    if (captured || r->result) {
        more->count = 0;
        return ERR_OK;
    }
    return gpu_calls(im, g, more, r, call);
}

static enum err gpu_graph_node(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_graph_node *n = (const void *)item->record;
    struct graph_node *node;
    (void)im;
    TRY(gpu_find_node(state, n->node, &node));
    /* Instantiation reports a node twice, as a clone and as a new one, in any order. */
    if (n->original)
        node->original = n->original;
    if (node->stack && n->cloned)
        return ERR_OK;
    node->stack = n->stack;
    node->tid = item->tid;
    return ERR_OK;
}

static enum err gpu_cubin(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_cubin *c = (const void *)item->record;
    struct gpu *g = state;
    (void)im;
    for (size_t i = 0; i < g->cubins.count; i++)
        if (g->cubins.items[i] == c->hash)
            return ERR_OK;
    if (!c->saved || g->cubins.count >= 4096)
        return ERR_OK;
    return vector_add(&g->cubins, c->hash);
}

static enum err gpu_fact(struct image *im, void *state, const struct trace_item *item)
{
    struct gpu *g = state;
    const char *clock;
    TRY(collector_fact(im, item, "cupti.clock", &clock));
    g->monotonic = clock ? !strcmp(clock, "monotonic") : g->monotonic;
    return ERR_OK;
}

/* Only says that there was CUDA. */
static enum err gpu_seen(struct image *im, void *state, const struct trace_item *item)
{
    (void)im, (void)state, (void)item;
    return ERR_OK;
}

static enum err gpu_finish(struct image *im, void *state)
{
    struct gpu *g = state;
    im->run->q.no_clock += (uint64_t)clock_unknown(g);
    TRY(correlate_finish(im, g));
    TRY(utilization_finish(im, g->utilization));
    for (size_t i = 0; i < g->nodes.count; i++) { /* a clone was built where its original was */
        struct graph_node *n = &g->nodes.items[i], *from = n;
        for (int depth = 0; from->original && depth < 16; depth++) {
            uint32_t o = table_get(&g->node_by_id, from->original);
            if (o == TABLE_NONE || !g->nodes.items[o].stack)
                break;
            from = &g->nodes.items[o];
        }
        uint32_t context;
        if (n->ns <= 0 || !from->stack)
            continue;
        TRY(image_context(im, from->tid, from->stack, 0, &context));
        im->contexts.items[context].costs.built += n->ns;
    }
    return ERR_OK;
}

#define KIND(name, record)                                                                         \
    {                                                                                              \
        TRACE_##name, record, 0, COLLECTED_FLAG(has_gpu)                                           \
    }
static const struct collected kinds[] = {
    {TRACE_META, gpu_fact, 0, 0},
    KIND(API, gpu_api),
    KIND(KERNEL, gpu_kernel),
    KIND(GPU_COPY, gpu_copy),
    KIND(GPU_SET, gpu_set),
    KIND(GPU_SYNC, gpu_sync),
    KIND(GPU_MEMORY, gpu_memory),
    KIND(GPU_OVERHEAD, gpu_overhead),
    KIND(DEVICE, gpu_device_record),
    KIND(CONTEXT, gpu_seen),
    KIND(GPU_STREAM, gpu_seen),
    KIND(GRAPH_NODE, gpu_graph_node),
    KIND(CUBIN, gpu_cubin),
    KIND(GPU_FAULT, gpu_fault),
    KIND(GPU_SAMPLES, inside_samples),
};
const struct collector collector_gpu = {.state_bytes = sizeof(struct gpu),
                                        COLLECTED(kinds),
                                        .create = gpu_create,
                                        .finish = gpu_finish,
                                        .attribute = gpu_attribute_image,
                                        .free = gpu_free};
