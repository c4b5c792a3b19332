/* The Firefox Profiler's processed format: samples of each thread with their stacks, intervals of
 * markers. Tables lie in each thread, or once for all in "shared". */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/import/read/json_pull.h"
#include "profiler/import/source/names.h"
#include "profiler/import/source/source.h"

enum { /* the columns that are read */
       SAMPLE_STACK,
       SAMPLE_TIME,
       SAMPLE_DELTA,
       SAMPLE_WEIGHT,
       SAMPLE_CPU,
       STACK_PREFIX,
       STACK_OFFSET,
       STACK_FRAME,
       FRAME_FUNC,
       FRAME_LINE,
       FUNC_NAME,
       FUNC_FILE,
       FUNC_SOURCE,
       FUNC_RESOURCE,
       RESOURCE_NAME,
       SOURCE_FILE,
       MARKER_NAME,
       MARKER_START,
       MARKER_END,
       COLUMNS
};
static const struct {
    const char *table, *column;
    int shift; /* of decimals that are kept */
} wanted[COLUMNS] = {{"samples", "stack", 0},
                     {"samples", "time", 6},
                     {"samples", "timeDeltas", 6},
                     {"samples", "weight", 6},
                     {"samples", "threadCPUDelta", 6},
                     {"stackTable", "prefix", 0},
                     {"stackTable", "prefixOffset", 0},
                     {"stackTable", "frame", 0},
                     {"frameTable", "func", 0},
                     {"frameTable", "line", 0},
                     {"funcTable", "name", 0},
                     {"funcTable", "fileName", 0},
                     {"funcTable", "source", 0},
                     {"funcTable", "resource", 0},
                     {"resourceTable", "name", 0},
                     {"sources", "filename", 0},
                     {"markers", "name", 0},
                     {"markers", "startTime", 6},
                     {"markers", "endTime", 6}};

struct column {
    VECTOR(int64_t) rows; /* MODEL_UNKNOWN: null */
};
struct tables {
    struct column column[COLUMNS];
    VECTOR(const char *) texts;
};
struct firefox {
    struct builder *b;
    struct pull *p;
    struct tables shared;
    int64_t interval, damaged, samples, first, threads;
    double cpu_unit, taken; /* ns of one threadCPUDelta, 0 unknown; the sum of all samples */
    int second, wall;       /* 1: times are wall time */
    const char *product;
};

static int64_t firefox_number(struct firefox *x, enum pull_kind kind, int shift)
{
    int64_t v;
    if (kind != PULL_NUMBER)
        return pull_skip(x->p, kind), MODEL_UNKNOWN;
    return decimal(x->p->text, shift, &v) ? v : MODEL_UNKNOWN;
}

static const char *firefox_text(struct firefox *x, enum pull_kind kind)
{
    if (kind != PULL_TEXT)
        return pull_skip(x->p, kind), NULL;
    return import_text(x->b, x->p->text, x->p->length);
}

/* An index beyond a column's end, or null, is unknown. */
static int64_t column_value(const struct tables *t, const struct tables *all, int column,
                            int64_t row)
{
    const struct column *c = &t->column[column];
    if (!c->rows.count)
        c = &all->column[column];
    return row >= 0 && (size_t)row < c->rows.count ? c->rows.items[row] : MODEL_UNKNOWN;
}

static const char *firefox_text_at(const struct tables *t, const struct tables *all, int64_t row)
{
    const struct tables *from = t->texts.count ? t : all;
    return row >= 0 && (size_t)row < from->texts.count ? from->texts.items[row] : NULL;
}

static enum err firefox_texts(struct firefox *x, struct tables *t)
{
    while (pull_more(x->p)) {
        enum pull_kind kind = pull_next(x->p);
        TRY(vector_add(&t->texts, firefox_text(x, kind)));
        if (kind == PULL_BAD || kind == PULL_END)
            return ERR_OK;
    }
    return ERR_OK;
}

/* The columns of one table of a thread or of "shared". */
static enum err firefox_table(struct firefox *x, struct tables *t, const char *name,
                              int *weight_is_time)
{
    while (pull_key(x->p)) {
        char key[32];
        int c = 0;
        pull_copy(x->p, key, sizeof key);
        enum pull_kind kind = pull_next(x->p);
        while (c < COLUMNS && (strcmp(wanted[c].table, name) || strcmp(wanted[c].column, key)))
            c++;
        if (c < COLUMNS && kind == PULL_ARRAY)
            while (pull_more(x->p)) {
                kind = pull_next(x->p);
                TRY(vector_add(&t->column[c].rows, firefox_number(x, kind, wanted[c].shift)));
                if (kind == PULL_BAD || kind == PULL_END)
                    return ERR_OK;
            }
        else if (!strcmp(key, "weightType") && kind == PULL_TEXT)
            *weight_is_time = !strcmp(x->p->text, "tracing-ms") ? 1
                              : !strcmp(x->p->text, "samples")  ? 0
                                                                : -1;
        else if (!pull_skip(x->p, kind))
            return ERR_OK;
    }
    return ERR_OK;
}

