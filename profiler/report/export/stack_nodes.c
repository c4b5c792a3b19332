/* Shared by exporters: the weight of a node of the stacks, and readable names. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/report/export/export.h"

const struct export_unit export_units[EXPORT_WEIGHTS] = {
    [EXPORT_CPU] = {"cpu", "CPU time", "nanoseconds"},
    [EXPORT_GPU] = {"gpu", "GPU time by launching line", "nanoseconds"},
    [EXPORT_WAIT] = {"wait", "waiting", "nanoseconds"},
    [EXPORT_ALLOC] = {"alloc", "allocated memory", "bytes"},
};

int64_t export_weight(const struct model_stack *s, enum export_weight w)
{
    const int64_t weights[EXPORT_WEIGHTS] = {s->cpu_ns, s->gpu_ns, s->wait_ns, s->alloc_bytes};
    return weights[w] > 0 ? weights[w] : 0;
}

const char *export_frame_name(const struct model_frame *f)
{
    return f->function ? f->function : f->module ? f->module : "[unknown]";
}

void export_frame_label(const struct model_frame *f, char *out, size_t size)
{
    if (f->file && f->line > 0)
        snprintf(out, size, "%s %s:%lld", export_frame_name(f), f->file, (long long)f->line);
    else
        snprintf(out, size, "%s", export_frame_name(f));
    for (; *out; out++) /* what folded stacks are made of */
        *out = *out == ';' || (unsigned char)*out < ' ' ? '_' : *out;
}

static int is_account(const struct model_frame *f)
{
    return f->function && f->module && *f->function == '[' && !strcmp(f->function, f->module);
}

int64_t *export_unplaced(const struct model *m, const struct model_track *t)
{
    const int is_cpu = t->kind && !strcmp(t->kind, "cpu");
    int32_t *thread = is_cpu ? malloc(((size_t)m->stacks_count + 1) * sizeof *thread) : NULL;
    int64_t *rest = thread ? calloc((size_t)m->stacks_count + 1, sizeof *rest) : NULL;
    for (int i = 0; i < m->stacks_count && rest; i++) {
        const struct model_stack *s = &m->stacks[i];
        const struct model_frame *f = s->frame >= 0 ? &m->frames[s->frame] : NULL;
        thread[i] = s->parent >= 0 ? thread[s->parent] : f ? f->thread : -1;
        if (thread[i] == t->thread && s->cpu_ns > 0 && f && is_account(f))
            rest[i] = s->cpu_ns;
    }
    free(thread);
    return rest;
}

const char *export_event_name(const struct model *m, const struct model_track *t, int32_t what)
{
    const char *name = NULL;
    if (what < 0)
        return "?";
    if (strcmp(t->kind, "kernel") == 0)
        name = what < m->kernels_count ? m->kernels[what].name : NULL;
    else if (strcmp(t->kind, "copy") == 0)
        name = what < m->transfers_count ? m->transfers[what].direction : NULL;
    else if (strcmp(t->kind, "set") == 0)
        name = what < m->memsets_count ? "memset" : NULL;
    else if (strcmp(t->kind, "range") == 0)
        name = what < m->ranges_count ? m->ranges[what].name : NULL;
    else if (strcmp(t->kind, "api") == 0)
        name = what < m->apis_count ? m->apis[what].name : NULL;
    else if (what < m->stacks_count && m->stacks[what].frame >= 0)
        name = export_frame_name(&m->frames[m->stacks[what].frame]);
    return name ? name : "?";
}

uint64_t export_ns(double seconds)
{
    return seconds > 0 ? (uint64_t)fmin(seconds * 1e9, 0x1p62) : 0;
}

void export_track_name(const struct model *m, const struct model_track *t, char name[256])
{
    if (t->thread >= 0 && t->thread < m->threads_count)
        snprintf(name, 256, "%s %lld: %s",
                 m->threads[t->thread].name ? m->threads[t->thread].name : "thread",
                 (long long)m->threads[t->thread].tid, t->kind);
    else
        snprintf(name, 256, "device %d stream %lld: %s", t->device, (long long)t->stream, t->kind);
}
