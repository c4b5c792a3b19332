/* Adds what has a time to the run's tables: events of the timeline, ranges, calls, and operations
 * of devices. */
#include <stdlib.h>
#include <string.h>

#include "profiler/analyze/attribute/ranges.h"
#include "profiler/analyze/gpu/gpu.h"
#include "profiler/import/build/builder.h"

static enum err builder_widen(struct builder *b, int64_t start, int64_t end)
{
    FAIL_IF(start < b->origin || end < start || end - b->origin > 1ll << 53, ERR_INPUT,
            "%s: a time is before the first event or more than 104 days after it: the file is "
            "damaged",
            b->base);
    b->end = end > b->end ? end : b->end;
    return ERR_OK;
}

static enum err timed_event(struct builder *b, const struct timeline_track *at, int64_t start,
                            int64_t end, uint32_t what)
{
    struct run *r = b->run;
    uint64_t place = (uint64_t)(at->process + 1) << 32 | (uint32_t)(at->thread + 1);
    uint64_t key = table_mix(table_mix(place, (uint64_t)(at->device + 1)),
                             table_mix((uint64_t)at->cuda_context, (uint64_t)at->stream));
    key = table_mix(key, table_hash(at->kind, strlen(at->kind)));
    uint32_t row = table_get(&b->tracks, key);
    TRY(builder_widen(b, start, end));
    if (row == TABLE_NONE) {
        row = (uint32_t)r->timeline.count;
        TRY(vector_add(&r->timeline, *at));
        TRY(table_put(&b->tracks, key, row));
    }
    return track_add(&r->timeline.items[row].track, (uint64_t)(start - b->origin),
                     (uint64_t)(end - b->origin), what, run_track_limit(r));
}

static enum err event_of_thread(struct builder *b, const char *kind, int32_t thread, int64_t start,
                                int64_t end, ptrdiff_t what)
{
    const struct timeline_track t = {.kind = kind,
                                     .process = b->run->threads.items[thread].process,
                                     .thread = thread,
                                     .device = -1,
                                     .cuda_context = MODEL_UNKNOWN,
                                     .stream = MODEL_UNKNOWN};
    return timed_event(b, &t, start, end, (uint32_t)what);
}

enum err builder_event(struct builder *b, int32_t node, enum import_cost kind, int64_t start,
                       int64_t end)
{
    return event_of_thread(b, kind == IMPORT_WAIT ? "wait" : "cpu", b->nodes.items[node].thread,
                           start, end, node);
}

/* Returns the place of a text in a list of `n`, the last one where it is not there. */
static uint32_t index_of(const char *const *list, uint32_t n, const char *text)
{
    uint32_t i = 0;
    while (i + 1 < n && (!text || strcmp(list[i], text)))
        i++;
    return i;
}

/* The class of a call by the words in its name; numbers as call_rows() has them. */
static uint32_t class_of(const char *name)
{
    static const struct {
        const char *word;
        uint32_t class;
    } words[] = {{"Launch", 1},   {"Graph", 6},  {"Memcpy", 2}, {"Memset", 3},
                 {"Synchron", 5}, {"Malloc", 4}, {"Free", 4},   {"Module", 7}};
    for (size_t i = 0; name && i < sizeof words / sizeof *words; i++)
        if (strstr(name, words[i].word))
            return words[i].class;
    return 0;
}

enum err builder_range(struct builder *b, int32_t thread, const struct import_range *r,
                       int64_t start, int64_t end)
{
    const char *const styles[] = {range_style(0), range_style(1), range_style(2)};
    struct counters *all = r->is_call ? &b->run->gpu.apis : &b->run->ranges.names;
    struct counter *c =
        counter_of(all, r->domain, r->name,
                   r->is_call ? class_of(r->name) : index_of(styles, 3, r->style), 0, 0, 0);
    FAIL_IF(!c, ERR_MEMORY, "no memory for the import");
    if (!r->is_call && end < start) {
        c->open++;
        return ERR_OK;
    }
    if (r->is_call) {
        c->errors += r->failed != 0;
        b->has_api = 1;
        b->run->total.api += (double)(end - start);
    }
    TRY(event_of_thread(b, r->is_call ? "api" : "range", thread, start, end, c - all->items));
    return dist_add(&c->time, (uint64_t)(end - start));
}

