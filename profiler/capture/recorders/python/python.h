/* Python frames of a thread, read from CPython's own structures: without the interpreter lock,
 * without calling it, from any place that a signal can hit. CPython 3.9 to 3.14, default builds. */
#ifndef TP_CAPTURE_RECORDERS_PYTHON_PYTHON_H
#define TP_CAPTURE_RECORDERS_PYTHON_PYTHON_H

#include "profiler/capture/core/stack.h"
#include "profiler/capture/recorders/python/layout.h"

/* Looks for an interpreter among the images of the process. Not from a handler. */
void python_find(struct capture_thread *t);

/* The interpreter whose symbols were found otherwise. 1: its frames can be read. */
int python_use(struct capture_thread *t, const struct python_symbols *s);

int python_is_ready(void);
/* The kernel's number of the thread that has this state; 0 unknown. */
uint32_t python_thread_number(uintptr_t state);

/* Implements a frame source of stack.h. */
size_t python_frames(struct capture_thread *t, const struct frame_view *v, uint64_t *pair,
                     uint32_t *flags);

#endif
