/* Finds which part of a program holds a lock: the function that takes it, or the one that calls a
 * helper to take it. That function runs on while the lock is held, so it is on the stack of who asks for the
 * lock and on that of who holds it, as the innermost that both have. */
#include <string.h>

#include "profiler/analyze/locks/locks_state.h"

enum { TAKERS_MAX = 64, NOWHERE = -1 }; /* stacks of one lock */

static uint64_t taker_key(uint64_t address, int thread, uint32_t stack)
{
    return table_mix(table_mix(address, (uint64_t)thread), stack);
}

enum err lock_asks(struct locks *l, uint64_t address, int thread, uint32_t stack)
{
    TRY(table_put(&l->asked, taker_key(address, thread, stack), 1));
    uint32_t first = table_get(&l->takers_of, address), n = 0;
    for (uint32_t i = first == TABLE_NONE ? 0 : first; i; i = l->takers.items[i - 1].next, n++)
        if (l->takers.items[i - 1].stack == stack)
            return ERR_OK;
    if (n >= TAKERS_MAX)
        return ERR_OK;
    TRY(vector_add(&l->takers, ((struct lock_taker){stack, n ? first : 0})));
    return table_put(&l->takers_of, address, (uint32_t)l->takers.count);
}

/* The innermost frame of `at` whose function took the lock as in `taker`, or, of a thread that asked
 * for it there itself, had it taken before it went on to another line. */
static int section_frame(const struct locks *l, const struct lock_place *taker, int its,
                         const struct lock_place *at)
{
    const struct lock_frame *a = l->frames.items + taker->frames, *b = l->frames.items + at->frames;
    size_t n = 0;
    while (n < taker->depth && n < at->depth && a[n].file == b[n].file &&
           a[n].function == b[n].function && (!n || a[n - 1].line == b[n - 1].line))
        n++;
    const int went_on = n && a[n - 1].line != b[n - 1].line;
    return n && (n == taker->depth || (its && went_on)) ? (int)n - 1 : NOWHERE;
}

/* 1: of two takers in the function, the line of `a` is nearer before `line`. */
static int is_nearer(int a, int b, int line)
{
    const int before = a <= line, other = b <= line;
    return before != other ? before : before ? a > b : a < b;
}

struct lock_holder lock_section(const struct locks *l, uint64_t address, int thread,
                                const struct lock_place *at)
{
    struct lock_holder out = {.at = {at->file, at->function, at->line}, .native = at->native};
    const struct lock_frame *held = l->frames.items + at->frames;
    const struct lock_place *section = NULL;
    int deepest = NOWHERE;
    uint32_t first = address ? table_get(&l->takers_of, address) : TABLE_NONE;
    for (uint32_t i = first == TABLE_NONE ? 0 : first; i; i = l->takers.items[i - 1].next) {
        const uint32_t stack = l->takers.items[i - 1].stack;
        const struct lock_place *taker = &l->places.items[stack];
        const int its = table_get(&l->asked, taker_key(address, thread, stack)) != TABLE_NONE;
        const int k = section_frame(l, taker, its, at);
        if (k == NOWHERE || k < deepest ||
            (k == deepest &&
             !is_nearer(l->frames.items[taker->frames + (size_t)k].line,
                        l->frames.items[section->frames + (size_t)k].line, held[k].line)))
            continue;
        deepest = k;
        section = taker;
    }
    if (!section)
        return out;
    const struct lock_frame *asks = l->frames.items + section->frames;
    out.at = held[deepest];
    if ((size_t)deepest + 1 < section->depth) {
        out.at = asks[deepest];
        out.locked = asks[section->depth - 1];
    }
    return out;
}
