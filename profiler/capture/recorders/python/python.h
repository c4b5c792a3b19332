/* Python frames of a thread, read from CPython's own structures: without the interpreter lock,
 * without calling it, from any place that a signal can hit. CPython 3.9 to 3.14, default builds. */
#ifndef TP_CAPTURE_RECORDERS_PYTHON_PYTHON_H
#define TP_CAPTURE_RECORDERS_PYTHON_PYTHON_H

#include <stdint.h>

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

/* CPython's global interpreter lock (GIL): where it is, and which thread holds it. */

/* Looks for the locks of the interpreters that are there by now. Not from a handler. */
void python_gil_find(void);
/* The lock whose structure has the byte at `address`; 0: none that is known. */
uintptr_t python_gil_at(uintptr_t address);
/* 1: `address` is the condition on which threads wait for it, again and again until they get it. */
int python_gil_is_waited_for(uintptr_t gil, uintptr_t address);
/* By a thread that has the lock's own mutex, or waits for it. */
int python_gil_is_held(uintptr_t gil);
uint32_t python_gil_holder(uintptr_t gil); /* its number; 0: nobody, or unknown */
int python_gil_minor(void);                /* of the interpreter's version 3.minor; 0: none */

#endif
