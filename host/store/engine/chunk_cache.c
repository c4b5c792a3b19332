/* Decoded chunks between reads: a hash table of chains, and a list in the order of use. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "host/store/engine/chunk_cache.h"

#define CHAINS 4096

struct cached_chunk {
    const struct store_array *array;
    int64_t chunk;
    size_t bytes;
    int holders;
    struct cached_chunk *chain;
    struct cached_chunk *newer, *older;
    unsigned char data[];
};

struct chunk_cache {
    pthread_mutex_t lock;
    int64_t bytes_most;
    struct chunk_cache_facts facts;
    struct cached_chunk *chains[CHAINS], *newest, *oldest;
};

enum err chunk_cache_create(int64_t bytes_most, struct chunk_cache **out)
{
    *out = calloc(1, sizeof **out);
    FAIL_IF(!*out, ERR_MEMORY, "no memory left for decoded chunks");
    (*out)->bytes_most = bytes_most;
    pthread_mutex_init(&(*out)->lock, NULL);
    return ERR_OK;
}

static struct cached_chunk **chain_of(struct chunk_cache *k, const struct store_array *a,
                                      int64_t chunk)
{
    return &k->chains[table_mix((uint64_t)(uintptr_t)a, (uint64_t)chunk) % CHAINS];
}

static struct cached_chunk *chunk_find(struct chunk_cache *k, const struct store_array *a,
                                       int64_t chunk)
{
    struct cached_chunk *e = *chain_of(k, a, chunk);
    while (e && (e->array != a || e->chunk != chunk))
        e = e->chain;
    return e;
}

static void unlink_use(struct chunk_cache *k, struct cached_chunk *e)
{
    *(e->newer ? &e->newer->older : &k->newest) = e->older;
    *(e->older ? &e->older->newer : &k->oldest) = e->newer;
}

static void link_newest(struct chunk_cache *k, struct cached_chunk *e)
{
    e->newer = NULL;
    e->older = k->newest;
    *(k->newest ? &k->newest->newer : &k->oldest) = e;
    k->newest = e;
}

static void chunk_drop(struct chunk_cache *k, struct cached_chunk *e)
{
    struct cached_chunk **at = chain_of(k, e->array, e->chunk);
    while (*at != e)
        at = &(*at)->chain;
    *at = e->chain;
    unlink_use(k, e);
    k->facts.bytes -= (int64_t)e->bytes;
    free(e);
}

/* Room for so many bytes: the oldest ones that nobody holds leave. 0: there is none. */
static int chunks_make_room(struct chunk_cache *k, size_t bytes)
{
    const int64_t most = k->bytes_most - (int64_t)bytes;
    for (struct cached_chunk *e = k->oldest, *next; e && k->facts.bytes > most; e = next) {
        next = e->newer;
        if (e->holders)
            continue;
        chunk_drop(k, e);
        k->facts.dropped++;
    }
    return k->facts.bytes <= most;
}

void chunk_cache_free(struct chunk_cache *k)
{
    if (!k)
        return;
    while (k->oldest)
        chunk_drop(k, k->oldest);
    pthread_mutex_destroy(&k->lock);
    free(k);
}

struct chunk_cache_facts chunk_cache_facts(struct chunk_cache *k)
{
    pthread_mutex_lock(&k->lock);
    const struct chunk_cache_facts f = k->facts;
    pthread_mutex_unlock(&k->lock);
    return f;
}

int chunk_cache_takes(const struct chunk_cache *k, size_t bytes)
{
    return (int64_t)bytes <= k->bytes_most;
}

struct cached_chunk *chunk_cache_get(struct chunk_cache *k, const struct store_array *a,
                                     int64_t chunk)
{
    pthread_mutex_lock(&k->lock);
    struct cached_chunk *e = chunk_find(k, a, chunk);
    if (e) {
        e->holders++;
        unlink_use(k, e);
        link_newest(k, e);
        k->facts.hits++;
        k->facts.bytes_saved += (int64_t)e->bytes;
    } else {
        k->facts.misses++;
    }
    pthread_mutex_unlock(&k->lock);
    return e;
}

const unsigned char *chunk_cache_bytes(const struct cached_chunk *c)
{
    return c->data;
}

void chunk_cache_release(struct chunk_cache *k, struct cached_chunk *c)
{
    pthread_mutex_lock(&k->lock);
    c->holders--;
    pthread_mutex_unlock(&k->lock);
}

void chunk_cache_add(struct chunk_cache *k, const struct store_array *a, int64_t chunk,
                     const void *data, size_t bytes)
{
    struct cached_chunk *e = chunk_cache_takes(k, bytes) ? malloc(sizeof *e + bytes) : NULL;
    if (!e)
        return;
    *e = (struct cached_chunk){.array = a, .chunk = chunk, .bytes = bytes};
    memcpy(e->data, data, bytes);
    pthread_mutex_lock(&k->lock);
    if (chunk_find(k, a, chunk) ||
        !chunks_make_room(k, bytes)) { /* another thread was faster, or all is held */
        free(e);
    } else {
        struct cached_chunk **chain = chain_of(k, a, chunk);
        e->chain = *chain;
        *chain = e;
        link_newest(k, e);
        k->facts.bytes += (int64_t)bytes;
        if (k->facts.bytes > k->facts.bytes_peak)
            k->facts.bytes_peak = k->facts.bytes;
    }
    pthread_mutex_unlock(&k->lock);
}
