/* Shared by the files of this folder: the waits of one image, and what its threads did. */
#ifndef TP_ANALYZE_LOCKS_LOCKS_STATE_H
#define TP_ANALYZE_LOCKS_LOCKS_STATE_H

#include "profiler/analyze/state/collector.h"

enum { NO_THREAD = -1, NO_ROW = -1 };

struct lock_wait { /* or a part of one; times from the run's origin */
    uint64_t start, end, address;
    int thread, holder, row; /* threads: indices in the image */
    uint32_t stack, readers;
    uint16_t kind, flags;
    int contention; /* else it waits for work */
};
/* On a CPU, asleep, asleep in a futex (which may be a wait for a lock), waiting for a CPU. */
enum lock_doing { DOES_RUN, DOES_SLEEP, DOES_FUTEX, DOES_QUEUE };
struct lock_sample { /* what a thread did until `end` */
    uint64_t start, end, weight;
    int thread;
    enum lock_doing doing;
    uint32_t stack;
};
struct lock_place { /* where a stack stands, in words of the model */
    const char *file, *function, *native;
    int line;
    int known;      /* the stack was resolved */
    int signalling; /* Python code that waits for a signal: conditions, events, joins */
    int locking;    /* compiled code that takes a lock of its own making */
};
struct lock_holder {
    const struct lock_place *at;
    double ns;
    int asleep;
};
struct lock_row {
    uint16_t kind;
    int contention;
    const struct lock_place *at;
    uint64_t waits, threads, locks;
    double ns, longest, known, queued; /* queued: the holder waited for a CPU */
    int no_owner, readers;             /* waits whose holder nothing tells; that readers held */
    VECTOR(struct lock_holder) holders;
};
struct locks {
    VECTOR(struct lock_wait) waits;
    VECTOR(struct lock_sample) samples;
    VECTOR(struct lock_row) rows;
    VECTOR(struct lock_place) places; /* by stack */
    struct table row_by_key, seen;
    double asleep_in_futex;
    /* of both_s, ran and wanted of the model, ns */
    double both, ran, on_cpu, wanted, any, gil_python, gil_native;
    size_t most; /* threads that waited for a lock or held it at a moment */
};

/* place.c: of a stack; resolved once. ERR_MEMORY. */
enum err lock_places(struct image *im, struct locks *l);
/* sweep.c: who held what, and how many ran: through all waits and samples in order of time. */
enum err lock_sweep(struct image *im, struct locks *l);
/* Row of a wait; made when new. */
enum err lock_row_of(struct locks *l, const struct lock_wait *w, int *row); /* rows.c */
enum err lock_rows(struct image *im, const struct locks *l); /* all, as rows of the run */

#endif
