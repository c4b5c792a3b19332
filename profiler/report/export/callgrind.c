/* Callgrind's profile format, version 1 (valgrind.org/docs/manual/cl-format.html): functions with
 * cost by line, and calls with inclusive cost; for KCachegrind, QCachegrind and callgrind_annotate.
 */
#include <stdlib.h>

#include "profiler/report/export/export.h"

static void put_name(FILE *out, const char *key, const char *name)
{
    fprintf(out, "%s=", key);
    for (; *name; name++)
        fputc((unsigned char)*name < ' ' ? '_' : *name, out);
    fputc('\n', out);
}

static const char *file_of(const struct model_frame *f)
{
    return f->file ? f->file : f->module ? f->module : "???";
}

static long long line_of(const struct model_frame *f)
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

/* One entry per stack node: its own cost, and the call from its parent with all below it. Readers
 * of the format add up entries of one function. */
static void write(const struct model *m, const struct export_options *o, FILE *out)
{
    (void)o;
    int n = m->stacks_count;
    int64_t(*below)[EXPORT_WEIGHTS] = calloc((size_t)n + 1, sizeof *below);
    int64_t total[EXPORT_WEIGHTS] = {0};
    fputs("version: 1\ncreator: tomoprof\npositions: line\n", out);
    fputs("event: cpu : CPU time, ns\nevent: gpu : GPU time, ns\nevent: wait : waiting, ns\nevent: "
          "alloc : allocated "
          "bytes\nevents: cpu gpu wait alloc\n",
          out);
    if (!below) { /* an empty profile would read as "nothing ran" */
        fputs("# no memory left to add up the calls\n", out);
        return;
    }
    for (int i = n - 1; i >= 0; i--) { /* children come after their parents */
        int32_t parent = m->stacks[i].parent;
        for (int w = 0; w < EXPORT_WEIGHTS; w++) {
            int64_t self = export_weight(&m->stacks[i], (enum export_weight)w);
            total[w] += self;
            below[i][w] += self;
            if (parent >= 0)
                below[parent][w] += below[i][w];
        }
    }
    fputs("summary:", out);
    for (int w = 0; w < EXPORT_WEIGHTS; w++)
        fprintf(out, " %lld", (long long)total[w]);
    fputs("\n\n", out);
    for (int i = 0; i < n; i++) {
        const struct model_stack *s = &m->stacks[i];
        if (s->frame < 0)
            continue;
        const struct model_frame *f = &m->frames[s->frame];
        int64_t self[EXPORT_WEIGHTS];
        for (int w = 0; w < EXPORT_WEIGHTS; w++)
            self[w] = export_weight(s, (enum export_weight)w);
        put_name(out, "fl", file_of(f));
        put_name(out, "fn", export_frame_name(f));
        put_costs(out, line_of(f), self);
        int32_t parent = s->parent;
        while (parent >= 0 && m->stacks[parent].frame < 0)
            parent = m->stacks[parent].parent;
        if (parent >= 0) {
            const struct model_frame *caller = &m->frames[m->stacks[parent].frame];
            put_name(out, "fl", file_of(caller));
            put_name(out, "fn", export_frame_name(caller));
            put_name(out, "cfi", file_of(f));
            put_name(out, "cfn", export_frame_name(f));
            fprintf(out, "calls=1 %lld\n", line_of(f));
            put_costs(out, line_of(caller), below[i]);
        }
    }
    free(below);
}

const struct exporter export_callgrind = {"callgrind", ".callgrind",
                                          "for KCachegrind and callgrind_annotate", write};
