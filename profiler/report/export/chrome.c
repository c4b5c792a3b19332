/* Trace events for Perfetto and chrome://tracing: microseconds since the start of the run, one
 * track per thread or stream. */
#include <math.h>
#include <string.h>

#include "base/json/jsonw.h"
#include "profiler/report/export/export.h"

static void put_metadata(struct jsonw *w, const char *what, int64_t pid, int64_t tid,
                         const char *name)
{
    jsonw_object(w);
    jsonw_kstring(w, "ph", "M");
    jsonw_kstring(w, "name", what);
    jsonw_kint(w, "pid", pid);
    jsonw_kint(w, "tid", tid);
    jsonw_kobject(w, "args");
    jsonw_kstring(w, "name", name);
    jsonw_end(w);
    jsonw_end(w);
}

/* The stack of a slice and its CPU time, where it has them. */
struct chrome_cpu {
    int32_t node; /* -1: none */
    int64_t busy_ns;
};

/* phase: X a slice; b, e the ends of one that may overlap others of its track */
static void put_event(struct jsonw *w, const char *phase, const struct model_track *t,
                      const char *name, int64_t pid, int64_t tid, double at_ns, double length_ns,
                      int64_t id, const struct chrome_cpu *cpu)
{
    jsonw_object(w);
    jsonw_kstring(w, "ph", phase);
    jsonw_kstring(w, "name", name);
    jsonw_kstring(w, "cat", t->kind);
    jsonw_kint(w, "pid", pid);
    jsonw_kint(w, "tid", tid);
    jsonw_knumber(w, "ts", at_ns * 1e-3);
    if (phase[0] == 'X')
        jsonw_knumber(w, "dur", length_ns * 1e-3);
    else
        jsonw_kint(w, "id", id);
    if (cpu && cpu->node >= 0) {
        jsonw_kint(w, "sf", cpu->node);
        jsonw_knumber(w, "tdur", (double)cpu->busy_ns * 1e-3);
    }
    jsonw_end(w);
}

static int has_stacks(const struct model_track *t)
{
    return !strcmp(t->kind, "cpu") || !strcmp(t->kind, "wait");
}

/* Writes stacks of slices by number of their node: each frame and the number of its caller. */
static void put_stack_frames(struct jsonw *w, const struct model *m)
{
    char text[2048];
    jsonw_key(w, "stackFrames");
    jsonw_object(w);
    for (int i = 0; i < m->stacks_count; i++) {
        const struct model_stack *s = &m->stacks[i];
        if (s->parent < 0 || s->frame < 0) /* a thread is not a frame */
            continue;
        const struct model_frame *f = &m->frames[s->frame];
        snprintf(text, sizeof text, "%d", i);
        jsonw_key(w, text);
        jsonw_object(w);
        export_frame_label(f, text, sizeof text);
        jsonw_kstring(w, "name", text);
        if (f->module)
            jsonw_kstring(w, "category", f->module);
        if (m->stacks[s->parent].parent >= 0)
            jsonw_kint(w, "parent", s->parent);
        jsonw_end(w);
    }
    jsonw_end(w);
}

/* Returns 1 where no event of the track reaches out of one that it began in. */
static int track_nests(const struct model_track *t)
{
    int64_t open[256], at = 0;
    int depth = 0;
    for (int i = 0; i < t->events_count; i++) {
        at += t->events[i].start;
        int64_t end = at + t->events[i].length;
        while (depth > 0 && open[depth - 1] <= at)
            depth--;
        if ((depth > 0 && end > open[depth - 1]) || depth == 256)
            return 0;
        open[depth++] = end;
    }
    return 1;
}

static void chrome_put_track(struct jsonw *w, const struct model *m, const struct export_options *o,
                             int index)
{
    const struct model_track *t = &m->timeline[index];
    int64_t pid = export_pid(m, t->process);
    double from = o->from_s * 1e9, to = o->to_s > 0 ? o->to_s * 1e9 : (double)INFINITY;
    int slices = track_nests(t);
    int64_t at = 0;
    char name[256];
    export_track_name(m, t, name);
    put_metadata(w, "thread_name", pid, index + 1, name);
    for (int i = 0; i < t->events_count; i++) {
        const struct model_event *e = &t->events[i];
        at += e->start;
        double begin = (double)at, end = (double)(at + e->length);
        if (end < from || begin > to || end - begin < o->min_s * 1e9)
            continue;
        const char *what = export_event_name(m, t, e->what);
        const struct chrome_cpu cpu = {has_stacks(t) ? e->what : -1, export_busy(e)};
        if (slices) {
            put_event(w, "X", t, what, pid, index + 1, begin, end - begin, 0, &cpu);
        } else {
            put_event(w, "b", t, what, pid, index + 1, begin, 0, i + 1, &cpu);
            put_event(w, "e", t, what, pid, index + 1, end, 0, i + 1, NULL);
        }
    }
}

static void put_memory(struct jsonw *w, const struct model *m, const struct export_options *o)
{
    for (int i = 0; i < m->memory.series_count; i++) {
        const struct model_series *s = &m->memory.series[i];
        int64_t pid = export_pid(m, s->process);
        for (int j = 0; j < s->t_s_count && j < s->rss_mb_count; j++) {
            if (s->t_s[j] < o->from_s || (o->to_s > 0 && s->t_s[j] > o->to_s) ||
                !isfinite(s->rss_mb[j]))
                continue;
            jsonw_object(w);
            jsonw_kstring(w, "ph", "C");
            jsonw_kstring(w, "name", "resident memory");
            jsonw_kint(w, "pid", pid);
            jsonw_knumber(w, "ts", s->t_s[j] * 1e6);
            jsonw_kobject(w, "args");
            jsonw_knumber(w, "MB", s->rss_mb[j]);
            jsonw_end(w);
            jsonw_end(w);
        }
    }
}

static void chrome_write(const struct model *m, const struct export_options *o, FILE *out)
{
    struct jsonw w;
    jsonw_init(&w, out, 0);
    jsonw_object(&w);
    jsonw_kstring(&w, "displayTimeUnit", "ns");
    jsonw_karray(&w, "traceEvents");
    for (int i = 0; i < m->processes_count; i++)
        put_metadata(&w, "process_name", export_pid(m, i), 0,
                     export_process_name(&m->processes[i]));
    for (int i = 0; i < m->timeline_count; i++)
        chrome_put_track(&w, m, o, i);
    put_memory(&w, m, o);
    jsonw_end(&w);
    put_stack_frames(&w, m);
    jsonw_end(&w);
    fputc('\n', out);
}

const struct exporter export_chrome = {"chrome", ".trace.json", "trace events for ui.perfetto.dev",
                                       chrome_write};
