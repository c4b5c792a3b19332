/* Waits for locks (kind LOCK of format.h): one record for each that took 100 us or more. */
#ifndef TP_TRACE_RECORDS_LOCK_H
#define TP_TRACE_RECORDS_LOCK_H

#include "profiler/trace/format.h"

enum trace_lock_kind {                   /* numbers never change their meaning */
                       TRACE_LOCK_GIL,   /* CPython's; address: of its structure */
                       TRACE_LOCK_MUTEX, /* of pthreads or C11 */
                       TRACE_LOCK_READ,  /* a rwlock, for reading */
                       TRACE_LOCK_WRITE, /* a rwlock, for writing */
                       TRACE_LOCK_CONDITION,
                       TRACE_LOCK_SEMAPHORE, /* threading.Lock of Python up to 3.13 is one */
                       TRACE_LOCK_PYTHON,    /* of CPython's parking lot: threading.Lock from 3.14
                                                on, and critical sections */
                       TRACE_LOCK_FUTEX, /* a futex that the program asked the kernel for itself */
                       TRACE_LOCK_KINDS
};
enum trace_lock_flags {
    TRACE_LOCK_TAKEN = 1,   /* the wait ended with the lock; else by a timeout or an error */
    TRACE_LOCK_MORE = 2,    /* a part of a wait, which goes on */
    TRACE_LOCK_WAITING = 4, /* it waited still when the recording ended */
    TRACE_LOCK_SEEN = 8     /* no wait: who holds the lock now, that this thread waits for */
};
struct trace_lock { /* time_ns: its end */
    struct trace_record r;
    uint64_t stack; /* of the thread that waits */
    uint64_t address, wait_ns;
    uint32_t tid, holder; /* holder: thread that held it as the wait began, 0 unknown */
    uint16_t kind, flags; /* enum trace_lock_kind, trace_lock_flags */
    uint32_t readers;     /* of WRITE: how many held it for reading then */
};

#endif
