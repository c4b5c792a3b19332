/* Callgrind's profile format, version 1 (valgrind.org/docs/manual/cl-format.html): functions with
 * cost by line, and calls with inclusive cost; for KCachegrind, QCachegrind and callgrind_annotate.
 */
#include <stdlib.h>
#include <string.h>

#include "profiler/report/export/export.h"

static void callgrind_put_name(FILE *out, const char *key, const char *name)
{
    fprintf(out, "%s=", key);
    for (; *name; name++)
        fputc((unsigned char)*name < ' ' ? '_' : *name, out);
    fputc('\n', out);
}

static const char *callgrind_file(const struct model_frame *f)
{
    return f->file ? f->file : f->module ? f->module : "???";
}

static long long callgrind_line(const struct model_frame *f)
{
    return f->file && f->line > 0 ? f->line : 0;
}

static void put_costs(FILE *out, long long line, const int64_t cost[EXPORT_WEIGHTS])
{
    fprintf(out, "%lld", line);
    for (int w = 0; w < EXPORT_WEIGHTS; w++)
        fprintf(out, " %lld", (long long)cost[w]);
    fputc('\n', out);
}

/* For each frame a number of its function: what the format's readers take as one. */
struct functions {
    int *of;    /* by frame */
    int *order; /* frames by function */
};

static int frame_by_function(const void *x, const void *y, void *model)
{
    const struct model *m = model;
    const struct model_frame *a = &m->frames[*(const int *)x], *b = &m->frames[*(const int *)y];
    int order = strcmp(callgrind_file(a), callgrind_file(b));
    return order ? order : strcmp(export_frame_name(a), export_frame_name(b));
}

static void callgrind_number_functions(const struct model *m, struct functions *f)
{
    int n = m->frames_count;
    for (int i = 0; i < n; i++)
        f->order[i] = i;
    if (n)
        qsort_r(f->order, (size_t)n, sizeof *f->order, frame_by_function, (void *)m);
    for (int i = 0, id = 0; i < n; i++) {
        id += i && frame_by_function(&f->order[i - 1], &f->order[i], (void *)m);
        f->of[f->order[i]] = id;
    }
}

typedef int64_t cost[EXPORT_WEIGHTS];

/* Adds the cost of each call, by the node that was called. A reader adds all calls of a function to
 * its own cost: for a function that recurses, a node's cost goes to the call out of its innermost
 * frame alone, and so is counted once. seen[function]: the last node below which it was met. */
static void callgrind_add_calls(const struct model *m, const struct functions *f, int *seen,
                                cost *calls)
{
    for (int i = 0; i < m->stacks_count; i++) {
        if (m->stacks[i].frame < 0)
            continue;
        seen[f->of[m->stacks[i].frame]] = i;
        for (int child = i, at = m->stacks[i].parent; at >= 0; at = m->stacks[at].parent) {
            if (m->stacks[at].frame < 0)
                continue;
            int *met = &seen[f->of[m->stacks[at].frame]];
            for (int w = 0; w < EXPORT_WEIGHTS && *met != i; w++)
                calls[child][w] += export_weight(&m->stacks[i], (enum export_weight)w);
            *met = i;
            child = at;
        }
    }
}

static int any_cost(const cost c)
{
    int found = 0;
    for (int w = 0; w < EXPORT_WEIGHTS; w++)
        found |= c[w] != 0;
    return found;
}

static void put_total(const struct model *m, FILE *out)
{
    cost total = {0};
    for (int i = 0; i < m->stacks_count; i++)
        for (int w = 0; w < EXPORT_WEIGHTS; w++)
            total[w] += export_weight(&m->stacks[i], (enum export_weight)w);
    fputs("summary:", out);
    for (int w = 0; w < EXPORT_WEIGHTS; w++)
        fprintf(out, " %lld", (long long)total[w]);
    fputs("\n\n", out);
}

/* A node's own cost, and the call from its parent. Readers add up entries of one function. */
static void put_node(const struct model *m, int i, const cost call, FILE *out)
{
    const struct model_stack *s = &m->stacks[i];
    const struct model_frame *f = &m->frames[s->frame];
    cost self;
    for (int w = 0; w < EXPORT_WEIGHTS; w++)
        self[w] = export_weight(s, (enum export_weight)w);
    callgrind_put_name(out, "ob", f->module ? f->module : "");
    callgrind_put_name(out, "fl", callgrind_file(f));
    callgrind_put_name(out, "fn", export_frame_name(f));
    put_costs(out, callgrind_line(f), self);
    int32_t parent = s->parent;
    while (parent >= 0 && m->stacks[parent].frame < 0)
        parent = m->stacks[parent].parent;
    if (parent < 0 || !any_cost(call))
        return;
    const struct model_frame *caller = &m->frames[m->stacks[parent].frame];
    callgrind_put_name(out, "ob", caller->module ? caller->module : "");
    callgrind_put_name(out, "fl", callgrind_file(caller));
    callgrind_put_name(out, "fn", export_frame_name(caller));
    callgrind_put_name(out, "cob", f->module ? f->module : "");
    callgrind_put_name(out, "cfi", callgrind_file(f));
    callgrind_put_name(out, "cfn", export_frame_name(f));
    fprintf(out, "calls=1 %lld\n", callgrind_line(f));
    put_costs(out, callgrind_line(caller), call);
}

static void callgrind_write(const struct model *m, const struct export_options *o, FILE *out)
{
    (void)o;
    size_t frames = (size_t)m->frames_count + 1;
    cost *calls = calloc((size_t)m->stacks_count + 1, sizeof *calls);
    int *seen = malloc(frames * sizeof *seen);
    struct functions f = {malloc(frames * sizeof *f.of), malloc(frames * sizeof *f.order)};
    fputs("version: 1\ncreator: tomoprof\npositions: line\n", out);
    fprintf(out, "event: cpu : %s\n", model_counts_samples(m) ? "samples" : "CPU time, ns");
    fputs("event: gpu : GPU time, ns\nevent: wait : waiting, ns\nevent: alloc : allocated bytes\n"
          "events: cpu gpu wait alloc\n",
          out);
    if (calls && seen && f.of && f.order) {
        memset(seen, -1, frames * sizeof *seen);
        callgrind_number_functions(m, &f);
        callgrind_add_calls(m, &f, seen, calls);
        put_total(m, out);
        for (int i = 0; i < m->stacks_count; i++)
            if (m->stacks[i].frame >= 0)
                put_node(m, i, calls[i], out);
    } else /* an empty profile would read as "nothing ran" */
        fputs("# no memory left to add up the calls\n", out);
    free(calls);
    free(seen);
    free(f.of);
    free(f.order);
}

const struct exporter export_callgrind = {
    "callgrind", ".callgrind", "for KCachegrind and callgrind_annotate", callgrind_write};
