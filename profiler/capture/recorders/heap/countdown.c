/* The random part of allocation sampling: distances between samples, and the weight that makes sums
 * of them unbiased. */
#include <math.h>

#include "profiler/capture/recorders/heap/heap.h"

__thread struct heap_thread heap_thread;

double heap_draw(double uniform, double mean)
{
    return floor(-log(uniform) * mean);
}

double heap_weight(size_t bytes, double mean)
{
    double n = (double)bytes;
    return n / -expm1(-n / mean);
}

static void draw(struct heap_countdown *c, struct capture_thread *t, double mean)
{
    c->mean = mean;
    c->left = (int64_t)heap_draw(capture_random(t), mean);
}

double heap_counted(struct heap_countdown *c, struct capture_thread *t, size_t bytes, double mean)
{
    if (!c->armed) { /* was no draw: this block is the first that one decides on */
        draw(c, t, mean);
        c->armed = 1;
        c->left -= (int64_t)bytes;
    }
    if (c->left >= 0)
        return 0;
    double weight = heap_weight(bytes, c->mean);
    draw(c, t, mean);
    return weight;
}
