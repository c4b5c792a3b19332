/* Adds up for how much of each second a thread was ready for a CPU. Looks come late on a busy machine,
 * so at a moment alone a thread may seem asleep that was in the run queue. */
#include <math.h>
#include <stdlib.h>

#include "profiler/analyze/build/build.h"

enum { BINS_MAX = 1024 };
#define BIN_NS 1e9

enum err queues_make(const struct run *r, struct queues *q)
{
    const double wall = (double)(r->last - r->origin);
    q->bin_ns = fmax(BIN_NS, wall / BINS_MAX);
    q->bins = (size_t)(wall / q->bin_ns) + 1;
    q->ready = calloc((r->threads.count + 1) * q->bins, sizeof *q->ready);
    q->all = calloc((r->threads.count + 1) * q->bins, sizeof *q->all);
    FAIL_IF(!q->ready || !q->all, ERR_MEMORY, "no memory for the critical path");
    for (size_t i = 0; i < r->moments.count; i++) {
        const struct moment_of *m = &r->moments.items[i];
        const double length = fmax(1, (double)(m->end - m->start));
        for (double from = (double)m->start; from < (double)m->end;) {
            const size_t bin =
                (size_t)(from / q->bin_ns) < q->bins ? (size_t)(from / q->bin_ns) : q->bins - 1;
            const double to = fmin((double)m->end, fmax(from + 1, (double)(bin + 1) * q->bin_ns));
            const double ns = (double)m->busy * (to - from) / length;
            const size_t at = (size_t)m->thread * q->bins + bin;
            q->all[at] += ns;
            q->ready[at] += m->waiting ? ns * m->ready : 0;
            from = bin + 1 < q->bins ? to : (double)m->end;
        }
    }
    return ERR_OK;
}

double queues_share(const struct queues *q, int thread, double t_ns)
{
    const size_t at = (size_t)(t_ns / q->bin_ns);
    double ready = 0, all = 0;
    for (size_t i = at ? at - 1 : 0; i <= at + 1 && i < q->bins; i++) {
        ready += q->ready[(size_t)thread * q->bins + i];
        all += q->all[(size_t)thread * q->bins + i];
    }
    return all > 0 ? ready / all : 0;
}

void queues_free(struct queues *q)
{
    free(q->ready);
    free(q->all);
}
