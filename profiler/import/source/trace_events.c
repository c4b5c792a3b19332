/* Chrome's trace JSON: PyTorch's profiler (Kineto), JAX's perfetto_trace.json.gz, tomoprof's own
 * export, and other tracers. */
#include <math.h>
#include <string.h>

#include "profiler/import/source/names.h"
#include "profiler/import/source/source.h"
#include "profiler/import/source/trace_events.h"

struct launch {     /* of a CUDA call, by its correlation */
    uint32_t slice; /* its order in slices */
    int64_t start, end;
};
struct convert {
    struct builder *b;
    struct trace_events t;
    struct import_slices slices;
    struct table correlations; /* to launches */
    VECTOR(struct launch) launches;
    VECTOR(int32_t) nodes; /* by order of slices */
    VECTOR(size_t) begun;  /* events of phase B that are open, all threads */
    struct table devices;  /* pid -> 1: rows of a GPU */
    int64_t unpaired, other;
    int own;          /* written by tomoprof */
    int64_t unplaced; /* own slices without a stack */
};

static int is_cat(const struct trace_event *e, const char *category)
{
    return e->category && !strcmp(e->category, category);
}

static enum err event_thread(struct convert *c, const struct trace_event *e, int32_t *thread)
{
    int32_t process;
    TRY(builder_process(c->b, e->pid, NULL, &process));
    return builder_thread(c->b, process, e->tid, NULL, thread);
}

static enum err event_metadata(struct convert *c, const struct trace_event *e)
{
    int32_t process, thread;
    if (!e->name || !e->label)
        return ERR_OK;
    if (!strcmp(e->name, "process_name")) {
        if (!strncmp(e->label, "/device:GPU", 11))
            TRY(table_put(&c->devices, (uint64_t)e->pid, 1));
        TRY(builder_process(c->b, e->pid, NULL, &process));
        if (!c->b->run->processes.items[process].program)
            c->b->run->processes.items[process].program =
                import_path(c->b, e->label, strlen(e->label));
    } else if (!strcmp(e->name, "thread_name")) {
        TRY(builder_process(c->b, e->pid, NULL, &process));
        TRY(builder_thread(c->b, process, e->tid, e->label, &thread));
    }
    return ERR_OK;
}

/* B and E of one thread become one X; b and e of one id too. */
static enum err events_pair(struct convert *c)
{
    for (size_t i = 0; i < c->t.list.count; i++) {
        struct trace_event *e = &c->t.list.items[i];
        if (e->phase == 'B' || e->phase == 'b')
            TRY(vector_add(&c->begun, i));
        if (e->phase != 'E' && e->phase != 'e')
            continue;
        size_t k = c->begun.count;
        while (k > 0) {
            const struct trace_event *a = &c->t.list.items[c->begun.items[k - 1]];
            int same = a->pid == e->pid && a->tid == e->tid;
            if (same && (e->phase == 'E' ? a->phase == 'B' : a->phase == 'b' && a->id == e->id))
                break;
            k--;
        }
        if (!k || c->t.list.items[c->begun.items[k - 1]].ts > e->ts) {
            c->unpaired++;
            continue;
        }
        struct trace_event *a = &c->t.list.items[c->begun.items[k - 1]];
        a->phase = 'X';
        a->duration = e->ts - a->ts;
        memmove(&c->begun.items[k - 1], &c->begun.items[k],
                (c->begun.count - k) * sizeof *c->begun.items);
        c->begun.count--;
    }
    c->unpaired += (int64_t)c->begun.count;
    return ERR_OK;
}

static enum err add_slice(struct convert *c, const struct trace_event *e)
{
    struct import_slice s = {.start = e->ts, .end = e->ts + e->duration};
    TRY(event_thread(c, e, &s.thread));
    name_frame(c->b, e->name, &s.frame);
    if (is_cat(e, "python_function"))
        s.frame.kind = "python";
    return vector_add(&c->slices.list, s);
}

/* The node of an event's stack below the root of its thread; of its name, where it has no stack. */
static enum err event_node(struct convert *c, const struct trace_event *e, int32_t thread,
                           int32_t *node)
{
    enum { DEEPEST = 1024 };
    uint32_t chain[DEEPEST];
    int n = 0;
    struct model_frame f;
    TRY(builder_call(c->b, IMPORT_ROOT(thread), NULL, node));
    for (int64_t id = e->stack; id >= 0 && n < DEEPEST;) {
        uint32_t at = table_get(&c->t.frame_by_id, (uint64_t)id);
        if (at == TABLE_NONE)
            break;
        chain[n++] = at;
        id = c->t.frames.items[at].parent;
    }
    if (!n) {
        c->unplaced += !c->t.frames.count; /* else it has no frames */
        name_frame(c->b, e->name, &f);
        return builder_call(c->b, *node, &f, node);
    }
    while (n > 0) {
        const struct trace_frame *t = &c->t.frames.items[chain[--n]];
        name_frame(c->b, t->name, &f);
        if (strcmp(f.kind, "python"))
            f.module = t->module;
        TRY(builder_call(c->b, *node, &f, node));
    }
    return ERR_OK;
}