enum { VARIANTS = 64 }; /* of a kernel */

static uint32_t variant_number(int64_t v)
{
    return v < 0 || v >= VARIANT_UNKNOWN ? VARIANT_UNKNOWN : (uint32_t)v;
}

static int timed_same_variant(const struct variant *a, const struct variant *b)
{
    return !memcmp(a->grid, b->grid, sizeof a->grid) &&
           !memcmp(a->block, b->block, sizeof a->block) && a->registers == b->registers &&
           a->static_shared == b->static_shared && a->dynamic_shared == b->dynamic_shared &&
           a->device == b->device;
}

static enum err timed_variant(struct kernel *k, const struct import_operation *o,
                              struct variant **out)
{
    struct variant v = {.cluster = {VARIANT_UNKNOWN},
                        .registers = variant_number(o->registers),
                        .static_shared = variant_number(o->static_shared),
                        .dynamic_shared = variant_number(o->dynamic_shared),
                        .carveout = VARIANT_UNKNOWN,
                        .device = (uint32_t)o->device,
                        .local_bytes = UINT64_MAX};
    for (int i = 0; i < 3; i++) {
        v.grid[i] = variant_number(o->grid[i]);
        v.block[i] = variant_number(o->block[i]);
    }
    size_t at = 0;
    while (at < k->variants.count && !timed_same_variant(&k->variants.items[at], &v))
        at++;
    if (at >= VARIANTS) /* the last one takes what finds no room */
        at = VARIANTS - 1;
    if (at == k->variants.count)
        TRY(vector_add(&k->variants, v));
    *out = &k->variants.items[at];
    return ERR_OK;
}

/* A launch without a count leaves its sum unknown. */
static enum err count_launch(struct kernel *k, struct variant *v, const struct import_operation *o)
{
    const struct import_counters *c = o->counters;
    double ns = (double)(o->end - o->start);
    if (!k->counted)
        k->counted = calloc(1, sizeof *k->counted);
    FAIL_IF(!k->counted, ERR_MEMORY, "no memory for the import");
    k->counted->dram_read += c->dram_read;
    k->counted->dram_write += c->dram_write;
    k->counted->compute += c->compute * ns;
    k->counted->memory += c->memory * ns;
    k->counted->achieved += c->achieved * ns;
    v->occupancy = o->counters->occupancy;
    v->waves = o->counters->waves;
    return ERR_OK;
}

static enum err timed_kernel_row(struct builder *b, const struct import_operation *o, uint32_t *at)
{
    struct run *r = b->run;
    struct variant *v;
    const char *name = run_text(r, o->name ? o->name : "unknown kernel");
    TRY(gpu_kernel_of(r, name, at));
    struct kernel *k = &r->gpu.kernels.items[*at];
    if (!k->readable)
        *k = (struct kernel){.mangled = o->mangled, .readable = name};
    TRY(timed_variant(k, o, &v));
    if (o->counters)
        TRY(count_launch(k, v, o));
    if (o->api_end > o->api_start) {
        v->api_ns += (double)(o->api_end - o->api_start);
        v->queue_ns += o->start > o->api_end ? (double)(o->start - o->api_end) : 0;
        v->queued_n++;
    }
    r->gpu.kernels_n++;
    r->total.gpu_kernel += (double)(o->end - o->start);
    return dist_add(&v->time, (uint64_t)(o->end - o->start));
}

static uint32_t memory_kind_of(const char *name)
{
    uint32_t i = 0;
    while (name && gpu_memories[i] && strcmp(gpu_memories[i], name))
        i++;
    return name && gpu_memories[i] ? i : 0;
}

