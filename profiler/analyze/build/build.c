#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "profiler/analyze/build/build.h"

static const char *const ends[] = {[TRACE_RUNNING] = "running",
                                   [TRACE_EXIT] = "exit",
                                   [TRACE_QUICK] = "quick_exit",
                                   [TRACE_EXEC] = "exec",
                                   [TRACE_SIGNAL] = "signal"};

/* "a\nb" or "a,b" to words. */
static enum err split(struct run *r, const char *text, char separator, int paths,
                      const char ***words, int *count)
{
    int n = 1;
    for (const char *s = text; *s; s++)
        n += *s == separator;
    const char **list = arena_take(r->m->arena, (size_t)n * sizeof *list);
    FAIL_IF(!list, ERR_MEMORY, "no memory for the profile");
    for (int i = 0; i < n; i++) {
        const char *end = strchr(text, separator);
        size_t bytes = end ? (size_t)(end - text) : strlen(text);
        list[i] = arena_text_n(r->m->arena, text, bytes);
        if (paths && list[i])
            list[i] = rules_words(r, list[i]);
        text += bytes + 1;
    }
    *words = list;
    *count = n;
    return ERR_OK;
}

/* Facts of the first process about the sampling, of any about its interpreter; the rest goes to the
 * environment. Paths are relativised. */
static enum err first_fact(struct run *r, const char *key, const char *value, int *taken)
{
    struct model_meta *meta = &r->m->meta;
    static const struct {
        const char *key;
        size_t at;
    } numbers[] = {{"cpu.hz", offsetof(struct model_meta, cpu_hz)},
                   {"wait.hz", offsetof(struct model_meta, wait_hz)},
                   {"alloc.mean", offsetof(struct model_meta, alloc_mean_bytes)},
                   {"copy.mean", offsetof(struct model_meta, copy_mean_bytes)}};
    *taken = 1;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!strcmp(key, numbers[i].key)) {
            double v = strtod(value, NULL);
            *(double *)((char *)meta + numbers[i].at) = isfinite(v) && v > 0 ? v : (double)NAN;
            return ERR_OK;
        }
    if (!strcmp(key, "modes"))
        return split(r, value, ',', 0, &meta->modes, &meta->modes_count);
    if (!strcmp(key, "cmdline"))
        return r->options->command ? ERR_OK
                                   : split(r, value, '\n', 1, &meta->command, &meta->command_count);
    if (!strcmp(key, "cwd")) {
        r->cwd = run_text(r, value);
        return ERR_OK;
    }
    *taken = 0;
    return ERR_OK;
}

enum err build_fact(struct run *r, struct image *im, const char *key, const char *value)
{
    int taken = 0, major, minor;
    if (im->index == 0)
        TRY(first_fact(r, key, value, &taken));
    if (!strcmp(key, "exe"))
        r->processes[im->index].program = rules_path(r, run_text(r, value));
    if (!strncmp(key, "python", 6) && sscanf(value, "%d.%d", &major, &minor) == 2 && major == 3) {
        im->python = 1;
        im->python_minor = minor;
        r->processes[im->index].python = run_text(r, value);
    }
    if (!strcmp(key, "cupti.clock"))
        im->monotonic = !strcmp(value, "monotonic");
    if (taken || !strcmp(key, "cmdline") || !strcmp(key, "cwd") || !strcmp(key, "exe"))
        return ERR_OK;
    const char *shown = rules_words(r, value);
    const char *name = run_text(r, key);
    for (size_t i = 0; i < r->facts_count; i++)
        if (r->facts[i].key == name)
            return ERR_OK;
    if (r->facts_count >= 500)
        return ERR_OK;
    TRY(array_room(&r->facts, &r->facts_room, r->facts_count + 1, sizeof *r->facts));
    r->facts[r->facts_count++] = (struct model_fact){name, shown};
    return ERR_OK;
}

