/* Folded stacks: "root;...;leaf weight" per line, for flamegraph.pl, inferno and others. */
#include <string.h>

#include "profiler/report/export/export.h"

/* A name without the two characters that the format uses, nor line breaks. */
static void put_name(FILE *out, const char *name)
{
    for (; *name; name++)
        fputc(*name == ';' || (unsigned char)*name < ' ' ? '_' : *name, out);
}

static void write(const struct model *m, const struct export_options *o, FILE *out)
{
    for (int i = 0; i < m->stacks_count; i++) {
        int64_t weight = export_weight(&m->stacks[i], o->weight);
        int32_t chain[1024];
        int n = 0;
        if (weight == 0)
            continue;
        for (int32_t s = i; s >= 0 && n < 1024; s = m->stacks[s].parent)
            if (m->stacks[s].frame >= 0)
                chain[n++] = m->stacks[s].frame;
        while (n > 0) {
            const struct model_frame *f = &m->frames[chain[--n]];
            put_name(out, export_frame_name(f));
            if (f->file && f->line > 0) {
                const char *base = strrchr(f->file, '/');
                fputc(' ', out);
                put_name(out, base ? base + 1 : f->file);
                fprintf(out, ":%lld", (long long)f->line);
            }
            if (n > 0)
                fputc(';', out);
        }
        fprintf(out, " %lld\n", (long long)weight);
    }
}

const struct exporter export_folded = {"folded", ".folded",
                                       "folded stacks for flamegraph.pl and inferno", write};
