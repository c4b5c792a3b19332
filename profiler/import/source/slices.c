/* Sweeps once over the slices of each thread: what is innermost has the time. */
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "profiler/import/source/slices.h"

struct open_slice {
    int64_t end;
    int32_t node;
};
struct slice_sweep {
    struct builder *b;
    enum import_cost kind;
    VECTOR(struct open_slice) open;
    int64_t at;     /* time before this was given away */
    double covered; /* by any slice, for the check */
    int64_t until;
};

ARRAY_ORDER(by_thread, struct import_slice,
            COMPARE(x->thread, y->thread) ?: COMPARE(x->start, y->start)
                ?: COMPARE(y->end, x->end) ?: COMPARE(x->order, y->order));

static enum err slice_attribute(struct slice_sweep *w, int64_t to)
{
    const struct open_slice *top = &w->open.items[w->open.count - 1];
    if (to <= w->at)
        return ERR_OK;
    TRY(builder_cost(w->b, top->node, w->kind, to - w->at, 0));
    TRY(builder_event(w->b, top->node, w->kind, w->at, to));
    w->at = to;
    return ERR_OK;
}

/* Ends what is over at `now`. */
static enum err close_until(struct slice_sweep *w, int64_t now)
{
    while (w->open.count && w->open.items[w->open.count - 1].end <= now) {
        TRY(slice_attribute(w, w->open.items[w->open.count - 1].end));
        w->open.count--;
    }
    return w->open.count ? slice_attribute(w, now) : ERR_OK;
}

/* Events of one thread should nest. Where one reaches out of another, the one that loses less is
 * shortened: the outer one to where the inner begins, or the inner one to where the outer ends. */
static enum err make_nest(struct slice_sweep *w, struct import_slices *s,
                          struct import_slice *slice)
{
    while (w->open.count && slice->end > w->open.items[w->open.count - 1].end) {
        struct open_slice *top = &w->open.items[w->open.count - 1];
        s->clipped++;
        if (top->end - slice->start > slice->end - top->end) {
            slice->end = top->end;
            return ERR_OK;
        }
        TRY(slice_attribute(w, slice->start));
        w->open.count--;
    }
    return ERR_OK;
}

static enum err slice_enter(struct slice_sweep *w, struct import_slices *s,
                            struct import_slice *slice)
{
    int32_t parent;
    TRY(close_until(w, slice->start));
    if (!slice->bytes)
        TRY(make_nest(w, s, slice));
    TRY(builder_call(
        w->b, w->open.count ? w->open.items[w->open.count - 1].node : IMPORT_ROOT(slice->thread),
        NULL, &parent));
    if (slice->bytes > 0) {
        slice->node = parent;
        return builder_cost(w->b, parent, IMPORT_ALLOC, slice->bytes, 0);
    }
    int64_t from = slice->start > w->until ? slice->start : w->until;
    w->covered += slice->end > from ? (double)(slice->end - from) : 0;
    w->until = slice->end > w->until ? slice->end : w->until;
    TRY(builder_call(w->b, parent, &slice->frame, &slice->node));
    w->at = slice->start;
    FAIL_IF(w->open.count >= 100000, ERR_INPUT, "%s: more than 100,000 nested events", w->b->base);
    return vector_add(&w->open, (struct open_slice){slice->end, slice->node});
}

static enum err slices_sweep(struct slice_sweep *w, struct import_slices *s)
{
    for (size_t i = 0; i < s->list.count; i++) {
        struct import_slice *slice = &s->list.items[i];
        if (!i || slice->thread != s->list.items[i - 1].thread) {
            TRY(close_until(w, INT64_MAX));
            w->at = w->until = INT64_MIN;
        }
        TRY(slice_enter(w, s, slice));
    }
    return close_until(w, INT64_MAX);
}

enum err source_slices(struct builder *b, struct import_slices *s, enum import_cost kind)
{
    struct slice_sweep w = {.b = b, .kind = kind};
    int64_t before = b->added[kind];
    for (size_t i = 0; i < s->list.count; i++)
        s->list.items[i].order = (uint32_t)i;
    vector_sort(&s->list, by_thread);
    enum err e = slices_sweep(&w, s);
    vector_free(&w.open);
    if (!e)
        e = import_note(b, s->clipped, "import_clipped", "warning",
                        "Events of one thread overlapped without nesting.",
                        "The one that lost less by it was shortened.");
    if (!e && s->list.count)
        e = import_check(b, "slices_kept", w.covered, (double)(b->added[kind] - before), 0,
                         "self times of events add up to the time that outermost events cover, ns");
    return e;
}