enum err build_process(struct run *r, struct image *im)
{
    const struct trace_header *h = &im->header;
    TRY(array_room(&r->processes, &r->processes_room, r->processes_count + 1,
                   sizeof *r->processes));
    im->index = (int)r->processes_count;
    struct model_process *p = &r->processes[r->processes_count++];
    json_blank(&record_model_process, p);
    p->pid = h->pid;
    p->parent = h->parent;
    p->start_s = seconds((double)(h->start_ns - r->origin));
    p->end = ends[h->end <= TRACE_SIGNAL ? h->end : TRACE_RUNNING];
    if (h->end != TRACE_RUNNING && h->end != TRACE_EXEC)
        p->end_detail = h->end_detail;
    if (im->index)
        return ERR_OK;
    time_t t = (time_t)(h->start_realtime_ns / 1000000000);
    struct tm utc;
    char text[32];
    if (h->start_realtime_ns && gmtime_r(&t, &utc) &&
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc))
        r->m->meta.started = run_text(r, text);
    r->m->meta.end = p->end;
    r->m->meta.end_detail = p->end_detail;
    return ERR_OK;
}

static enum err write_threads(struct image *im)
{
    struct run *r = im->run;
    for (size_t i = 0; i < im->threads_count; i++) {
        struct thread *t = &im->threads[i];
        struct model_thread *row = &r->threads[t->row];
        row->process = im->index;
        row->tid = t->tid;
        row->name = run_text(r, t->name);
        row->main = t->main;
        if (r->has_cpu) {
            row->user_s = seconds(t->user);
            row->sys_s = seconds(t->sys);
        }
        if (r->has_wait)
            row->wait_s = seconds(t->wait);
        if (t->ended) {
            row->kernel_cpu_s = seconds(t->kernel_ns);
            if (r->has_cpu && t->kernel_ns > 0 && !t->ours)
                row->coverage = (t->user + t->sys) / t->kernel_ns;
        }
        if (t->ended && !t->ours) {
            r->q.sampled += t->user + t->sys;
            r->q.by_kernel += t->kernel_ns;
        }
    }
    return ERR_OK;
}

/* Spots of the timeline become nodes of the tree. */
static void rename_spots(struct image *im)
{
    struct run *r = im->run;
    for (size_t i = 0; i < im->threads_count; i++) {
        uint32_t both[] = {im->threads[i].cpu_lane, im->threads[i].wait_lane};
        for (int k = 0; k < 2; k++) {
            struct track *t = both[k] ? &r->lanes[both[k] - 1].track : NULL;
            for (size_t n = 0; t && n < t->count; n++)
                t->events[n].what = im->spots[t->events[n].what].node;
        }
    }
}

enum err build_image(struct image *im)
{
    struct run *r = im->run;
    struct model_process *p = &r->processes[im->index];
    uint64_t end = image_end(im);
    r->last = r->last > end ? r->last : end;
    p->end_s = seconds((double)(end - r->origin));
    TRY(write_threads(im));
    rename_spots(im);
    double cpu = 0;
    for (size_t i = 0; i < im->threads_count; i++)
        cpu += im->threads[i].user + im->threads[i].sys;
    if (r->has_cpu)
        p->cpu_s = seconds(cpu);
    for (int i = 0; i < TRACE_LOSSES; i++)
        r->q.lost[i] += im->header.lost[i];
    r->q.capture_bytes += im->header.capture_bytes;
    r->q.running += im->header.end == TRACE_RUNNING;
    r->q.no_clock += (uint64_t)clock_unknown(im);
    for (size_t i = 0; i < im->costs.count; i++)
        if (im->costs.keys[i] < TRACE_PARTS) {
            r->q.cost_ns[im->costs.keys[i]] += (double)im->costs.ns[i];
            r->q.cost_calls[im->costs.keys[i]] += (double)im->costs.calls[i];
        }
    return ERR_OK;
}

static int by_key(const void *a, const void *b)
{
    const struct model_fact *x = a, *y = b;
    return strcmp(x->key, y->key);
}

