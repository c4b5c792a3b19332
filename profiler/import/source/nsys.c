/* Nsight Systems' SQLite export (schemas of 2021 to 2026): tables and columns are looked for by name, never by version. Samples
 * with their call chains, CPU time from the scheduler's events, waiting in calls of the OS runtime. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/import/source/nsys.h"
#include "profiler/import/source/source.h"

const char *nsys_string(const struct nsys *n, int64_t id)
{
    uint32_t at = table_get(&n->strings, (uint64_t)id);
    return at == TABLE_NONE ? NULL : n->texts.items[at];
}

enum err nsys_note(struct nsys *n, int64_t count, const char *id, const char *severity, const char *text, const char *effect)
{
    struct model_item item;
    json_blank(&record_model_item, &item);
    item.id = id;
    item.severity = severity;
    item.count = count;
    item.text = text;
    item.effect = effect;
    return count ? builder_item(n->b, &item) : ERR_OK;
}

/* key -> text of a table with a column of numbers and one of texts or their ids. */
static enum err names(struct nsys *n, const char *table, const char *key, const char *value, struct table *to)
{
    const char *const columns[] = {key, value};
    enum err e = ERR_OK;
    if (!database_has(n->d, table))
        return ERR_OK;
    TRY(database_select(n->d, table, columns, 2, NULL));
    while (!e && database_next(n->d, &e)) {
        const char *text = database_text(n->d, 1);
        text = text ? builder_text(n->b, text, strlen(text)) : nsys_string(n, database_int(n->d, 1, -1));
        if (!text)
            continue;
        TRY(table_put(to, (uint64_t)database_int(n->d, 0, -1), (uint32_t)n->texts.count));
        TRY(vector_add(&n->texts, text));
    }
    return e;
}

#define PID(global)    ((int64_t)((global) >> 24 & 0xFFFFFF))
#define TID(global)    ((int64_t)((global)&0xFFFFFF))
#define PROCESS(tid)   ((tid) & ~(uint64_t)0xFFFFFF)

static const char *name_of(const struct nsys *n, const struct table *t, uint64_t key)
{
    uint32_t at = table_get(t, key);
    return at == TABLE_NONE ? NULL : n->texts.items[at];
}

enum err nsys_place(struct nsys *n, uint64_t global, int32_t *thread)
{
    int32_t process;
    const char *program = name_of(n, &n->process_names, PROCESS(global));
    if (program)
        program = builder_path(n->b, program, strlen(program));
    TRY(builder_process(n->b, PID(global), program, &process));
    return builder_thread(n->b, process, TID(global), name_of(n, &n->thread_names, global), thread);
}

static enum err thread_at(struct nsys *n, uint64_t global, struct nsys_thread **out)
{
    uint32_t at = table_get(&n->threads, global);
    if (at == TABLE_NONE) {
        at = (uint32_t)n->thread_list.count;
        TRY(vector_add(&n->thread_list, (struct nsys_thread){.id = global}));
        TRY(table_put(&n->threads, global, at));
    }
    *out = &n->thread_list.items[at];
    return ERR_OK;
}

static int by_thread(const void *x, const void *y)
{
    const struct nsys_on_cpu *a = x, *b = y;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (a->start > b->start) - (a->start < b->start);
}

static enum err on_cpu(struct nsys *n, uint64_t thread, int64_t from, int64_t to)
{
    struct nsys_thread *t;
    if (to <= from)
        return ERR_OK;
    TRY(thread_at(n, thread, &t));
    t->cpu += to - from;
    return vector_add(&n->on_cpu, (struct nsys_on_cpu){from, to, thread});
}

