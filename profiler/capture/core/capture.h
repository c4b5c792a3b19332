/* The injected library: records what one process does into a trace, and nothing else. It lives in
 * somebody else's process, so it never exits, prints, blocks, or takes a lock that a signal handler
 * may hold; it links libc alone; what it loses it counts.
 *
 * Loaded by LD_PRELOAD (samples, allocations, ranges), CUDA_INJECTION64_PATH (the CUDA driver calls
 * InitializeInjection) and NVTX_INJECTION64_PATH; whichever comes first starts it. Idle unless
 * TOMOPROF_CAPTURE_DIR names a folder. The variables: facts.c.
 *
 * Four layers, each using those before it: raw (system calls), core (threads, stacks, the trace),
 * recorders (one `struct recorder` per thing that is recorded, recorder.h), hooks (functions of the
 * C library that the program calls through us). library.c lists them all. */
#ifndef TP_CAPTURE_CORE_CAPTURE_H
#define TP_CAPTURE_CORE_CAPTURE_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "profiler/trace/writer.h"

enum capture_mode { /* names in facts.c; all but objects are on by default */
                    CAPTURE_CPU = 1,
                    CAPTURE_WAIT = 2,
                    CAPTURE_MEMORY = 4,
                    CAPTURE_COPIES = 8,
                    CAPTURE_PYTHON = 16,
                    CAPTURE_NVTX = 32,
                    CAPTURE_CUDA = 64,
                    CAPTURE_OBJECTS = 128, /* small Python objects by line: 7 % of a loop */
                    CAPTURE_IO = 256,
                    CAPTURE_LOCKS = 512,
};

struct capture_config {
    unsigned modes;
    double cpu_hz;                /* samples per second of CPU time of each thread */
    double wait_hz;               /* polls per second of threads that wait */
    double alloc_mean, copy_mean; /* mean bytes between sampled allocations; copies */
    double calls_share;           /* of CPU time: wrappers that take more are taken out; 1: never */
    int signal;                   /* of the sampler; 0 = choose a free real-time one */
    uint64_t byte_limit;          /* of one trace file, 0 none */
    double whole_graphs, kernel_lines, hw_trace; /* 1: wanted; facts.c */
    double launcher; /* pid of what started the program; 0: no trace is brief */
    double until_ns; /* the recording ends then (trace_now); 0: with the process */
    uint8_t run_id[16];
    char folder[512], library[512]; /* this library's own path, for children */
};

struct capture {
    volatile int on; /* 0: every entry point passes straight through */
    pid_t pid;       /* of the process that records */
    struct capture_config config;
    struct trace_writer writer;
};
extern struct capture capture __attribute__((visibility("hidden"))); /* near.h */

/* A thread of the target. Lives in a mapping of its own, found through one initial-exec pointer. */
struct capture_thread {
    struct trace_stream stream;
    uint32_t tid;
    _Alignas(8) uint32_t io_left; /* lean.h, which reads it together with `busy` */
    volatile int busy;     /* inside the library: calls pass through, samples are counted as lost */
    uintptr_t frame;       /* of what has entered: its stack pointer is not above it. 0 unknown */
    const uintptr_t *call; /* where the target's call into the library has its return address */
    uintptr_t returns, stack_low, stack_high; /* returns: which it is; call NULL: unknown */
    int ours;                                 /* a thread of this library: never sampled */
    uint64_t cost_ns[TRACE_PARTS], cost_calls[TRACE_PARTS], random; /* io's: lean.c, weight.h */
    uint64_t io_ns, io_drawn, io_weight, io_entered, io_stack_ns, io_since, io_since_ns, io_debt;
    uint64_t io_cpu, io_sleeps, io_draws, io_draws_seen, io_often, io_slept, io_credit, io_credited;
    struct capture_io_name {             /* by which it opened a file last: names.c of io */
        uint64_t row, last, mask, flags; /* row + 1 | round << 32, 0: none; its end; its part */
        uint8_t folder, ending, writes;  /* lengths; text: the folder; flags ~0: no other like it */
        char text[93];
    } io_name;
    struct stack_thread *stacks; /* stack.c's scratch */
    char *scratch;        /* CAPTURE_SCRATCH bytes, while it is inside; of one function at a time */
    struct capture_lock { /* the wait for a lock that it is in; since 0: none */
        uint64_t since, part, stack; /* part: begin of what is not recorded yet */
        uintptr_t address;
        uint32_t holder, readers;
        uint16_t kind, in_turns; /* trace_lock_kind; the GIL: calls with a timeout make one wait */
    } lock;
    const uint64_t *lock_calls;      /* its counter of locks that it took at once */
    uint64_t polled_from, polled_to; /* its last wait in poll and its like, until a read had it */
    int polled;                      /* the one descriptor that it was for; below 0: several */
};

/* The calling thread, entered: calls of its own that the library makes now pass through, the
 * sampler keeps out. NULL when capture is off, the thread is inside already, or it cannot be known
 * here: then pass through. Pair with capture_leave (entered_ns 0: cost not counted).
 *
 * A handler of the target that interrupts the library may jump out of it and never return: the
 * thread stays entered, until it is found with its stack pointer above the frame that entered. So
 * the function that calls capture_enter leaves too; one that returns entered gives an object in the
 * frame of the function that leaves (NULL: not known) to capture_enter_in. Both may register a
 * thread (mmap); capture_enter_handler, for a handler that interrupted `ucontext` and which nothing
 * interrupts (NULL: outside of any), never does. */
struct capture_thread *capture_enter(void);
struct capture_thread *capture_enter_in(const void *object);
struct capture_thread *capture_enter_handler(const void *ucontext);
void capture_leave(struct capture_thread *t, enum trace_part part, uint64_t entered_ns);

/* The calling thread where it is registered, entered or not, else NULL. Async-signal-safe. */
struct capture_thread *capture_self(void);

/* 0 in a child of vfork, whose memory is the parent's. */
int capture_is_here(void);
/* Memory that the library has more (or less) from now on, for the trace's header. */
void capture_count_memory(int64_t bytes);
double capture_random(struct capture_thread *t); /* in (0, 1] */
uint64_t capture_text(struct capture_thread *t, const char *text,
                      size_t bytes); /* STRING, written at most once mostly; its id */
void capture_meta(struct capture_thread *t, const char *key, const char *value);
void capture_note(struct capture_thread *t, int severity, const char *key, const char *format, ...)
    __attribute__((format(printf, 4, 5))); /* not from a signal handler */

#define CAPTURE_API __attribute__((visibility("default")))

#endif
