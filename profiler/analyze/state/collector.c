/* Hands each record to the collectors of its kind, by a table that is made once per image. */
#include <stdlib.h>
#include <string.h>

#include "profiler/analyze/state/collector.h"

enum { KINDS = 64, TAKERS_MAX = 128, COLLECTORS_MAX = 16 };

struct taker {
    const struct collected *of;
    void *state;
};
struct collectors {
    const struct collector *const *list;
    size_t count;
    void *states[COLLECTORS_MAX];
    struct taker takers[TAKERS_MAX]; /* by kind: first[kind] to first[kind + 1] */
    uint8_t first[KINDS + 1];
};

static enum err collectors_index(struct collectors *c)
{
    uint8_t n = 0;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        c->first[kind] = n;
        for (size_t i = 0; i < c->count; i++)
            for (size_t k = 0; k < c->list[i]->kinds_count; k++) {
                if (c->list[i]->kinds[k].kind != kind)
                    continue;
                FAIL_IF(n == TAKERS_MAX, ERR_INTERNAL, "more than %d kinds of records", TAKERS_MAX);
                c->takers[n++] = (struct taker){&c->list[i]->kinds[k], c->states[i]};
            }
    }
    c->first[KINDS] = n;
    return ERR_OK;
}

enum err collectors_create(struct image *im, const struct collector *const *list, size_t count)
{
    struct collectors *c = im->collectors = calloc(1, sizeof *c);
    FAIL_IF(!c, ERR_MEMORY, "no memory for the analysis");
    FAIL_IF(count > COLLECTORS_MAX, ERR_INTERNAL, "more than %d collectors", COLLECTORS_MAX);
    c->list = list;
    c->count = count;
    for (size_t i = 0; i < count; i++) {
        c->states[i] = calloc(1, list[i]->state_bytes + 1);
        FAIL_IF(!c->states[i], ERR_MEMORY, "no memory for the analysis");
    }
    TRY(collectors_index(c));
    for (size_t i = 0; i < count; i++)
        if (list[i]->create)
            TRY(list[i]->create(im, c->states[i]));
    return ERR_OK;
}

enum err collectors_record(struct image *im, const struct trace_item *item)
{
    const struct collectors *c = im->collectors;
    const unsigned kind = item->record->kind;
    for (unsigned i = kind < KINDS ? c->first[kind] : 0; kind < KINDS && i < c->first[kind + 1];
         i++) {
        const struct collected *of = c->takers[i].of;
        if (of->cost && image_left_out(im, item->record->time_ns))
            continue;
        if (of->flag)
            *(int *)(void *)((char *)im->run + of->flag) = 1;
        TRY(of->record(im, c->takers[i].state, item));
    }
    return ERR_OK;
}

enum err collectors_finish(struct image *im)
{
    const struct collectors *c = im->collectors;
    for (size_t i = 0; i < c->count; i++)
        if (c->list[i]->finish)
            TRY(c->list[i]->finish(im, c->states[i]));
    return ERR_OK;
}

enum err collectors_attribute(struct image *im)
{
    const struct collectors *c = im->collectors;
    for (size_t i = 0; i < c->count; i++)
        if (c->list[i]->attribute)
            TRY(c->list[i]->attribute(im, c->states[i]));
    return ERR_OK;
}

void collectors_free(struct image *im)
{
    struct collectors *c = im->collectors;
    for (size_t i = 0; c && i < c->count; i++) {
        if (c->states[i] && c->list[i]->free)
            c->list[i]->free(im, c->states[i]);
        free(c->states[i]);
    }
    free(c);
}

void *collector_state(const struct image *im, const struct collector *collector)
{
    const struct collectors *c = im->collectors;
    for (size_t i = 0; i < c->count; i++)
        if (c->list[i] == collector)
            return c->states[i];
    return NULL;
}

enum err collector_fact(struct image *im, const struct trace_item *item, const char *key,
                        const char **value)
{
    const size_t n = strlen(key), bytes = item->tail_bytes;
    *value = NULL;
    if (bytes < n || memcmp(item->tail, key, n) || (bytes > n && item->tail[n]))
        return ERR_OK;
    *value = bytes > n + 1 ? arena_text_n(im->arena, item->tail + n + 1, bytes - n - 1) : "";
    FAIL_IF(!*value, ERR_MEMORY, "no memory for the texts of a trace");
    return ERR_OK;
}
