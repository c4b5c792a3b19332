/* Progress of a call: shares of its loops, told by the thread that made it, at most 20 times a
 * second and never less than before. */
#include "host/backend/course.h"

#include "base/clock.h"

#define INTERVAL_NS 50000000 /* a callback may take 0.1 ms (Python's) in a loop of tiles */
#define LEAST       1e-3     /* of the call, before the clock is read */

void progress_begin(struct backend *be, struct backend_progress *p)
{
    be->progress = p;
    if (!p)
        return;
    p->caller = pthread_self();
    p->reported = p->seen = -1;
    p->reported_ns = clock_ns() - INTERVAL_NS;
}

struct progress_range progress_whole(const struct backend *be)
{
    return be->progress ? be->progress->range : (struct progress_range)PROGRESS_ALL;
}

void progress_part(struct backend *be, struct progress_range whole, double first, double span)
{
    if (be->progress)
        be->progress->range =
            (struct progress_range){whole.first + first * whole.span, span * whole.span};
}

void course_report(struct course *c)
{
    const int64_t begun = __atomic_fetch_add(&c->begun, 1, __ATOMIC_RELAXED);
    struct backend_progress *p = c->be->progress;
    if (!pthread_equal(p->caller, pthread_self()) || (c->be->stop && *c->be->stop))
        return;
    const double share = p->range.first + p->range.span * (double)begun / (double)c->total;
    if (share <= p->reported || (share < p->seen + LEAST && p->seen >= 0))
        return;
    p->seen = share;
    const int64_t now = clock_ns();
    if (now - p->reported_ns < INTERVAL_NS)
        return;
    p->reported = share;
    p->reported_ns = now;
    p->report(p->context, share);
}
