/* How far a call that lasts is, and whether somebody wants it to end. */
#ifndef TP_BACKEND_COURSE_H
#define TP_BACKEND_COURSE_H

#include <pthread.h>

#include "host/backend/backend.h"

/* A part of a call: from which share of it on, and how much of it. */
struct progress_range {
    double first, span;
};
#define PROGRESS_ALL                                                                               \
    {                                                                                              \
        0, 1                                                                                       \
    }

/* Names who is told of a call's progress. Set report, context and range, then progress_begin. */
struct backend_progress {
    void (*report)(void *context, double share); /* 0 to 1, in the thread that made the call */
    void *context;
    struct progress_range range; /* what the next loops are: PROGRESS_ALL */
    pthread_t caller;
    double reported, seen;
    int64_t reported_ns;
};

/* From now on *p is told by the calls of `be`; NULL: nobody. */
void progress_begin(struct backend *be, struct backend_progress *p);
/* Returns the part that the next loops are; then says which part of that some of them are. */
struct progress_range progress_whole(const struct backend *be);
void progress_part(struct backend *be, struct progress_range whole, double first, double span);

/* Returns 1 where somebody wants the call to end: loops over tiles leave out the rest. */
static inline int backend_stopped(const struct backend *be)
{
    if (be->look)
        be->look(be->looker);
    return be->stop && *be->stop;
}

/* The same for step i of a loop of steps that are short: looks in every 64th. */
static inline int backend_stopped_at(const struct backend *be, int64_t i)
{
    return i % 64 ? be->stop && *be->stop : backend_stopped(be);
}

/* The steps of a loop, in any order and on any thread: {be, how many there are}. */
struct course {
    struct backend *be;
    int64_t total, begun;
};
void course_report(struct course *c);

/* Begins a step. 0: somebody wants the call to end, and the loop leaves out what is left. */
static inline int course_next(struct course *c)
{
    if (c->be->progress)
        course_report(c);
    return !backend_stopped(c->be);
}

#endif
