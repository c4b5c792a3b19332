/* The random part of allocation sampling: distances between samples, and the weight that makes sums
 * of them unbiased. */
#include "profiler/capture/core/asleep.h"
#include "profiler/capture/raw/logarithm.h"
#include "profiler/capture/recorders/heap/heap.h"

__thread struct heap_thread heap_thread;

double heap_draw(double uniform, double mean)
{
    return (double)(uint64_t)(-raw_log(uniform) * mean);
}

double heap_weight(size_t bytes, double mean)
{
    return 1 / -raw_expm1(-((double)bytes + HEAP_CALL_BYTES) / mean);
}

static void countdown_set(struct heap_countdown *c, uint64_t distance)
{
    c->left = distance < HEAP_LARGE ? distance : HEAP_LARGE;
    c->beyond = distance - c->left;
}

static void countdown_draw(struct heap_countdown *c, struct capture_thread *t, double mean)
{
    c->mean = mean;
    c->armed = 1;
    countdown_set(c, (uint64_t)heap_draw(capture_random(t), mean));
}

void heap_idle(struct heap_countdown *c)
{
    *c = (struct heap_countdown){.left = HEAP_IDLE};
}

/* Most short processes allocate some KiB, and nothing of that is recorded. */
int heap_sleeps_on(struct heap_countdown *c, size_t bytes, double mean)
{
    struct capture_thread *t = asleep.on && bytes < HEAP_LARGE ? capture_self() : NULL;
    const uint64_t taken = (uint64_t)bytes + HEAP_CALL_BYTES;
    if (!t)
        return 0;
    if (!c->armed)
        countdown_draw(c, t, mean);
    const uint64_t distance = c->left + c->beyond;
    if (taken > distance)
        return 0;
    countdown_set(c, distance - taken);
    return 1;
}

double heap_counted(struct heap_countdown *c, struct capture_thread *t, size_t bytes, double mean)
{
    if (!c->armed) /* was no draw: this block is the first that one decides on */
        countdown_draw(c, t, mean);
    uint64_t distance = c->left + c->beyond, taken = (uint64_t)bytes + HEAP_CALL_BYTES;
    if (taken <= distance) {
        countdown_set(c, distance - taken);
        return 0;
    }
    double calls = heap_weight(bytes, c->mean);
    countdown_draw(c, t, mean);
    return calls;
}