/* What was switched on, and has not said that it failed, is known: nothing seen is 0 then. */
static void find_modes(struct run *r)
{
    const struct {
        const char *mode, *notes[2];
        int *known;
    } modes[] = {{"cpu", {"sampler", "cpu"}, &r->has_cpu},
                 {"wait", {"wait", "wait"}, &r->has_wait},
                 {"memory", {"malloc", "heap"}, &r->has_heap},
                 {"copies", {"malloc", "heap"}, &r->has_copies}};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        int on = 0;
        for (int k = 0; k < r->m->meta.modes_count; k++)
            on |= r->m->meta.modes[k] && !strcmp(r->m->meta.modes[k], modes[i].mode);
        for (size_t k = 0; k < r->q.notes_count && on; k++)
            on = !r->q.notes[k].id || (strcmp(r->q.notes[k].id, modes[i].notes[0]) &&
                                       strcmp(r->q.notes[k].id, modes[i].notes[1]));
        *modes[i].known |= on;
    }
}

static enum err build_meta(struct run *r)
{
    struct model *m = r->m;
    const struct analyze_options *o = r->options;
    find_modes(r);
    m->meta.tool_version = run_text(r, o->tool_version);
    m->meta.wall_s = seconds((double)(r->last - r->origin));
    m->meta.absolute_paths = o->absolute_paths;
    int n = 0;
    while (o->command && o->command[n])
        n++;
    if (n) {
        m->meta.command = arena_take(m->arena, (size_t)n * sizeof *m->meta.command);
        FAIL_IF(!m->meta.command, ERR_MEMORY, "no memory for the profile");
        m->meta.command_count = n;
        for (int i = 0; i < n; i++)
            m->meta.command[i] = rules_words(r, o->command[i]);
    }
    array_sort(r->facts, r->facts_count, sizeof *r->facts, by_key);
    TRY(model_list(m, model_fact, m, environment, r->facts_count));
    array_copy(m->environment, r->facts, r->facts_count, sizeof *r->facts);
    TRY(model_list(m, model_process, m, processes, r->processes_count));
    array_copy(m->processes, r->processes, r->processes_count, sizeof *r->processes);
    TRY(model_list(m, model_thread, m, threads, r->threads_count));
    array_copy(m->threads, r->threads, r->threads_count, sizeof *r->threads);
    /* Processes written before the first sample of any: they had none. */
    for (int i = 0; i < m->threads_count && r->has_cpu; i++)
        if (isnan(m->threads[i].user_s))
            m->threads[i].user_s = m->threads[i].sys_s = 0;
    for (int i = 0; i < m->threads_count && r->has_wait; i++)
        if (isnan(m->threads[i].wait_s))
            m->threads[i].wait_s = 0;
    return ERR_OK;
}

enum err build_model(struct run *r)
{
    static enum err (*const steps[])(struct run *) = {
        build_meta,   build_gpu,    build_totals,   build_files,   build_stacks,
        source_texts, build_memory, build_timeline, build_quality, build_findings};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        TRY(steps[i](r));
    return ERR_OK;
}

void build_free(struct run *r)
{
    for (size_t i = 0; i < r->kernels_count; i++) {
        for (size_t n = 0; n < r->kernels[i].count; n++)
            dist_free(&r->kernels[i].variants[n].time);
        free(r->kernels[i].variants);
        free(r->kernels[i].at);
        table_free(&r->kernels[i].places);
    }
    for (size_t i = 0; i < r->lanes_count; i++)
        track_free(&r->lanes[i].track);
    for (size_t i = 0; i < r->devices_count; i++)
        free(r->devices[i].busy_list);
    struct tallies *lists[] = {&r->transfers, &r->sets,   &r->apis,  &r->ranges,
                               &r->overheads, &r->faults, &r->syncs, &r->modules};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        tallies_free(lists[i]);
    struct table *tables[] = {&r->site_by_key,    &r->source_by_path, &r->path_of,
                              &r->class_of,       &r->node_by_key,    &r->frame_by_key,
                              &r->kernel_by_name, &r->in_range_by_key};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        table_free(tables[i]);
    void *plain[] = {r->sites,       r->sources, r->paths,    r->nodes,  r->frames,
                     r->module_sums, r->kernels, r->devices,  r->gaps,   r->syncing,
                     r->processes,   r->threads, r->lanes,    r->series, r->q.notes,
                     r->made,        r->facts,   r->all_busy, r->curves, r->in_ranges};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        free(plain[i]);
    symbols_free(r->symbols);
    model_destroy(r->m);
    free(r);
}
