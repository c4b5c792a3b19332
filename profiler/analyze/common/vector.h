/* Growing arrays of any type, all zero = empty: `VECTOR(struct site) sites;`. Items move when a
 * vector grows: keep indices, not pointers. */
#ifndef TP_ANALYZE_COMMON_VECTOR_H
#define TP_ANALYZE_COMMON_VECTOR_H

#include <stdlib.h>

#include "base/arena.h"

#define VECTOR(type)                                                                               \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t count, room;                                                                        \
    }

/* Room for n items; those beyond the ones that were ever used are zero. ERR_MEMORY. */
#define vector_room(v, n) array_room(&(v)->items, &(v)->room, (n), sizeof *(v)->items)
/* Puts an item at the end: vector_add(&r->gaps, (struct gap){from, to, device}). ERR_MEMORY. */
#define vector_add(v, ...)                                                                         \
    (vector_room((v), (v)->count + 1) == ERR_OK                                                    \
         ? ((v)->items[(v)->count++] = (__VA_ARGS__), ERR_OK)                                      \
         : ERR_MEMORY)
/* The last item, taken off; there must be one. */
#define vector_pop(v)           ((v)->items[--(v)->count])
#define vector_sort(v, compare) array_sort((v)->items, (v)->count, sizeof *(v)->items, (compare))
#define vector_free(v)          free((v)->items)

#endif