static int is_table(const char *key)
{
    for (int c = 0; c < COLUMNS; c++)
        if (!strcmp(wanted[c].table, key))
            return 1;
    return 0;
}

static void tables_free(struct tables *t)
{
    for (int c = 0; c < COLUMNS; c++)
        vector_free(&t->column[c].rows);
    vector_free(&t->texts);
}

static enum err firefox_frame(struct firefox *x, const struct tables *t, int64_t row,
                              struct model_frame *f)
{
    const struct tables *all = &x->shared;
    int64_t func = column_value(t, all, FRAME_FUNC, row),
            line = column_value(t, all, FRAME_LINE, row);
    int64_t source = column_value(t, all, FUNC_SOURCE, func);
    const char *file = firefox_text_at(t, all,
                                       source >= 0 ? column_value(t, all, SOURCE_FILE, source)
                                                   : column_value(t, all, FUNC_FILE, func));
    json_blank(&record_model_frame, f);
    f->function = firefox_text_at(t, all, column_value(t, all, FUNC_NAME, func));
    file = file && *file ? import_path(x->b, file, strlen(file)) : NULL;
    if (file && line > 0 && line < INT32_MAX) {
        f->file = file;
        f->line = line;
    } else
        f->module = file;
    f->kind = name_kind(f->file);
    const char *module = firefox_text_at(
        t, all, column_value(t, all, RESOURCE_NAME, column_value(t, all, FUNC_RESOURCE, func)));
    if (module && *module)
        f->module = import_path(x->b, module, strlen(module));
    return ERR_OK;
}

/* Nodes of all stacks: a prefix comes before its stack, else it is left out. */
static enum err firefox_nodes(struct firefox *x, const struct tables *t, int32_t root,
                              int32_t **out)
{
    const struct tables *all = &x->shared;
    const struct tables *from = t->column[STACK_FRAME].rows.count ? t : all;
    size_t n = from->column[STACK_FRAME].rows.count;
    int32_t *node = malloc((n + 1) * sizeof *node);
    FAIL_IF(!node, ERR_MEMORY, "no memory for the import");
    enum err e = ERR_OK;
    for (size_t i = 0; i < n && !e; i++) {
        int64_t prefix = column_value(t, all, STACK_PREFIX, (int64_t)i);
        int64_t back =
            column_value(t, all, STACK_OFFSET, (int64_t)i); /* format 66 and later; 0: no prefix */
        if (back > 0)
            prefix = (int64_t)i - back;
        struct model_frame f;
        node[i] = root;
        if ((back > 0 && prefix < 0) || prefix >= (int64_t)i) {
            x->damaged++;
            prefix = MODEL_UNKNOWN;
        }
        e = firefox_frame(x, t, column_value(t, all, STACK_FRAME, (int64_t)i), &f);
        if (!e)
            e = builder_call(x->b, prefix >= 0 ? node[prefix] : root, &f, &node[i]);
    }
    *out = node;
    if (e)
        free(node);
    return e;
}

