/* Signals that kill the program where it has no handler for them: the place is recorded first. */
#ifndef TP_CAPTURE_RECORDERS_FAILURE_FATAL_H
#define TP_CAPTURE_RECORDERS_FAILURE_FATAL_H

#include <signal.h>

extern const struct recorder fatal_recorder;

/* 1: the library's handler may stand where the program has the default action. */
int fatal_covers(int number);
/* For such a number, in the place of the C library's sigaction: the program sees its own action. */
int fatal_set_action(int number, const struct sigaction *act, struct sigaction *old);

#endif
