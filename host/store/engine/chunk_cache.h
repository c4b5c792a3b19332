/* Decoded chunks that stay in memory between reads of arrays: the least recently used ones leave
 * first. The threads of one process share it; a limit in bytes is never exceeded. */
#ifndef TP_STORE_ENGINE_CHUNK_CACHE_H
#define TP_STORE_ENGINE_CHUNK_CACHE_H

#include "host/store/store.h"

struct chunk_cache;

struct chunk_cache_facts {
    int64_t hits, misses; /* chunks that were there, and that were not */
    int64_t bytes_saved;  /* decoded bytes of the hits */
    int64_t dropped;      /* chunks that left because of the limit */
    int64_t bytes, bytes_peak;
};

enum err chunk_cache_create(int64_t bytes_most, struct chunk_cache **out);
void chunk_cache_free(struct chunk_cache *k); /* NULL is fine */
struct chunk_cache_facts chunk_cache_facts(struct chunk_cache *k);

/* 0: a chunk of so many bytes is never kept. */
int chunk_cache_takes(const struct chunk_cache *k, size_t bytes);
/* The chunk, held until chunk_cache_release; NULL: not there. */
struct cached_chunk *chunk_cache_get(struct chunk_cache *k, const struct store_array *a,
                                     int64_t chunk);
const unsigned char *chunk_cache_bytes(const struct cached_chunk *c);
void chunk_cache_release(struct chunk_cache *k, struct cached_chunk *c);
/* Keeps a copy, where the limit and the memory allow it. */
void chunk_cache_add(struct chunk_cache *k, const struct store_array *a, int64_t chunk,
                     const void *data, size_t bytes);

#endif
