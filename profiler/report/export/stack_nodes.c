/* Shared by exporters: the weight of a node of the stacks, and readable names. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profiler/report/export/export.h"

const struct export_unit *export_unit_of(const struct model *m, enum export_weight w)
{
    static const struct export_unit samples = {"samples", "samples", "none"},
                                    units[EXPORT_WEIGHTS] = {
                                        [EXPORT_CPU] = {"cpu", "CPU time", "nanoseconds"},
                                        [EXPORT_GPU] = {"gpu", "GPU time by launching line",
                                                        "nanoseconds"},
                                        [EXPORT_WAIT] = {"wait", "waiting", "nanoseconds"},
                                        [EXPORT_ALLOC] = {"alloc_space", "allocated memory",
                                                          "bytes"},
                                    };
    return w == EXPORT_CPU && model_counts_samples(m) ? &samples : &units[w];
}

int64_t export_weight(const struct model_stack *s, enum export_weight w)
{
    const int64_t weights[EXPORT_WEIGHTS] = {s->cpu_ns, s->gpu_ns, s->wait_ns, s->alloc_bytes};
    return weights[w] > 0 ? weights[w] : 0;
}

int64_t export_busy(const struct model_event *e)
{
    return e->busy > 0 ? e->busy : 0;
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

/* CPU time that is known by accounts alone, as [start-up]. */
static int is_account(const struct model *m, const struct model_stack *s)
{
    const struct model_frame *f = s->frame >= 0 ? &m->frames[s->frame] : NULL;
    return s->cpu_ns > 0 && f && f->function && f->module && *f->function == '[' &&
           !strcmp(f->function, f->module);
}

/* The thread of each node, and how many accounts each thread has. */
static void count_accounts(const struct model *m, int32_t *thread, int *count)
{
    for (int i = 0; i < m->stacks_count; i++) {
        const struct model_stack *s = &m->stacks[i];
        thread[i] = s->parent >= 0  ? thread[s->parent]
                    : s->frame >= 0 ? m->frames[s->frame].thread
                                    : -1;
        if (thread[i] >= m->threads_count)
            thread[i] = -1;
        if (thread[i] >= 0)
            count[thread[i]] += is_account(m, s);
    }
}

static enum err put_accounts(const struct model *m, struct arena *a, const int32_t *thread,
                             int count, struct model_track *t)
{
    struct model_event *all = arena_take(a, (size_t)(count + t->events_count) * sizeof *all);
    FAIL_IF(!all, ERR_MEMORY, "no memory for the export");
    int n = 0;
    for (int i = 0; i < m->stacks_count; i++)
        if (thread[i] == t->thread && is_account(m, &m->stacks[i]))
            all[n++] = (struct model_event){.busy = m->stacks[i].cpu_ns, .what = i};
    array_copy(all + n, t->events, (size_t)t->events_count, sizeof *all);
    t->events = all;
    t->events_count += n;
    return ERR_OK;
}

enum err export_place_accounts(struct model *m, struct arena *a)
{
    const int tracks = m->timeline_count;
    int32_t *thread = arena_take(a, ((size_t)m->stacks_count + 1) * sizeof *thread);
    int *count = arena_take(a, ((size_t)m->threads_count + 1) * sizeof *count);
    struct model_track *t = arena_take(a, (size_t)(tracks + m->threads_count + 1) * sizeof *t);
    FAIL_IF(!thread || !count || !t, ERR_MEMORY, "no memory for the export");
    count_accounts(m, thread, count);
    array_copy(t, m->timeline, (size_t)tracks, sizeof *t);
    m->timeline = t;
    for (int i = 0; i < tracks; i++, t++) {
        const int of =
            t->kind && !strcmp(t->kind, "cpu") && t->thread >= 0 && t->thread < m->threads_count
                ? t->thread
                : -1;
        if (of >= 0 && count[of])
            TRY(put_accounts(m, a, thread, count[of], t));
        if (of >= 0)
            count[of] = 0;
    }
    for (int i = 0; i < m->threads_count; i++) /* those that ended before their first sample */
        if (count[i]) {
            json_blank(&record_model_track, t);
            t->kind = "cpu";
            t->thread = i;
            t->process = m->threads[i].process;
            TRY(put_accounts(m, a, thread, count[i], t++));
            m->timeline_count++;
        }
    return ERR_OK;
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

const char *export_process_name(const struct model_process *p)
{
    return p->task ? p->task : p->program ? p->program : "?";
}

int64_t export_pid(const struct model *m, int process)
{
    if (process < 0 || process >= m->processes_count)
        return 0;
    return m->processes[process].pid > 0 ? m->processes[process].pid : process;
}

int64_t export_tid(const struct model *m, int thread)
{
    if (thread < 0 || thread >= m->threads_count)
        return 0;
    return m->threads[thread].tid > 0 ? m->threads[thread].tid : thread;
}

void export_track_name(const struct model *m, const struct model_track *t, char name[256])
{
    char stream[JSON_DIGITS];
    if (t->thread >= 0 && t->thread < m->threads_count)
        snprintf(name, 256, "%s %lld: %s",
                 m->threads[t->thread].name ? m->threads[t->thread].name : "thread",
                 (long long)export_tid(m, t->thread), t->kind);
    else
        snprintf(name, 256, "device %d stream %s: %s", t->device,
                 json_digits(t->stream, "unknown", stream), t->kind);
}
