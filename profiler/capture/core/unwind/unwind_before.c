/* A thread's last way to its root, held against the stack as it is now: 2 to 4 ns a frame instead
 * of 30 to 40. From a frame with the same code and the same place on, each step comes to the same
 * caller as long as the words that it reads are the same: the return address, and where the next
 * place is counted from a register (the frame pointer), the word that the register was saved to. */
#include <string.h>

#include "profiler/capture/core/unwind/modules.h"
#include "profiler/capture/core/unwind/unwind_before.h"

enum { WORD = sizeof(uintptr_t), BEHIND_ROOT = 0 };

static uintptr_t word_at(uintptr_t address)
{
    uintptr_t value;
    memcpy(&value, (const void *)address, sizeof value);
    return value;
}

void unwind_before_start(struct unwind_memory *m)
{
    struct unwind_before *b = m->before;
    m->at_before = 0;
    if (!b)
        return;
    if (b->unloads != modules_unloads() || !b->end)
        b->first = b->end = UNWIND_BEFORE;
    b->unloads = modules_unloads();
    b->fresh_count = 0;
    memset(b->from, 0, sizeof b->from);
    m->at_before = b->first;
}

/* Returns 1 where frame `k`, which is at or behind the one that `r` is at, has the same caller. */
static int same_caller(const struct unwind_before *b, size_t k, const struct unwind_registers *r)
{
    const struct unwind_known *e = &b->known[k];
    if (e->base != UNWIND_SP) {
        int here = e->slot < r->r[UNWIND_SP]; /* it was restored before */
        if (here && !(r->known >> e->base & 1))
            return 0;
        if ((here ? r->r[e->base] : word_at(e->slot)) != e->value)
            return 0;
    }
    return word_at(e[1].sp - WORD) == e[1].pc;
}

/* The frames that are the same from here on move behind those that were gone through now. */
static void unwind_before_store(struct unwind_before *b, size_t join)
{
    size_t n = b->fresh_count <= join ? b->fresh_count : 0;
    b->first = UNWIND_BEFORE; /* a signal's handler may leave by a jump */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    memcpy(&b->known[join - n], b->fresh, n * sizeof *b->fresh);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    b->first = join - n;
}

int unwind_before_reaches(const struct unwind_registers *r, struct unwind_memory *m, uintptr_t *pc,
                          size_t room, size_t *n)
{
    struct unwind_before *b = m->before;
    uintptr_t sp = r->r[UNWIND_SP];
    size_t at = m->at_before, last = UNWIND_BEFORE - 1;
    while (at <= last && b->known[at].sp < sp)
        at++;
    m->at_before = at;
    if (at > last || b->known[at].sp != sp || b->known[at].pc != r->pc || sp < m->floor ||
        b->known[last].sp > m->high)
        return 0;
    size_t join = at, frames = last - at + (b->known[last].pc != BEHIND_ROOT);
    for (; at < last; at++)
        if (!same_caller(b, at, r)) {
            m->at_before = at + 1;
            return 0;
        }
    if (frames - 1 > room - *n)
        return 0;
    for (at = join + 1; at < join + frames; at++)
        pc[(*n)++] = b->known[at].pc;
    unwind_before_store(b, join);
    return 1;
}

void unwind_before_add(struct unwind_memory *m, uintptr_t pc, uintptr_t sp)
{
    struct unwind_before *b = m->before;
    struct unwind_known *e = &b->fresh[b->fresh_count];
    if (b->fresh_count == UNWIND_BEFORE - 2) { /* room for the root */
        m->before = NULL;
        return;
    }
    *e = b->step;
    e->pc = pc;
    e->sp = sp;
    b->fresh_count++;
}

void unwind_before_end(struct unwind_memory *m, uintptr_t pc, uintptr_t sp)
{
    struct unwind_before *b = m->before;
    b->fresh[b->fresh_count++] = (struct unwind_known){.pc = pc, .sp = sp};
    unwind_before_store(b, UNWIND_BEFORE);
}
