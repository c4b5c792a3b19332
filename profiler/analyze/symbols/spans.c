/* Spans of images in a process by address and time. */
#include <stdlib.h>

#include "base/array.h"
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
static size_t spans_above(const struct spans *p, uint64_t address)
{
    return ARRAY_BOUND(0, p->spans.count, i, p->spans.items[i].start <= address);
}

ARRAY_ORDER(by_place_and_time, struct module_span,
            COMPARE(x->start, y->start) ?: COMPARE(x->from, y->from) ?: COMPARE(x->end, y->end));

ARRAY_ORDER(end_by_place_and_time, struct module_end,
            COMPARE(x->start, y->start) ?: COMPARE(x->end, y->end) ?: COMPARE(x->time, y->time));

static uint64_t end_of(const struct spans *p, const struct module_span *span)
{
    struct module_end wanted = {span->start, span->end, span->from + 1};
    const size_t at =
        ARRAY_BOUND(0, p->ends.count, i, end_by_place_and_time(&p->ends.items[i], &wanted) < 0);
    const struct module_end *found = at < p->ends.count ? &p->ends.items[at] : NULL;
    return found && found->start == span->start && found->end == span->end ? found->time
                                                                           : UINT64_MAX;
}

/* Records come in any order of threads. A module that comes back with no other in between (programs
 * that open and close one plugin all the time) was there all along. */
static void spans_sort(struct spans *p)
{
    size_t kept = 0;
    uint64_t reach = 0;
    vector_sort(&p->spans, by_place_and_time);
    vector_sort(&p->ends, end_by_place_and_time);
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
        spans_sort(p);
    const struct module_span *best = NULL;
    int best_rank = -1;
    for (size_t i = spans_above(p, address); i-- && p->spans.items[i].reach > address;) {
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