/* Stretches between "in" and "out" of each thread; one that is on a CPU at the end stays until `stop`. */
static enum err scheduling(struct nsys *n, int64_t begin, int64_t stop)
{
    static const char *const columns[] = {"start", "isSchedIn", "globalTid"};
    struct table since = {0}, seen = {0};
    VECTOR(int64_t) starts = {0};
    VECTOR(uint64_t) threads = {0};
    enum err e = database_select(n->d, "SCHED_EVENTS", columns, 3, "start");
    while (!e && database_next(n->d, &e)) {
        int64_t at = database_int(n->d, 0, -1), in = database_int(n->d, 1, -1);
        uint64_t thread = (uint64_t)database_int(n->d, 2, 0);
        if (at < 0 || in < 0 || !thread) {
            n->damaged++;
            continue;
        }
        uint32_t open = table_get(&since, thread);
        if (in && open == TABLE_NONE) {
            e = table_put(&since, thread, (uint32_t)starts.count);
            e = e ? e : vector_add(&starts, at);
            e = e ? e : vector_add(&threads, thread);
        } else if (!in) { /* out without in: it was on a CPU when the capture began */
            int first = open == TABLE_NONE && table_get(&seen, thread) == TABLE_NONE;
            if (open != TABLE_NONE || first)
                e = on_cpu(n, thread, open == TABLE_NONE ? begin : starts.items[open], at);
            table_remove(&since, thread);
        }
        e = e ? e : table_put(&seen, thread, 1);
    }
    for (size_t i = 0; i < starts.count && !e; i++)
        if (table_get(&since, threads.items[i]) == i)
            e = on_cpu(n, threads.items[i], starts.items[i], stop);
    table_free(&since);
    table_free(&seen);
    vector_free(&starts);
    vector_free(&threads);
    if (e)
        return e;
    vector_sort(&n->on_cpu, by_thread);
    for (size_t i = 0; i < n->on_cpu.count; i++) {
        struct nsys_thread *t;
        TRY(thread_at(n, n->on_cpu.items[i].thread, &t));
        t->first = t->count ? t->first : i;
        t->count++;
    }
    return ERR_OK;
}

/* Time on a CPU within [from, to). */
static int64_t computing(struct nsys *n, uint64_t thread, int64_t from, int64_t to)
{
    uint32_t row = table_get(&n->threads, thread);
    int64_t sum = 0;
    if (row == TABLE_NONE || !n->thread_list.items[row].count)
        return 0;
    const struct nsys_thread *t = &n->thread_list.items[row];
    const struct nsys_on_cpu *s = n->on_cpu.items + t->first;
    size_t low = 0, high = t->count;
    while (low < high) { /* the first that ends after `from` */
        size_t middle = (low + high) / 2;
        if (s[middle].end <= from)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < t->count && s[low].start < to; low++) {
        int64_t a = s[low].start > from ? s[low].start : from, b = s[low].end < to ? s[low].end : to;
        sum += b > a ? b - a : 0;
    }
    return sum;
}

#define CHAIN 1024

struct chain {
    int64_t id;
    int count;
    int32_t frames[CHAIN]; /* leaf first */
    int kernel;            /* the leaf ran in the kernel */
};
/* Call chains of a table, in order of id: give(context, chain). */
static enum err chains(struct nsys *n, const char *table, enum err (*give)(struct nsys *, struct chain *, void *), void *context)
{
    static const char *const columns[] = {"id", "symbol", "module", "kernelMode", "unresolved", "stackDepth"};
    if (!database_has(n->d, table))
        return ERR_OK;
    struct chain *c = calloc(1, sizeof *c);
    FAIL_IF(!c, ERR_MEMORY, "no memory for the import");
    enum err e = database_select(n->d, table, columns, 6, "id, stackDepth");
    while (!e && database_next(n->d, &e)) {
        int64_t id = database_int(n->d, 0, INT64_MIN);
        if (c->count && id != c->id) {
            e = give(n, c, context);
            c->count = 0;
        }
        const char *symbol = nsys_string(n, database_int(n->d, 1, -1)), *module = nsys_string(n, database_int(n->d, 2, -1));
        if (symbol && !strcmp(symbol, "[Broken backtraces]")) {
            n->broken++;
            continue;
        }
        int unresolved = database_int(n->d, 4, 0) != 0;
        n->unresolved += unresolved;
        const char *slash = module ? strrchr(module, '/') : NULL;
        struct model_frame f = {.function = unresolved ? NULL : symbol, .line = MODEL_UNKNOWN, .module = slash ? builder_text(n->b, slash + 1, strlen(slash + 1)) : module,
                                .kind = "native", .thread = -1};
        if (!c->count)
            c->kernel = database_int(n->d, 3, 0) != 0 || (f.module && !strncmp(f.module, "[kernel", 7));
        c->id = id;
        if (!e && c->count < CHAIN)
            e = builder_frame(n->b, &f, &c->frames[c->count++]);
    }
    if (!e && c->count)
        e = give(n, c, context);
    free(c);
    return e;
}

