/* Parts of the engine: what a plan holds, and the two steps after decoding. */
#ifndef TP_STORE_ENGINE_PARTS_H
#define TP_STORE_ENGINE_PARTS_H

#include "host/store/engine/engine.h"

/* A part of a chunk: a box of the array. Raw chunks are cut into parts without many unwanted bytes
 * between the wanted ones; others have one part, or several where later tiles hide some of it. */
struct engine_task {
    int64_t chunk;
    int64_t start[STORE_DIMS], count[STORE_DIMS]; /* of the array */
    int64_t offset, bytes; /* in the chunk's object: what is fetched; 0 bytes: nothing */
    int64_t first;         /* element of the part's origin in the decoded chunk; raw: 0 */
    int64_t key;           /* of the order */
};

struct engine_plan {
    struct store *store;
    struct store_array *array;
    struct engine_box box;
    struct engine_options options;
    struct engine_facts facts;
    struct engine_task *tasks;
    int64_t *groups; /* first task of each, and the end: groups_count + 1 */
    int64_t groups_count;
    size_t room;
};

/* Threads or processes that the plan's options ask for. */
int engine_workers(const struct engine_plan *p);

/* n elements from one type to another; types differ, or swap is set. */
void convert_run(struct store_dtype from, struct store_dtype to, const void *in, void *out,
                 int64_t n);

struct place {
    int dims, bytes;                                             /* of an element */
    int64_t count[STORE_DIMS], from[STORE_DIMS], to[STORE_DIMS]; /* strides in bytes */
};
/* Copies a box from one layout to another. */
void place_box(struct place p, const void *in, void *out);

#endif
