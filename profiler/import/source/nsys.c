/* Nsight Systems' SQLite export (schemas of 2021 to 2026): tables and columns are looked for by
 * name, never by version. Names, threads, and the CPU time of threads by the scheduler's events. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profiler/import/source/nsys.h"
#include "profiler/import/source/source.h"

/* key -> text of a table with a column of numbers and one of texts or their ids. */
static enum err nsys_names(struct nsys *n, const char *table, const char *key, const char *value,
                           struct table *to)
{
    const char *const columns[] = {key, value};
    enum err e = ERR_OK;
    if (!database_has(n->d, table))
        return ERR_OK;
    TRY(database_select(n->d, table, columns, 2, NULL));
    while (!e && database_next(n->d, &e)) {
        const char *text = database_text(n->d, 1);
        text = text ? import_text(n->b, text, strlen(text))
                    : nsys_string(n, database_int(n->d, 1, -1));
        if (!text)
            continue;
        TRY(table_put(to, (uint64_t)database_int(n->d, 0, -1), (uint32_t)n->texts.count));
        TRY(vector_add(&n->texts, text));
    }
    return e;
}

ARRAY_ORDER(by_thread, struct nsys_on_cpu,
            COMPARE(x->thread, y->thread) ?: COMPARE(x->start, y->start));

static enum err nsys_add_on_cpu(struct nsys *n, uint64_t thread, int64_t from, int64_t to)
{
    struct nsys_thread *t;
    if (to <= from)
        return ERR_OK;
    TRY(nsys_thread_at(n, thread, &t));
    t->cpu += to - from;
    return vector_add(&n->on_cpu, (struct nsys_on_cpu){from, to, thread});
}

/* Stretches between "in" and "out" of each thread; one that is on a CPU at the end stays until
 * `stop`. */
static enum err nsys_scheduling(struct nsys *n, int64_t begin, int64_t stop)
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
                e = nsys_add_on_cpu(n, thread, open == TABLE_NONE ? begin : starts.items[open], at);
            table_remove(&since, thread);
        }
        e = e ? e : table_put(&seen, thread, 1);
    }
    for (size_t i = 0; i < starts.count && !e; i++)
        if (table_get(&since, threads.items[i]) == i)
            e = nsys_add_on_cpu(n, threads.items[i], starts.items[i], stop);
    table_free(&since);
    table_free(&seen);
    vector_free(&starts);
    vector_free(&threads);
    if (e)
        return e;
    vector_sort(&n->on_cpu, by_thread);
    for (size_t i = 0; i < n->on_cpu.count; i++) {
        struct nsys_thread *t;
        TRY(nsys_thread_at(n, n->on_cpu.items[i].thread, &t));
        t->first = t->count ? t->first : i;
        t->count++;
    }
    return ERR_OK;
}

static enum err nsys_host(struct nsys *n)
{
    int64_t begin = database_least(n->d, "ANALYSIS_DETAILS", "startTime", n->b->origin),
            stop = database_least(n->d, "ANALYSIS_DETAILS", "stopTime", begin);
    if (database_has(n->d, "SCHED_EVENTS"))
        TRY(nsys_scheduling(n, begin, stop));
    TRY(nsys_samples(n));
    return nsys_waits(n);
}

static enum err nsys_origin(struct nsys *n)
{
    static const char *const tables[] = {"COMPOSITE_EVENTS",
                                         "OSRT_API",
                                         "NVTX_EVENTS",
                                         "CUPTI_ACTIVITY_KIND_RUNTIME",
                                         "CUPTI_ACTIVITY_KIND_KERNEL",
                                         "CUPTI_ACTIVITY_KIND_MEMCPY",
                                         "CUPTI_ACTIVITY_KIND_MEMSET",
                                         "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"};
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        int64_t start = database_least(n->d, tables[i], "start", INT64_MAX);
        least = start < least ? start : least;
    }
    FAIL_IF(least == INT64_MAX, ERR_INPUT,
            "%s: an export of Nsight Systems without samples, ranges, OS calls or CUDA activity",
            n->b->base);
    FAIL_IF(least < 0, ERR_INPUT, "%s: an event at %lld ns: the file is damaged", n->b->base,
            (long long)least);
    n->b->origin = least;
    return ERR_OK;
}

static enum err nsys_meta(struct nsys *n)
{
    static const char *const columns[] = {"name", "value"};
    enum err e = ERR_OK;
    const char *version = NULL;
    TRY(database_select(n->d, "META_DATA_EXPORT", columns, 2, NULL));
    while (!e && database_next(n->d, &e)) {
        const char *name = database_text(n->d, 0), *value = database_text(n->d, 1);
        if (name && value && !strcmp(name, "EXPORT_PRODUCT_VERSION"))
            version = import_text(n->b, value, strlen(value));
    }
    TRY(e);
    TRY(source_is(n->b, "NVIDIA Nsight Systems", version));
    int64_t stop = database_least(n->d, "ANALYSIS_DETAILS", "duration", 0);
    if (stop > 0 && stop < 1ll << 53)
        n->b->run->m->meta.wall_s = 1e-9 * (double)stop;
    return ERR_OK;
}

static enum err nsys_read_tables(struct nsys *n)
{
    FAIL_IF(
        !database_has(n->d, "META_DATA_EXPORT") || !database_has(n->d, "StringIds"), ERR_INPUT,
        "%s: an SQLite database that Nsight Systems did not export (nvprof's files are not read)",
        n->b->base);
    TRY(nsys_names(n, "StringIds", "id", "value", &n->strings));
    TRY(nsys_names(n, "PROCESSES", "globalPid", "name", &n->process_names));
    TRY(nsys_names(n, "ThreadNames", "globalTid", "nameId", &n->thread_names));
    TRY(nsys_origin(n));
    TRY(nsys_meta(n));
    TRY(nsys_host(n));
    TRY(nsys_ranges(n));
    TRY(nsys_cuda(n));
    TRY(import_note(n->b, n->damaged, "import_damaged", "warning",
                    "Rows had no time, no thread or no counterpart.", "They were left out."));
    TRY(import_note(n->b, n->broken, "import_broken", "info",
                    "Call chains end in [Broken backtraces].",
                    "Their callers are unknown; the time is at the leaf."));
    return import_note(n->b, n->unresolved, "import_unresolved", "info",
                       "Frames of call chains had no symbol.", NULL);
}

static enum err nsys_read(struct builder *b, const struct import_input *in,
                          const struct import_options *o)
{
    struct nsys n = {.b = b, .rate_hz = o->rate_hz};
    enum err e = database_open(in, &n.d);
    if (!e)
        e = nsys_read_tables(&n);
    e = database_close(n.d, e);
    struct table *const tables[] = {&n.strings,      &n.threads, &n.process_names,
                                    &n.thread_names, &n.domains, &n.correlations};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        table_free(tables[i]);
    vector_free(&n.texts);
    vector_free(&n.thread_list);
    vector_free(&n.on_cpu);
    vector_free(&n.calls);
    return e;
}

static int nsys_is_it(const struct import_input *in)
{
    return in->bytes >= 16 && !memcmp(in->data, "SQLite format 3", 16);
}

const struct import_source import_nsys = {"nsys", "Nsight Systems' SQLite export", nsys_is_it,
                                          nsys_read};
