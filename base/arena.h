/* Memory that is freed together, and texts kept once. */
#ifndef TP_BASE_ARENA_H
#define TP_BASE_ARENA_H

#include <stdarg.h>
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

/* Formatted text, kept once as well. NULL: out of memory. */
const char *arena_print(struct arena *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *arena_print_list(struct arena *a, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

#endif