static enum err stack_of(struct nsys *n, int32_t thread, const struct chain *c, int32_t *node)
{
    TRY(builder_root(n->b, thread, node));
    for (int i = c->count - 1; i >= 0; i--)
        TRY(builder_node(n->b, *node, c->frames[i], node));
    return ERR_OK;
}

struct event_of { /* a row that a call chain belongs to */
    int64_t start, end, weight;
    uint64_t thread;
    const char *name;
    int taken;
};
struct events_by_id {
    struct table at;
    VECTOR(struct event_of) list;
    int64_t kept;
};

static enum err add_sample(struct nsys *n, struct event_of *e, const struct chain *c)
{
    int32_t thread, node;
    struct model_track track;
    TRY(nsys_place(n, e->thread, &thread));
    TRY(stack_of(n, thread, c, &node));
    json_blank(&record_model_track, &track);
    track.kind = "cpu";
    track.thread = thread;
    track.process = n->b->threads.items[thread].process;
    e->taken = 1;
    TRY(builder_cost(n->b, node, c->kernel ? IMPORT_SYS : IMPORT_CPU, e->weight, 1));
    return builder_event(n->b, &track, e->start, e->start + e->weight, node);
}

static enum err sample_chain(struct nsys *n, struct chain *c, void *context)
{
    struct events_by_id *s = context;
    uint32_t at = table_get(&s->at, (uint64_t)c->id);
    if (at == TABLE_NONE) {
        n->damaged++;
        return ERR_OK;
    }
    s->kept++;
    return add_sample(n, &s->list.items[at], c);
}

/* A sample's time: the thread's CPU time over its samples; the last one has what is left by rounding. */
static enum err weigh(struct nsys *n, struct events_by_id *s)
{
    for (size_t i = 0; i < s->list.count; i++) {
        struct nsys_thread *t;
        TRY(thread_at(n, s->list.items[i].thread, &t));
        s->list.items[i].weight = n->rate_hz > 0 ? llround(1e9 / n->rate_hz) : t->cpu / t->samples;
        t->cpu -= n->rate_hz > 0 ? 0 : s->list.items[i].weight;
        t->samples--;
    }
    return ERR_OK;
}

static enum err samples(struct nsys *n, struct events_by_id *s)
{
    static const char *const columns[] = {"id", "start", "globalTid"};
    enum err e = ERR_OK;
    struct nsys_thread *t;
    if (!database_has(n->d, "COMPOSITE_EVENTS"))
        return ERR_OK;
    TRY(database_select(n->d, "COMPOSITE_EVENTS", columns, 3, "start, id"));
    while (!e && database_next(n->d, &e)) {
        struct event_of row = {.start = database_int(n->d, 1, -1), .thread = (uint64_t)database_int(n->d, 2, 0)};
        if (row.start < n->b->origin || !row.thread) {
            n->damaged++;
            continue;
        }
        TRY(thread_at(n, row.thread, &t));
        t->samples++;
        TRY(table_put(&s->at, (uint64_t)database_int(n->d, 0, -1), (uint32_t)s->list.count));
        TRY(vector_add(&s->list, row));
    }
    TRY(e);
    double cpu = 0;
    for (size_t i = 0; i < n->thread_list.count; i++)
        cpu += n->thread_list.items[i].samples ? (double)n->thread_list.items[i].cpu : 0;
    TRY(weigh(n, s));
    TRY(chains(n, "SAMPLING_CALLCHAINS", sample_chain, s));
    static struct chain none; /* without a chain: the thread itself */
    for (size_t i = 0; i < s->list.count; i++)
        if (!s->list.items[i].taken)
            TRY(add_sample(n, &s->list.items[i], &none));
    if (!s->list.count)
        return ERR_OK;
    n->b->known[IMPORT_CPU] = n->b->known[IMPORT_SYS] = cpu > 0 || n->rate_hz > 0;
    TRY(nsys_note(n, !(cpu > 0) && !(n->rate_hz > 0), "import_no_weight", "warning", "The capture holds samples, and no scheduling events that say how much time they are.",
                  "Give --rate HZ, the sampling rate of the capture."));
    return cpu > 0 && !(n->rate_hz > 0) ? builder_check(n->b, "cpu_of_scheduler", cpu, (double)(n->b->added[IMPORT_CPU] + n->b->added[IMPORT_SYS]), 1e-9,
                                   "weights of samples add up to the time that the scheduler gave their threads, ns")
                   : ERR_OK;
}

