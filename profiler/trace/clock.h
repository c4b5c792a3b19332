/* Names the clock of a trace file's times. */
#ifndef TP_TRACE_CLOCK_H
#define TP_TRACE_CLOCK_H

#include <stdint.h>

/* The same number for all who share a CLOCK_MONOTONIC, 0 unknown. An MPI program whose ranks have
 * several compares them when it starts and when it ends. */
struct trace_own_clock {
    uint64_t id;
    struct trace_clock_shift {
        int64_t shift_ns;  /* this clock minus that of the first rank */
        uint64_t error_ns; /* at most */
        uint64_t at_ns;    /* 0: not compared */
    } shift[2];
};

#endif
