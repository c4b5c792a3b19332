/* A table of objects behind URLs: their size and a hash of their ETag or date. */
#include <pthread.h>
#include <string.h>

#include "base/array.h"
#include "base/table.h"
#include "host/store/fetch/seen.h"

#define MOST 65536 /* objects; those beyond are not compared */

static struct {
    pthread_mutex_t lock;
    struct table index;
    struct object {
        int64_t total;
        uint64_t state;
    } * items;
    size_t count, room;
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

enum err seen_remember(const char *url, int64_t total, uint64_t state)
{
    const uint64_t key = table_hash(url, strlen(url));
    enum err e = ERR_OK;
    pthread_mutex_lock(&seen.lock);
    uint32_t at = table_get(&seen.index, key);
    if (at == TABLE_NONE && seen.count < MOST) {
        e = array_room(&seen.items, &seen.room, seen.count + 1, sizeof *seen.items);
        at = (uint32_t)seen.count;
        e = e ? e : table_put(&seen.index, key, at);
        seen.count += !e;
    }
    if (!e && at != TABLE_NONE)
        seen.items[at] = (struct object){total, state};
    pthread_mutex_unlock(&seen.lock);
    return e;
}

int seen_changed(const char *url, int64_t total, uint64_t state)
{
    pthread_mutex_lock(&seen.lock);
    const uint32_t at = table_get(&seen.index, table_hash(url, strlen(url)));
    const struct object was = at == TABLE_NONE ? (struct object){-1, 0} : seen.items[at];
    pthread_mutex_unlock(&seen.lock);
    const int alike = was.state && state && (was.state & 1) == (state & 1);
    return (was.total >= 0 && total >= 0 && was.total != total) || (alike && was.state != state);
}
