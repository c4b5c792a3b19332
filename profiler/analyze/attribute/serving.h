/* Decides if a thread that waits is idle: it waits for the next request, job or event. And whether
 * one that sleeps looks in turns whether others are done. */
#ifndef TP_ANALYZE_ATTRIBUTE_SERVING_H
#define TP_ANALYZE_ATTRIBUTE_SERVING_H

#include "profiler/analyze/attribute/frames.h"

/* Takes frames from the innermost on. 1: the loop of a server, a consumer of jobs or a window
 * waits, and no own code below it does. `accepts`: the process takes connections of others; an
 * event loop that anybody may run is idle only then. */
int serving_idle(const struct resolved *frames, int count, int accepts);

/* Returns the kind of an event loop's wait by the coroutine that it waits for: a sleep, another
 * thread's work (WAITS_LOCK), or WAITS_EVENTS. */
enum waits_for serving_awaits(const struct resolved *frames, int count);

/* Returns the kind of a sleep's wait below own code: a child or others where a library of Python's
 * called it, WAITS_SLEEP where own code did. */
enum waits_for serving_polls(const struct resolved *frames, int count);

#endif
