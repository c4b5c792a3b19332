/* Rows of the model for devices, transfers, CUDA calls, ranges and gaps; the time that waiting
 * calls overlapped with device work. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profiler/analyze/attribute/ranges.h"
#include "profiler/analyze/build/build.h"
#include "profiler/analyze/build/stat.h"
#include "profiler/analyze/gpu/gpu.h"
#include "profiler/analyze/gpu/inside.h"

enum { GAPS_SHOWN = 50 };

ARRAY_ORDER(by_start, struct interval, COMPARE(x->start, y->start));

static size_t intervals_unite(struct interval *v, size_t n)
{
    size_t kept = 0;
    if (!n)
        return 0;
    array_sort(v, n, sizeof *v, by_start);
    for (size_t i = 1; i < n; i++)
        if (v[i].start <= v[kept].end)
            v[kept].end = v[kept].end > v[i].end ? v[kept].end : v[i].end;
        else
            v[++kept] = v[i];
    return kept + 1;
}

/* Several processes on one device: their intervals are united. */
static void unite_device(struct run *r, struct run_device *d, int index)
{
    d->busy = d->idle = 0;
    d->busy_intervals.count = intervals_unite(d->busy_intervals.items, d->busy_intervals.count);
    size_t kept = 0;
    for (size_t i = 0; i < r->gpu.gaps.count; i++)
        if (r->gpu.gaps.items[i].device != index)
            r->gpu.gaps.items[kept++] = r->gpu.gaps.items[i];
    r->gpu.gaps.count = kept;
    for (size_t i = 0; i < d->busy_intervals.count; i++) {
        d->busy += (double)(d->busy_intervals.items[i].end - d->busy_intervals.items[i].start);
        if (!i)
            continue;
        uint64_t from = d->busy_intervals.items[i - 1].end, to = d->busy_intervals.items[i].start;
        d->idle += (double)(to - from);
        (void)vector_add(&r->gpu.gaps, (struct gap){from, to, index});
    }
}

static enum err gpu_device_rows(struct run *r)
{
    struct model *m = r->m;
    double wall = (double)(r->last - r->origin), busy = 0, idle = 0, peak = 0;
    TRY(model_list(m, model_device, m, devices, r->gpu.devices.count));
    for (size_t i = 0; i < r->gpu.devices.count; i++) {
        struct run_device *d = &r->gpu.devices.items[i];
        struct model_device *row = &m->devices[i];
        char text[40] = "";
        if (d->images > 1)
            unite_device(r, d, (int)i);
        row->name = d->name;
        row->busy_s = ns_to_seconds(d->busy);
        row->sum_s = ns_to_seconds(d->sum);
        row->idle_s = ns_to_seconds(d->idle);
        row->share_of_wall = d->busy / wall;
        row->peak_mb = bytes_to_megabytes(d->peak);
        busy += d->busy;
        idle += d->idle;
        peak += d->peak;
        if (!d->name)
            continue;
        for (int k = 0; k < 16; k++)
            snprintf(text + 2 * k, 3, "%02x", d->d.uuid[k]);
        row->uuid = run_text(r, text);
        snprintf(text, sizeof text, "%u.%u", d->d.major, d->d.minor);
        row->sm = run_text(r, text);
        row->multiprocessors = d->d.multiprocessors;
        row->clock_mhz = d->d.clock_khz / 1e3;
        row->memory_clock_mhz = d->d.memory_clock_khz / 1e3;
        row->bus_bits = d->d.bus_bits;
        row->memory_gb_s = (double)d->d.memory_bandwidth_kb_s / 1e6;
        row->memory_bytes =
            d->d.memory_bytes < 1ull << 53 ? (int64_t)d->d.memory_bytes : MODEL_UNKNOWN;
        row->threads_per_sm = d->d.threads_per_sm;
        row->blocks_per_sm = d->d.blocks_per_sm;
        row->registers_per_sm = d->d.registers_per_sm;
        row->shared_per_sm = d->d.shared_per_sm;
    }
    if (r->has_gpu) {
        m->totals.gpu_busy_s = ns_to_seconds(busy);
        m->totals.gpu_idle_s = ns_to_seconds(idle);
        m->totals.peak_device_mb = bytes_to_megabytes(peak);
    }
    return ERR_OK;
}

