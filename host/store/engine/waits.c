/* How long a worker, or the child that decodes for it, was ready to run and had no CPU. The kernel
 * counts it for the worker. For a child it is the time of a step without CPU time of either, because
 * a child that has answered may wait for a CPU only to sleep. */
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "host/store/codec/children.h"
#include "host/store/engine/worker.h"

static int64_t waits_cpu_ns(const struct engine_worker *w)
{
    struct timespec t = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec + codec_child_cpu_ns(&w->codecs);
}

void waits_begin(struct engine_worker *w)
{
    w->waits_fd = w->job->times ? clock_waits_open() : -1;
    if (w->waits_fd < 0)
        __atomic_store_n(&w->job->blind, 1, __ATOMIC_RELAXED);
    w->child_cpu_ns = codec_child_cpu_ns(&w->codecs);
}

void waits_fetch(struct engine_worker *w)
{
    w->waits_ns = clock_waits_ns(w->waits_fd);
}

void waits_fetched(struct engine_worker *w, int64_t ns)
{
    const int64_t now = clock_waits_ns(w->waits_fd), waited = now - w->waits_ns;
    w->fetch_waits = waited < ns ? (double)waited / (double)ns : ns > 0;
    w->waits_ns = now;
    w->cpu_ns = waits_cpu_ns(w);
}

/* Nanoseconds of a chunk's steps without a CPU. */
static int64_t waits_of_steps(struct engine_worker *w, int64_t steps)
{
    const int64_t now = clock_waits_ns(w->waits_fd), waited = now - w->waits_ns;
    w->waits_ns = now;
    if (!w->codecs.child)
        return waited;
    const int64_t cpu = w->cpu_ns;
    w->cpu_ns = waits_cpu_ns(w);
    return steps > w->cpu_ns - cpu ? steps - (w->cpu_ns - cpu) : 0;
}

void waits_take_out(struct engine_worker *w, struct engine_time *t)
{
    if (w->waits_fd < 0)
        return;
    const int64_t steps = t->decode + t->convert + t->place, fetch = t->fetch,
                  waited = waits_of_steps(w, steps);
    const double left = steps > waited ? 1 - (double)waited / (double)steps : 0;
    t->fetch = (int64_t)((double)fetch * (1 - w->fetch_waits));
    t->decode = (int64_t)((double)t->decode * left);
    t->convert = (int64_t)((double)t->convert * left);
    t->place = (int64_t)((double)t->place * left);
    t->cpu_wait = fetch - t->fetch + steps - t->decode - t->convert - t->place;
}

void waits_end(struct engine_worker *w)
{
    const int64_t used = codec_child_cpu_ns(&w->codecs) - w->child_cpu_ns;
    if (used > 0) /* a child that took the place of another begins at 0 */
        __atomic_fetch_add(&w->job->child_cpu_ns, used, __ATOMIC_RELAXED);
    if (w->waits_fd >= 0)
        close(w->waits_fd);
}
