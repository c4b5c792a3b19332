/* What has a time: events of the timeline, ranges, calls, and operations of devices. */
#include <string.h>

#include "profiler/import/build/internal.h"

#define TRACK_LIMIT 8000 /* events that a track keeps; closer ones are merged */

static enum err widen(struct builder *b, int64_t start, int64_t end)
{
    FAIL_IF(start < b->origin || end < start || end - b->origin > 1ll << 53, ERR_INPUT,
            "%s: a time is before the first event or more than 104 days after it: the file is "
            "damaged",
            b->base);
    b->end = end > b->end ? end : b->end;
    return ERR_OK;
}

enum err builder_event(struct builder *b, const struct model_track *at, int64_t start, int64_t end,
                       int32_t what)
{
    uint64_t place = (uint64_t)(at->process + 1) << 32 | (uint32_t)(at->thread + 1);
    uint64_t key = index_key(INDEX_TRACK, place, (uint64_t)(at->device + 1), (uint64_t)at->stream,
                             table_hash(at->kind, strlen(at->kind)));
    uint32_t row = table_get(&b->index, key);
    TRY(widen(b, start, end));
    if (row == TABLE_NONE) {
        row = (uint32_t)b->tracks.count;
        TRY(vector_add(&b->tracks, (struct import_track){.row = *at}));
        TRY(table_put(&b->index, key, row));
    }
    return track_add(&b->tracks.items[row].track, (uint64_t)(start - b->origin),
                     (uint64_t)(end - b->origin), (uint32_t)what, TRACK_LIMIT);
}

static struct model_track track_of(struct builder *b, const char *kind, int32_t thread)
{
    struct model_track t;
    json_blank(&record_model_track, &t);
    t.kind = kind;
    t.thread = thread;
    t.process = b->threads.items[thread].process;
    return t;
}

/* The row of a name: its index, after `row` was added where it is new. */
#define FIND_ROW(b, list, rows, key, row, at)                                                      \
    do {                                                                                           \
        (at) = table_get(&(b)->index, (key));                                                      \
        if ((at) == TABLE_NONE) {                                                                  \
            (at) = (uint32_t)(b)->list.count;                                                      \
            TRY(vector_add(&(b)->list, (row)));                                                    \
            TRY(vector_add(&(b)->rows, (struct import_row){0}));                                   \
            TRY(table_put(&(b)->index, (key), (at)));                                              \
        }                                                                                          \
    } while (0)

enum err builder_range(struct builder *b, int32_t thread, const struct model_range *r,
                       int64_t start, int64_t end)
{
    uint64_t key =
        index_key(INDEX_RANGE, (uintptr_t)r->name, (uintptr_t)r->domain, (uintptr_t)r->style, 0);
    uint32_t at;
    FIND_ROW(b, ranges, range_rows, key, *r, at);
    if (end < start) {
        b->range_rows.items[at].open++;
        return ERR_OK;
    }
    struct model_track t = track_of(b, "range", thread);
    TRY(builder_event(b, &t, start, end, (int32_t)at));
    return dist_add(&b->range_rows.items[at].times, (uint64_t)(end - start));
}

static const char *class_of(const char *name)
{
    static const char *const words[][2] = {
        {"Launch", "launch"}, {"Graph", "graph"},   {"Memcpy", "copy"}, {"Memset", "set"},
        {"Synchron", "sync"}, {"Malloc", "memory"}, {"Free", "memory"}, {"Module", "module"}};
    for (size_t i = 0; name && i < sizeof words / sizeof *words; i++)
        if (strstr(name, words[i][0]))
            return words[i][1];
    return "other";
}

enum err builder_api(struct builder *b, int32_t thread, const char *name, int64_t start,
                     int64_t end, int failed, int32_t *row)
{
    struct model_api fresh;
    uint32_t at;
    json_blank(&record_model_api, &fresh);
    fresh.name = name;
    fresh.api_class = class_of(name);
    FIND_ROW(b, apis, api_rows, index_key(INDEX_API, (uintptr_t)name, 0, 0, 0), fresh, at);
    b->api_rows.items[at].errors += failed != 0;
    b->has_api = 1;
    *row = (int32_t)at;
    struct model_track t = track_of(b, "api", thread);
    TRY(builder_event(b, &t, start, end, (int32_t)at));
    return dist_add(&b->api_rows.items[at].times, (uint64_t)(end - start));
}

enum err builder_device(struct builder *b, int32_t device, struct model_device **out)
{
    FAIL_IF(device < 0 || device > 255, ERR_INPUT, "%s: device %d: expected 0 to 255", b->base,
            device);
    while (b->devices.count <= (size_t)device) {
        struct model_device row;
        json_blank(&record_model_device, &row);
        TRY(vector_add(&b->devices, row));
    }
    *out = &b->devices.items[device];
    return ERR_OK;
}

static enum err counts(struct builder *b, const int64_t from[3], int64_t **to, int *n)
{
    if (from[0] < 0)
        return ERR_OK;
    *to = arena_take(b->m->arena, 3 * sizeof **to);
    FAIL_IF(!*to, ERR_MEMORY, "no memory for the import");
    memcpy(*to, from, 3 * sizeof **to);
    *n = 3;
    return ERR_OK;
}

