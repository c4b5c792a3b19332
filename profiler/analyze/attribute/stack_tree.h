/* The tree of stacks, from threads down to leaves. */
#ifndef TP_ANALYZE_ATTRIBUTE_STACK_TREE_H
#define TP_ANALYZE_ATTRIBUTE_STACK_TREE_H

#include "profiler/analyze/state/run.h"

/* Returns the node of a thread. thread: its row in run.threads. */
enum err stack_tree_root(struct run *r, const char *name, int thread, uint32_t *node);
/* Returns the node of a frame below `parent` (TABLE_NONE: none). Texts of `f` are compared by
 * address: run_text() gives each text one. */
enum err stack_tree_child(struct run *r, uint32_t parent, const struct tree_frame *f,
                          uint32_t *node);

/* Sites by file and line: made when first asked for. */

/* The site of a line, or (line 0) of a function that begins at line `begins`. */
enum err site_of(struct run *r, const char *recorded, int line, const char *function, int begins,
                 int *out);

#endif
