/* The call tree of own code alone: what libraries take belongs to the own line that called them. */
#ifndef TP_ANALYZE_ATTRIBUTE_OWN_TREE_H
#define TP_ANALYZE_ATTRIBUTE_OWN_TREE_H

#include "profiler/analyze/attribute/frames.h"

/* Adds the costs to the node of the own frames among `frames`, leaf first; its index in run.own.
 * A line that is on the stack several times is there once, at its innermost place. Node 0: no own
 * frame. */
enum err own_tree_add(struct image *im, const struct resolved *frames, int count,
                      const struct costs *s, uint32_t *node);

#endif
