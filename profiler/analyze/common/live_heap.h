/* Memory that a line, a function or the process holds while sampled allocations are replayed. A
 * block that was recorded stands for `weight` bytes, which makes the sum of what is live right on
 * average; but the largest of many sums of a few heavy blocks is far above what ever lived. So
 * where the sum's standard error is above a fifth of it (fewer than 25 small blocks), the mean over
 * the time of the last 25 to 50 blocks takes its place, or the bytes of the recorded blocks
 * themselves, whichever is more. */
#ifndef TP_ANALYZE_COMMON_LIVE_HEAP_H
#define TP_ANALYZE_COMMON_LIVE_HEAP_H

#include <stdint.h>

struct live_heap {
    double live, peak, at_peak, integral, end; /* bytes; integral: byte * ns */
    double bytes, squared;                     /* of live blocks: their own; variance of the sum */
    double allocs, frees, blocks;              /* sampled records; live ones */
    double begun;                              /* integral at the process's start */
    uint64_t since, first, latest;             /* last change; allocations */
    struct {
        double integral;
        uint64_t since;
    } window[2];               /* the begin of the last two, of 25 blocks each */
    uint64_t window_blocks[2]; /* in them; the older may have none */
};

/* A block that comes, goes (negative) or loses a part. */
struct live_heap_change {
    double weight, bytes, squared, blocks;
};
struct live_heap_change live_heap_block(double weight, double bytes, double sign);

/* To be called before a change too: a mean over time is known at its end only. */
double live_heap_estimate(const struct live_heap *h, uint64_t time);
/* Peak and integral are taken before and after; returns the estimate before. */
double live_heap_apply(struct live_heap *h, struct live_heap_change c, uint64_t time);

#endif
