/* speedscope's file format (https://www.speedscope.app/file-format-schema.json): one sampled
 * profile per weight over all threads, then one per thread in order of time. */
#include "base/json/jsonw.h"
#include "profiler/report/export/export.h"

static void write_frames(struct jsonw *w, const struct model *m)
{
    jsonw_kobject(w, "shared");
    jsonw_karray(w, "frames");
    for (int i = 0; i < m->frames_count; i++) {
        const struct model_frame *f = &m->frames[i];
        jsonw_object(w);
        jsonw_kstring(w, "name", export_frame_name(f));
        if (f->file || f->module)
            jsonw_kstring(w, "file", f->file ? f->file : f->module);
        if (f->file && f->line > 0)
            jsonw_kint(w, "line", f->line);
        jsonw_end(w);
    }
    jsonw_end(w);
    jsonw_end(w);
}

/* Writes frames from the root to node `s`. A parent comes before its child, so this ends. */
static void write_chain(struct jsonw *w, const struct model *m, int32_t s)
{
    int32_t chain[1024];
    int n = 0;
    for (; s >= 0 && n < 1024; s = m->stacks[s].parent)
        chain[n++] = m->stacks[s].frame;
    jsonw_array(w);
    while (n > 0)
        if (chain[--n] >= 0)
            jsonw_int(w, chain[n]);
    jsonw_end(w);
}

/* `weight` of sample i, 0: not a sample; `stack` its node. */
struct samples {
    const struct model *m;
    enum export_weight weight;
    const struct model_track *track; /* NULL: the nodes themselves */
    int count;
};

static int64_t sample_weight(const struct samples *s, int i, int32_t *stack)
{
    *stack = s->track ? s->track->events[i].what : i;
    if (*stack < 0 || *stack >= s->m->stacks_count)
        return 0;
    return s->track ? export_busy(&s->track->events[i])
                    : export_weight(&s->m->stacks[i], s->weight);
}

static void write_profile(struct jsonw *w, const struct samples *s, const char *name)
{
    int64_t total = 0;
    int32_t stack;
    for (int i = 0; i < s->count; i++)
        total += sample_weight(s, i, &stack);
    if (total == 0)
        return;
    jsonw_object(w);
    jsonw_kstring(w, "type", "sampled");
    jsonw_kstring(w, "name", name);
    jsonw_kstring(w, "unit", export_unit_of(s->m, s->weight)->unit);
    jsonw_kint(w, "startValue", 0);
    jsonw_kint(w, "endValue", total);
    jsonw_karray(w, "samples");
    for (int i = 0; i < s->count; i++)
        if (sample_weight(s, i, &stack) > 0)
            write_chain(w, s->m, stack);
    jsonw_end(w);
    jsonw_karray(w, "weights");
    for (int i = 0; i < s->count; i++) {
        int64_t weight = sample_weight(s, i, &stack);
        if (weight > 0)
            jsonw_int(w, weight);
    }
    jsonw_end(w);
    jsonw_end(w);
}

static void speedscope_write(const struct model *m, const struct export_options *o, FILE *out)
{
    struct jsonw w;
    (void)o;
    jsonw_init(&w, out, 0);
    jsonw_object(&w);
    jsonw_kstring(&w, "$schema", "https://www.speedscope.app/file-format-schema.json");
    jsonw_kstring(&w, "name", m->meta.command_count > 0 ? m->meta.command[0] : "tomoprof");
    jsonw_kstring(&w, "exporter", "tomoprof");
    jsonw_kint(&w, "activeProfileIndex", 0);
    write_frames(&w, m);
    jsonw_karray(&w, "profiles");
    for (int i = 0; i < EXPORT_WEIGHTS; i++)
        write_profile(&w, &(struct samples){m, (enum export_weight)i, NULL, m->stacks_count},
                      export_unit_of(m, (enum export_weight)i)->title);
    for (int i = 0; i < m->timeline_count; i++) {
        const struct model_track *t = &m->timeline[i];
        char name[256];
        const int64_t tid = export_tid(m, t->thread);
        if (m->processes_count > 1 && t->process >= 0 && t->process < m->processes_count)
            snprintf(name, sizeof name, "CPU time of thread %lld of %.150s %lld", (long long)tid,
                     export_process_name(&m->processes[t->process]),
                     (long long)export_pid(m, t->process));
        else
            snprintf(name, sizeof name, "CPU time of thread %lld", (long long)tid);
        if (t->kind && t->kind[0] == 'c' && t->kind[1] == 'p')
            write_profile(&w, &(struct samples){m, EXPORT_CPU, t, t->events_count}, name);
    }
    jsonw_end(&w);
    jsonw_end(&w);
    fputc('\n', out);
}

const struct exporter export_speedscope = {"speedscope", ".speedscope.json",
                                           "JSON for speedscope.app", speedscope_write};