/* The launch configuration of a kernel's first launch. */
static enum err first_variant(struct builder *b, const struct import_operation *o,
                              struct model_kernel *k)
{
    if (o->grid[0] < 0 && o->registers < 0)
        return ERR_OK;
    TRY(model_list(b->m, model_variant, k, variants, 1));
    TRY(counts(b, o->grid, &k->variants->grid, &k->variants->grid_count));
    TRY(counts(b, o->block, &k->variants->block, &k->variants->block_count));
    k->variants->registers = o->registers < 0 ? MODEL_UNKNOWN : o->registers;
    k->variants->static_shared = o->static_shared < 0 ? MODEL_UNKNOWN : o->static_shared;
    k->variants->dynamic_shared = o->dynamic_shared < 0 ? MODEL_UNKNOWN : o->dynamic_shared;
    if (o->counters) {
        k->variants->occupancy = o->counters->occupancy;
        k->variants->waves = o->counters->waves;
    }
    return ERR_OK;
}

/* Bytes are sums; shares are weighted by time, and divided by it at the end. One launch without a
 * count leaves its sum unknown. */
static void count_launch(struct model_kernel *k, const struct import_operation *o, int first)
{
    const struct import_counters *c = o->counters;
    double time = (double)(o->end - o->start);
    const struct {
        double *to, what;
    } sums[] = {{&k->dram_read_bytes, c->dram_read},
                {&k->dram_write_bytes, c->dram_write},
                {&k->compute_share, c->compute * time},
                {&k->memory_share, c->memory * time},
                {&k->occupancy_achieved, c->achieved * time}};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        *sums[i].to = (first ? 0 : *sums[i].to) + sums[i].what;
}

static enum err kernel_row(struct builder *b, const struct import_operation *o, uint32_t *at)
{
    struct model_kernel k;
    const char *name = o->name ? o->name : "unknown kernel";
    uint64_t config = table_mix(table_mix((uint64_t)o->grid[0], (uint64_t)o->grid[1]),
                                table_mix((uint64_t)o->block[0], (uint64_t)o->block[1]));
    json_blank(&record_model_kernel, &k);
    k.name = arena_text(b->m->arena, name);
    k.mangled = o->mangled;
    uint64_t key = index_key(INDEX_KERNEL, (uintptr_t)k.name, 0, 0, 0);
    if (table_get(&b->index, key) == TABLE_NONE)
        TRY(first_variant(b, o, &k));
    FIND_ROW(b, kernels, kernel_rows, key, k, *at);
    struct import_row *row = &b->kernel_rows.items[*at];
    if (row->times.n == 0)
        row->bytes = (int64_t)(config >> 1); /* of the first one: others are counted */
    row->open += row->bytes != (int64_t)(config >> 1);
    if (o->counters)
        count_launch(&b->kernels.items[*at], o, row->times.n == 0);
    if (o->api_end > o->api_start) {
        row->api_ns += (double)(o->api_end - o->api_start);
        row->queue_ns += o->start > o->api_end ? (double)(o->start - o->api_end) : 0;
    }
    return dist_add(&row->times, (uint64_t)(o->end - o->start));
}

static enum err copy_row(struct builder *b, const struct import_operation *o, uint32_t *at)
{
    struct model_transfer t;
    json_blank(&record_model_transfer, &t);
    t.direction = o->name;
    t.from = o->from ? o->from : "unknown";
    t.to = o->to ? o->to : "unknown";
    FIND_ROW(b, transfers, transfer_rows,
             index_key(INDEX_TRANSFER, table_hash(t.direction, strlen(t.direction)),
                       table_hash(t.from, strlen(t.from)), table_hash(t.to, strlen(t.to)), 0),
             t, *at);
    b->transfer_rows.items[*at].bytes += o->bytes > 0 ? o->bytes : 0;
    return dist_add(&b->transfer_rows.items[*at].times, (uint64_t)(o->end - o->start));
}

static enum err set_row(struct builder *b, const struct import_operation *o, uint32_t *at)
{
    struct model_set s;
    json_blank(&record_model_set, &s);
    s.memory = o->to ? o->to : "unknown";
    FIND_ROW(b, sets, set_rows,
             index_key(INDEX_SET, table_hash(s.memory, strlen(s.memory)), 0, 0, 0), s, *at);
    b->set_rows.items[*at].bytes += o->bytes > 0 ? o->bytes : 0;
    return dist_add(&b->set_rows.items[*at].times, (uint64_t)(o->end - o->start));
}

static enum err flow(struct builder *b, const struct import_operation *o)
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
    return flows_add(&b->flows, &f);
}

enum err builder_operation(struct builder *b, const struct import_operation *o)
{
    struct model_device *device;
    struct model_track t;
    uint32_t row;
    if (!o->no_moment)
        TRY(widen(b, o->start, o->end));
    TRY(builder_device(b, o->device, &device));
    if (!strcmp(o->kind, "kernel"))
        TRY(kernel_row(b, o, &row));
    else if (!strcmp(o->kind, "copy"))
        TRY(copy_row(b, o, &row));
    else
        TRY(set_row(b, o, &row));
    b->has_gpu = 1;
    json_blank(&record_model_track, &t);
    t.kind = o->kind;
    t.device = o->device;
    t.context = o->context;
    t.stream = o->stream;
    if (!o->no_moment) {
        TRY(builder_event(b, &t, o->start, o->end, (int32_t)row));
        TRY(vector_add(&b->spans, (struct import_span){o->start, o->end, o->device}));
        TRY(flow(b, o));
    }
    struct model_frame f = {.function =
                                !strcmp(o->kind, "kernel") ? b->kernels.items[row].name : o->name,
                            .line = MODEL_UNKNOWN,
                            .kind = o->kind,
                            .thread = -1};
    int32_t node;
    TRY(builder_call(b, o->node, &f, &node));
    return builder_cost(b, node, IMPORT_GPU, o->end - o->start, 0);
}