/* Time that the host was blocked while some device was busy. */
static enum err gpu_waits(struct run *r)
{
    for (size_t i = 0; i < r->gpu.devices.count; i++)
        for (size_t k = 0; k < r->gpu.devices.items[i].busy_intervals.count; k++)
            TRY(vector_add(&r->gpu.all_busy, r->gpu.devices.items[i].busy_intervals.items[k]));
    size_t n = r->gpu.all_busy.count =
        intervals_unite(r->gpu.all_busy.items, r->gpu.all_busy.count);
    const struct interval *busy = r->gpu.all_busy.items;
    vector_sort(&r->gpu.syncing, by_start);
    double overlap = 0;
    size_t at = 0;
    for (size_t i = 0; i < r->gpu.syncing.count; i++) {
        const struct interval *s = &r->gpu.syncing.items[i];
        while (at < n && busy[at].end <= s->start)
            at++;
        for (size_t k = at; k < n && busy[k].start < s->end; k++) {
            uint64_t from = busy[k].start > s->start ? busy[k].start : s->start;
            uint64_t to = busy[k].end < s->end ? busy[k].end : s->end;
            overlap += (double)(to - from);
        }
    }
    if (r->has_gpu)
        r->m->totals.gpu_wait_busy_s = ns_to_seconds(overlap);
    return ERR_OK;
}

static const char *memory_name(uint32_t kind)
{
    return gpu_memories[kind < 8 ? kind : 0];
}

static enum err transfer_rows(struct run *r)
{
    struct model *m = r->m;
    TRY(model_list(m, model_transfer, m, transfers, r->gpu.transfers.count));
    for (size_t i = 0; i < r->gpu.transfers.count; i++) {
        struct counter *t = &r->gpu.transfers.items[i];
        struct model_transfer *row = &m->transfers[i];
        row->direction = gpu_directions[t->key[0] < DIRECTIONS ? t->key[0] : DIR_OTHER];
        row->from = memory_name(t->key[1]);
        row->to = memory_name(t->key[2]);
        row->asynchronous = t->key[3] != 0;
        row->bytes = t->value < 9e15 ? (int64_t)t->value : MODEL_UNKNOWN;
        row->time = stat_of(&t->time);
        row->gb_s = t->time.sum > 0 ? t->value / t->time.sum : (double)NAN;
    }
    TRY(model_list(m, model_set, m, memsets, r->gpu.sets.count));
    for (size_t i = 0; i < r->gpu.sets.count; i++) {
        m->memsets[i].memory = memory_name(r->gpu.sets.items[i].key[0]);
        m->memsets[i].bytes =
            r->gpu.sets.items[i].value < 9e15 ? (int64_t)r->gpu.sets.items[i].value : MODEL_UNKNOWN;
        m->memsets[i].time = stat_of(&r->gpu.sets.items[i].time);
    }
    return ERR_OK;
}

#define RANGE_LEAST 0.01 /* of a range's time: a row of own code below it is not listed */
/* ROW_BEFORE: in the keys of a call's counter, its row before calls are in order. */
enum { ROW_BEFORE = 3, RANGE_PAYLOADS = 30 };

ARRAY_ORDER(by_sum, struct counter,
            COMPARE(y->time.sum, x->time.sum) ?: COMPARE(x->key[ROW_BEFORE], y->key[ROW_BEFORE]));

/* Orders calls by total time; events of the timeline follow their rows. */
static enum err order_calls(struct run *r)
{
    uint32_t *rank = calloc(r->gpu.apis.count + 1, sizeof *rank);
    FAIL_IF(!rank, ERR_MEMORY, "no memory for the profile");
    for (size_t i = 0; i < r->gpu.apis.count; i++)
        r->gpu.apis.items[i].key[ROW_BEFORE] = (uint32_t)i;
    array_sort(r->gpu.apis.items, r->gpu.apis.count, sizeof *r->gpu.apis.items, by_sum);
    for (size_t i = 0; i < r->gpu.apis.count; i++)
        rank[r->gpu.apis.items[i].key[ROW_BEFORE]] = (uint32_t)i;
    for (size_t i = 0; i < r->timeline.count; i++) {
        struct timeline_track *l = &r->timeline.items[i];
        for (size_t k = 0; !strcmp(l->kind, "api") && k < l->track.count; k++)
            l->track.events[k].what = rank[l->track.events[k].what];
    }
    free(rank);
    return ERR_OK;
}

static enum err gpu_call_rows(struct run *r)
{
    static const char *const classes[] = {"other",  "launch", "copy",  "set",
                                          "memory", "sync",   "graph", "module"};
    struct model *m = r->m;
    TRY(model_list(m, model_api, m, apis, r->gpu.apis.count));
    TRY(order_calls(r));
    for (size_t i = 0; i < r->gpu.apis.count; i++) {
        struct counter *t = &r->gpu.apis.items[i];
        struct model_api *row = &m->apis[i];
        row->name = t->name;
        row->api_class = classes[t->key[0] < 8 ? t->key[0] : 0];
        row->errors = (int64_t)t->errors;
        row->time = stat_of(&t->time);
        row->share_of_api = t->time.sum / r->total.api;
        row->share_of_wall = t->time.sum / (double)(r->last - r->origin);
    }
    return ERR_OK;
}

