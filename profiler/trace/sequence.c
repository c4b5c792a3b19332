/* Counts chunks that are missing from the sequence of each thread. */
#include <stdlib.h>

#include "profiler/trace/sequence.h"

struct sequence {
    uint32_t tid, next, known;
};

static struct sequence *sequence_find(struct sequence *slots, size_t room, uint32_t tid)
{
    size_t i = tid * 0x9e3779b9u & (room - 1);
    while (slots[i].known && slots[i].tid != tid)
        i = (i + 1) & (room - 1);
    return &slots[i];
}

static enum err sequences_grow(struct sequences *s)
{
    size_t room = s->room ? 2 * s->room : 64;
    struct sequence *slots = calloc(room, sizeof *slots);
    FAIL_IF(!slots, ERR_MEMORY, "no memory left for %zu threads of a trace", s->count);
    for (size_t i = 0; i < s->room; i++)
        if (s->slots[i].known)
            *sequence_find(slots, room, s->slots[i].tid) = s->slots[i];
    free(s->slots);
    s->slots = slots;
    s->room = room;
    return ERR_OK;
}

enum err sequences_next(struct sequences *s, uint32_t tid, uint32_t sequence, uint64_t *missing)
{
    if (2 * s->count >= s->room)
        TRY(sequences_grow(s));
    struct sequence *slot = sequence_find(s->slots, s->room, tid);
    if (!slot->known) {
        *slot = (struct sequence){.tid = tid, .known = 1};
        s->count++;
    }
    *missing = sequence > slot->next ? sequence - slot->next : 0;
    slot->next = sequence + 1;
    return ERR_OK;
}

void sequences_free(struct sequences *s)
{
    free(s->slots);
    *s = (struct sequences){0};
}
