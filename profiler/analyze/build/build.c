/* Builds the model: process rows and facts while images are read, all other rows in build_model;
 * and frees the run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "profiler/analyze/attribute/frames.h"
#include "profiler/analyze/attribute/paths.h"
#include "profiler/analyze/build/build.h"
#include "profiler/analyze/io/io.h"
#include "profiler/analyze/ranks/ranks.h"
#include "profiler/analyze/state/sent_code.h"

static const char *const ends[] = {
    [TRACE_RUNNING] = "running",  [TRACE_EXIT] = "exit",     [TRACE_QUICK] = "quick_exit",
    [TRACE_EXEC] = "exec",        [TRACE_SIGNAL] = "signal", [TRACE_LEFT] = "left",
    [TRACE_FILTERED] = "filtered"};

enum err build_process(struct run *r, struct image *im)
{
    const struct trace_header *h = &im->header;
    TRY(vector_room(&r->processes, r->processes.count + 1));
    im->index = (int)r->processes.count;
    struct model_process *p = &r->processes.items[r->processes.count++];
    json_blank(&record_model_process, p);
    p->pid = h->pid;
    p->parent = h->parent;
    p->start_s = h->start_ns > r->origin ? ns_to_seconds((double)(h->start_ns - r->origin)) : 0;
    p->end = ends[h->end <= TRACE_FILTERED ? h->end : TRACE_RUNNING];
    if (h->end != TRACE_RUNNING && h->end != TRACE_EXEC && h->end != TRACE_LEFT &&
        h->end != TRACE_FILTERED)
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
    for (size_t i = 0; i < im->threads.count; i++) {
        struct thread *t = &im->threads.items[i];
        struct model_thread *row = &r->threads.items[t->row];
        row->process = im->index;
        row->tid = t->tid;
        row->name = run_text(r, t->name);
        row->main = t->main;
        if (r->has_cpu) {
            row->user_s = ns_to_seconds(t->user);
            row->sys_s = ns_to_seconds(t->sys);
        }
        if (r->has_wait)
            row->wait_s = ns_to_seconds(t->wait);
        if (t->ended && !build_of_part(r)) { /* the kernel counts the whole run */
            row->kernel_cpu_s = ns_to_seconds(t->kernel_ns);
            if (r->has_cpu && t->kernel_ns > 0 && !t->recorder)
                row->coverage = (t->user + t->sys) / t->kernel_ns;
        }
        if (t->ended && t->recorder && !build_of_part(r))
            r->q.recorder_ns += t->kernel_ns;
        if (t->ended && !t->recorder && !build_of_part(r)) {
            r->q.sampled += t->user + t->sys;
            r->q.by_kernel += t->kernel_ns;
        }
    }
    return ERR_OK;
}

#define POLL_NS     150000000 /* mean; a long sleep is told in parts of 250 ms */
#define POLLS_LEAST 5

/* Spots of the timeline become nodes of the tree; the critical path keeps their own lines. */
static enum err contexts_to_nodes(struct image *im)
{
    struct run *r = im->run;
    for (size_t i = 0; i < im->threads.count; i++) {
        uint32_t both[] = {im->threads.items[i].cpu_track, im->threads.items[i].wait_track};
        for (int k = 0; k < 2; k++) {
            struct track *t = both[k] ? &r->timeline.items[both[k] - 1].track : NULL;
            for (size_t n = 0; t && n < t->count; n++) {
                struct track_event *e = &t->events[n];
                const struct sample_context *s = &im->contexts.items[e->what];
                const double slept = s->costs.wait - s->ready_ns;
                const struct moment_of m = {
                    .start = e->start,
                    .end = e->end,
                    .busy = e->busy,
                    .own = s->own,
                    .process = im->index,
                    .thread = im->threads.items[i].row,
                    .waiting = k,
                    .waits = s->waits,
                    .idle = s->idle,
                    .polls = k && s->waits == WAITS_SLEEP && s->slept >= POLLS_LEAST &&
                             slept < POLL_NS * s->slept,
                    .ready = k && s->costs.wait > 0 ? s->ready_ns / s->costs.wait : 0};
                TRY(vector_add(&r->moments, m));
                e->what = s->node;
            }
        }
    }
    return ERR_OK;
}

enum err build_image(struct image *im)
{
    struct run *r = im->run;
    struct model_process *p = &r->processes.items[im->index];
    uint64_t end = image_end(im);
    r->last = r->last > end ? r->last : end;
    uint64_t ended = im->header.start_realtime_ns + (end - im->header.start_ns);
    r->ended_realtime_ns = r->ended_realtime_ns > ended ? r->ended_realtime_ns : ended;
    p->end_s = ns_to_seconds((double)(end - r->origin));
    TRY(write_threads(im));
    TRY(contexts_to_nodes(im));
    double cpu = 0;
    for (size_t i = 0; i < im->threads.count; i++)
        cpu += im->threads.items[i].user + im->threads.items[i].sys;
    if (r->has_cpu)
        p->cpu_s = ns_to_seconds(cpu);
    for (int i = 0; i < TRACE_LOSSES; i++)
        r->q.lost[i] += im->header.lost[i];
    r->q.capture_bytes += im->header.capture_bytes;
    r->q.running += im->header.end == TRACE_RUNNING;
    if (im->header.end == TRACE_FILTERED) {
        uint64_t at = end - r->origin;
        r->q.filtered_ns = r->q.filtered++ && r->q.filtered_ns < at ? r->q.filtered_ns : at;
    }
    return ERR_OK;
}

