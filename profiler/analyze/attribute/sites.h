/* Costs attributed to sites: source lines and functions; the tree of stacks, and modules for what
 * has no line. */
#ifndef TP_ANALYZE_ATTRIBUTE_SITES_H
#define TP_ANALYZE_ATTRIBUTE_SITES_H

#include "profiler/analyze/attribute/frames.h"

/* Lines that the costs of a stack were attributed to: sites (-1 none), and a node of run.own. */
struct attribution {
    int site, function;
    uint32_t own;
};
/* Attributes costs to the lines and functions of `frames` (leaf first), to the tree of own code and
 * to the totals; to a module where no frame has a line. thread: its row in run.threads. */
enum err attribute_stack(struct image *im, const struct resolved *frames, int count, int thread,
                         const struct costs *s, struct attribution *to);
/* Every sample context to its line, its function and all that are on its stack. */
enum err attribute_samples(struct image *im);
/* Finds or makes the node of a process's threads without own code below `parent` in run.own. */
enum err own_workers(struct run *r, uint32_t parent, int process, uint32_t *node);
/* A leaf below the launching stack, for what ran on the device. */
enum err attribute_device_leaf(struct image *im, uint32_t context, const char *name,
                               const char *kind, double ns);

/* CPU time of a thread that is known by accounts alone: a row of its own among the modules. thread:
 * its row in run.threads. */
enum err attribute_account(struct run *r, const char *name, int thread, const char *module,
                           double user, double sys);

#endif
