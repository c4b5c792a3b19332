/* Python frames of stacks deeper than what is kept: those at the root, by what is known of them or
 * by going the whole way. */
#include "profiler/capture/recorders/python/read.h"

enum { PAGE = sizeof((struct frame_outer *)0)->page, HOPS = 4 };

int python_page(struct python_unwind *w, uintptr_t at, void *to, size_t bytes)
{
    uintptr_t page = at & ~(uintptr_t)(PAGE - 1);
    uint8_t *copy = w->view->outer->page;
    if (at - page + bytes > PAGE)
        return safe_read(at, to, bytes);
    if (page != w->page_at) {
        w->page_at = safe_read(page, copy, PAGE) ? page : 0;
        if (!w->page_at)
            return safe_read(at, to, bytes);
    }
    memcpy(to, copy + (at - page), bytes);
    return 1;
}

/* The frame before, and whether this one is the interpreter's own. */
static int read_link(struct python_unwind *w, uintptr_t address, int plainly, uintptr_t *previous,
                     int *shim)
{
    const struct python_layout *l = w->l;
    uint8_t owner = 0;
    if (plainly) {
        memcpy(previous, (const void *)(address + l->previous), sizeof *previous);
        owner = l->shim_owner ? *(const uint8_t *)(address + l->owner) : 0;
    } else if (address % sizeof address ||
               !python_get(w, address + l->previous, previous, sizeof *previous) ||
               (l->shim_owner && !python_get(w, address + l->owner, &owner, 1))) {
        return 0;
    }
    *shim = l->shim_owner && owner >= l->shim_owner;
    return 1;
}

/* Frame `i` of the known ones is what it was: the same code, called by the frame behind it. Then
 * its pair is that of now. `last`: it is the root. Nothing of it is believed before. */
static int outer_frame_equal(struct python_unwind *w, struct frame_outer *o, size_t i, int last)
{
    struct python_frame f;
    uintptr_t next = last ? 0 : o->at[i + 1], link;
    int shim;
    if (!python_read_frame(w, o->at[i], 0, &f) || f.code != o->code[i])
        return 0;
    link = f.previous;
    for (int hops = 0; link != next; hops++)
        if (!link || hops == HOPS || !read_link(w, link, 0, &link, &shim) || !shim)
            return 0;
    if (f.at == o->instruction[i] && stack_was_written(o->pair[i][1]))
        return 1;
    uint64_t line, entry = o->pair[i][0] & TRACE_PYTHON_ENTRY;
    if (!python_code(w, f.code, f.at, 0, &o->pair[i][1], &line))
        return 0;
    o->pair[i][0] = line | entry;
    o->instruction[i] = f.at;
    return 1;
}

/* How many of the known frames, from the root on, are there still. A frame has its place by those
 * that called it, so that it is at its old one as long as they are the same. On the way past
 * `through` unless 0. */
static size_t outer_unchanged(struct python_unwind *w, struct frame_outer *o, uintptr_t through)
{
    size_t n = 0;
    while (n < o->known && outer_frame_equal(w, o, o->known - 1 - n, n == 0)) {
        n++;
        through = o->at[o->known - n] == through ? 0 : through;
    }
    return through ? 0 : n;
}

/* Goes from `address` to the root by the links alone and leaves the last frames in `o`; how many it
 * has passed, 0: it did not reach the root. *entered: of the frame before the first. */
static size_t outer_walk(struct python_unwind *w, uintptr_t address, uintptr_t through,
                         struct frame_outer *o, int *entered)
{
    int plainly = w->called || (!w->view->tid && w->l->frame_object), shim;
    size_t steps = 0;
    for (uintptr_t next = 0; address; address = next) {
        through = address == through ? 0 : through;
        if (!read_link(w, address, plainly, &next, &shim))
            return 0;
        if (!shim) {
            o->at[steps % FRAME_OUTER] = address;
            o->pair[steps++ % FRAME_OUTER][0] = 0;
        } else if (steps) {
            o->pair[(steps - 1) % FRAME_OUTER][0] = TRACE_PYTHON_ENTRY;
        } else {
            *entered = 1;
        }
        if (next == address || !deep_goes_on(w->view->deep, steps))
            return 0;
    }
    return through ? 0 : steps;
}

/* In their order, with their pairs; 0: one cannot be read. */
static int read_last(struct python_unwind *w, struct frame_outer *o, size_t steps)
{
    size_t n = steps < FRAME_OUTER ? steps : FRAME_OUTER;
    uintptr_t *entries = o->code; /* until each has its code */
    int plainly = w->called || (!w->view->tid && w->l->frame_object);
    for (size_t i = 0; i < n; i++)
        entries[i] = o->pair[i][0];
    deep_order(o->at, steps, FRAME_OUTER);
    deep_order(entries, steps, FRAME_OUTER);
    for (size_t i = 0; i < n; i++) {
        struct python_frame f;
        uint64_t line, entry = entries[i];
        if (!python_read_frame(w, o->at[i], plainly, &f) ||
            !python_code(w, f.code, f.at, !w->view->tid, &o->pair[i][1], &line))
            return 0;
        o->code[i] = f.code;
        o->instruction[i] = f.at;
        o->pair[i][0] = line | entry | (f.entry ? TRACE_PYTHON_ENTRY : 0);
    }
    o->pair[n - 1][0] |= TRACE_PYTHON_ENTRY;
    o->known = n;
    return 1;
}

int python_outer_frames(struct python_unwind *w, uintptr_t address, uintptr_t through,
                        uint64_t *pair, size_t *n, uint32_t *flags)
{
    struct frame_outer *o = w->view->outer;
    size_t steps = 0, same = 0;
    int entered = 0;
    w->by_pages = 1;
    if (o->known == FRAME_OUTER)
        same = outer_unchanged(w, o, through);
    if (same < FRAME_OUTER && deep_start(w->view->deep)) {
        o->known = same = 0;
        steps = outer_walk(w, address, through, o, &entered);
        if (steps && read_last(w, o, steps))
            same = o->known;
        deep_stop(w->view->deep);
    }
    w->by_pages = 0;
    if (!same)
        return 0;
    if (entered)
        pair[2 * *n - 2] |= TRACE_PYTHON_ENTRY;
    if (!steps || steps > same) {
        pair[2 * *n] = TRACE_LEFT_OUT | (uint32_t)(steps ? steps - same : 0);
        pair[2 * *n + 1] = 0;
        ++*n;
        *flags |= TRACE_STACK_DEEP;
    }
    memcpy(pair + 2 * *n, o->pair[o->known - same], same * sizeof *o->pair);
    *n += same;
    return 1;
}
