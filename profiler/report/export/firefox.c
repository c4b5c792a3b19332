/* The Firefox Profiler's processed format, version 49, which profiler.firefox.com upgrades: samples
 * of each thread in order of time, ranges as markers. */
#include <stdlib.h>
#include <string.h>

#include "base/json/jsonw.h"
#include "profiler/report/export/export.h"

#define FORMAT_VERSION   49
#define CATEGORY_CODE    1
#define RESOURCE_LIBRARY 1

/* Rows of a thread's own tables. */
struct firefox_rows {
    const struct model *m;
    int *stack, *frame;   /* by node and frame of the model: row, -1 not of this thread */
    int *stacks, *frames; /* by row: node and frame */
    int stacks_count, frames_count;
    const struct model_track *cpu;
    int thread;
    double unit; /* ms of a weight; 1: it is a number of samples, each a ms of the axis */
};

static int of_thread(const struct model_track *t, const char *kind, int thread)
{
    return t->thread == thread && t->kind && !strcmp(t->kind, kind);
}

/* Nodes of the samples with all towards the root, parents first: the model has them in that order.
 */
static void number_rows(struct firefox_rows *r)
{
    const struct model *m = r->m;
    r->stacks_count = r->frames_count = 0;
    for (int i = 0; i < m->stacks_count; i++)
        r->stack[i] = -1;
    for (int i = 0; i < m->frames_count; i++)
        r->frame[i] = -1;
    for (int i = 0; i < r->cpu->events_count; i++)
        for (int32_t s = r->cpu->events[i].what; s >= 0 && s < m->stacks_count && r->stack[s] < 0;
             s = m->stacks[s].parent)
            r->stack[s] = 0;
    for (int i = 0; i < m->stacks_count; i++) {
        int32_t frame = m->stacks[i].frame;
        if (r->stack[i] < 0 || frame < 0) {
            r->stack[i] = -1;
            continue;
        }
        r->stack[i] = r->stacks_count;
        r->stacks[r->stacks_count++] = i;
        if (r->frame[frame] < 0) {
            r->frame[frame] = r->frames_count;
            r->frames[r->frames_count++] = frame;
        }
    }
}

static void put_column(struct jsonw *w, const char *key)
{
    jsonw_karray(w, key);
}

/* Writes a column of one value. */
static void put_constant_column(struct jsonw *w, const char *key, int n, int value, int null)
{
    put_column(w, key);
    for (int i = 0; i < n; i++)
        null ? jsonw_null(w) : jsonw_int(w, value);
    jsonw_end(w);
}

static void put_samples(struct jsonw *w, const struct firefox_rows *r)
{
    const struct model_track *t = r->cpu;
    int64_t at = 0;
    jsonw_kobject(w, "samples");
    jsonw_kint(w, "length", t->events_count);
    jsonw_kstring(w, "weightType", r->unit < 1 ? "tracing-ms" : "samples");
    put_column(w, "stack");
    for (int i = 0; i < t->events_count; i++) {
        int32_t s = t->events[i].what;
        s >= 0 && s < r->m->stacks_count && r->stack[s] >= 0 ? jsonw_int(w, r->stack[s])
                                                             : jsonw_null(w);
    }
    jsonw_end(w);
    put_column(w, "time");
    for (int i = 0; i < t->events_count; i++)
        jsonw_number(w, r->unit * (double)(at += t->events[i].start));
    jsonw_end(w);
    put_column(w, "weight");
    for (int i = 0; i < t->events_count; i++)
        jsonw_number(w, r->unit * (double)export_busy(&t->events[i]));
    jsonw_end(w);
    jsonw_end(w);
}

