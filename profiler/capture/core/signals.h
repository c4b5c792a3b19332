/* The sampler's signal, which the program can use too (signals.c). */
#ifndef TP_CAPTURE_CORE_SIGNALS_H
#define TP_CAPTURE_CORE_SIGNALS_H

#include <signal.h>

struct thread_slot;

int signals_mask(int how, const sigset_t *set, sigset_t *old); /* the real one */
int signals_choose(int wanted);                                /* a free signal, 0 none */
int signals_choose_asleep(int wanted); /* the same, which a debugger passes on in silence */
int signals_choose_traced(struct thread_slot *s); /* for a thread that is traced now */
void signals_fill(sigset_t *set);                 /* all that may wait while the library works */
int signals_install(int number, void (*handler)(int, siginfo_t *, void *));
void signals_thread(struct thread_slot *s); /* lets the signal through on the calling thread */
void signals_hold(int on);                  /* blocks it there around a fork */
void signals_leave(int leaving);            /* before exec: the mask as the target wants it */
void signals_withdraw(void);                /* the number is the target's alone from now on */
void signals_return(void);                  /* ... and not any longer */
void signals_foreign(struct thread_slot *s, siginfo_t *info, void *context); /* not the sampler's */
/* Tracks the target's use of the sampler's signal number. */
int signals_is_ours(int number);
void signals_set_action(const struct sigaction *act, struct sigaction *old);
int signals_set_other(int (*real)(int, const struct sigaction *, struct sigaction *), int n,
                      const struct sigaction *act, struct sigaction *old);
int signals_set_mask(int (*real)(int, const sigset_t *, sigset_t *), int how, const sigset_t *set,
                     sigset_t *old);
void signals_set_stack(const stack_t *stack); /* the target gives this thread a stack for signals */
const sigset_t *signals_without(const sigset_t *set, sigset_t *room); /* a set to wait for */

#endif
