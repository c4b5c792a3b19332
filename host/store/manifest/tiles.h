/* From mappings of a virtual dataset to tiles. */
#ifndef TP_STORE_MANIFEST_TILES_H
#define TP_STORE_MANIFEST_TILES_H

#include "host/store/store.h"

struct tiles_axis { /* blocks of elements, `stride` apart */
    int64_t start, stride, count, block;
    int unlimited;
};

struct tiles_mapping {          /* element for element, dimensions of one element aside */
    struct store_array *source; /* indexed */
    int source_dims, source_all;
    struct tiles_axis to[STORE_DIMS], from[STORE_DIMS];
};

/* Fills the chunks of `a`: a grid where those of all sources form one, else tiles. Later mappings
 * hide earlier ones. */
enum err tiles_make(struct store *s, struct store_array *a, const struct tiles_mapping *m,
                    size_t count);

#endif
