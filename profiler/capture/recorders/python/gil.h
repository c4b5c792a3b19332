/* CPython's global interpreter lock (GIL): where it is, and which thread holds it. */
#ifndef TP_CAPTURE_RECORDERS_PYTHON_GIL_H
#define TP_CAPTURE_RECORDERS_PYTHON_GIL_H

#include <stdint.h>

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
