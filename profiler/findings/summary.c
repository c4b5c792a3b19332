/* Rules that sum up a run in a line: whether it mostly waited, whether lines explain it. */
#include <math.h>

#include "profiler/findings/summary.h"

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
