/* Reads all trace files of a run: each record goes to the collector of its kind, then each image
 * is attributed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "profiler/analyze/attribute/cpu.h"
#include "profiler/analyze/attribute/failure.h"
#include "profiler/analyze/attribute/ranges.h"
#include "profiler/analyze/attribute/sites.h"
#include "profiler/analyze/build/build.h"
#include "profiler/analyze/gpu/gpu.h"
#include "profiler/analyze/io/io.h"
#include "profiler/analyze/state/collector.h"
#include "profiler/analyze/ranks/ranks.h"
#include "profiler/analyze/state/cells.h"
#include "profiler/trace/writer.h"

/* Each settles before those behind it, and attributes before them. */
static const struct collector *const collectors[] = {
    &collector_definitions, &collector_facts, &collector_jit,   &collector_children,
    &collector_cpu,         &collector_heap,  &collector_gpu,   &collector_ranges,
    &collector_io,          &collector_locks, &collector_ranks, &collector_accounts,
    &collector_failure};

static enum err load_stream(struct image *im, struct trace_reader *reader, double before,
                            double total)
{
    const struct analyze_options *o = im->run->options;
    for (uint64_t n = 0;; n++) {
        struct trace_item item;
        int more;
        TRY(trace_next(reader, &item, &more));
        if (!more)
            return ERR_OK;
        if (item.record->time_ns > im->last &&
            item.record->time_ns < im->run->origin + (1ull << 53))
            im->last = item.record->time_ns;
        TRY(collectors_record(im, &item));
        if (o->progress && n % 65536 == 0)
            o->progress(o->context, before + (double)trace_reader_position(reader), total);
    }
}

static void add_damage(struct quality_count *q, const struct trace_reader *reader)
{
    const struct trace_damage *d = trace_reader_damage(reader);
    q->damage.bad_chunks += d->bad_chunks;
    q->damage.torn_records += d->torn_records;
    q->damage.missing_chunks += d->missing_chunks;
    q->damage.unknown_records += d->unknown_records;
    q->damage.truncated_bytes += d->truncated_bytes;
}

static enum err load_finish(struct image *im)
{
    TRY(collectors_finish(im));
    TRY(attribute_samples(im));
    TRY(collectors_attribute(im));
    return build_image(im);
}

/* The run's moments, as this image's clock has them. */
static void turn_clock(struct run *r, uint64_t shift)
{
    r->origin += shift;
    r->until += r->until == UINT64_MAX ? 0 : shift;
    r->last += r->last ? shift : 0;
    r->end += r->end ? shift : 0;
}

static enum err read_image(struct run *r, const char *path, struct trace_reader *reader,
                           double before, double total)
{
    struct image im = {.run = r, .header = *trace_reader_header(reader), .path = path, .index = -1};
    enum err e = arena_create(&im.arena);
    im.last = im.header.start_ns;
    if (e == ERR_OK)
        e = build_process(r, &im);
    im.program = (struct owner_program){.child = im.index > 0,
                                        .include = r->options->include,
                                        .exclude = r->options->exclude,
                                        .libraries = r->options->libraries};
    if (e == ERR_OK)
        e = collectors_create(&im, collectors, sizeof collectors / sizeof *collectors);
    uint32_t other; /* context 0 takes what finds no room */
    if (e == ERR_OK)
        e = image_context(&im, (uint32_t)im.header.pid, 0, 0, &other);
    if (e == ERR_OK)
        e = load_stream(&im, reader, before, total);
    add_damage(&r->q, reader);
    if (e == ERR_OK)
        e = load_finish(&im);
    collectors_free(&im);
    arena_free(im.arena);
    return e;
}

/* Finds when the first region of a file began, by its process's clock; UINT64_MAX: it has none. */
static enum err first_region(struct trace_reader *reader, uint64_t *first)
{
    const uint64_t domain = trace_hash(TRACE_REGION_DOMAIN, strlen(TRACE_REGION_DOMAIN), 0);
    *first = UINT64_MAX;
    for (;;) {
        struct trace_item item;
        int more;
        TRY(trace_next(reader, &item, &more));
        if (!more)
            return ERR_OK;
        const struct trace_range *r = (const void *)item.record;
        if (item.record->kind == TRACE_RANGE && r->domain == domain && r->op != TRACE_POP &&
            r->op != TRACE_STOP && r->r.time_ns < *first)
            *first = r->r.time_ns;
    }
}

/* Sets r->from_s to the begin of the run's first region. */
static enum err load_find_start(struct run *r, char **paths, size_t count)
{
    uint64_t start = UINT64_MAX, first;
    for (size_t i = 0; i < count; i++) {
        struct trace_reader *reader;
        if (trace_open(paths[i], &reader) != ERR_OK)
            continue;
        const uint64_t shift = (uint64_t)clocks_shift(r, trace_reader_header(reader));
        const enum err e = first_region(reader, &first);
        trace_reader_free(reader);
        TRY(e);
        if (first != UINT64_MAX && first - shift < start)
            start = first - shift;
    }
    r->q.regions_missing = start == UINT64_MAX;
    if (!r->q.regions_missing && start > r->origin)
        r->from_s = 1e-9 * (double)(start - r->origin);
    return ERR_OK;
}

