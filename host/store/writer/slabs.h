/* Slabs of an array, one after the other: while the caller works on one, the next is read. */
#ifndef TP_STORE_WRITER_SLABS_H
#define TP_STORE_WRITER_SLABS_H

#include <pthread.h>

#include "host/store/writer/writer.h"

struct writer_slabs {
    struct store *store;
    struct store_array *array;
    struct writer *target;
    const int *from; /* dimension i of the target is from[i] of the array */
    int flat;        /* the array has no first dimension: it is one plane */
    int64_t step, total;

    int64_t first, count; /* of the slab that is read, or was last */
    void *room[2];
    int which, reads; /* reads: a thread is at it */
    pthread_t thread;
    enum err e;
    char text[1024];
};

/* Begins to read; the caller has set the members above the gap. */
enum err slabs_begin(struct writer_slabs *s);
/* Waits for the next slab; *data is the caller's until the next call. *count 0: there is none. */
enum err slabs_next(struct writer_slabs *s, int64_t *first, int64_t *count, void **data);
void slabs_end(struct writer_slabs *s);

/* A box of the target; dimension d of it is from[d] of the array, -1: the array lacks it. */
enum err writer_read_box(struct store *s, struct store_array *a, const struct writer *w,
                         const int *from, const struct engine_box *box,
                         const struct engine_options *o, void *out);
/* Identifies bytes: others have another sum, but for one case in 2^64. */
uint64_t slabs_sum(const void *data, size_t bytes);

#endif
