/* Boxes of the target, in any order: each is read, written and compared by one thread, or the few of them by all
 * threads, one after the other. */
#ifndef TP_STORE_WRITER_BRICKS_H
#define TP_STORE_WRITER_BRICKS_H

#include "host/store/writer/writer.h"

struct bricks {
    struct store *store;
    struct store_array *array;
    struct writer *w;
    const struct writer_format *format;

    int64_t step[2], count[2]; /* along the slowest dimension of the target, and the next one */
    int threads, each;         /* threads; those of the engine that each has */
    size_t bytes;              /* room of a brick */
    void *room[ENGINE_PROCESSORS];
    uint64_t *sums;      /* of each brick */
    uint64_t corners[2]; /* of the first chunk and the last, where they are encoded */
};

/* Cuts the target; 0: it is better written in slabs. */
int bricks_plan(struct bricks *b);
/* Reads all bricks and writes them. */
enum err bricks_write(struct bricks *b);
/* Reads them back from `made`, whose dimensions are from[] of the target's: as they are stored where the format
 * encodes, but for the first chunk and the last. */
enum err bricks_compare(struct bricks *b, struct store *made, struct store_array *a,
                        const int *from);
void bricks_free(struct bricks *b);

/* For formats without codecs: writes a box's runs to their places in the file. */
enum err writer_put(struct writer *w, const struct engine_box *b, const void *data, int threads);
/* Writes bytes to an offset. */
enum err writer_put_at(struct writer *w, int64_t at, const void *data, size_t bytes);

#endif
