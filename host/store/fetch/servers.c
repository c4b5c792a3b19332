/* A table of objects behind URLs: their size and a hash of their ETag or date. */
#include <strings.h>
#include <pthread.h>
#include <string.h>

#include "base/array.h"
#include "base/table.h"
#include "host/store/fetch/servers.h"

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

/* Scheme, host and port of a URL, as they are written, less the scheme's own port. */
static size_t origin_length(const char *url)
{
    static const char *const own[] = {"http://", ":80", "https://", ":443"};
    const char *host = strstr(url, "://");
    size_t n = host ? (size_t)(host - url) + 3 : 0;
    n += strcspn(url + n, "/?#");
    for (int i = 0; i < 4; i += 2) {
        const size_t digits = strlen(own[i + 1]);
        if (!strncasecmp(url, own[i], strlen(own[i])) && n > digits &&
            !strncmp(url + n - digits, own[i + 1], digits))
            return n - digits;
    }
    return n;
}

int origin_same(const char *a, const char *b)
{
    const size_t n = origin_length(a);
    return n && n == origin_length(b) && !strncasecmp(a, b, n);
}
