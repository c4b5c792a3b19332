/* Processes that were made, or programs that took one over, and of which there is not a trace: the
 * capture library was not loaded there. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "profiler/analyze/attribute/paths.h"
#include "profiler/analyze/build/build.h"

enum { NAMED = 3 };

struct made {
    int pid, image; /* image >= 0: the process that it takes over */
    double at_s;
    const char *program;
};

static void take_back(struct run *r, int pid)
{
    for (size_t i = r->made.count; i-- > 0;)
        if (r->made.items[i].pid == pid) {
            r->made.items[i] = r->made.items[--r->made.count];
            return;
        }
}

static enum err children_made(struct image *im, void *state, const struct trace_item *item)
{
    (void)state;
    struct run *r = im->run;
    const struct trace_process *p = (const void *)item->record;
    if (p->op == TRACE_NOT_SPAWNED) {
        take_back(r, p->child);
        return ERR_OK;
    }
    const char *path = arena_text_n(r->m->arena, item->tail, item->tail_bytes);
    FAIL_IF(!path, ERR_MEMORY, "no memory for the processes of a trace");
    TRY(vector_add(&r->made, (struct made){
                                 .pid = p->child,
                                 .image = p->op == TRACE_EXECED ? im->index : -1,
                                 .at_s = ns_to_seconds((double)p->r.time_ns - (double)r->origin),
                                 .program = *path ? path_shown(r, path) : NULL,
                             }));
    return ERR_OK;
}

static const struct collected kinds[] = {{TRACE_PROCESS, children_made, 0, 0}};
const struct collector collector_children = {COLLECTED(kinds)};

static int has_trace(const struct run *r, const struct made *m)
{
    int exec = m->image >= 0;
    if (exec && strcmp(r->processes.items[m->image].end, "exec"))
        return 1; /* the call failed */
    for (size_t i = 0; i < r->processes.count; i++) {
        const struct model_process *p = &r->processes.items[i];
        if (p->pid == m->pid && (!exec || p->start_s >= m->at_s))
            return 1;
    }
    return 0;
}

static int is_among(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(names[i], name))
            return 1;
    return 0;
}

ARRAY_ORDER(by_time, struct made, COMPARE(x->at_s, y->at_s));

/* Explains time that the kernel counted of the whole run and no recording has: theirs for the most
 * part. */
static const char *children_effect(struct run *r)
{
    const struct analyze_launch *l = &r->options->launch;
    double missing = l->all_s - ns_to_seconds(r->total.user + r->total.sys + r->q.recorder_ns);
    char text[200];
    if (!r->has_cpu || l->left_running || build_of_part(r) || !(missing >= 0.01))
        return "Their time and memory are missing.";
    snprintf(text, sizeof text,
             "Their time and memory are missing: the kernel counted %.2f s of CPU time for the run "
             "that no recording has.",
             missing);
    return run_text(r, text);
}

enum err children_without_trace(struct run *r, struct model_item *item)
{
    const char *names[NAMED];
    int named = 0, count = 0;
    vector_sort(&r->made, by_time);
    for (size_t i = 0; i < r->made.count; i++) {
        const struct made *m = &r->made.items[i];
        if (has_trace(r, m))
            continue;
        count++;
        const char *name = m->program ? base_name(m->program) : NULL;
        if (name && named < NAMED && !is_among(names, named, name))
            names[named++] = name;
    }
    json_blank(&record_model_item, item);
    item->count = count;
    if (!count)
        return ERR_OK;
    char text[512], list[400] = "";
    for (int i = 0; i < named; i++)
        text_append(list, sizeof list, "%s%.100s", i ? ", " : "", names[i]);
    snprintf(text, sizeof text, "%d process%s of the program left no data%s%s.", count,
             count == 1 ? "" : "es", named ? ": " : "", list);
    r->m->quality.unrecorded = count;
    r->m->quality.unrecorded_names = named ? run_text(r, list) : NULL;
    item->id = "trace.children";
    item->severity = "warning";
    item->text = run_text(r, text);
    item->effect = children_effect(r);
    item->fix = "Statically linked programs, set-user-id ones, those of another user and those "
                "started with a cleared environment cannot be followed; start them without that. "
                "Nothing is left of children that were killed within their first 25 to 75 ms.";
    return ERR_OK;
}