static void firefox_put_stacks(struct jsonw *w, const struct firefox_rows *r)
{
    const struct model *m = r->m;
    jsonw_kobject(w, "stackTable");
    jsonw_kint(w, "length", r->stacks_count);
    put_column(w, "prefix");
    for (int i = 0; i < r->stacks_count; i++) {
        int32_t parent = m->stacks[r->stacks[i]].parent;
        parent >= 0 && r->stack[parent] >= 0 ? jsonw_int(w, r->stack[parent]) : jsonw_null(w);
    }
    jsonw_end(w);
    put_column(w, "frame");
    for (int i = 0; i < r->stacks_count; i++)
        jsonw_int(w, r->frame[m->stacks[r->stacks[i]].frame]);
    jsonw_end(w);
    put_constant_column(w, "category", r->stacks_count, CATEGORY_CODE, 0);
    put_constant_column(w, "subcategory", r->stacks_count, 0, 0);
    jsonw_end(w);
}

/* Text 3i is the name of row i, 3i + 1 its file, 3i + 2 its module, which is resource i. */
static void firefox_put_frames(struct jsonw *w, const struct firefox_rows *r)
{
    int n = r->frames_count;
    static const char *const nulls[] = {"nativeSymbol", "innerWindowID", "implementation",
                                        "column"};
    jsonw_kobject(w, "frameTable");
    jsonw_kint(w, "length", n);
    put_constant_column(w, "address", n, -1, 0);
    put_constant_column(w, "inlineDepth", n, 0, 0);
    put_constant_column(w, "category", n, CATEGORY_CODE, 0);
    put_constant_column(w, "subcategory", n, 0, 0);
    for (size_t i = 0; i < sizeof nulls / sizeof *nulls; i++)
        put_constant_column(w, nulls[i], n, 0, 1);
    put_column(w, "func");
    for (int i = 0; i < n; i++)
        jsonw_int(w, i);
    jsonw_end(w);
    put_column(w, "line");
    for (int i = 0; i < n; i++) {
        const struct model_frame *f = &r->m->frames[r->frames[i]];
        f->file && f->line > 0 ? jsonw_int(w, f->line) : jsonw_null(w);
    }
    jsonw_end(w);
    jsonw_end(w);
    jsonw_kobject(w, "funcTable");
    jsonw_kint(w, "length", n);
    put_column(w, "name");
    for (int i = 0; i < n; i++)
        jsonw_int(w, 3 * i);
    jsonw_end(w);
    put_column(w, "fileName");
    for (int i = 0; i < n; i++)
        r->m->frames[r->frames[i]].file ? jsonw_int(w, 3 * i + 1) : jsonw_null(w);
    jsonw_end(w);
    put_column(w, "isJS");
    for (int i = 0; i < n; i++)
        jsonw_bool(w, 0);
    jsonw_end(w);
    put_column(w, "relevantForJS");
    for (int i = 0; i < n; i++)
        jsonw_bool(w, 0);
    jsonw_end(w);
    put_column(w, "resource");
    for (int i = 0; i < n; i++)
        jsonw_int(w, r->m->frames[r->frames[i]].module ? i : -1);
    jsonw_end(w);
    put_constant_column(w, "lineNumber", n, 0, 1);
    put_constant_column(w, "columnNumber", n, 0, 1);
    jsonw_end(w);
}

static void put_resources(struct jsonw *w, const struct firefox_rows *r)
{
    const int n = r->frames_count;
    jsonw_kobject(w, "resourceTable");
    jsonw_kint(w, "length", n);
    put_constant_column(w, "lib", n, 0, 1);
    put_column(w, "name");
    for (int i = 0; i < n; i++)
        jsonw_int(w, 3 * i + 2);
    jsonw_end(w);
    put_constant_column(w, "host", n, 0, 1);
    put_constant_column(w, "type", n, RESOURCE_LIBRARY, 0);
    jsonw_end(w);
}

static const struct model_track *firefox_ranges(const struct model *m, int thread)
{
    for (int i = 0; i < m->timeline_count; i++)
        if (of_thread(&m->timeline[i], "range", thread))
            return &m->timeline[i];
    return NULL;
}

