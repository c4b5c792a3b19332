/* The arena: blocks of 64 KiB, and a table of the texts that are kept once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/table.h"

#define BLOCK (64 * 1024)

struct arena_block {
    struct arena_block *next;
    size_t used, room;
};

struct arena {
    struct arena_block *blocks;
    struct table texts; /* hash of a text -> index in `kept`; collisions go on at hash + 1 */
    const char **kept;
    size_t count, room;
};

enum err arena_create(struct arena **out)
{
    *out = calloc(1, sizeof **out);
    FAIL_IF(!*out, ERR_MEMORY, "no memory left");
    return ERR_OK;
}

void arena_free(struct arena *a)
{
    if (!a)
        return;
    while (a->blocks) {
        struct arena_block *next = a->blocks->next;
        free(a->blocks);
        a->blocks = next;
    }
    table_free(&a->texts);
    free(a->kept);
    free(a);
}

void *arena_take(struct arena *a, size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    struct arena_block *b = a->blocks;
    if (!b || b->room - b->used < bytes) {
        size_t room = bytes > BLOCK / 4 ? bytes : BLOCK;
        if (room > SIZE_MAX / 2 || !(b = calloc(1, sizeof *b + 16 + room)))
            return NULL;
        b->room = room;
        if (bytes > BLOCK / 4 && a->blocks) { /* a large one does not end the block in use */
            b->next = a->blocks->next;
            a->blocks->next = b;
        } else {
            b->next = a->blocks;
            a->blocks = b;
        }
    }
    char *start = (char *)b + ((sizeof *b + 15) & ~(size_t)15);
    void *p = start + b->used;
    b->used += bytes;
    return p;
}

const char *arena_text_n(struct arena *a, const char *s, size_t n)
{
    if (!s)
        return NULL;
    n = strnlen(s, n);
    uint64_t key = table_hash(s, n);
    uint32_t at;
    for (; (at = table_get(&a->texts, key)) != TABLE_NONE; key++)
        if (!strncmp(a->kept[at], s, n) && !a->kept[at][n])
            return a->kept[at];
    if (a->count >= TABLE_NONE - 1 ||
        array_room(&a->kept, &a->room, a->count + 1, sizeof *a->kept) != ERR_OK)
        return NULL;
    char *copy = arena_take(a, n + 1);
    if (!copy || table_put(&a->texts, key, (uint32_t)a->count) != ERR_OK)
        return NULL;
    memcpy(copy, s, n);
    a->kept[a->count++] = copy;
    return copy;
}

const char *arena_text(struct arena *a, const char *s)
{
    return s ? arena_text_n(a, s, strlen(s)) : NULL;
}

const char *arena_print_list(struct arena *a, const char *format, va_list args)
{
    char *text;
    if (vasprintf(&text, format, args) < 0)
        return NULL;
    const char *kept = arena_text(a, text);
    free(text);
    return kept;
}

const char *arena_print(struct arena *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *kept = arena_print_list(a, format, args);
    va_end(args);
    return kept;
}
