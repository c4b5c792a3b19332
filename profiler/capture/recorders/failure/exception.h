/* The exception that ends a Python program. */
#ifndef TP_CAPTURE_RECORDERS_FAILURE_EXCEPTION_H
#define TP_CAPTURE_RECORDERS_FAILURE_EXCEPTION_H

#include "profiler/capture/recorders/python/layout.h"

/* The state of the thread that ends the interpreter whose frames are read; 0: none does. */
static inline uintptr_t exception_ending(void)
{
    const uintptr_t runtime = python_runtime.runtime;
    return runtime ? *(const volatile uintptr_t *)(runtime + python_runtime.layout.finalizing) : 0;
}
void exception_record(void); /* once */

/* For functions that an interpreter calls on its way to its end. Costs others a load. */
static inline void exception_may_end(void)
{
    if (__builtin_expect(exception_ending() != 0, 0))
        exception_record();
}

#endif