/* Finds the line with most CPU time of each range. */
static void range_lines(struct run *r)
{
    for (size_t i = 0; i < r->ranges.inside.count; i++) {
        const struct in_range *x = &r->ranges.inside.items[i];
        const struct site *site = &r->sites.items[x->site];
        struct model_range *row = &r->m->ranges[x->range];
        if (!site->line || (isfinite(row->line_cpu_s) && row->line_cpu_s >= 1e-9 * x->all_ns))
            continue;
        row->line_cpu_s = ns_to_seconds(x->all_ns);
        row->file = r->sources.items[site->file].path;
        row->line = site->line;
    }
}

ARRAY_ORDER(by_range_and_time, struct own_in_range,
            COMPARE(x->range, y->range) ?: COMPARE(y->cpu + y->wait, x->cpu + x->wait) ?: COMPARE(x->own, y->own));

/* Lists the rows of own code with 1 % of a range's time. */
static enum err range_own_rows(struct run *r)
{
    const struct own_in_range *all = r->ranges.own.items;
    vector_sort(&r->ranges.own, by_range_and_time);
    for (size_t first = 0, end; first < r->ranges.own.count; first = end) {
        struct model_range *row = &r->m->ranges[all[first].range];
        double sum = 0;
        size_t n = 0;
        for (end = first; end < r->ranges.own.count && all[end].range == all[first].range; end++)
            sum += all[end].cpu + all[end].wait;
        while (first + n < end && all[first + n].cpu + all[first + n].wait >= RANGE_LEAST * sum)
            n++;
        TRY(model_list(r->m, model_range_own, row, own, n));
        for (size_t i = 0; i < n; i++)
            row->own[i] =
                (struct model_range_own){(int32_t)all[first + i].own, (int64_t)all[first + i].cpu,
                                         (int64_t)all[first + i].wait};
    }
    return ERR_OK;
}

/* By range, then by payload, of which the key has the halves. */
ARRAY_ORDER(by_payload, struct counter,
            COMPARE(x->key[0], y->key[0]) ?: COMPARE(x->key[2], y->key[2]) ?: COMPARE(x->key[1], y->key[1]));

/* Lists what ranges of each payload took. Many payloads are numbers of rounds. */
static enum err range_payload_rows(struct run *r)
{
    struct counter *all = r->ranges.payloads.items;
    const size_t count = r->ranges.payloads.count;
    array_sort(all, count, sizeof *all, by_payload);
    for (size_t first = 0, end; first < count; first = end) {
        struct model_range *row = &r->m->ranges[all[first].key[0]];
        for (end = first; end < count && all[end].key[0] == all[first].key[0];)
            end++;
        if (end - first > RANGE_PAYLOADS)
            continue;
        TRY(model_list(r->m, model_range_payload, row, payloads, end - first));
        for (size_t i = first; i < end; i++)
            row->payloads[i - first] = (struct model_range_payload){
                (int64_t)((uint64_t)all[i].key[2] << 32 | all[i].key[1]), stat_of(&all[i].time),
                r->has_cpu ? ns_to_seconds(all[i].cpu) : (double)NAN};
    }
    return ERR_OK;
}

static enum err range_rows(struct run *r)
{
    struct model *m = r->m;
    TRY(model_list(m, model_range, m, ranges, r->ranges.names.count));
    for (size_t i = 0; i < r->ranges.names.count; i++) {
        struct counter *t = &r->ranges.names.items[i];
        struct model_range *row = &m->ranges[i];
        row->domain = t->domain;
        row->name = t->name;
        row->style = range_style(t->key[0]);
        row->open = (int64_t)t->open;
        row->time = stat_of(&t->time);
        if (t->value > 0) /* marks take no time */
            row->time.n = (int64_t)t->value;
        if (r->has_cpu && t->key[0] != 2)
            row->cpu_s = ns_to_seconds(t->cpu);
        if (r->has_wait && t->key[0] != 2) {
            row->wait_s = ns_to_seconds(t->wait);
            row->ready_s = ns_to_seconds(t->ready);
        }
        if (!r->has_gpu)
            continue;
        row->gpu_n = (int64_t)t->operations;
        row->gpu_sum_s = ns_to_seconds(t->gpu_sum);
        row->gpu_projected_s = ns_to_seconds(t->gpu_projected);
    }
    range_lines(r);
    TRY(range_payload_rows(r));
    return range_own_rows(r);
}