/* Read ahead: when the run began, how large the files are. */
static enum err load_survey(struct run *r, char **paths, size_t count, double *total,
                            size_t *readable)
{
    for (size_t i = 0; i < count; i++) {
        struct trace_reader *reader;
        if (trace_open(paths[i], &reader) != ERR_OK)
            continue;
        const struct trace_header *h = trace_reader_header(reader);
        const enum err e = clocks_add(r, h);
        const double bytes = (double)trace_reader_bytes(reader);
        trace_reader_free(reader);
        TRY(e);
        ++*readable;
        *total += bytes;
    }
    FAIL_IF(!*readable, ERR_INPUT, "none of the %zu trace files can be read: %s", count,
            err_text());
    clocks_finish(r);
    const struct analyze_options *o = r->options;
    if (o->after_start && !(o->from_s > 0))
        TRY(load_find_start(r, paths, count));
    r->until = o->until_s > 0 ? r->origin + (uint64_t)(1e9 * o->until_s) : UINT64_MAX;
    r->origin += (uint64_t)(1e9 * r->from_s);
    return ERR_OK;
}

static enum err load_read_all(struct run *r, char **paths, size_t count)
{
    double total = 0, before = 0;
    size_t readable = 0;
    TRY(load_survey(r, paths, count, &total, &readable));
    r->q.unreadable = count - readable;
    r->m->meta.trace_bytes = (int64_t)total;
    for (size_t i = 0; i < count; i++) {
        struct trace_reader *reader;
        if (trace_open(paths[i], &reader) != ERR_OK)
            continue;
        r->q.sources_foreign += !trace_reader_is_own(reader);
        const uint64_t shift = (uint64_t)clocks_shift(r, trace_reader_header(reader));
        turn_clock(r, shift);
        enum err e = read_image(r, paths[i], reader, before, total);
        turn_clock(r, 0 - shift);
        const double bytes = (double)trace_reader_bytes(reader);
        trace_reader_free(reader);
        TRY(e);
        before += bytes;
    }
    if (r->options->progress)
        r->options->progress(r->options->context, total, total);
    FAIL_IF(r->from_s > 0 && r->end <= r->origin, ERR_INPUT, "`from=%g`: the run took only %.3g s",
            r->from_s, r->from_s - 1e-9 * (double)(r->origin - r->end));
    return build_model(r);
}

static enum err with_folder(struct run *r, const char *folder)
{
    char **paths;
    size_t count;
    r->folder = folder;
    r->home = getenv("HOME");
    TRY(trace_list(folder, &paths, &count));
    enum err e = symbols_create(&r->symbols);
    if (e == ERR_OK)
        e = cells_read(r);
    if (e == ERR_OK)
        e = load_read_all(r, paths, count);
    trace_list_free(paths, count);
    return e;
}

/* Passes once over the traces; *imports_s: when the start-up's imports ended (optional). */
static enum err load_analyze(const char *run_folder, const struct analyze_options *options,
                             struct model **out, double *imports_s)
{
    static const struct analyze_options none;
    struct stat st;
    char folder[4096];
    int n = snprintf(folder, sizeof folder, "%s/trace", run_folder);
    FAIL_IF(n < 0 || n >= (int)sizeof folder, ERR_INPUT, "the path %.100s... is too long",
            run_folder);
    if (stat(folder, &st))
        folder[strlen(run_folder)] = 0;
    struct run *r = calloc(1, sizeof *r);
    FAIL_IF(!r, ERR_MEMORY, "no memory for the analysis");
    r->options = options ? options : &none;
    r->from_s = r->options->from_s;
    enum err e = model_create(&r->m);
    if (e == ERR_OK)
        e = with_folder(r, folder);
    if (e == ERR_OK) {
        *out = r->m;
        *imports_s = r->imports_s;
        r->m = NULL;
    }
    build_free(r);
    return e;
}

enum err analyze_run(const char *run_folder, const struct analyze_options *options,
                     struct model **out)
{
    double imports_s = 0;
    TRY(load_analyze(run_folder, options, out, &imports_s));
    if (!options || !options->after_imports)
        return ERR_OK;
    struct analyze_options after = *options;
    const double whole_s = (*out)->meta.wall_s;
    model_destroy(*out);
    *out = NULL;
    FAIL_IF(imports_s <= 0, ERR_INPUT,
            "`after=imports`: this recording begins with no imports of Python modules");
    FAIL_IF(imports_s >= whole_s, ERR_INPUT,
            "`after=imports`: nothing is left, the run ended with its imports after %.3g s",
            whole_s);
    after.from_s = imports_s;
    after.after_imports = 0;
    FAIL_IF(after.until_s > 0 && after.until_s <= after.from_s, ERR_INPUT,
            "`until=%g`: the imports ended only at %.3g s", after.until_s, after.from_s);
    return load_analyze(run_folder, &after, out, &imports_s);
}