static enum err timed_copy_row(struct builder *b, const struct import_operation *o, uint32_t *at)
{
    struct costs *all = &b->run->total;
    const uint32_t direction = index_of(gpu_directions, DIRECTIONS, o->name);
    const double ns = (double)(o->end - o->start), bytes = o->bytes > 0 ? (double)o->bytes : 0;
    struct counter *c = counter_of(&b->run->gpu.transfers, NULL, NULL, direction,
                                   memory_kind_of(o->from), memory_kind_of(o->to), 0);
    FAIL_IF(!c, ERR_MEMORY, "no memory for the import");
    *at = (uint32_t)(c - b->run->gpu.transfers.items);
    c->value += bytes;
    all->gpu_copy += ns;
    if (direction < DIR_H2H) {
        all->copy[direction].n++;
        all->copy[direction].bytes += bytes;
        all->copy[direction].ns += ns;
    }
    return dist_add(&c->time, (uint64_t)(o->end - o->start));
}

static enum err timed_set_row(struct builder *b, const struct import_operation *o, uint32_t *at)
{
    struct counter *c = counter_of(&b->run->gpu.sets, NULL, NULL, memory_kind_of(o->to), 0, 0, 0);
    FAIL_IF(!c, ERR_MEMORY, "no memory for the import");
    *at = (uint32_t)(c - b->run->gpu.sets.items);
    c->value += o->bytes > 0 ? (double)o->bytes : 0;
    b->run->total.gpu_set += (double)(o->end - o->start);
    return dist_add(&c->time, (uint64_t)(o->end - o->start));
}

static enum err flow_add(struct builder *b, const struct import_operation *o)
{
    if (o->api_end <= o->api_start || o->api_start < b->origin || o->node < 0)
        return ERR_OK;
    const struct flow f = {o->kind,
                           b->nodes.items[o->node].thread,
                           o->device,
                           o->context,
                           o->stream,
                           (uint64_t)(o->api_start - b->origin),
                           (uint64_t)(o->start - b->origin)};
    return flows_add(&b->run->flows, &f);
}

enum err builder_operation(struct builder *b, const struct import_operation *o)
{
    const struct timeline_track t = {.kind = o->kind,
                                     .process = -1,
                                     .thread = -1,
                                     .device = o->device,
                                     .cuda_context = o->context,
                                     .stream = o->stream};
    uint32_t row;
    int is_kernel = !strcmp(o->kind, "kernel");
    if (!o->no_moment)
        TRY(builder_widen(b, o->start, o->end));
    FAIL_IF(o->device < 0 || o->device > 255, ERR_INPUT, "%s: device %d: expected 0 to 255",
            b->base, o->device);
    while (b->run->gpu.devices.count <= (size_t)o->device) /* several: intervals are united */
        TRY(vector_add(&b->run->gpu.devices, (struct run_device){.images = 2}));
    struct run_device *device = &b->run->gpu.devices.items[o->device];
    device->sum += (double)(o->end - o->start);
    TRY((is_kernel                  ? timed_kernel_row
         : !strcmp(o->kind, "copy") ? timed_copy_row
                                    : timed_set_row)(b, o, &row));
    b->has_gpu = 1;
    if (!o->no_moment) {
        TRY(timed_event(b, &t, o->start, o->end, row));
        TRY(vector_add(
            &device->busy_intervals,
            ((struct interval){(uint64_t)(o->start - b->origin), (uint64_t)(o->end - b->origin)})));
        TRY(flow_add(b, o));
    }
    struct model_frame f = {.function =
                                is_kernel ? b->run->gpu.kernels.items[row].readable : o->name,
                            .line = MODEL_UNKNOWN,
                            .kind = o->kind,
                            .thread = -1};
    int32_t node;
    TRY(builder_call(b, o->node, &f, &node));
    b->nodes.items[node].kernel = is_kernel ? (int32_t)row : -1;
    b->nodes.items[node].launches++;
    return builder_cost(b, node, IMPORT_GPU, o->end - o->start, 0);
}
