/* Takes the device's records of an image: kernels, copies, memsets, memory, calls, graph nodes. */
#include <stdlib.h>
#include <string.h>

#include "profiler/analyze/attribute/ranges.h"
#include "profiler/analyze/gpu/clock.h"
#include "profiler/analyze/gpu/gpu.h"

enum { EVENTS_MAX = 1000000, VARIANTS_MAX = 60000 };

static enum err create(struct image *im)
{
    im->gpu = calloc(1, sizeof *im->gpu);
    FAIL_IF(!im->gpu, ERR_MEMORY, "no memory for the analysis");
    TRY(correlate_create(&im->gpu->correlator));
    return utilization_create(&im->gpu->utilization);
}

static void destroy(struct image *im)
{
    struct gpu *g = im->gpu;
    if (!g)
        return;
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
    table_free(&g->device_by_id);
    free(g);
}

/* The run's device behind an image's device number. */
enum err gpu_device(struct image *im, uint32_t id, uint32_t *index)
{
    struct run *r = im->run;
    *index = table_get(&im->gpu->device_by_id, id);
    if (*index != TABLE_NONE)
        return ERR_OK;
    *index = (uint32_t)r->devices.count;
    TRY(vector_add(&r->devices, (struct run_device){.d.id = id}));
    return table_put(&im->gpu->device_by_id, id, *index);
}

static enum err device(struct image *im, const struct trace_device *d, const char *tail)
{
    static const uint8_t none[16];
    struct run *r = im->run;
    uint32_t index = table_get(&im->gpu->device_by_id, d->id);
    for (uint32_t i = 0; i < r->devices.count && index == TABLE_NONE; i++)
        if (memcmp(d->uuid, none, 16) && !memcmp(r->devices.items[i].d.uuid, d->uuid, 16)) {
            index = i; /* as another process saw it */
            TRY(table_put(&im->gpu->device_by_id, d->id, i));
        }
    TRY(gpu_device(im, d->id, &index));
    r->devices.items[index].d = *d;
    r->devices.items[index].name = arena_text_n(r->m->arena, tail, d->name_bytes);
    return ERR_OK;
}

static enum err node_of(struct gpu *g, uint64_t id, struct graph_node **out)
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

/* What kernels, copies and memsets have in common. */
static enum err operation(struct image *im, const struct activity *a, uint64_t node,
                          const struct device_operation *o)
{
    struct run_device *d = &im->run->devices.items[o->device];
    double ns = (double)(a->end - a->start);
    d->first = d->sum > 0 && d->first < a->start ? d->first : a->start;
    d->last = d->last > a->end ? d->last : a->end;
    d->sum += ns;
    if (node) {
        struct graph_node *n;
        TRY(node_of(im->gpu, node, &n));
        n->ns += ns;
    }
    struct activity placed = *a;
    placed.device = o->device;
    placed.cuda_context = o->cuda_context;
    placed.stream = o->stream;
    TRY(utilization_add(im, im->gpu->utilization, o));
    return correlate_activity(im, im->gpu->correlator, &placed);
}

