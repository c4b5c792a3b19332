/* The registry of the analysis, as capture's of recorders: a collector takes the records of some
 * kinds of one trace file. load.c lists the collectors. */
#ifndef TP_ANALYZE_STATE_COLLECTOR_H
#define TP_ANALYZE_STATE_COLLECTOR_H

#include "profiler/analyze/state/image.h"

/* A kind of record that a collector takes. */
struct collected {
    enum trace_kind kind;
    enum err (*record)(struct image *im, void *state, const struct trace_item *item);
    int cost;    /* left out where it is of a part of the run that was not asked for */
    size_t flag; /* of struct run: 1 once such a record came. COLLECTED_FLAG; 0: none */
};
#define COLLECTED_FLAG(member) offsetof(struct run, member)

/* Functions may be NULL. They are called in the order of load.c's list, `free` also where another
 * one failed. */
struct collector {
    size_t state_bytes; /* of its own state of an image, zero before `create` */
    const struct collected *kinds;
    size_t kinds_count;
    enum err (*create)(struct image *im, void *state);
    enum err (*finish)(struct image *im, void *state);    /* end of file; contexts are complete */
    enum err (*attribute)(struct image *im, void *state); /* contexts have their lines */
    void (*free)(struct image *im, void *state);
};
#define COLLECTED(list) .kinds = (list), .kinds_count = sizeof(list) / sizeof *(list)

extern const struct collector collector_definitions; /* texts, codes, stacks, threads, modules */
/* Host memory: allocations, releases, copies and the footprint of the process. */
extern const struct collector collector_heap;
/* Waits for locks: which line waits, which one held the lock meanwhile, and how many threads ran at
 * a time. Rows of run.locks and run.contention. */
extern const struct collector collector_locks;

/* Makes the states of an image, and im->collectors. ERR_MEMORY. */
enum err collectors_create(struct image *im, const struct collector *const *list, size_t count);
enum err collectors_record(struct image *im, const struct trace_item *item);
enum err collectors_finish(struct image *im);
enum err collectors_attribute(struct image *im);
void collectors_free(struct image *im);
/* Returns the state of one of them, for others. */
void *collector_state(const struct image *im, const struct collector *c);

/* The value of a META record whose key is `key`, in the image's arena; NULL: it has another key. */
enum err collector_fact(struct image *im, const struct trace_item *item, const char *key,
                        const char **value);

#endif
