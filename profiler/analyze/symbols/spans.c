/* Spans of images in a process by address and time. */
#include <stdlib.h>

#include "profiler/analyze/symbols/spans.h"

enum err spans_add(struct spans *s, struct module_span span)
{
    s->settled = 0;
    return vector_add(&s->spans, span);
}

enum err spans_end(struct spans *s, uint64_t start, uint64_t end, uint64_t time_ns)
{
    s->settled = 0;
    return vector_add(&s->ends, (struct module_end){start, end, time_ns});
}

void spans_free(struct spans *s)
{
    vector_free(&s->spans);
    vector_free(&s->ends);
}

/* Index of the first span that starts above `address`. */
static size_t above(const struct spans *p, uint64_t address)
{
    size_t low = 0, high = p->spans.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->spans.items[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int by_place_and_time(const void *a, const void *b)
{
    const struct module_span *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->end != y->end ? (x->end < y->end ? -1 : 1) : 0;
}

static int end_by_place_and_time(const void *a, const void *b)
{
    const struct module_end *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return x->time != y->time ? (x->time < y->time ? -1 : 1) : 0;
}

static uint64_t end_of(const struct spans *p, const struct module_span *span)
{
    struct module_end wanted = {span->start, span->end, span->from + 1};
    size_t low = 0, high = p->ends.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (end_by_place_and_time(&p->ends.items[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct module_end *found = low < p->ends.count ? &p->ends.items[low] : NULL;
    return found && found->start == span->start && found->end == span->end ? found->time
                                                                           : UINT64_MAX;
}

/* Records come in any order of threads. A module that comes back with no other in between (programs
 * that open and close one plugin all the time) was there all along. */
static void settle(struct spans *p)
{
    size_t kept = 0;
    uint64_t reach = 0;
    if (p->spans.count)
        qsort(p->spans.items, p->spans.count, sizeof *p->spans.items, by_place_and_time);
    if (p->ends.count)
        qsort(p->ends.items, p->ends.count, sizeof *p->ends.items, end_by_place_and_time);
    for (size_t i = 0; i < p->spans.count; i++) {
        struct module_span span = p->spans.items[i];
        struct module_span *last = kept ? &p->spans.items[kept - 1] : NULL;
        span.until = end_of(p, &span);
        reach = span.reach = reach > span.end ? reach : span.end;
        if (last && last->start == span.start && last->end == span.end && last->bias == span.bias &&
            last->image == span.image)
            last->until = span.until;
        else
            p->spans.items[kept++] = span;
    }
    p->spans.count = kept;
    p->settled = 1;
}

const struct module_span *spans_at(struct spans *p, uint64_t time_ns, uint64_t address)
{
    if (!p->settled)
        settle(p);
    const struct module_span *best = NULL;
    int best_rank = -1;
    for (size_t i = above(p, address); i-- && p->spans.items[i].reach > address;) {
        const struct module_span *span = &p->spans.items[i];
        if (address >= span->end)
            continue;
        int rank = span->from > time_ns ? 1 : time_ns < span->until ? 2 : 0;
        if (rank > best_rank || (rank == best_rank &&
                                 (rank == 1 ? span->from < best->from : span->from > best->from))) {
            best = span;
            best_rank = rank;
        }
    }
    return best;
}
