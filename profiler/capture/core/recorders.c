/* The registry of recorders: starts them and passes events of threads, time and process on. */
#include <string.h>

#include "profiler/capture/core/recorder.h"
#include "profiler/capture/raw/system.h"

static const struct recorder *const *recorders;
static size_t recorder_count;
static unsigned started; /* bits by place in the list */

#define EACH(function, ...)                                                                        \
    for (size_t i = 0; i < recorder_count; i++)                                                    \
        if (started >> i & 1 && recorders[i]->function)                                            \
    recorders[i]->function(__VA_ARGS__)
#define EACH_BACK(function, ...)                                                                   \
    for (size_t i = recorder_count; i-- > 0;)                                                      \
        if (started >> i & 1 && recorders[i]->function)                                            \
    recorders[i]->function(__VA_ARGS__)

void recorders_start(const struct recorder *const *list, size_t count, struct capture_thread *t)
{
    recorders = list;
    recorder_count = count;
    for (size_t i = 0; i < count; i++) {
        const struct recorder *r = list[i];
        if (!(r->modes & capture.config.modes))
            continue;
        int why = r->start ? r->start() : 0;
        if (why)
            capture_note(t, 1, r->name, "%s is off: %s", r->name, raw_error_text(why));
        else
            started |= 1u << i;
    }
}

void recorders_asleep(const struct recorder *const *list, size_t count)
{
    recorders = list;
    recorder_count = count;
    for (size_t i = 0; i < count; i++)
        if (list[i]->modes & capture.config.modes && list[i]->asleep)
            list[i]->asleep();
}

void recorders_asleep_stop(struct capture_thread *t)
{
    for (size_t i = 0; i < recorder_count; i++)
        if (recorders[i]->modes & capture.config.modes && recorders[i]->asleep_stop)
            recorders[i]->asleep_stop(t);
}

void recorders_thread_start(struct capture_thread *t)
{
    EACH(thread_start, t);
}

void recorders_thread_end(struct capture_thread *t)
{
    EACH_BACK(thread_end, t);
}

void recorders_thread_gone(void)
{
    EACH_BACK(thread_gone);
}

void recorders_thread_traced(struct capture_thread *t, int traced)
{
    EACH(thread_traced, t, traced);
}

void recorders_thread_found(struct thread_slot *s)
{
    EACH(thread_found, s);
}

void recorders_thread_lost(struct thread_slot *s)
{
    EACH(thread_lost, s);
}

void recorders_thread_pending(struct capture_thread *writer, struct thread_slot *s)
{
    EACH(thread_pending, writer, s);
}

void recorders_tick(struct capture_thread *ours)
{
    EACH(tick, ours);
}

void recorders_footprint(struct trace_footprint *r)
{
    EACH(footprint, r);
}

int recorders_fork_alone(void)
{
    for (size_t i = 0; i < recorder_count; i++)
        if (started >> i & 1 && recorders[i]->fork_alone && recorders[i]->fork_alone())
            return 1;
    return 0;
}

void recorders_fork_prepare(void)
{
    EACH_BACK(fork_prepare);
}

void recorders_fork_parent(void)
{
    EACH(fork_parent);
}

void recorders_fork_child(void)
{
    EACH(fork_child);
}

void recorders_stop(void)
{
    EACH_BACK(stop);
}
