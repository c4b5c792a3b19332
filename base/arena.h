/* Memory that is freed together, and texts kept once. */
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

#endif
