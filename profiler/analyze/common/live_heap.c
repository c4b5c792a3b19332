/* Estimates live memory from sampled blocks; where few blocks are live, by their mean over time. */
#include <math.h>

#include "profiler/analyze/common/live_heap.h"

enum { WINDOW = 25 };

struct live_heap_change live_heap_block(double weight, double bytes, double sign)
{
    double squared = fmax(0, weight * (weight - bytes));
    return (struct live_heap_change){sign * weight, sign * bytes, sign * squared, sign};
}

/* A sampled block stands for those since the one before it: what was allocated until the first of
 * the window took as long as between the others, or since the run's start where it is the only one.
 */
static double live_heap_mean(const struct live_heap *h, uint64_t time)
{
    uint64_t from = h->window[0].since, blocks = h->window_blocks[0] + h->window_blocks[1];
    double integral = h->integral + h->live * (double)(time - h->since) - h->window[0].integral;
    double lead = blocks > 1 ? (double)(h->latest - from) / (double)(blocks - 1) : (double)from;
    return time > from ? integral / ((double)(time - from) + lead) : 0;
}

double live_heap_estimate(const struct live_heap *h, uint64_t time)
{
    if (h->squared <= h->live * h->live / WINDOW)
        return h->live;
    return fmin(h->live, fmax(live_heap_mean(h, time), h->bytes));
}

static void count_block(struct live_heap *h, uint64_t time)
{
    int first = !h->window_blocks[1];
    h->latest = time;
    if (!first && h->window_blocks[1]++ < WINDOW)
        return;
    h->window[0] = h->window[1];
    h->window[1].integral = h->integral;
    h->window[1].since = time;
    if (first)
        h->window[0] = h->window[1];
    h->window_blocks[0] = first ? 0 : WINDOW;
    h->window_blocks[1] = 1;
}

double live_heap_apply(struct live_heap *h, struct live_heap_change c, uint64_t time)
{
    double before = live_heap_estimate(h, time);
    h->integral += h->live * (double)(time - h->since);
    h->since = time;
    h->live += c.weight;
    h->bytes += c.bytes;
    h->squared += c.squared;
    h->blocks += c.blocks;
    if (!(h->live > 0) || h->blocks < 1) /* and nothing that rounding left */
        h->live = h->bytes = h->squared = h->blocks = 0;
    if (c.blocks > 0) {
        count_block(h, time);
        h->first = h->allocs > 0 ? h->first : time;
        h->allocs++;
    } else if (c.blocks < 0) {
        h->frees++;
    }
    h->peak = fmax(h->peak, fmax(before, live_heap_estimate(h, time)));
    return before;
}
