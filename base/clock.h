/* The only clock that measures: monotonic, never settable. */
#ifndef TP_BASE_CLOCK_H
#define TP_BASE_CLOCK_H

#include <stdint.h>

/* Returns nanoseconds of CLOCK_MONOTONIC. Cannot fail on Linux. */
int64_t clock_ns(void);

static inline double clock_seconds_since(int64_t start_ns)
{
    return (double)(clock_ns() - start_ns) * 1e-9;
}

/* Nanoseconds that the calling thread was ready to run without a CPU, since it began.
 * clock_waits_open opens the kernel's count of them; -1: this kernel keeps none. close() ends it. */
int clock_waits_open(void);
int64_t clock_waits_ns(int fd); /* 0 for -1 */

/* Self-test of the clock, stored with every run: smallest step seen and cost of one read (ns), and
 * whether it ever went backwards in 100,000 reads. */
struct clock_check {
    double read_ns;
    int64_t smallest_step_ns;
    int went_back;
};
struct clock_check clock_self_test(void);

/* UTC now as YYYYmmddTHHMMSSZ: a label for folders, never a measurement. */
void clock_stamp(char out[17]);

#endif