static enum err sum_rows(struct run *r, struct counters *list, struct model_sum **rows, int *count)
{
    TRY(model_items(r->m, &record_model_sum, list->count, rows, count));
    for (size_t i = 0; i < list->count; i++) {
        struct counter *t = &list->items[i];
        (*rows)[i] =
            (struct model_sum){t->name, (int64_t)t->time.n,
                               t->value > 0 && t->value < 9e15 ? (int64_t)t->value : MODEL_UNKNOWN,
                               ns_to_seconds(t->time.sum)};
    }
    return ERR_OK;
}

static int gap_longest_first(const void *a, const void *b)
{
    const struct gap *x = a, *y = b;
    uint64_t p = x->end - x->start, q = y->end - y->start;
    return p != q ? (p < q ? 1 : -1) : (x->start > y->start) - (x->start < y->start);
}

/* Returns the line of a node of the tree: the nearest user line towards the root. */
static const struct tree_frame *node_line(const struct run *r, uint32_t node)
{
    const struct tree_frame *any = NULL;
    for (; node != TABLE_NONE; node = r->nodes.items[node].parent) {
        const struct tree_frame *f = &r->frames.items[r->nodes.items[node].frame];
        if (!f->file || f->line <= 0)
            continue;
        uint32_t source = table_get(&r->source_by_path, (uintptr_t)f->file);
        if (source != TABLE_NONE && r->sources.items[source].user)
            return f;
        any = any ? any : f;
    }
    return any;
}

struct meanwhile {
    const char *file;
    int line;
    double ns, n;
};

ARRAY_ORDER(most_first, struct meanwhile, COMPARE(y->ns, x->ns));

/* Finds the work of the host's threads during a gap: running ones, or waiting ones where none
 * ran. */
static enum err host_lines(struct run *r, const struct gap *g, const char *kind,
                           struct model_gap *row)
{
    struct meanwhile found[256];
    size_t n = 0;
    for (size_t i = 0; i < r->timeline.count; i++) {
        const struct track *t = &r->timeline.items[i].track;
        if (strcmp(r->timeline.items[i].kind, kind))
            continue;
        for (size_t k = 0; k < t->count; k++) {
            const struct track_event *e = &t->events[k];
            if (e->end <= g->start || e->start >= g->end)
                continue;
            const struct tree_frame *f = node_line(r, e->what);
            uint64_t from = e->start > g->start ? e->start : g->start;
            uint64_t to = e->end < g->end ? e->end : g->end;
            size_t at = 0;
            while (f && at < n && (found[at].file != f->file || found[at].line != f->line))
                at++;
            if (!f || at == sizeof found / sizeof *found)
                continue;
            if (at == n)
                found[n++] = (struct meanwhile){f->file, f->line, 0, 0};
            found[at].ns +=
                (double)(to - from) * (double)e->busy / fmax(1, (double)(e->end - e->start));
            found[at].n++;
        }
    }
    array_sort(found, n, sizeof *found, most_first);
    n = n < 5 ? n : 5;
    TRY(model_list(r->m, model_place, row, lines, n));
    for (size_t i = 0; i < n; i++)
        row->lines[i] = (struct model_place){found[i].file, found[i].line, (int64_t)found[i].n,
                                             ns_to_seconds(found[i].ns)};
    return ERR_OK;
}

static enum err gap_rows(struct run *r)
{
    struct model_gpu_total *g = &r->m->gpu;
    vector_sort(&r->gpu.gaps, gap_longest_first);
    size_t n = r->gpu.gaps.count < GAPS_SHOWN ? r->gpu.gaps.count : GAPS_SHOWN;
    TRY(model_list(r->m, model_gap, g, gaps, n));
    for (size_t i = 0; i < n; i++) {
        struct model_gap *row = &g->gaps[i];
        row->device = r->gpu.gaps.items[i].device;
        row->start_s = ns_to_seconds((double)r->gpu.gaps.items[i].start);
        row->length_s =
            ns_to_seconds((double)(r->gpu.gaps.items[i].end - r->gpu.gaps.items[i].start));
        TRY(host_lines(r, &r->gpu.gaps.items[i], "cpu", row));
        if (!row->lines_count)
            TRY(host_lines(r, &r->gpu.gaps.items[i], "wait", row));
    }
    return ERR_OK;
}

enum err build_gpu(struct run *r)
{
    struct model_gpu_total *g = &r->m->gpu;
    TRY(gpu_device_rows(r));
    TRY(gpu_waits(r));
    TRY(build_kernels(r));
    TRY(inside_build(r));
    TRY(transfer_rows(r));
    TRY(gpu_call_rows(r));
    TRY(range_rows(r));
    TRY(gap_rows(r));
    TRY(sum_rows(r, &r->gpu.overheads, &g->overhead, &g->overhead_count));
    TRY(sum_rows(r, &r->gpu.faults, &g->unified_memory, &g->unified_memory_count));
    return sum_rows(r, &r->gpu.syncs, &g->syncs, &g->syncs_count);
}
