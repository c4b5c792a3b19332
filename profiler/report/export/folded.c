/* Folded stacks: "root;...;leaf weight" per line, for flamegraph.pl, inferno and others. */
#include "profiler/report/export/export.h"

static void folded_write(const struct model *m, const struct export_options *o, FILE *out)
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
            char label[2048];
            export_frame_label(&m->frames[chain[--n]], label, sizeof label);
            fputs(label, out);
            if (n > 0)
                fputc(';', out);
        }
        fprintf(out, " %lld\n", (long long)weight);
    }
}

const struct exporter export_folded = {"folded", ".folded",
                                       "folded stacks for flamegraph.pl and inferno", folded_write};
