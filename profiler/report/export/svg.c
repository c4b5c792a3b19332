/* The exporter of flame graphs: of a whole recording, and one for each operation of the suite. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "profiler/report/export/export.h"
#include "profiler/report/export/flame.h"

static void svg_write(const struct model *m, const struct export_options *o, FILE *out)
{
    int64_t *weights = calloc((size_t)m->stacks_count + 1, sizeof *weights);
    for (int i = 0; i < m->stacks_count && weights; i++)
        weights[i] = export_weight(&m->stacks[i], EXPORT_CPU);
    (void)o;
    if (weights)
        flame_write(m, weights, "run", out);
    free(weights);
}

const struct exporter export_svg = {"svg", ".svg", "flame graph", svg_write};

/* Spans of time of one process in which the operation ran; ns since the first process began. */
struct flame_spans {
    struct span {
        int64_t begin, end;
    } * items;
    int count;
};

static int range_is_named(const struct model *m, int32_t range, const char *name)
{
    return range >= 0 && range < m->ranges_count && m->ranges[range].name &&
           !strcmp(m->ranges[range].name, name);
}

/* Draws spans of process p; items NULL: only counted. */
static int spans_of(const struct model *m, int p, const char *name, struct span *items)
{
    int n = 0;
    for (int i = 0; i < m->timeline_count; i++) {
        const struct model_track *t = &m->timeline[i];
        int64_t at = 0;
        if (t->process != p || strcmp(t->kind, "range"))
            continue;
        for (int k = 0; k < t->events_count; k++) {
            at += t->events[k].start;
            if (!range_is_named(m, t->events[k].what, name))
                continue;
            if (items)
                items[n] = (struct span){at, at + t->events[k].length};
            n++;
        }
    }
    return n;
}

/* A sample is taken at the end of the time that it stands for. */
static int spans_hold(const struct flame_spans *s, int64_t moment)
{
    for (int i = 0; i < s->count; i++)
        if (moment > s->items[i].begin && moment <= s->items[i].end)
            return 1;
    return 0;
}

/* CPU time by stack of process p whose samples lie within the spans; returns the sum. */
static int64_t weigh_spans(const struct model *m, int p, const struct flame_spans *s,
                           int64_t *weights)
{
    int64_t sum = 0;
    for (int i = 0; i < m->timeline_count; i++) {
        const struct model_track *t = &m->timeline[i];
        int64_t at = 0;
        if (t->process != p || strcmp(t->kind, "cpu"))
            continue;
        for (int k = 0; k < t->events_count; k++) {
            const struct model_event *e = &t->events[k];
            at += e->start;
            if (e->what >= 0 && e->what < m->stacks_count && spans_hold(s, at + e->length)) {
                weights[e->what] += e->length;
                sum += e->length;
            }
        }
    }
    return sum;
}

static enum err write_graph(const struct model *m, const int64_t *weights, const char *folder,
                            const char *name)
{
    struct outfile f = {0};
    char *path;
    FAIL_IF(asprintf(&path, "%s/%s.svg", folder, name) < 0, ERR_MEMORY,
            "no memory left for a file name");
    enum err e = outfile_open(&f, path);
    if (!e) {
        flame_write(m, weights, name, f.stream);
        e = outfile_commit(&f);
    }
    free(path);
    return e;
}

static void leave_out(const char *name, struct flame_count *count)
{
    const size_t at = strlen(count->without), room = sizeof count->without - at;
    const char *between = at ? ", " : "";
    if (strlen(name) + 8 < room)
        snprintf(count->without + at, room, "%s%s", between, name);
    else if (room > 6 && strcmp(count->without + at - 3, "...") != 0)
        snprintf(count->without + at, room, "%s...", between);
}

static enum err process_graph(const struct model *m, int p, const char *operation, const char *name,
                              const char *folder, struct flame_count *count)
{
    struct flame_spans s = {.count = spans_of(m, p, operation, NULL)};
    int64_t *weights = calloc((size_t)m->stacks_count + 1, sizeof *weights);
    s.items = calloc((size_t)s.count + 1, sizeof *s.items);
    enum err e = weights && s.items ? ERR_OK : FAIL(ERR_MEMORY, "no memory left for a flame graph");
    if (!e) {
        spans_of(m, p, operation, s.items);
        if (weigh_spans(m, p, &s, weights)) {
            e = write_graph(m, weights, folder, name);
            count->written += !e;
        } else {
            leave_out(name, count);
        }
    }
    free(weights);
    free(s.items);
    return e;
}

/* OPERATION_SIZE, or OPERATION_SHAPE. */
static void graph_name(const struct timing_measurement *r, char name[160])
{
    char size[JSON_DIGITS];
    if (r->shape)
        snprintf(name, 160, "%.80s_%.39s", r->operation, r->shape);
    else
        snprintf(name, 160, "%.80s_%s", r->operation, json_digits(r->volume_size, "unknown", size));
}

static int same_cell(const struct timing_measurement *a, const struct timing_measurement *b)
{
    return !strcmp(a->operation, b->operation) && a->volume_size == b->volume_size &&
           !strcmp(a->shape ? a->shape : "", b->shape ? b->shape : "");
}

/* A process runs one operation at one size, the sizes of an operation one after the other: the
 * traced cells of timing.json, in their order, are the processes with that range in theirs. */
enum err flame_operations(const struct model *m, const struct timing_file *t, const char *folder,
                          struct flame_count *count)
{
    *count = (struct flame_count){0};
    TRY(dir_make(folder));
    const char *operation = "";
    const struct timing_measurement *last = NULL; /* the first traced row of its cell */
    int p = 0, cells = 0;
    for (int i = 0; i < t->measurements_count; i++) {
        const struct timing_measurement *r = &t->measurements[i];
        char name[160];
        if (r->traced != 1 || !r->operation || (last && same_cell(r, last)))
            continue;
        last = r;
        cells++;
        if (strcmp(r->operation, operation))
            p = 0;
        operation = r->operation;
        if (!r->status || strcmp(r->status, "ok"))
            continue;
        while (p < m->processes_count && !spans_of(m, p, operation, NULL))
            p++;
        graph_name(r, name);
        if (p < m->processes_count)
            TRY(process_graph(m, p++, operation, name, folder, count));
        else
            leave_out(name, count);
    }
    FAIL_IF(!cells, ERR_INPUT,
            "timing.json has no traced operation: `tomoprof run --flamegraph` makes one graph for "
            "each");
    return ERR_OK;
}
