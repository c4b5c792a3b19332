/* Rules that sum up a run in a line: whether it mostly waited, whether lines explain it, its
 * most expensive functions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/report/text/summary.h"

int summary_waits(const struct model *m)
{
    const struct model_totals *t = &m->totals;
    double ready = isfinite(t->wait.runnable) ? t->wait.runnable : 0;
    return !(t->gpu_sum_s > 0) && t->cpu.user + t->cpu.sys + ready < 0.5 * m->meta.wall_s;
}

int summary_lacks_lines(const struct model *m)
{
    return m->quality.unattributed_cpu_share > 0.5 && m->stacks_count > 0;
}

static int by_name(const void *a, const void *b)
{
    const struct summary_function *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->module, y->module);
}

static int most_expensive_first(const void *a, const void *b)
{
    const struct summary_function *x = a, *y = b;
    return x->cpu_s == y->cpu_s ? by_name(a, b) : (x->cpu_s < y->cpu_s) - (x->cpu_s > y->cpu_s);
}

enum err summary_functions(const struct model *m, struct summary_function **rows, size_t *count)
{
    struct summary_function *all = calloc((size_t)m->stacks_count + 1, sizeof *all);
    size_t n = 0, kept = 0;
    *rows = NULL;
    *count = 0;
    FAIL_IF(!all, ERR_MEMORY, "no memory for the functions of the run");
    for (int i = 0; i < m->stacks_count; i++) {
        const struct model_stack *s = &m->stacks[i];
        if (!(s->cpu_ns > 0) || s->frame < 0 || s->frame >= m->frames_count)
            continue;
        const struct model_frame *f = &m->frames[s->frame];
        const char *slash = f->module ? strrchr(f->module, '/') : NULL;
        all[n++] = (struct summary_function){f->function ? f->function : "[unknown]",
                                             slash       ? slash + 1
                                             : f->module ? f->module
                                                         : "",
                                             1e-9 * (double)s->cpu_ns};
    }
    array_sort(all, n, sizeof *all, by_name);
    for (size_t i = 0; i < n; i++)
        if (kept && !by_name(&all[kept - 1], &all[i]))
            all[kept - 1].cpu_s += all[i].cpu_s;
        else
            all[kept++] = all[i];
    array_sort(all, kept, sizeof *all, most_expensive_first);
    *rows = all;
    *count = kept;
    return ERR_OK;
}
