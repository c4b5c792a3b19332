/* What the files of the library's core share: start, thread, process, signals, sampler, wait. */
#ifndef TP_CAPTURE_CORE_CORE_H
#define TP_CAPTURE_CORE_CORE_H

#include "profiler/capture/core/capture.h"

#define HANDLER_STACK (64 * 1024) /* the sampler's handler runs here, not on the target's stack */

/* A thread and its place in a list that only grows; slots of ended threads are used again. */
struct slot {
    struct capture_thread t; /* first: a capture_thread of ours is its slot */
    struct slot *next;
    int used; /* claimed by compare and swap */
    int key_rounds;
    uint32_t parent_tid;
    void *(*start)(void *); /* pthread_create's, run by the trampoline */
    void *argument;
    int timer, timer_on;               /* kernel's timer id */
    int blocked;                       /* the target believes that it blocks the sampler's signal */
    int given_up;                      /* and it now does: the target uses this signal itself */
    volatile uint32_t interrupts;      /* system calls that only the sampler's signal ended */
    uint64_t cpu_last, cpu_next;       /* CPU clock at the last sample, and for the next */
    int first;                         /* the next sample is the thread's first */
    uint64_t begin_user, begin_system; /* of its kernel account: before an exec, other code ran */
    int whole;                         /* all of its account is to be sampled */
    int64_t system_seen, system_owed;  /* the kernel's account of it, and of no sample yet */
    uint64_t faults_seen;
    uint64_t sampled_ns;
    int lost_in_row; /* samples */
    /* the wait scan's view */
    uint64_t seen_ns, seen_cpu, seen_delay, sleep_pending, runnable_pending, wait_stack;
    uint64_t look_at, look_every, generation;
    int wait_known, adopted; /* adopted: found in /proc, not through pthread_create */
    int16_t wait_state, wait_syscall;
    char name[16];
    char stack[HANDLER_STACK] __attribute__((aligned(64)));
};

/* config.c: 0 when no folder is named; what was wrong with other variables goes to `bad`. */
int config_read(struct capture_config *c, char *bad, size_t bad_bytes);
void config_mode_names(unsigned modes, char *out, size_t bytes);

/* facts.c */
void facts_write(struct capture_thread *t);
void facts_clock(struct capture_thread *t);

/* thread.c */
int thread_setup(void);  /* once per process; 0, or errno */
void births_setup(void); /* thread_hooks.c */
int thread_live(void);   /* something can be recorded */
struct slot *thread_claim(void);
struct slot *thread_register(struct slot *given, uint32_t parent_tid); /* the calling thread */
void thread_end(struct slot *s);                                       /* on that thread */
void thread_put_end(struct capture_thread *writer, struct slot *s);    /* THREAD_END, COST */
void thread_forget(struct slot *s);                                    /* from any other */
struct slot *thread_first(void);  /* walk with ->next; look at ->used and ->t.tid */
struct slot *thread_self(void);   /* NULL: none, or it has ended */
int thread_adopt(struct slot *s); /* in the handler: the calling thread takes its slot over */
void thread_account(struct slot *s, int own); /* how much of its CPU time is before our time */
void thread_cost(struct capture_thread *writer, struct slot *s); /* its COST records */
struct slot *thread_fork_child(void); /* the calling thread's, the only one left */
void thread_name(struct capture_thread *writer, struct slot *s, const char *name);
uint32_t thread_count(void); /* of the target's that are registered */

/* recorders.c: calls to all parts that are on */
void parts_start(struct capture_thread *t);
void parts_thread_start(struct capture_thread *t);
void parts_thread_end(struct capture_thread *t);
void parts_tick(struct capture_thread *t);
void parts_fork(int where); /* 0 prepare, 1 parent, 2 child */
void parts_stop(void);
int part_is_on(const struct capture_part *p);

/* start.c */
int start_trace(void);  /* a new file for this process; errno or 0 */
void text_forget(void); /* text.c: nothing is written yet in a new file */

/* process.c */
int process_setup(void);
int process_is_ours(void); /* 0 in a child of vfork, whose memory is the parent's */
/* Before another program takes this process over; when that fails, process_return of its result. */
int process_leave(const char *path);
void process_return(int left);

/* wait.c */
void wait_begin(void);               /* starts our own thread */
int wait_stop(void);                 /* asks it to end, waits at most 1 s; whether it has */
void wait_last_look(struct slot *s); /* by a thread that ends */
int wait_quiet(void);   /* keeps it from writing for good; waits at most 5 ms; whether it does */
void wait_hold(int on); /* keeps it out of libc around a fork */
void wait_step_aside(
    void); /* before a fork where the target counts threads; wait_return after it */
void wait_return(void);
void wait_forked(uint32_t others); /* child: it is gone; the parent had so many other threads */
void wait_late(void);              /* ... or here, when it was not */
void wait_begin_child(void);       /* starts it in the child where that is safe */
void wait_wake(void);              /* a thread has ended */

/* sampler.c: the timer of a thread, made by itself or by another */
void sampler_watch(struct slot *s, int other);
void sampler_unwatch(struct slot *s);

/* signals.c */
int signals_mask(int how, const sigset_t *set, sigset_t *old); /* the real one */
int signals_choose(int wanted);                                /* a free real-time signal, 0 none */
int signals_install(int number, void (*handler)(int, siginfo_t *, void *));
void signals_thread(struct slot *s); /* lets the signal through on the calling thread */
void signals_hold(int on);           /* blocks it there around a fork */
void signals_leave(int leaving);     /* before exec: the mask as the target wants it */
void signals_foreign(struct slot *s, siginfo_t *info, void *context); /* not the sampler's */
const sigset_t *signals_without(const sigset_t *set, sigset_t *room);

#endif
