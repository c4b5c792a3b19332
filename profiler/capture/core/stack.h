/* What stack.c gives to the files that take stacks apart. */
#ifndef TP_CAPTURE_CORE_STACK_H
#define TP_CAPTURE_CORE_STACK_H

#include <stddef.h>
#include <stdint.h>

/* Which definitions (stacks, code objects) the trace has already. Ids that find no room are
 * forgotten: they are written again, which does no harm. */
int stack_was_written(uint64_t id);
void stack_remember(uint64_t id);

/* Zeroed memory that stays, counted as the library's; NULL: there is none. */
void *stack_map(size_t bytes);
/* Zeroes it again, without touching it. */
void stack_clear(void *memory, size_t bytes);

#endif
