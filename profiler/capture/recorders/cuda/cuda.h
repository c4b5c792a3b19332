/* CUPTI inside the target: the files of this folder meet here.
 *
 *   cuda.c        the recorder: the order of things, what to say when CUPTI refuses
 *   at_exit.c     the last flush
 *   load.c        finds libcupti and its calls
 *   rules.c       which API calls are followed
 *   call.c        callbacks of API calls: one API record per outermost call
 *   resource.c    callbacks of modules, graph nodes, contexts, CUPTI's own state
 *   buffer.c      the pool of activity buffers, and who decodes them
 *   decode.c      activity records to trace records
 *   samples.c     samples inside kernels
 *   flush.c       our thread that flushes, the watchdog over it, clocks
 *   state.c, call_state.c   what they share
 *
 * NVIDIA's library may call us on any thread, inside the target's own calls, and after the target's
 * main has returned: nothing here waits for another thread, but for the end of the process, where
 * the wait is bounded. */
#ifndef TP_CAPTURE_RECORDERS_CUDA_CUDA_H
#define TP_CAPTURE_RECORDERS_CUDA_CUDA_H

#include "profiler/capture/core/capture.h"
#include "profiler/capture/recorders/cuda/cupti_api.h"

struct cuda {
    volatile int on; /* subscribed, and this is the process that did */
    pid_t pid;
    uint32_t version; /* of CUPTI's API: 18 = CUDA 12.0, 130000 = 13.0 */
    void *subscriber;
    struct cupti cupti;
    volatile uint32_t launched;  /* GPU work was asked for since the last flush */
    volatile uint32_t unloads;   /* modules unloaded so far: names may have gone with them */
    volatile int32_t unanswered; /* launches without their kernel's record so far */
    volatile int over; /* the process ends and CUPTI's own end is near: it is called no more */
};
extern struct cuda cuda;

/* Attaches to CUPTI, once; the driver is in cuInit. */
void cuda_initialize(void);

/* capture_enter for code that CUPTI may also call while this library is calling CUPTI on this
 * thread, which is then inside already. NULL: not known, write nothing. */
struct capture_thread *cuda_enter(int *entered);
void cuda_leave(struct capture_thread *t, int entered, uint64_t since);

int cuda_driver_version(void); /* CUDA that the driver serves: 12080 = 12.8; 0 unknown */
int cuda_load(struct capture_thread *t, struct cupti *out); /* 0, or noted why not and -1 */
const char *cuda_sentence(int code);
/* 1 when `code` is 0; else says once per call what failed and what that means. */
int cuda_check(struct capture_thread *t, int code, const char *call, const char *meaning);

/* Switches the callbacks of the calls on that rules.c lists; returns how many. */
int cuda_calls_enable(struct capture_thread *t);
void cuda_call(uint32_t domain, uint32_t id, const struct cupti_call *call, const void *caller);

/* MANAGED: pages may move by themselves from now on. DISCARDS: a context may go, and records that
 * CUPTI still holds with it. */
enum cuda_effect { RULE_MANAGED = 1, RULE_DISCARDS };

/* Facts about a call by its name in CUPTI ("cudaMemcpy_v3020"). Rows of rules.c. */
struct cuda_rule {
    const char *pattern; /* the name begins so, after "cuda" or "cu"; with those when it says so */
    uint8_t api_class;   /* enum trace_api_class */
    uint8_t bytes, times, scale; /* bytes = parameters[bytes / 8] [* parameters[times / 8]] * scale;
                                    scale 0: not in the parameters */
    uint8_t effect;              /* enum cuda_effect */
};
const struct cuda_rule *cuda_rule(const char *name); /* NULL: not of interest */

void cuda_resource(uint32_t id, const struct cupti_resource_data *data, const void *caller);
void cuda_state(uint32_t id, const struct cupti_state *state);
void cuda_cubin(struct capture_thread *t, const struct cupti_module *module);

int cuda_buffers_open(void); /* 0 or errno */
void cuda_buffers_abandon(void);
cupti_request cuda_request;
cupti_complete cuda_complete;
void cuda_count_dropped(void *context, uint32_t stream);
void cuda_drain(struct capture_thread *t, int limit); /* decodes so many delivered buffers */

/* Decodes one buffer into t's stream. One thread at a time: the caller holds the pool's lock. */
void cuda_decode(struct capture_thread *t, uint8_t *buffer, size_t bytes);

/* Samples inside kernels, where they are asked for: before any context is, for a new one, what has
 * come since, and the end of one (NULL: of all). */
void cuda_samples_prepare(struct capture_thread *t);
void cuda_samples_context(struct capture_thread *t, void *context);
void cuda_samples_take(struct capture_thread *t);
void cuda_samples_end(struct capture_thread *t, const void *context);
void cuda_samples_abandon(void);

void cuda_clock(struct capture_thread *t);                   /* writes a CLOCK record */
int cuda_flush_start(void);                                  /* 0 or errno */
void cuda_flush_managed(void);                               /* watch managed memory from now on */
void cuda_flush_now(struct capture_thread *t, uint32_t how); /* waits CUDA_PATIENCE_S at most */
void cuda_flush_watch(struct capture_thread *t);
int cuda_flush_hangs(void);
void cuda_flush_abandon(void);
void cuda_at_exit(void);    /* at_exit.c: registers the last flush */
void cuda_stop(void);       /* ... does it at _exit and exec */
#define CUDA_FLUSH_MS   100 /* FlushAll costs a lock inside CUPTI: not at every tick */
#define CUDA_PATIENCE_S 5

/* NVTX's name for a stream. */
void cuda_name_stream(struct capture_thread *t, void *stream, uint64_t name);

#endif