static enum err firefox_samples(struct firefox *x, const struct tables *t, int32_t thread,
                                int weight)
{
    const struct tables none = {0};
    int32_t root, *node = NULL;
    TRY(builder_call(x->b, IMPORT_ROOT(thread), NULL, &root));
    TRY(firefox_nodes(x, t, root, &node));
    const struct tables *from = t->column[STACK_FRAME].rows.count ? t : &x->shared;
    size_t n = t->column[SAMPLE_STACK].rows.count, stacks = from->column[STACK_FRAME].rows.count;
    int cpu = x->cpu_unit > 0 && t->column[SAMPLE_CPU].rows.count > 0 && weight != 1;
    int64_t clock = 0;
    enum err e = ERR_OK;
    for (size_t i = 0; i < n && !e; i++) {
        int64_t row = (int64_t)i, stack = t->column[SAMPLE_STACK].rows.items[i];
        int64_t w = column_value(t, &none, SAMPLE_WEIGHT, row),
                delta = column_value(t, &none, SAMPLE_DELTA, row);
        double ns = weight == 1 ? (double)w
                    : cpu ? (double)column_value(t, &none, SAMPLE_CPU, row) * 1e-6 * x->cpu_unit
                          : (w > 0 ? (double)w * 1e-6 : 1) * (double)x->interval;
        if (cpu && column_value(t, &none, SAMPLE_CPU, row) == MODEL_UNKNOWN)
            ns = 0; /* of the first sample */
        clock = delta > 0 && clock < 1ll << 53 ? clock + delta : clock;
        int64_t time = delta != MODEL_UNKNOWN ? clock : column_value(t, &none, SAMPLE_TIME, row);
        if (!(ns >= 0 && ns < 9e15) || stack >= (int64_t)stacks) {
            x->damaged++;
            continue;
        }
        x->samples++;
        int32_t to = stack >= 0 ? node[stack] : root;
        x->taken += (double)llround(ns);
        e = builder_cost(x->b, to, IMPORT_CPU, llround(ns), 1);
        if (!e && time >= x->b->origin && time < 1ll << 53 && ns >= 1)
            e = builder_event(x->b, to, IMPORT_CPU, time, time + llround(ns));
    }
    x->wall |= !cpu && weight != 1;
    free(node);
    return e;
}

static enum err firefox_markers(struct firefox *x, const struct tables *t, int32_t thread)
{
    for (size_t i = 0; i < t->column[MARKER_NAME].rows.count; i++) {
        const struct tables none = {0};
        int64_t start = column_value(t, &none, MARKER_START, (int64_t)i),
                end = column_value(t, &none, MARKER_END, (int64_t)i);
        const char *name = firefox_text_at(t, &x->shared, t->column[MARKER_NAME].rows.items[i]);
        if (!name || start < x->b->origin || end < start || end > 1ll << 53)
            continue; /* a moment, or half of an interval */
        const struct import_range r = {.name = name, .style = "push_pop"};
        TRY(builder_range(x->b, thread, &r, start, end));
    }
    return ERR_OK;
}

static enum err firefox_thread(struct firefox *x)
{
    struct tables t = {0};
    const char *name = NULL, *program = NULL;
    int64_t pid = 0, tid = 0;
    int weight = 0;
    enum err e = ERR_OK;
    while (!e && pull_key(x->p)) {
        char key[32];
        pull_copy(x->p, key, sizeof key);
        enum pull_kind kind = pull_next(x->p);
        if (kind == PULL_OBJECT && is_table(key))
            e = firefox_table(x, &t, key, &weight);
        else if (kind == PULL_ARRAY && !strcmp(key, "stringArray"))
            e = firefox_texts(x, &t);
        else if (!strcmp(key, "name"))
            name = firefox_text(x, kind);
        else if (!strcmp(key, "processName"))
            program = firefox_text(x, kind);
        else if ((!strcmp(key, "pid") || !strcmp(key, "tid")) &&
                 (kind == PULL_TEXT || kind == PULL_NUMBER)) {
            int64_t v = strtoll(x->p->text, NULL, 10);
            *(*key == 'p' ? &pid : &tid) = v;
        } else if (!pull_skip(x->p, kind))
            break;
    }
    if (!x->second) {
        for (int c = SAMPLE_TIME; c <= MARKER_END; c++)
            for (size_t i = 0;
                 (c == SAMPLE_TIME || c == MARKER_START) && i < t.column[c].rows.count; i++)
                if (t.column[c].rows.items[i] != MODEL_UNKNOWN &&
                    t.column[c].rows.items[i] < x->first)
                    x->first = t.column[c].rows.items[i];
        if (t.column[SAMPLE_DELTA].rows.count && x->first > 0)
            x->first = 0;
    } else if (!e) {
        int32_t process, thread;
        e = builder_process(x->b, pid, program, &process);
        if (!e)
            e = builder_thread(x->b, process, tid, name, &thread);
        if (!e && weight >= 0)
            e = firefox_samples(x, &t, thread, weight);
        if (!e)
            e = firefox_markers(x, &t, thread);
        x->threads++;
    }
    tables_free(&t);
    return e;
}

