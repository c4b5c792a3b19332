/* Finds a counter by its names and numbers through a hash of them. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profiler/analyze/common/counters.h"

struct counter *counter_of(struct counters *t, const char *domain, const char *name, uint32_t a,
                           uint32_t b, uint32_t c, uint32_t d)
{
    uint32_t numbers[4] = {a, b, c, d};
    uint64_t key = table_hash(numbers, sizeof numbers);
    key = table_mix(table_mix(key, name ? table_hash(name, strlen(name)) : 0),
                    domain ? table_hash(domain, strlen(domain)) : 0);
    uint32_t index = table_get(&t->by_key, key);
    if (index == TABLE_NONE) {
        if (array_room(&t->items, &t->room, t->count + 1, sizeof *t->items) != ERR_OK)
            return NULL;
        index = (uint32_t)t->count;
        if (table_put(&t->by_key, key, index) != ERR_OK)
            return NULL;
        t->items[index].name = name;
        t->items[index].domain = domain;
        memcpy(t->items[index].key, numbers, sizeof numbers);
        t->count++;
    }
    return &t->items[index];
}

void counters_free(struct counters *t)
{
    for (size_t i = 0; i < t->count; i++)
        dist_free(&t->items[i].time);
    free(t->items);
    table_free(&t->by_key);
}
