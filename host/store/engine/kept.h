/* Decoded chunks that stay in memory between reads of arrays: the least recently used ones leave
 * first. The threads of one process share it; a limit in bytes is never exceeded. */
#ifndef TP_STORE_ENGINE_KEPT_H
#define TP_STORE_ENGINE_KEPT_H

#include "host/store/store.h"

struct engine_kept;

struct kept_facts {
    int64_t hits, misses; /* chunks that were there, and that were not */
    int64_t bytes_saved;  /* decoded bytes of the hits */
    int64_t dropped;      /* chunks that left because of the limit */
    int64_t bytes, bytes_peak;
};

enum err kept_make(int64_t bytes_most, struct engine_kept **out);
void kept_free(struct engine_kept *k); /* NULL is fine */
struct kept_facts kept_facts(struct engine_kept *k);

/* 0: a chunk of so many bytes is never kept. */
int kept_takes(const struct engine_kept *k, size_t bytes);
/* The chunk, held until kept_release; NULL: not there. */
struct kept_chunk *kept_get(struct engine_kept *k, const struct store_array *a, int64_t chunk);
const unsigned char *kept_bytes(const struct kept_chunk *c);
void kept_release(struct engine_kept *k, struct kept_chunk *c);
/* Keeps a copy, where the limit and the memory allow it. */
void kept_put(struct engine_kept *k, const struct store_array *a, int64_t chunk, const void *data,
              size_t bytes);

#endif
