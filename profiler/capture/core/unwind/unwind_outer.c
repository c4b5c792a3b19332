/* Stacks deeper than what is kept: the frames at the root, by what is known of them or by going the
 * whole way. */
#include <string.h>

#include "profiler/capture/core/unwind/unwind.h"

/* How many of the known frames, from the root on, are there still. */
static size_t outer_unchanged_frames(const struct unwind_memory *m, const struct unwind_outer *o,
                                     uintptr_t sp)
{
    size_t n = 0;
    for (size_t i = UNWIND_OUTER; o->known && i-- > 0; n++) {
        uintptr_t slot = o->slot[i], pc;
        if (slot <= sp || slot < m->floor || slot >= m->high || m->high - slot < sizeof pc)
            break;
        memcpy(&pc, (const void *)slot, sizeof pc);
        if (unwind_strip(pc) != o->pc[i])
            break;
    }
    return n;
}

/* Goes on to the root; pc[1..] keeps the last frames. Returns how many it has passed. */
static size_t outer_unwind_to_root(struct unwind_registers *r, struct unwind_memory *m,
                                   uintptr_t *pc, int exact, struct unwind_outer *o, int *complete)
{
    size_t n = 0;
    enum unwind_next next;
    do {
        pc[1 + n % UNWIND_OUTER] = exact ? r->pc + 1 : r->pc;
        o->slot[n % UNWIND_OUTER] = exact ? 0 : r->slot;
        n++;
        next = unwind_next(r, m, &exact);
    } while (next == NEXT_FRAME && deep_goes_on(&o->deep, n));
    *complete = next == NEXT_ROOT;
    deep_order(pc + 1, n, UNWIND_OUTER);
    deep_order(o->slot, n, UNWIND_OUTER);
    o->known = *complete && n > UNWIND_OUTER;
    if (o->known)
        memcpy(o->pc, pc + 1, sizeof o->pc);
    return n;
}

/* Behind the inner frames; `r` is at the first of the others. */
static size_t outer_frames(struct unwind_registers *r, struct unwind_memory *m, uintptr_t *pc,
                           int exact, struct unwind_outer *o, int *complete, int *deep)
{
    size_t same = outer_unchanged_frames(m, o, r->r[UNWIND_SP]);
    *deep = 1;
    *pc = TRACE_LEFT_OUT;
    if (same < UNWIND_OUTER && deep_start(&o->deep)) {
        size_t n = outer_unwind_to_root(r, m, pc, exact, o, complete);
        deep_stop(&o->deep);
        if (n > UNWIND_OUTER) {
            *pc |= n - UNWIND_OUTER;
            return UNWIND_OUTER + 1;
        }
        *deep = 0;
        memmove(pc, pc + 1, n * sizeof *pc);
        return n;
    }
    *complete = same > 0;
    memcpy(pc + 1, o->pc + UNWIND_OUTER - same, same * sizeof *pc);
    return same ? same + 1 : 0;
}

size_t unwind_both_ends(struct unwind_registers *r, struct unwind_memory *m, uintptr_t *pc,
                        struct unwind_outer *o, int *complete, int *deep)
{
    size_t n = 0;
    int exact = 1;
    enum unwind_next next = unwind_fill(r, m, &exact, pc, UNWIND_INNER, &n);
    *complete = next == NEXT_ROOT;
    *deep = 0;
    if (next != NEXT_FRAME)
        return n;
    return n + outer_frames(r, m, pc + n, exact, o, complete, deep);
}