/* A slice of our own export: not a call, but a stack for some time. */
static enum err own_slice(struct convert *c, const struct trace_event *e)
{
    const enum import_cost kind = is_cat(e, "wait") ? IMPORT_WAIT : IMPORT_CPU;
    int32_t thread, node;
    TRY(event_thread(c, e, &thread));
    TRY(event_node(c, e, thread, &node));
    TRY(builder_cost(c->b, node, kind, kind == IMPORT_CPU && e->busy >= 0 ? e->busy : e->duration,
                     0));
    return builder_event(c->b, node, kind, e->ts, e->ts + e->duration);
}

static enum err event_call(struct convert *c, const struct trace_event *e)
{
    const struct import_range call = {.name = e->name, .is_call = 1};
    int32_t thread;
    TRY(event_thread(c, e, &thread));
    if (e->correlation >= 0) {
        TRY(table_put(&c->correlations, (uint64_t)e->correlation, (uint32_t)c->launches.count));
        TRY(vector_add(&c->launches, (struct launch){(uint32_t)c->slices.list.count, e->ts,
                                                     e->ts + e->duration}));
    }
    TRY(builder_range(c->b, thread, &call, e->ts, e->ts + e->duration));
    return c->own ? ERR_OK : add_slice(c, e);
}

static enum err event_range(struct convert *c, const struct trace_event *e)
{
    const struct import_range r = {.name = e->name, .style = "push_pop"};
    int32_t thread;
    TRY(event_thread(c, e, &thread));
    return builder_range(c->b, thread, &r, e->ts, e->ts + e->duration);
}

static enum err event_memory(struct convert *c, const struct trace_event *e)
{
    struct import_slice s = {.start = e->ts, .end = e->ts, .bytes = e->bytes};
    if (e->bytes <= 0 || e->device_type > 0) /* given back, or of a device */
        return ERR_OK;
    TRY(event_thread(c, e, &s.thread));
    return vector_add(&c->slices.list, s);
}

static int event_is_on_device(const struct convert *c, const struct trace_event *e)
{
    return is_cat(e, "kernel") || is_cat(e, "gpu_memcpy") || is_cat(e, "gpu_memset") ||
           (c->own && (is_cat(e, "copy") || is_cat(e, "set"))) ||
           table_get(&c->devices, (uint64_t)e->pid) != TABLE_NONE;
}

/* Slices, calls, ranges and allocations of the host. */
static enum err event_host(struct convert *c, const struct trace_event *e)
{
    static const char *const left_out[] = {"gpu_user_annotation", "cuda_sync", "Trace", "Spans",
                                           "overhead"};
    if (e->phase == 'M')
        return ERR_OK;
    if (e->name && !strcmp(e->name, "[memory]"))
        return event_memory(c, e);
    if (e->phase != 'X' || event_is_on_device(c, e) || !e->name)
        return ERR_OK;
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        if (is_cat(e, left_out[i])) {
            c->other++;
            return ERR_OK;
        }
    if (is_cat(e, "cuda_runtime") || is_cat(e, "cuda_driver") || (c->own && is_cat(e, "api")))
        return event_call(c, e);
    if (is_cat(e, "user_annotation") || (c->own && is_cat(e, "range")))
        TRY(event_range(c, e));
    if (c->own && is_cat(e, "range"))
        return ERR_OK;
    if (c->own && (is_cat(e, "cpu") || is_cat(e, "wait")))
        return own_slice(c, e);
    return add_slice(c, e);
}

static enum err event_device(struct convert *c, const struct trace_event *e)
{
    if (e->phase != 'X' || !event_is_on_device(c, e))
        return ERR_OK;
    struct import_operation o = {.name = e->name,
                                 .node = -1,
                                 .device = e->device >= 0 ? (int32_t)(e->device & 255) : 0,
                                 .context = e->context >= 0 ? e->context : MODEL_UNKNOWN,
                                 .stream = e->stream >= 0 ? e->stream : e->tid,
                                 .start = e->ts,
                                 .end = e->ts + e->duration,
                                 .bytes = e->bytes,
                                 .registers = e->registers,
                                 .static_shared = -1,
                                 .dynamic_shared = -1,
                                 .grid = {e->grid[0], e->grid[1], e->grid[2]},
                                 .block = {e->block[0], e->block[1], e->block[2]}};
    o.kind = "kernel";
    if (is_cat(e, "gpu_memcpy") || is_cat(e, "copy") ||
        (e->name && !strncmp(e->name, "Memcpy", 6))) {
        o.kind = "copy";
        name_copy(e->name, &o);
    } else if (is_cat(e, "gpu_memset") || is_cat(e, "set"))
        o.kind = "set", o.name = "memset";
    uint32_t at =
        e->correlation >= 0 ? table_get(&c->correlations, (uint64_t)e->correlation) : TABLE_NONE;
    if (at != TABLE_NONE) {
        const struct launch *l = &c->launches.items[at];
        o.api_start = l->start;
        o.api_end = l->end;
        o.node = l->slice < c->nodes.count ? c->nodes.items[l->slice] : -1;
    }
    return builder_operation(c->b, &o);
}

