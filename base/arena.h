/* Memory that is freed together, texts kept once, and growing arrays. */
#ifndef TP_BASE_ARENA_H
#define TP_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct arena;

enum err arena_create(struct arena **out);
void arena_free(struct arena *a);                /* and all that it gave out */
void *arena_take(struct arena *a, size_t bytes); /* zeroed; NULL: out of memory */
/* The same text, kept once: equal texts have equal addresses. NULL stays NULL, and is returned when
 * memory ends. */
const char *arena_text(struct arena *a, const char *s);
const char *arena_text_n(struct arena *a, const char *s, size_t n); /* ends at a NUL within */

/* Room for `need` items of `size` bytes in *items, whose room is *room; new items are zero. */
enum err array_room(void *items, size_t *room, size_t need, size_t size);

/* qsort and memcpy that take no items, too. */
void array_copy(void *to, const void *from, size_t n, size_t size);
void array_sort(void *items, size_t n, size_t size, int (*compare)(const void *, const void *));

#endif
