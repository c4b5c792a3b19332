/* The hash table: open addressing with linear probing. */
#include <stdlib.h>
#include <string.h>

#include "base/table.h"

/* Open addressing, linear probing, at most 3/4 full; removal moves what follows back. value
 * TABLE_NONE = free. */
struct table_slot {
    uint64_t key;
    uint32_t value;
};

uint64_t table_mix(uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ (b * 0x9E3779B97F4A7C15ull)) + 0x9E3779B97F4A7C15ull;
    h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9ull;
    h = (h ^ (h >> 27)) * 0x94D049BB133111EBull;
    return h ^ (h >> 31);
}

uint64_t table_hash(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t h = n, word;
    for (; n >= 8; p += 8, n -= 8) {
        memcpy(&word, p, 8);
        h = table_mix(h, word);
    }
    word = 0;
    if (n)
        memcpy(&word, p, n);
    return table_mix(h, word);
}

void table_free(struct table *t)
{
    free(t->slots);
    memset(t, 0, sizeof *t);
}

static size_t table_home(const struct table *t, uint64_t key)
{
    return (size_t)table_mix(key, 0) & (t->room - 1);
}

static size_t table_find_slot(const struct table *t, uint64_t key)
{
    size_t i = table_home(t, key);
    while (t->slots[i].value != TABLE_NONE && t->slots[i].key != key)
        i = (i + 1) & (t->room - 1);
    return i;
}

uint32_t table_get(const struct table *t, uint64_t key)
{
    return t->room ? t->slots[table_find_slot(t, key)].value : TABLE_NONE;
}

static enum err table_grow(struct table *t)
{
    struct table larger = {.room = t->room ? t->room * 2 : 64, .count = t->count};
    larger.slots = malloc(larger.room * sizeof *larger.slots);
    FAIL_IF(!larger.slots, ERR_MEMORY, "no memory for a table of %zu entries", larger.room);
    for (size_t i = 0; i < larger.room; i++)
        larger.slots[i] = (struct table_slot){0, TABLE_NONE};
    for (size_t i = 0; i < t->room; i++)
        if (t->slots[i].value != TABLE_NONE)
            larger.slots[table_find_slot(&larger, t->slots[i].key)] = t->slots[i];
    free(t->slots);
    *t = larger;
    return ERR_OK;
}

enum err table_put(struct table *t, uint64_t key, uint32_t value)
{
    if ((t->count + 1) * 4 > t->room * 3)
        TRY(table_grow(t));
    size_t i = table_find_slot(t, key);
    t->count += t->slots[i].value == TABLE_NONE;
    t->slots[i] = (struct table_slot){key, value};
    return ERR_OK;
}

void table_remove(struct table *t, uint64_t key)
{
    if (!t->room)
        return;
    size_t hole = table_find_slot(t, key), mask = t->room - 1;
    if (t->slots[hole].value == TABLE_NONE)
        return;
    t->count--;
    for (size_t i = (hole + 1) & mask; t->slots[i].value != TABLE_NONE; i = (i + 1) & mask) {
        size_t from = table_home(t, t->slots[i].key);
        if (((i - from) & mask) >= ((i - hole) & mask)) { /* it may move into the hole */
            t->slots[hole] = t->slots[i];
            hole = i;
        }
    }
    t->slots[hole].value = TABLE_NONE;
}