static enum err add_wait(struct nsys *n, struct event_of *e, const struct chain *c)
{
    int32_t thread, node;
    int64_t waited = e->end - e->start - computing(n, e->thread, e->start, e->end);
    struct model_frame f = {.function = e->name, .line = MODEL_UNKNOWN, .module = "[OS runtime]", .kind = "native", .thread = -1};
    struct model_track track;
    TRY(nsys_place(n, e->thread, &thread));
    TRY(stack_of(n, thread, c, &node));
    TRY(builder_call(n->b, node, &f, &node));
    e->taken = 1;
    json_blank(&record_model_track, &track);
    track.kind = "wait";
    track.thread = thread;
    track.process = n->b->threads.items[thread].process;
    TRY(builder_event(n->b, &track, e->start, e->end, node));
    return builder_cost(n->b, node, IMPORT_WAIT, waited > 0 ? waited : 0, 0);
}

static enum err wait_chain(struct nsys *n, struct chain *c, void *context)
{
    struct events_by_id *w = context;
    uint32_t at = table_get(&w->at, (uint64_t)c->id);
    return at == TABLE_NONE ? ERR_OK : add_wait(n, &w->list.items[at], c);
}

/* Calls of the OS runtime: the part of each that its thread was not on a CPU. */
static enum err waits(struct nsys *n, struct events_by_id *w)
{
    static const char *const columns[] = {"start", "end", "globalTid", "nameId", "nestingLevel", "callchainId"};
    enum err e = ERR_OK;
    if (!database_has(n->d, "OSRT_API"))
        return ERR_OK;
    TRY(database_select(n->d, "OSRT_API", columns, 6, "start, \"end\""));
    while (!e && database_next(n->d, &e)) {
        struct event_of row = {.start = database_int(n->d, 0, -1), .end = database_int(n->d, 1, -1), .thread = (uint64_t)database_int(n->d, 2, 0),
                               .name = nsys_string(n, database_int(n->d, 3, -1))};
        int64_t chain = database_int(n->d, 5, 0);
        if (row.start < n->b->origin || row.end < row.start || !row.thread) {
            n->damaged++;
            continue;
        }
        if (database_int(n->d, 4, 0) > 0) /* within another one */
            continue;
        if (chain > 0)
            TRY(table_put(&w->at, (uint64_t)chain, (uint32_t)w->list.count));
        TRY(vector_add(&w->list, row));
    }
    TRY(e);
    TRY(chains(n, "OSRT_CALLCHAINS", wait_chain, w));
    static struct chain none;
    for (size_t i = 0; i < w->list.count; i++)
        if (!w->list.items[i].taken)
            TRY(add_wait(n, &w->list.items[i], &none));
    n->b->known[IMPORT_WAIT] = 1;
    return ERR_OK;
}