static enum err variant_of(struct image *im, const struct trace_kernel *k, uint32_t dev,
                           uint32_t *index)
{
    struct gpu *g = im->gpu;
    struct variant v = {.name = k->name,
                        .registers = k->registers,
                        .static_shared = k->static_shared,
                        .dynamic_shared = k->dynamic_shared,
                        .device = dev,
                        .local_bytes = k->local_bytes,
                        .kernel = TABLE_NONE};
    memcpy(v.grid, k->grid, sizeof v.grid);
    memcpy(v.block, k->block, sizeof v.block);
    memcpy(v.cluster, k->cluster, sizeof v.cluster);
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

static enum err kernel(struct image *im, const struct trace_kernel *k)
{
    struct activity a = {.kind = ACTIVITY_KERNEL, .correlation = k->correlation};
    struct device_operation o = {
        .cuda_context = k->context, .stream = k->stream, .graph = k->graph != 0};
    im->run->kernels_n++;
    if (!gpu_times(im, k->start, k->end, &a.start, &a.end))
        return ERR_OK;
    TRY(gpu_device(im, k->device, &o.device));
    TRY(variant_of(im, k, o.device, &a.what));
    TRY(dist_add(&im->gpu->variants.items[a.what].time, a.end - a.start));
    o.start = a.start;
    o.end = a.end;
    o.what = a.what;
    o.kind = ACTIVITY_KERNEL;
    im->run->total.gpu_kernel += (double)(a.end - a.start);
    return operation(im, &a, k->graph_node, &o);
}

static enum direction direction_of(uint32_t kind)
{
    static const uint8_t of[] = {
        [TRACE_COPY_UNKNOWN] = DIR_OTHER, [TRACE_COPY_HTOD] = DIR_H2D, [TRACE_COPY_DTOH] = DIR_D2H,
        [TRACE_COPY_HTOA] = DIR_H2D,      [TRACE_COPY_ATOH] = DIR_D2H, [TRACE_COPY_ATOA] = DIR_D2D,
        [TRACE_COPY_ATOD] = DIR_D2D,      [TRACE_COPY_DTOA] = DIR_D2D, [TRACE_COPY_DTOD] = DIR_D2D,
        [TRACE_COPY_HTOH] = DIR_H2H,      [TRACE_COPY_PTOP] = DIR_P2P};
    return kind < sizeof of ? of[kind] : DIR_OTHER;
}

static enum err copy(struct image *im, const struct trace_gpu_copy *c)
{
    struct run *r = im->run;
    struct activity a = {.kind = ACTIVITY_COPY, .correlation = c->correlation, .bytes = c->bytes};
    struct device_operation o = {
        .cuda_context = c->context, .stream = c->stream, .graph = c->graph != 0};
    if (!gpu_times(im, c->start, c->end, &a.start, &a.end))
        return ERR_OK;
    if (c->bytes > 1ull << 53) {
        r->q.bad_values++;
        a.bytes = 0;
    }
    a.direction = (uint16_t)direction_of(c->kind);
    a.pageable = c->from == TRACE_MEMORY_PAGEABLE || c->to == TRACE_MEMORY_PAGEABLE;
    a.synchronous = !c->asynchronous;
    TRY(gpu_device(im, c->device, &o.device));
    struct counter *t =
        counter_of(&r->transfers, NULL, NULL, a.direction, c->from < 8 ? c->from : 0,
                   c->to < 8 ? c->to : 0, c->asynchronous != 0);
    FAIL_IF(!t, ERR_MEMORY, "no memory for the transfers");
    t->value += (double)a.bytes;
    TRY(dist_add(&t->time, a.end - a.start));
    a.what = o.what = (uint32_t)(t - r->transfers.items);
    o.start = a.start;
    o.end = a.end;
    o.kind = ACTIVITY_COPY;
    r->total.gpu_copy += (double)(a.end - a.start);
    if (a.direction < DIR_H2H) {
        r->total.copy[a.direction].n++;
        r->total.copy[a.direction].bytes += (double)a.bytes;
    }
    return operation(im, &a, c->graph_node, &o);
}

static enum err set(struct image *im, const struct trace_gpu_set *s)
{
    struct run *r = im->run;
    struct activity a = {.kind = ACTIVITY_SET, .correlation = s->correlation, .bytes = s->bytes};
    struct device_operation o = {
        .cuda_context = s->context, .stream = s->stream, .graph = s->graph != 0};
    if (!gpu_times(im, s->start, s->end, &a.start, &a.end))
        return ERR_OK;
    TRY(gpu_device(im, s->device, &o.device));
    struct counter *t =
        counter_of(&r->sets, NULL, NULL, s->memory_kind < 8 ? s->memory_kind : 0, 0, 0, 0);
    FAIL_IF(!t, ERR_MEMORY, "no memory for the memsets");
    t->value += (double)s->bytes;
    TRY(dist_add(&t->time, a.end - a.start));
    o.what = (uint32_t)(t - r->sets.items);
    o.start = a.start;
    o.end = a.end;
    o.kind = ACTIVITY_SET;
    r->total.gpu_set += (double)(a.end - a.start);
    return operation(im, &a, s->graph_node, &o);
}

static enum err memory(struct image *im, const struct trace_gpu_memory *m)
{
    struct gpu *g = im->gpu;
    int on_device = m->memory_kind == TRACE_MEMORY_DEVICE || m->memory_kind == TRACE_MEMORY_ARRAY ||
                    m->memory_kind == TRACE_MEMORY_DEVICE_STATIC;
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
    e.time = image_time(im, clock_of(im, m->at));
    TRY(gpu_device(im, m->device, &e.device));
    TRY(vector_add(&g->events, e));
    struct activity a = {.kind = ACTIVITY_MEMORY,
                         .correlation = m->correlation,
                         .start = e.time,
                         .end = e.time,
                         .bytes = m->bytes,
                         .what = e.order};
    return e.allocate ? correlate_activity(im, g->correlator, &a) : ERR_OK;
}

static enum err name_of(struct gpu *g, const struct trace_api *r, struct call_name **out)
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

/* Correlation ids of records that precede theirs wait on the thread. */
static void more_ids(struct thread *t, const struct trace_api *r)
{
    int room = (int)(sizeof t->more / sizeof *t->more);
    for (uint32_t i = 0; i < r->correlations && i < 4 && t->more_count < room; i++)
        t->more[t->more_count++] = r->correlation[i];
}

static enum err calls(struct image *im, struct thread *t, const struct trace_api *r,
                      struct cuda_call call)
{
    more_ids(t, r);
    for (int i = 0; i < t->more_count; i += 4) {
        call.correlations = (uint8_t)(t->more_count - i < 4 ? t->more_count - i : 4);
        memcpy(call.correlation, t->more + i, call.correlations * sizeof *t->more);
        TRY(correlate_call(im, im->gpu->correlator, &call));
        call.expected = 0; /* one record of the call is enough */
    }
    t->more_count = 0;
    return ERR_OK;
}

static enum err api(struct image *im, const struct trace_api *r)
{
    struct run *run = im->run;
    struct thread *t;
    TRY(image_thread(im, r->tid, &t));
    if (r->flags & TRACE_API_MORE) {
        more_ids(t, r);
        return ERR_OK;
    }
    if (r->end_ns < r->start_ns) {
        run->q.bad_values++;
        return ERR_OK;
    }
    if (image_left_out(im, r->start_ns)) {
        t->more_count = 0;
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
        run->launches_n++;
        call.expected = 1;
    }
    if (r->api_class == TRACE_API_SYNC) {
        s->gpu_wait += ns;
        run->total.gpu_wait += ns;
        TRY(gpu_blocked(run, &call));
    }
    struct call_name *name;
    TRY(name_of(im->gpu, r, &name));
    name->errors += r->result != 0;
    TRY(dist_add(&name->time, call.end - call.start));
    if (captured || r->result) {
        t->more_count = 0;
        return ERR_OK;
    }
    return calls(im, t, r, call);
}

static enum err graph_node(struct image *im, const struct trace_graph_node *n, uint32_t tid)
{
    struct graph_node *node;
    TRY(node_of(im->gpu, n->node, &node));
    /* Instantiation reports a node twice, as a clone and as a new one, in any order. */
    if (n->original)
        node->original = n->original;
    if (node->stack && n->cloned)
        return ERR_OK;
    node->stack = n->stack;
    node->tid = tid;
    return ERR_OK;
}

static enum err cubin(struct image *im, const struct trace_cubin *c)
{
    struct gpu *g = im->gpu;
    for (size_t i = 0; i < g->cubins.count; i++)
        if (g->cubins.items[i] == c->crc)
            return ERR_OK;
    if (!c->saved || g->cubins.count >= 4096)
        return ERR_OK;
    return vector_add(&g->cubins, c->crc);
}

enum err gpu_record(struct image *im, const struct trace_item *item)
{
    const void *r = item->record;
    im->run->has_gpu = 1;
    switch (item->record->kind) {
    case TRACE_API:
        return api(im, r);
    case TRACE_KERNEL:
        return kernel(im, r);
    case TRACE_GPU_COPY:
        return copy(im, r);
    case TRACE_GPU_SET:
        return set(im, r);
    case TRACE_GPU_SYNC:
        return gpu_sync(im, r);
    case TRACE_GPU_MEMORY:
        return memory(im, r);
    case TRACE_GPU_OVERHEAD:
        return gpu_overhead(im, r);
    case TRACE_DEVICE:
        return device(im, r, item->tail);
    case TRACE_GRAPH_NODE:
        return graph_node(im, r, item->tid);
    case TRACE_CUBIN:
        return cubin(im, r);
    case TRACE_GPU_FAULT:
        return gpu_fault(im, r);
    default:
        return ERR_OK;
    }
}

static enum err settle(struct image *im)
{
    struct gpu *g = im->gpu;
    TRY(correlate_settle(im, g->correlator));
    TRY(utilization_settle(im, g->utilization));
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

const struct collector collector_gpu = {create, settle, gpu_attribute_image, destroy};
