/* The registry: a recorder is one thing that is recorded, and the core calls what it registers.
 * library.c lists the recorders. */
#ifndef TP_CAPTURE_CORE_RECORDER_H
#define TP_CAPTURE_CORE_RECORDER_H

#include "profiler/capture/core/capture.h"
#include "profiler/capture/raw/near.h"

struct thread_slot;

/* The sampler's timer of the wall clock, for samples between the ticks (recorders/cpu). */
struct sample_phase {
    int timer, timer_on;        /* kernel's timer id */
    volatile int armed, paused; /* paused: the thread is in a call that may sleep */
    int fired;                  /* the signal is this timer's */
    uint64_t sleeps;            /* of the thread when it was set */
};

/* 1: the recording is on, and calls of input and output that are only counted go straight on
 * (recorders/io/lean.h sets it). One line of the cache less than `capture.on` for each. */
extern int capture_counts CAPTURE_OWN;
static inline void capture_off(void)
{
    capture.on = 0;
    __atomic_store_n(&capture_counts, 0, __ATOMIC_RELAXED);
}

/* Bytes of a thread's scratch, for what is too large for the program's stack. */
#define CAPTURE_SCRATCH 8192

/* Functions may be NULL; the calling thread is entered in all of them, unless said otherwise. */
struct recorder {
    const char *name;
    unsigned modes; /* started when one of them is on */
    int (*start)(
        void); /* once per process image; 0, or errno: a NOTE tells it, the recorder is off */
    int (*asleep)(void); /* before that, in a process that is asleep: what wakes it */
    void (*asleep_stop)(struct capture_thread *t); /* its end; for another program at exec */

    /* Threads: on the thread itself. */
    void (*thread_start)(struct capture_thread *t);
    void (*thread_end)(struct capture_thread *t);
    void (*thread_gone)(void); /* on that thread, behind its last record: it writes nothing more */
    /* After thread_lost: its parent traces it from now on, or (0) does not after all. */
    void (*thread_traced)(struct capture_thread *t, int traced);
    /* From another one: found in /proc; gone without a word, or not to be recorded any longer
     * (that also from its own signal handler). */
    void (*thread_found)(struct thread_slot *s);
    void (*thread_lost)(struct thread_slot *s);
    /* Writes what is known of `s` and not yet recorded, before its THREAD_END; the library's own
     * thread keeps still meanwhile. */
    void (*thread_pending)(struct capture_thread *writer, struct thread_slot *s);

    /* On the library's own thread, config.wait_hz times a second. */
    void (*tick)(struct capture_thread *ours);
    /* The same thread: fills in what it knows of the memory in use. */
    void (*footprint)(struct trace_footprint *r);

    int (*fork_alone)(void); /* 1: during a fork the target must have no thread of the library */
    /* In the parent, before; everything held must be releasable on both sides. */
    void (*fork_prepare)(void);
    void (*fork_parent)(void);
    void (*fork_child)(
        void); /* child, after: drop the parent's state, start again on the new file */
    /* At exit, _exit and before exec: writes what is pending, does not block. A failed exec goes
     * on. */
    void (*stop)(void);
};

/* Calls to all that are on, in the order of `list`, ends in the reverse order. */
void recorders_start(const struct recorder *const *list, size_t count, struct capture_thread *t);
void recorders_asleep(const struct recorder *const *list, size_t count);
void recorders_asleep_stop(struct capture_thread *t);
void recorders_thread_start(struct capture_thread *t);
void recorders_thread_end(struct capture_thread *t);
void recorders_thread_gone(void);
void recorders_thread_traced(struct capture_thread *t, int traced);
void recorders_thread_found(struct thread_slot *s);
void recorders_thread_lost(struct thread_slot *s);
void recorders_thread_pending(struct capture_thread *writer, struct thread_slot *s);
void recorders_tick(struct capture_thread *ours);
void recorders_footprint(struct trace_footprint *r);
int recorders_fork_alone(void);
void recorders_fork_prepare(void);
void recorders_fork_parent(void);
void recorders_fork_child(void);
void recorders_stop(void);

#endif
