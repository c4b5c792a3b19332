/* The program filters its own system calls (seccomp): what the library may still call is unknown,
 * and a wrong call ends the program. So the recording ends just before. */
#ifndef TP_CAPTURE_CORE_FILTER_H
#define TP_CAPTURE_CORE_FILTER_H

#include <signal.h>

/* On the thread that is about to ask for a filter: stops the timers and the library's own thread,
 * writes the last records. 1: done, and filter_refused() where the kernel then says no. */
int filter_begin(void);
void filter_refused(void);

/* A call of the library was refused, so that a filter came unseen: nothing is recorded from now on.
 * Async-signal-safe; makes no system call. */
void filter_found(void);

/* At the start: whether another program put filters on this process since the launcher started. */
int filter_inherited(void);

/* sigaction for SIGSYS: a trap that the library's own calls meet does not reach the program. */
int filter_set_action(int (*real)(int, const struct sigaction *, struct sigaction *),
                      const struct sigaction *act, struct sigaction *old);

#endif
