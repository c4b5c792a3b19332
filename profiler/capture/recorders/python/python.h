/* Python frames of a thread, read from CPython's own structures: without the interpreter lock,
 * without calling it, from any place that a signal can hit. CPython 3.9 to 3.14, default builds. */
#ifndef TP_CAPTURE_RECORDERS_PYTHON_PYTHON_H
#define TP_CAPTURE_RECORDERS_PYTHON_PYTHON_H

#include "profiler/capture/core/stack.h"

/* Looks for an interpreter among the images of the process. Not from a handler. */
void python_find(struct capture_thread *t);

/* A frame source of stack.h. */
size_t python_frames(struct capture_thread *t, const struct frame_view *v, uint64_t *pair,
                     size_t room, uint32_t *flags);

#endif