static enum err host(struct nsys *n)
{
    struct events_by_id s = {0}, w = {0};
    int64_t begin = database_least(n->d, "ANALYSIS_DETAILS", "startTime", n->b->origin), stop = database_least(n->d, "ANALYSIS_DETAILS", "stopTime", begin);
    enum err e = database_has(n->d, "SCHED_EVENTS") ? scheduling(n, begin, stop) : ERR_OK;
    if (!e)
        e = samples(n, &s);
    if (!e)
        e = waits(n, &w);
    table_free(&s.at);
    table_free(&w.at);
    vector_free(&s.list);
    vector_free(&w.list);
    return e;
}

static enum err origin(struct nsys *n)
{
    static const char *const tables[] = {"COMPOSITE_EVENTS", "OSRT_API", "NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL",
                                         "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"};
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        int64_t start = database_least(n->d, tables[i], "start", INT64_MAX);
        least = start < least ? start : least;
    }
    FAIL_IF(least == INT64_MAX, ERR_INPUT, "%s: an export of Nsight Systems without samples, ranges, OS calls or CUDA activity", n->b->base);
    FAIL_IF(least < 0, ERR_INPUT, "%s: an event at %lld ns: the file is damaged", n->b->base, (long long)least);
    n->b->origin = least;
    return ERR_OK;
}

static enum err meta(struct nsys *n)
{
    static const char *const columns[] = {"name", "value"};
    enum err e = ERR_OK;
    const char *version = NULL;
    TRY(database_select(n->d, "META_DATA_EXPORT", columns, 2, NULL));
    while (!e && database_next(n->d, &e)) {
        const char *name = database_text(n->d, 0), *value = database_text(n->d, 1);
        if (name && value && !strcmp(name, "EXPORT_PRODUCT_VERSION"))
            version = builder_text(n->b, value, strlen(value));
    }
    TRY(e);
    TRY(source_is(n->b, "NVIDIA Nsight Systems", version));
    int64_t stop = database_least(n->d, "ANALYSIS_DETAILS", "duration", 0);
    if (stop > 0 && stop < 1ll << 53)
        n->b->m->meta.wall_s = 1e-9 * (double)stop;
    return ERR_OK;
}

static enum err everything(struct nsys *n)
{
    FAIL_IF(!database_has(n->d, "META_DATA_EXPORT") || !database_has(n->d, "StringIds"), ERR_INPUT,
            "%s: an SQLite database that Nsight Systems did not export (nvprof's files are not read)", n->b->base);
    TRY(names(n, "StringIds", "id", "value", &n->strings));
    TRY(names(n, "PROCESSES", "globalPid", "name", &n->process_names));
    TRY(names(n, "ThreadNames", "globalTid", "nameId", &n->thread_names));
    TRY(origin(n));
    TRY(meta(n));
    TRY(host(n));
    TRY(nsys_ranges(n));
    TRY(nsys_cuda(n));
    TRY(nsys_note(n, n->damaged, "import_damaged", "warning", "Rows had no time, no thread or no counterpart.", "They were left out."));
    TRY(nsys_note(n, n->broken, "import_broken", "info", "Call chains end in [Broken backtraces].", "Their callers are unknown; the time is at the leaf."));
    return nsys_note(n, n->unresolved, "import_unresolved", "info", "Frames of call chains had no symbol.", NULL);
}

static enum err read(struct builder *b, const struct input *in, const struct import_options *o)
{
    struct nsys n = {.b = b, .rate_hz = o->rate_hz};
    enum err e = database_open(in, &n.d);
    if (!e)
        e = everything(&n);
    database_close(n.d);
    struct table *const tables[] = {&n.strings, &n.threads, &n.process_names, &n.thread_names, &n.domains, &n.correlations};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        table_free(tables[i]);
    vector_free(&n.texts);
    vector_free(&n.thread_list);
    vector_free(&n.on_cpu);
    vector_free(&n.calls);
    return e;
}

static int is_it(const struct input *in)
{
    return in->bytes >= 16 && !memcmp(in->data, "SQLite format 3", 16);
}

const struct import_source import_nsys = {"nsys", "Nsight Systems' SQLite export", is_it, read};