static void firefox_meta(struct firefox *x)
{
    while (pull_key(x->p)) {
        char key[32];
        pull_copy(x->p, key, sizeof key);
        enum pull_kind kind = pull_next(x->p);
        if (!strcmp(key, "interval"))
            x->interval = firefox_number(x, kind, 6);
        else if (!strcmp(key, "product"))
            x->product = firefox_text(x, kind);
        else if (!strcmp(key, "sampleUnits") && kind == PULL_OBJECT) {
            while (pull_key(x->p)) {
                int cpu = !strcmp(x->p->text, "threadCPUDelta");
                kind = pull_next(x->p);
                if (cpu && kind == PULL_TEXT)
                    x->cpu_unit = !strcmp(x->p->text, "ns")          ? 1
                                  : !strcmp(x->p->text, "\xc2\xb5s") ? 1e3
                                                                     : 0;
                else if (!pull_skip(x->p, kind))
                    return;
            }
        } else if (!pull_skip(x->p, kind))
            return;
    }
}

static enum err firefox_shared(struct firefox *x)
{
    int unused = 0;
    while (pull_key(x->p)) {
        char key[32];
        pull_copy(x->p, key, sizeof key);
        enum pull_kind kind = pull_next(x->p);
        if (kind == PULL_OBJECT && is_table(key))
            TRY(firefox_table(x, &x->shared, key, &unused));
        else if (kind == PULL_ARRAY && !strcmp(key, "stringArray"))
            TRY(firefox_texts(x, &x->shared));
        else if (!pull_skip(x->p, kind))
            return ERR_OK;
    }
    return ERR_OK;
}

/* Units, shared tables and the first time come before samples, wherever they are in the file. */
static enum err firefox_pass(struct firefox *x, const struct import_input *in)
{
    pull_start(x->p, in->data, in->bytes);
    if (pull_next(x->p) != PULL_OBJECT)
        return ERR_OK;
    while (pull_key(x->p)) {
        char key[32];
        pull_copy(x->p, key, sizeof key);
        enum pull_kind kind = pull_next(x->p);
        if (!x->second && !strcmp(key, "meta") && kind == PULL_OBJECT)
            firefox_meta(x);
        else if (!x->second && !strcmp(key, "shared") && kind == PULL_OBJECT)
            TRY(firefox_shared(x));
        else if (!strcmp(key, "threads") && kind == PULL_ARRAY)
            while (pull_more(x->p)) {
                kind = pull_next(x->p);
                if (kind == PULL_OBJECT)
                    TRY(firefox_thread(x));
                else if (!pull_skip(x->p, kind))
                    return ERR_OK;
            }
        else if (!pull_skip(x->p, kind))
            return ERR_OK;
    }
    return ERR_OK;
}

static enum err firefox_notes(struct firefox *x)
{
    TRY(import_check(x->b, "firefox_kept", x->taken, (double)x->b->added[IMPORT_CPU], 0,
                     "times of all samples are in the stacks, ns"));
    TRY(import_note(x->b, x->damaged, "import_damaged", "warning",
                    "Samples had no such stack or a time out of range, or stacks came before "
                    "their prefix.",
                    "They were left out."));
    TRY(import_note(x->b, x->wall, "import_wall_as_cpu", "info",
                    "Samples have no CPU time: each counts as one sampling interval on its "
                    "thread, waiting included.",
                    "CPU columns hold wall time."));
    return source_is(x->b,
                     x->product && !strcmp(x->product, "tomoprof") ? "tomoprof (firefox)"
                                                                   : "Firefox Profiler",
                     NULL);
}

static enum err firefox_read(struct builder *b, const struct import_input *in,
                             const struct import_options *o)
{
    struct firefox x = {.b = b, .p = malloc(sizeof *x.p), .first = INT64_MAX, .interval = 1000000};
    enum err e = x.p ? ERR_OK : FAIL(ERR_MEMORY, "no memory for the import");
    (void)o;
    for (x.second = 0; x.second < 2 && !e; x.second++) {
        e = firefox_pass(&x, in);
        b->origin = x.first < INT64_MAX ? x.first : 0;
        x.interval = x.interval > 0 ? x.interval : 1000000;
    }
    if (!e && !x.samples)
        e = FAIL(ERR_INPUT, "%s: a profile of the Firefox Profiler without samples of time",
                 in->path);
    if (!e)
        e = firefox_notes(&x);
    tables_free(&x.shared);
    free(x.p);
    return e;
}

static int firefox_is_it(const struct import_input *in)
{
    size_t n = in->bytes < 65536 ? in->bytes : 65536;
    return n && memchr(in->data, '{', n < 64 ? n : 64) &&
           memmem(in->data, n, "\"preprocessedProfileVersion\"", 28);
}

const struct import_source import_firefox = {"firefox", "the Firefox Profiler's processed JSON",
                                             firefox_is_it, firefox_read};
