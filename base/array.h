/* Arrays: growing, sorting, searching. */
#ifndef TP_BASE_ARRAY_H
#define TP_BASE_ARRAY_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/err.h"

/* A growing array of any type, all zero = empty: `VECTOR(struct site) sites;`. Items move when it
 * grows: keep indices, not pointers. */
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

/* The same for an array without a struct: room for `need` items of `size` bytes in *items, whose
 * room is *room. */
enum err array_room(void *items, size_t *room, size_t need, size_t size);

/* qsort and memcpy that take no items, too. */
void array_copy(void *to, const void *from, size_t n, size_t size);
void array_sort(void *items, size_t n, size_t size, int (*compare)(const void *, const void *));

/* -1, 0 or 1: a is less than b, equal, greater. 0 where one is NaN. Keys of a sort are joined with
 * ?: in the order of their weight. */
#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* Defines a function for qsort that compares two items x and y:
 *   ARRAY_ORDER(by_place, struct row, COMPARE(x->line, y->line) ?: strcmp(x->name, y->name)); */
#define ARRAY_ORDER(function, type, order)                                                         \
    static int function(const void *x_item, const void *y_item)                                    \
    {                                                                                              \
        const type *const x = x_item, *const y = y_item;                                           \
        return order;                                                                              \
    }                                                                                              \
    static int function(const void *, const void *)

/* Compare two values, for qsort. */
int ascending_double(const void *x, const void *y);
int ascending_float(const void *x, const void *y);

/* Binary search: the first index in [low, high) for which `before`, an expression of the index `i`,
 * is false; `high` where there is none. `before` is true up to some item and false from there on:
 * ARRAY_BOUND(0, n, i, rows[i].start <= at) is the number of rows that start at or before `at`. */
#define ARRAY_BOUND(low, high, i, before)                                                          \
    __extension__({                                                                                \
        size_t low_##i = (low), high_##i = (high);                                                 \
        while (low_##i < high_##i) {                                                               \
            const size_t i = low_##i + (high_##i - low_##i) / 2;                                   \
            if (before)                                                                            \
                low_##i = i + 1;                                                                   \
            else                                                                                   \
                high_##i = i;                                                                      \
        }                                                                                          \
        low_##i;                                                                                   \
    })

#endif