ARRAY_ORDER(by_key, struct model_fact, strcmp(x->key, y->key));

/* A mode that was switched on, and has not failed, is known: nothing seen is 0 then. */
static void find_modes(struct run *r)
{
    const struct {
        const char *mode, *notes[2];
        int *known;
    } modes[] = {{"cpu", {"sampler", "cpu"}, &r->has_cpu},
                 {"wait", {"wait", "wait"}, &r->has_wait},
                 {"memory", {"malloc", "heap"}, &r->has_heap},
                 {"copies", {"malloc", "heap"}, &r->has_copies},
                 {"locks", {"locks", "locks"}, &r->has_locks}};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        int on = 0;
        for (int k = 0; k < r->m->meta.modes_count; k++)
            on |= r->m->meta.modes[k] && !strcmp(r->m->meta.modes[k], modes[i].mode);
        for (size_t k = 0; k < r->q.notes.count && on; k++)
            on = !r->q.notes.items[k].id || (strcmp(r->q.notes.items[k].id, modes[i].notes[0]) &&
                                             strcmp(r->q.notes.items[k].id, modes[i].notes[1]));
        *modes[i].known |= on;
    }
    for (size_t k = 0; k < r->q.notes.count; k++) {
        const char *id = r->q.notes.items[k].id;
        r->heap_cut |= id && !strcmp(id, "malloc.off");
        r->copies_cut |= id && !strcmp(id, "copies.off");
    }
}

static enum err build_meta(struct run *r)
{
    struct model *m = r->m;
    const struct analyze_options *o = r->options;
    find_modes(r);
    TRY(build_accounts(r));
    m->meta.tool_version = run_text(r, o->tool_version);
    m->meta.wall_s = ns_to_seconds((double)(r->last - r->origin));
    m->meta.absolute_paths = o->absolute_paths;
    m->meta.paused = o->after_start && !r->q.regions_missing;
    if (build_of_part(r)) {
        m->meta.from_s = r->from_s;
        m->meta.until_s = r->from_s + m->meta.wall_s;
    }
    int n = 0;
    while (o->command && o->command[n])
        n++;
    if (n) {
        m->meta.command = arena_take(m->arena, (size_t)n * sizeof *m->meta.command);
        FAIL_IF(!m->meta.command, ERR_MEMORY, "no memory for the profile");
        m->meta.command_count = n;
        for (int i = 0; i < n; i++)
            m->meta.command[i] = path_shown_in(r, o->command[i]);
    }
    vector_sort(&r->facts, by_key);
    TRY(model_list(m, model_fact, m, environment, r->facts.count));
    array_copy(m->environment, r->facts.items, r->facts.count, sizeof *r->facts.items);
    TRY(model_list(m, model_process, m, processes, r->processes.count));
    array_copy(m->processes, r->processes.items, r->processes.count, sizeof *r->processes.items);
    for (int i = 0; i < m->processes_count && r->heap_cut; i++)
        m->processes[i].peak_heap_mb = (double)NAN;
    TRY(model_list(m, model_thread, m, threads, r->threads.count));
    array_copy(m->threads, r->threads.items, r->threads.count, sizeof *r->threads.items);
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
        build_meta,   build_gpu,    build_totals,   build_files, build_stacks,
        source_texts, build_memory, build_timeline, build_locks, ranks_build,
        build_own,    build_io,     build_quality};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        TRY(steps[i](r));
    return ERR_OK;
}

void build_free(struct run *r)
{
    for (size_t i = 0; i < r->timeline.count; i++)
        track_free(&r->timeline.items[i].track);
    struct counters *lists[] = {&r->ranges.names, &r->ranges.payloads, &r->modules, &r->cut_at};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        counters_free(lists[i]);
    struct table *tables[] = {&r->site_by_key,       &r->source_by_path, &r->path_of,
                              &r->node_by_key,       &r->frame_by_key,   &r->ranges.inside_by_key,
                              &r->ranges.own_by_key, &r->own_by_key,     &r->in_thread_by_key,
                              &r->note_by_path,      &r->cell_by_file,   &r->cell_by_name,
                              &r->work_by_key};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        table_free(tables[i]);
    void *plain[] = {r->sites.items,         r->sources.items,     r->paths.items,
                     r->nodes.items,         r->frames.items,      r->module_costs.items,
                     r->processes.items,     r->made.items,        r->facts.items,
                     r->threads.items,       r->timeline.items,    r->flows.list.items,
                     r->heap.series.items,   r->accounts.items,    r->ranges.inside.items,
                     r->q.notes.items,       r->heap.curves,       r->own_folders.items,
                     r->own.items,           r->moments.items,     r->in_threads.items,
                     r->notes.items,         r->locks.rows.items,  r->locks.contention.items,
                     r->locks.held_up.items, r->locks.spans.items, r->works.items,
                     r->child_waits.items,   r->ranges.own.items};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        free(plain[i]);
    gpu_run_free(&r->gpu);
    cython_free(r);
    sent_code_free(r);
    io_free(r);
    ranks_free(r);
    clocks_free(r);
    symbols_free(r->symbols);
    model_destroy(r->m);
    free(r);
}
