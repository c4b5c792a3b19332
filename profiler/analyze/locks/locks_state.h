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
struct lock_frame {
    const char *file, *function;
    int line;
};
struct lock_place { /* where a stack stands, in words of the model */
    const char *file, *function, *native;
    int line;
    size_t frames, depth; /* its own frames, outermost first, in locks.frames */
    int known;            /* the stack was resolved */
    int signalling;       /* Python code that waits for a signal: conditions, events, joins */
    int locking;          /* compiled code that takes a lock of its own making */
    int releases;         /* Python's own call: it releases the GIL where it sleeps */
};
struct lock_holder {
    struct lock_frame at;
    const char *native;
    struct lock_frame locked; /* where a function that it calls took the lock; file NULL: itself */
    double ns;
    int asleep;
};
struct lock_taker {       /* a stack that asked for a lock */
    uint32_t stack, next; /* next: another stack that asked for the same, + 1; 0 none */
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
    VECTOR(struct lock_frame) frames;
    VECTOR(struct lock_taker) takers;
    struct table takers_of; /* the first, by address of the lock */
    struct table asked;     /* by lock, thread and stack */
    struct table row_by_key, seen;
    double asleep_in_futex;
    /* of both_s, ran and wanted of the model, ns */
    double both, ran, on_cpu, wanted, any, gil_python, gil_native;
    size_t most; /* threads that waited for a lock or held it at a moment */
};

/* place.c: of a stack; resolved once. ERR_MEMORY. */
enum err lock_places(struct image *im, struct locks *l);
/* sections.c: notes that the thread asks for the lock there. ERR_MEMORY. */
enum err lock_asks(struct locks *l, uint64_t address, int thread, uint32_t stack);
/* Returns where a thread that is at `at` holds the lock: its line in the function that took the
 * lock or had it taken. Address 0, or a lock that nobody is known to take: `at` itself. */
struct lock_holder lock_section(const struct locks *l, uint64_t address, int thread,
                                const struct lock_place *at);
/* sweep.c: who held what, and how many ran: through all waits and samples in order of time. */
enum err lock_sweep(struct image *im, struct locks *l);
/* Row of a wait; made when new. */
enum err lock_row_of(struct locks *l, const struct lock_wait *w, int *row); /* rows.c */
enum err lock_rows(struct image *im, const struct locks *l); /* all, as rows of the run */

#endif
