/* Shared by the files of the core, and by recorders that follow threads. */
#ifndef TP_CAPTURE_CORE_CORE_H
#define TP_CAPTURE_CORE_CORE_H

#include "profiler/capture/core/recorder.h"

#define HANDLER_STACK (64 * 1024) /* the sampler's handler runs here, not on the target's stack */

/* A thread and its place in a list that only grows; slots of ended threads are used again. */
struct thread_slot {
    struct capture_thread t; /* first: one of the library's threads is its slot */
    struct thread_slot *next;
    int used; /* claimed by compare and swap */
    int key_rounds;
    uint32_t parent_tid;
    void *(*start)(void *); /* pthread_create's, run by the trampoline */
    void *argument;
    int timer, timer_on; /* kernel's timer id */
    struct sample_phase phase;
    int blocked;                       /* the target believes that it blocks the sampler's signal */
    int is_dropped;                    /* and it now does: the target uses this signal itself */
    volatile uint32_t interrupts;      /* system calls that only the sampler's signal ended */
    uint64_t cpu_last, cpu_next;       /* CPU clock at the last sample, and for the next */
    int first;                         /* the next sample is the thread's first */
    uint64_t before;                   /* CPU time that it took until it could be sampled */
    int64_t repaid;                    /* of its samples' weights, what other threads lacked */
    uint64_t begin_user, begin_system; /* of its kernel account: before an exec, other code ran */
    int whole;                         /* all of its account is to be sampled */
    int64_t system_seen, system_owed;  /* the kernel's account of it, and of no sample yet */
    uint64_t faults_seen, sleeps_seen, costs_put;
    uint64_t sampled_ns;
    volatile int handling, lost_in_row; /* in the sampler's handler; samples */
    /* the wait recorder's view */
    uint64_t seen_ns, seen_cpu, seen_delay, runnable_pending, wait_stack;
    uint64_t woken_pending, seen_asleep, seen_forced, poll_at, poll_every, generation;
    int64_t sleep_pending;
    int wait_known, adopted; /* adopted: found in /proc, not through pthread_create */
    int16_t wait_state, wait_syscall;
    char name[16];
    char scratch[CAPTURE_SCRATCH], stack[HANDLER_STACK] __attribute__((aligned(64)));
};

struct capture_parts {
    const struct recorder *const *recorders; /* in the order of starting */
    size_t count;
    void (*setup)(void); /* before they start */
};
/* start.c: capture and its parts, once; 1: it is on, or asleep. `early`: before main, one thread. */
int capture_start(const struct capture_parts *parts, int early);

/* facts.c: 0 when no folder is named; what else was wrong is added to `bad`, which is empty. */
int config_read(struct capture_config *c, char *bad, size_t bad_bytes);
void config_mode_names(unsigned modes, char *out, size_t bytes);

/* facts.c */
void facts_arguments(int count, char *const words[]); /* as the program begins, before the others */
void facts_write(struct capture_thread *t, int brief); /* brief: it ends without having woken */
void facts_clock_source(struct capture_thread *t); /* where facts_write did not: a brief trace */
const char *facts_status(void); /* /proc/self/status, as the process image began */
void facts_clock(struct capture_thread *t);
struct trace_account facts_account(enum trace_account_at at); /* for trace_put */

/* thread.c, thread_records.c */
void thread_records_close(int forked); /* what short threads wrote together; or forgets it */
int thread_setup(void);                /* once per process; 0, or errno */
int thread_live(void);                 /* something can be recorded */
struct thread_slot *thread_claim(void);
struct thread_slot *thread_register(struct thread_slot *given,
                                    uint32_t parent_tid);                  /* the calling thread */
void thread_end(struct thread_slot *s);                                    /* on that thread */
void thread_put_end(struct capture_thread *writer, struct thread_slot *s); /* THREAD_END, COST */
void thread_forget(struct thread_slot *s);                                 /* from any other */
struct thread_slot *thread_first(void);         /* of a list by ->next; check ->used and ->t.tid */
struct thread_slot *thread_self(void);          /* NULL: none, or it has ended */
extern __thread struct thread_slot *thread_own; /* the same, busy where it has ended */
void thread_left(struct thread_slot *s);        /* it has entered, and jumped out of it */
int thread_adopt(struct thread_slot *s); /* in the handler: the calling thread takes it over */
void thread_account(struct thread_slot *s, int own); /* its CPU time that is before our time */
void thread_cost(struct capture_thread *writer, struct thread_slot *s); /* its COST records */
/* Counts a call by the calling thread's CPU clock. Returns ns. */
uint64_t thread_cost_add(struct capture_thread *t, enum trace_part part, uint64_t since);
void thread_cost_reset(struct capture_thread *t);
/* The same of begins (1) and ends (0) of threads, which have no stream then; `t` takes the sum. */
void thread_cost_later(uint64_t since, int begins);
int thread_cost_take(struct capture_thread *t);  /* 1: the program has had several threads */
struct thread_slot *thread_fork_child(int ends); /* the calling thread's, the only one left */
void thread_name(struct capture_thread *writer, struct thread_slot *s, const char *name);
uint32_t thread_count(void); /* of the target's that are registered */
/* Work that waits for a safe moment, which is when the target allocates or makes a thread. */
void thread_put_off(void (*work)(int makes_thread)); /* the same function always */
int thread_is_put_off(void);
int thread_take_off(void);          /* 1: it was put off, and is not any longer */
void thread_late(int makes_thread); /* at such a moment: calls it where it was put off */

void text_forget(void); /* text.c: nothing is written yet in a new file */

/* process.c */
int process_setup(void);
int process_new_trace(void); /* a new file for this process; errno or 0 */
void process_finish(enum trace_end end, int detail);
int process_is_over(void);        /* the time of the recording (config.until_ns) */
void process_filtered(int quiet); /* the program filters its system calls from now on */
void process_quick(int status);   /* quick_exit is about to run its handlers */
void process_made(enum trace_process_op op, pid_t child, const char *path);
/* Before another program takes this process over; when that fails, process_return of its result. */
int process_leave(const char *path);
void process_return(int left);
/* Around PTRACE_TRACEME, which lets the parent see each signal of this thread. begin is 0: not
 * sampled, so there is nothing to do after the call. */
int process_traced_begin(void);
void process_traced_end(int traced); /* 0: the call failed */
/* Before the program gives up a right that the trace may need: it gets its file now. */
void process_keep_trace(void);
/* Around calls that the kernel refuses to a process with more than one thread. */
int process_alone(void);
void process_alone_end(int alone);
/* The program has one thread and counts its threads. 1: ours was among them, and is gone. */
int process_counted(void);

#endif
