/* The call tree of own code as rows of the model, and what its lines did. */
#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "profiler/analyze/build/build.h"
#include "profiler/analyze/what_if/what_if.h"

#define MACHINE_BUSY    0.25   /* of the wall time: without a CPU */
#define BUSY_LEAST      2e8    /* ns: a run of some milliseconds tells nothing of the machine */
#define OWN_CROWD       0.8    /* of all cores, used by the program: it crowds them itself */
#define THREAD_COMPUTES 0.2    /* of the busiest thread's CPU time */
#define WORK_LEAST      0.0005 /* of the CPU time */

static int64_t walk_integer(double v)
{
    return v < 9e15 ? (int64_t)v : MODEL_UNKNOWN;
}

ARRAY_ORDER(by_time, struct own_work, COMPARE(y->ns, x->ns) ?: strcmp(x->what, y->what) ?: COMPARE(x->own, y->own));

static enum err build_works(struct run *r)
{
    double all = 0;
    size_t n = 0;
    for (size_t i = 0; i < r->works.count; i++)
        all += r->works.items[i].ns;
    vector_sort(&r->works, by_time);
    while (n < r->works.count && r->works.items[n].ns >= WORK_LEAST * all)
        n++;
    TRY(model_list(r->m, model_work, r->m, works, n));
    for (size_t i = 0; i < n; i++) {
        const struct own_work *w = &r->works.items[i];
        r->m->works[i] =
            (struct model_work){(int32_t)w->own, w->kind, w->what, walk_integer(w->ns)};
    }
    return ERR_OK;
}

/* Moves a part of what a pool did to the workers below a line. */
static enum err works_move(struct run *r, uint32_t pool, uint32_t to, double share)
{
    for (size_t i = 0, n = r->works.count; i < n; i++) {
        struct own_work w = r->works.items[i];
        if (w.own != pool)
            continue;
        w.own = to;
        w.ns *= share;
        TRY(vector_add(&r->works, w));
    }
    return ERR_OK;
}

/* Divides the CPU time of threads without own code between the lines that waited for them, by the
 * time that these threads computed meanwhile. The rest stays: nobody waited. */
static enum err pools_divide(struct run *r)
{
    const size_t n = r->own.count;
    double *waited = calloc(n + 1, sizeof *waited), *left = calloc(n + 1, sizeof *left);
    enum err e = waited && left ? ERR_OK : FAIL(ERR_MEMORY, "no memory for the critical path");
    for (size_t i = 0; i < n && e == ERR_OK; i++) {
        waited[r->own.items[i].pool] += r->own.items[i].waited_ns;
        left[i] = 1;
    }
    for (size_t i = 0; i < n && e == ERR_OK; i++) {
        struct own_node *k = &r->own.items[i], *pool = &r->own.items[k->pool];
        const double all = fmax(waited[k->pool], pool->cpu);
        if (!(k->waited_ns > 0) || !(all > 0))
            continue;
        const double share = k->waited_ns / all;
        k->cpu += share * pool->cpu;
        k->samples += share * pool->samples;
        left[k->pool] -= share;
        e = works_move(r, k->pool, (uint32_t)i, share);
    }
    for (size_t i = 0; i < n && e == ERR_OK; i++) {
        r->own.items[i].cpu *= fmax(0, left[i]);
        r->own.items[i].samples *= fmax(0, left[i]);
    }
    for (size_t i = 0; i < r->works.count && e == ERR_OK; i++)
        r->works.items[i].ns *= fmax(0, left[r->works.items[i].own]);
    free(waited);
    free(left);
    return e;
}

/* Counts the threads that compute a good part of what the busiest does. */
static int threads_compute(const struct run *r)
{
    double busiest = 0;
    int n = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < r->threads.count; i++) {
            const double s = r->threads.items[i].user_s + r->threads.items[i].sys_s;
            busiest = !pass && s > busiest ? s : busiest;
            n += pass && s > THREAD_COMPUTES * busiest;
        }
    return n;
}

/* Notes that the program waited long for CPUs, and whether its own threads had them. */
static enum err note_busy_machine(struct run *r)
{
    const double wall = (double)(r->last - r->origin);
    const int own =
        r->options->cpus > 0 && r->total.user + r->total.sys > OWN_CROWD * r->options->cpus * wall;
    const int threads = own ? threads_compute(r) : 0;
    char text[200], who[100] = "The machine was busy";
    struct model_item row;
    if (!r->has_wait || !(r->path_ready >= MACHINE_BUSY * wall) || r->path_ready < BUSY_LEAST)
        return ERR_OK;
    json_blank(&record_model_item, &row);
    if (threads > r->options->cpus)
        snprintf(who, sizeof who, "%d threads of the program share %d CPU%s", threads,
                 r->options->cpus, r->options->cpus == 1 ? "" : "s");
    snprintf(text, sizeof text, "%s: the program waited %s of %s s for a CPU.", who,
             NUMBER(2, ns_to_seconds(r->path_ready)), NUMBER(2, ns_to_seconds(wall)));
    row.id = "cpu.busy";
    row.severity = "info";
    row.share = r->path_ready / wall;
    row.text = run_text(r, text);
    row.effect =
        "The run took longer. CPU times, and what the answers compare, leave this time out.";
    row.fix = threads > r->options->cpus ? "Use as many threads as there are CPUs."
                                         : "Record on a quiet machine.";
    return vector_add(&r->q.notes, row);
}

enum err build_own(struct run *r)
{
    static const char *const names[WAITS] = {
        [WAITS_SLEEP] = "sleep", [WAITS_IO] = "io",      [WAITS_EVENTS] = "events",
        [WAITS_LOCK] = "lock",   [WAITS_POLL] = "sleep", [WAITS_REQUESTS] = "requests",
        [WAITS_CHILD] = "child"};
    TRY(build_path(r));
    TRY(what_if_answer(r));
    TRY(note_busy_machine(r));
    TRY(pools_divide(r));
    TRY(build_works(r));
    TRY(model_list(r->m, model_own, r->m, own, r->own.count));
    for (size_t i = 0; i < r->own.count; i++) {
        const struct own_node *n = &r->own.items[i];
        double wait = 0;
        int most = WAITS_SLEEP;
        for (int k = WAITS_SLEEP; k < WAITS; k++) { /* what the device did is told as such */
            wait += n->path_wait[k];
            most = n->path_wait[k] > n->path_wait[most] ? k : most;
        }
        const struct site *site = n->site >= 0 ? &r->sites.items[n->site] : NULL;
        r->m->own[i] = (struct model_own){
            .parent = n->parent == TABLE_NONE ? -1 : (int32_t)n->parent,
            .kind = n->kind,
            .file = site ? r->sources.items[site->file].path : NULL,
            .line = site ? site->line : MODEL_UNKNOWN,
            .function = n->name,
            .module = n->module,
            .cpu_ns = walk_integer(n->cpu),
            .samples = walk_integer(n->samples),
            .wait_ns = walk_integer(n->wait),
            .gpu_ns = walk_integer(n->gpu),
            .path_cpu_ns = walk_integer(n->path_cpu),
            .path_wait_ns = walk_integer(wait),
            .waits_for = wait > 0 ? names[most] : NULL,
            .child = wait > 0 ? child_waits_program(r, (uint32_t)i) : NULL,
        };
    }
    return ERR_OK;
}