static enum err nodes_by_order(struct convert *c)
{
    TRY(vector_room(&c->nodes, c->slices.list.count));
    c->nodes.count = c->slices.list.count;
    for (size_t i = 0; i < c->slices.list.count; i++)
        c->nodes.items[c->slices.list.items[i].order] = c->slices.list.items[i].node;
    return ERR_OK;
}

static enum err events_notes(struct convert *c)
{
    TRY(import_note(c->b, c->t.repaired, "import_cut", "warning",
                    "The file ends before its events do.", "What came after is missing."));
    TRY(import_note(c->b, c->t.damaged, "import_damaged", "warning",
                    "Events had no time, no duration or no phase.", "They were left out."));
    TRY(import_note(c->b, c->unpaired, "import_unpaired", "warning",
                    "Begin or end events had no counterpart.", "They were left out."));
    TRY(import_note(
        c->b, c->other, "import_left_out", "info",
        "Events of overhead, synchronisation and GPU annotations repeat what other events say.",
        "They were left out."));
    TRY(import_note(c->b, c->unplaced, "import_timeline", "info",
                    "A timeline holds the names of the innermost functions.",
                    "Their callers and source lines are unknown."));
    return import_note(c->b, !c->own && c->slices.list.count > 0, "import_wall_as_cpu", "info",
                       "Times of events are wall time on their thread: the capture does not tell "
                       "computing from waiting.",
                       "CPU columns hold the self time of events, waiting included.");
}

static enum err events_all(struct convert *c)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < c->t.list.count; i++) {
        const struct trace_event *e = &c->t.list.items[i];
        first = e->phase != 'M' && e->ts < first ? e->ts : first;
        c->own |= strchr("XBb", e->phase) && (is_cat(e, "cpu") || is_cat(e, "range"));
        if (e->phase == 'M')
            TRY(event_metadata(c, e));
    }
    FAIL_IF(first == INT64_MAX, ERR_INPUT, "%s: holds no events with a time; expected %s",
            c->b->base, c->t.format ? "slices" : "\"traceEvents\" of a profiler");
    c->b->origin = first;
    TRY(events_pair(c));
    for (size_t i = 0; i < c->t.list.count; i++)
        TRY(event_host(c, &c->t.list.items[i]));
    TRY(source_slices(c->b, &c->slices, IMPORT_CPU));
    TRY(nodes_by_order(c));
    for (size_t i = 0; i < c->t.list.count; i++)
        TRY(event_device(c, &c->t.list.items[i]));
    TRY(source_is(c->b,
                  c->t.schema   ? "PyTorch profiler (Kineto)"
                  : c->own      ? (c->t.format ? "tomoprof (perfetto)" : "tomoprof (chrome)")
                  : c->t.format ? c->t.format
                                : "Chrome trace events",
                  c->t.schema));
    return events_notes(c);
}

enum err trace_events_import(struct trace_events *t)
{
    struct convert c = {.b = t->b, .t = *t};
    enum err e = events_all(&c);
    vector_free(&c.slices.list);
    vector_free(&c.launches);
    vector_free(&c.nodes);
    vector_free(&c.begun);
    table_free(&c.correlations);
    table_free(&c.devices);
    return e;
}

static enum err trace_events_read_input(struct builder *b, const struct import_input *in,
                                        const struct import_options *o)
{
    struct trace_events t = {.b = b};
    (void)o;
    enum err e = trace_events_read(&t, in);
    if (!e)
        e = trace_events_import(&t);
    trace_events_free(&t);
    return e;
}

static int trace_events_is_it(const struct import_input *in)
{
    size_t n = in->bytes < 65536 ? in->bytes : 65536;
    const char *at = in->data;
    while (n && strchr(" \t\r\n", *at) && *at)
        at++, n--;
    if (!n || (*at != '{' && *at != '['))
        return 0;
    if (*at == '[')
        return memmem(at, n, "\"ph\"", 4) != NULL;
    return memmem(at, n, "\"traceEvents\"", 13) || memmem(at, n, "\"deviceProperties\"", 18);
}

const struct import_source import_trace_events = {
    "trace-events", "PyTorch's profiler, JAX's perfetto JSON, Chrome's trace events",
    trace_events_is_it, trace_events_read_input};
