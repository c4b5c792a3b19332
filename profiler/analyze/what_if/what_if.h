/* Estimates how long the run would take if one of its lines took less time: replays its threads, each
 * with what it did itself, and lets waits end when the thread that ended them gets there. */
#ifndef TP_ANALYZE_WHAT_IF_WHAT_IF_H
#define TP_ANALYZE_WHAT_IF_WHAT_IF_H

#include "profiler/analyze/state/run.h"

enum cell_doing {
    CELL_ABSENT,
    CELL_WORKS,  /* on a CPU, ready for one, or waiting for time or a device */
    CELL_LOCKED, /* waits for a thread, of its process where one works */
    CELL_ASKS    /* waits for a process, or for what it reads */
};

/* A thread in `cells` parts of the run. */
struct cell_thread {
    uint8_t *doing, *share; /* of each cell; share: part of it at the line, 255 is all */
    int first, last, process, is_main;
};
struct cells {
    struct cell_thread *threads; /* by row */
    size_t threads_count;
    int count;
    double ns; /* of a cell */
    uint8_t *room;
};

/* Fills the cells from the moments and the waits for locks. Moments are in order of start.
 * ERR_MEMORY. */
enum err cells_make(const struct run *r, const struct what_if *ask, struct cells *out);
void cells_free(struct cells *c);

/* 1: the path of a source is the file that was asked for, or ends with its name. */
int what_if_is_file(const struct what_if *ask, const char *path);
/* 1: the node of own code is at the line, or what it calls. */
int what_if_is_below(const struct run *r, const struct what_if *ask, uint32_t own);

/* Answers r->options->what_if, after the critical path is known; nothing where it is NULL.
 * ERR_MEMORY; ERR_INPUT where no own line of that name was recorded. */
enum err what_if_answer(struct run *r);

#endif
