/* Tells if a signal that reached this process reached the others of its process group too: siginfo
 * does not say it. A witness, another process of the group, has all signals blocked and tells which
 * ones wait for it. The kernel serves a group's youngest members first, so the witness has a signal
 * before this process has it. */
#ifndef TP_RECORD_WITNESS_H
#define TP_RECORD_WITNESS_H

void witness_begin(void); /* where it cannot be started, no signal is seen */
/* 1: it got `number` since it was asked last. Async-signal-safe. */
int witness_saw(int number);
int witness_is_there(void);
void witness_end(void);

#endif