static void put_markers(struct jsonw *w, const struct firefox_rows *r)
{
    const struct model_track *t = firefox_ranges(r->m, r->thread);
    int n = t ? t->events_count : 0;
    int64_t at = 0;
    jsonw_kobject(w, "markers");
    jsonw_kint(w, "length", n);
    put_column(w, "name");
    for (int i = 0; i < n; i++)
        jsonw_int(w, 3 * r->frames_count + i);
    jsonw_end(w);
    put_column(w, "startTime");
    for (int i = 0; i < n; i++)
        jsonw_number(w, 1e-6 * (double)(at += t->events[i].start));
    jsonw_end(w);
    put_column(w, "endTime");
    at = 0;
    for (int i = 0; i < n; i++) {
        at += t->events[i].start;
        jsonw_number(w, 1e-6 * (double)(at + t->events[i].length));
    }
    jsonw_end(w);
    put_constant_column(w, "phase", n, 1, 0);
    put_constant_column(w, "category", n, CATEGORY_CODE, 0);
    put_constant_column(w, "data", n, 0, 1);
    jsonw_end(w);
}

static void put_texts(struct jsonw *w, const struct firefox_rows *r)
{
    const struct model_track *t = firefox_ranges(r->m, r->thread);
    put_column(w, "stringArray");
    for (int i = 0; i < r->frames_count; i++) {
        const struct model_frame *f = &r->m->frames[r->frames[i]];
        const char *thread =
            f->kind && !strcmp(f->kind, "thread") ? r->m->threads[r->thread].name : NULL;
        jsonw_string(w, thread ? thread : export_frame_name(f));
        jsonw_string(w, f->file ? f->file : "");
        jsonw_string(w, f->module ? f->module : "");
    }
    for (int i = 0; t && i < t->events_count; i++)
        jsonw_string(w, export_event_name(r->m, t, t->events[i].what));
    jsonw_end(w);
}

static void put_empty(struct jsonw *w, const char *key, const char *const *columns)
{
    jsonw_kobject(w, key);
    jsonw_kint(w, "length", 0);
    for (; *columns; columns++) {
        put_column(w, *columns);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void put_thread(struct jsonw *w, struct firefox_rows *r)
{
    static const char *const symbols[] = {"libIndex", "address", "name", "functionSize", NULL};
    const struct model_thread *t = &r->m->threads[r->thread];
    const struct model_process *p =
        t->process >= 0 && t->process < r->m->processes_count ? &r->m->processes[t->process] : NULL;
    char pid[32];
    snprintf(pid, sizeof pid, "%lld", (long long)export_pid(r->m, t->process));
    number_rows(r);
    jsonw_object(w);
    jsonw_kstring(w, "processType", "default");
    jsonw_kstring(w, "processName", p ? export_process_name(p) : "?");
    jsonw_kint(w, "processStartupTime", 0);
    jsonw_knull(w, "processShutdownTime");
    jsonw_kint(w, "registerTime", 0);
    jsonw_knull(w, "unregisterTime");
    put_column(w, "pausedRanges");
    jsonw_end(w);
    jsonw_kstring(w, "name", t->name ? t->name : "thread");
    jsonw_kbool(w, "isMainThread", t->main);
    jsonw_kstring(w, "pid", pid);
    jsonw_kint(w, "tid", export_tid(r->m, r->thread));
    put_samples(w, r);
    put_markers(w, r);
    firefox_put_stacks(w, r);
    firefox_put_frames(w, r);
    put_resources(w, r);
    put_empty(w, "nativeSymbols", symbols);
    put_texts(w, r);
    jsonw_end(w);
}

static void put_category(struct jsonw *w, const char *name, const char *colour)
{
    jsonw_object(w);
    jsonw_kstring(w, "name", name);
    jsonw_kstring(w, "color", colour);
    put_column(w, "subcategories");
    jsonw_string(w, "Other");
    jsonw_end(w);
    jsonw_end(w);
}

static void put_meta(struct jsonw *w, const struct model *m)
{
    jsonw_kobject(w, "meta");
    jsonw_kint(w, "version", 24);
    jsonw_kint(w, "preprocessedProfileVersion", FORMAT_VERSION);
    jsonw_knumber(w, "interval", m->meta.cpu_hz > 0 ? 1e3 / m->meta.cpu_hz : 1);
    jsonw_kint(w, "startTime", 0); /* when it was recorded is not told */
    jsonw_kint(w, "processType", 0);
    jsonw_kint(w, "stackwalk", 1);
    jsonw_kstring(w, "product", "tomoprof");
    jsonw_kbool(w, "debug", 0);
    jsonw_kbool(w, "symbolicationNotSupported", 1);
    jsonw_kbool(w, "usesOnlyOneStackType", 1);
    jsonw_kbool(w, "doesNotUseFrameImplementation", 1);
    put_column(w, "categories");
    put_category(w, "Other", "grey");
    put_category(w, "Code", "blue");
    jsonw_end(w);
    put_column(w, "markerSchema");
    jsonw_end(w);
    jsonw_end(w);
}

/* Writes the threads of a capture without times: each node is a sample, one after the other, as long
 * as its own weight. */
static void put_untimed(struct jsonw *w, struct firefox_rows *r)
{
    const struct model *m = r->m;
    struct model_event *events = malloc(((size_t)m->stacks_count + 1) * sizeof *events);
    int32_t *of = malloc(((size_t)m->stacks_count + 1) * sizeof *of); /* thread of each node */
    for (int i = 0; events && of && i < m->stacks_count; i++) {
        const struct model_stack *s = &m->stacks[i];
        const int32_t thread = s->frame >= 0 ? m->frames[s->frame].thread : -1;
        of[i] = s->parent >= 0                             ? of[s->parent]
                : thread >= 0 && thread < m->threads_count ? thread
                                                           : 0;
    }
    for (int i = 0; events && of && i < m->threads_count; i++) {
        struct model_track track = {.events = events};
        int64_t before = 0;
        for (int k = 0; k < m->stacks_count; k++) {
            const int64_t weight = export_weight(&m->stacks[k], EXPORT_CPU);
            if (of[k] != i || weight == 0)
                continue;
            events[track.events_count++] =
                (struct model_event){.start = before, .busy = weight, .what = k};
            before = weight;
        }
        r->thread = i;
        r->cpu = &track;
        if (track.events_count)
            put_thread(w, r);
    }
    free(events);
    free(of);
}

static void firefox_write(const struct model *m, const struct export_options *o, FILE *out)
{
    struct jsonw w;
    size_t stacks = (size_t)m->stacks_count + 1, frames = (size_t)m->frames_count + 1;
    int timed = 0;
    struct firefox_rows r = {.m = m,
                             .unit = model_counts_samples(m) ? 1 : 1e-6,
                             .stack = malloc(stacks * sizeof(int)),
                             .stacks = malloc(stacks * sizeof(int)),
                             .frame = malloc(frames * sizeof(int)),
                             .frames = malloc(frames * sizeof(int))};
    (void)o;
    jsonw_init(&w, out, 0);
    jsonw_object(&w);
    put_meta(&w, m);
    put_column(&w, "libs");
    jsonw_end(&w);
    put_column(&w, "threads");
    for (int i = 0; i < m->timeline_count && r.stack && r.stacks && r.frame && r.frames; i++) {
        r.cpu = &m->timeline[i];
        r.thread = r.cpu->thread;
        if (r.thread >= 0 && r.thread < m->threads_count && of_thread(r.cpu, "cpu", r.thread)) {
            put_thread(&w, &r);
            timed++;
        }
    }
    if (!timed && r.stack && r.stacks && r.frame && r.frames)
        put_untimed(&w, &r);
    jsonw_end(&w);
    jsonw_end(&w);
    fputc('\n', out);
    free(r.stack);
    free(r.stacks);
    free(r.frame);
    free(r.frames);
}

const struct exporter export_firefox = {"firefox", ".firefox.json",
                                        "the Firefox Profiler's format, for profiler.firefox.com",
                                        firefox_write};
