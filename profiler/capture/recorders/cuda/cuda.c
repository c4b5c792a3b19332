/* The CUDA recorder: attaches to CUPTI inside cuInit, in the right order, and tells what CUPTI
 * refuses. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/capture/raw/one_thread.h"
#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders.h"
#include "profiler/capture/recorders/cuda/cuda.h"
#include "profiler/capture/recorders/cuda/cupti_records_graph.h"

static void cuda_callback(void *user, uint32_t domain, uint32_t id, const void *data)
{
    (void)user;
    int saved = errno;
    const void *caller = __builtin_return_address(0);
    if (!cuda.on)
        return;
    if (domain == CUPTI_DRIVER || domain == CUPTI_RUNTIME)
        cuda_call(domain, id, data, caller);
    else if (domain == CUPTI_RESOURCE)
        cuda_resource(id, data, caller);
    else if (domain == CUPTI_STATE)
        cuda_state(id, data);
    errno = saved;
}

/* /dev/nvidiactl says nothing: root's driver library makes it, with or without a device. */
static const char *no_device(void)
{
    static const char *const signs[] = {"/proc/driver/nvidia/version", "/dev/nvidia0",
                                        "/dev/dxg" /* of WSL */};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (!access(signs[i], F_OK))
            return NULL;
    return "no NVIDIA kernel module is loaded here: there is no GPU work to record";
}

/* CUDA takes devices from the list up to the first word that names none. */
static int devices_hidden(struct capture_thread *t)
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    if (!list || (*list && *list != '-' && strcmp(list, "NoDevFiles") != 0))
        return 0;
    capture_note(t, 0, "cuda.no_device",
                 "CUDA_VISIBLE_DEVICES is \"%.40s\", so the program sees no GPU: there is no GPU "
                 "work to record",
                 list);
    return 1;
}

/* cuptiSubscribe_v2 is asked for the other tool's name alone: from CUDA 13.3 on who comes by it is
 * one of several subscribers, with calls of their own for activities and without a clock of theirs.
 */
enum { NAMELESS = 130300 };
enum { DECOMPRESSES = 26 }; /* 12.8: the first with records of the decompression engine */

static int cuda_subscribe(struct capture_thread *t)
{
    char other[64] = "";
    struct cupti_subscriber who = {sizeof who, "tomoprof", other, sizeof other};
    int code = cuda.cupti.subscribe(&cuda.subscriber, cuda_callback, NULL);
    if (code == CUPTI_MULTIPLE_SUBSCRIBERS && cuda.cupti.subscribe_v2 && cuda.version < NAMELESS)
        code = cuda.cupti.subscribe_v2(&cuda.subscriber, cuda_callback, NULL, &who);
    other[sizeof other - 1] = 0;
    if (code == CUPTI_MULTIPLE_SUBSCRIBERS)
        capture_note(t, 2, "cuda.other_tool",
                     "another profiler or debugger%s%s%s holds CUPTI in this process, so GPU work "
                     "is missing: run without it",
                     *other ? " (" : "", other, *other ? ")" : "");
    else if (code)
        capture_note(t, no_device() ? 0 : 2, "cuda.subscribe",
                     "cuptiSubscribe: %d, %s; the rest is complete", code,
                     no_device() ? no_device() : cuda_sentence(code));
    return code;
}

static void set_clock(struct capture_thread *t)
{
    int code = cuda.cupti.timestamp_callback ? cuda.cupti.timestamp_callback(trace_now) : 11;
    capture_meta(t, "cupti.clock", code ? "cupti" : "monotonic");
    if (code)
        capture_note(t, 0, "cuda.clock",
                     "CUPTI keeps its own clock (%d, %s): GPU times are converted by readings of "
                     "both once a second",
                     code, cuda_sentence(code));
    cuda_clock(t);
}

static void enable_kinds(struct capture_thread *t)
{
    static const struct {
        uint32_t kind;
        const char *call, *meaning;
    } rows[] = {
        {CUPTI_DEVICE, "cuptiActivityEnable(DEVICE)", "devices have no names and sizes"},
        {CUPTI_CONTEXT, "cuptiActivityEnable(CONTEXT)", "contexts have no devices"},
        {CUPTI_STREAM, "cuptiActivityEnable(STREAM)", "streams have no priorities"},
        {CUPTI_KERNEL, "cuptiActivityEnable(CONCURRENT_KERNEL)", "kernels are missing"},
        {CUPTI_MEMCPY, "cuptiActivityEnable(MEMCPY)", "copies are missing"},
        {CUPTI_MEMCPY_PEER, "cuptiActivityEnable(MEMCPY2)", "copies between devices are missing"},
        {CUPTI_MEMSET, "cuptiActivityEnable(MEMSET)", "memsets are missing"},
        {CUPTI_MEMORY, "cuptiActivityEnable(MEMORY2)", "device memory is missing"},
        {CUPTI_MEMORY_POOL, "cuptiActivityEnable(MEMORY_POOL)", "memory pools are missing"},
        {CUPTI_SYNC, "cuptiActivityEnable(SYNCHRONIZATION)", "waits have no streams"},
        {CUPTI_OVERHEAD, "cuptiActivityEnable(OVERHEAD)", "the profiler's own GPU time is missing"},
        {CUPTI_JIT, "cuptiActivityEnable(JIT)", "compilation at run time is missing"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cuda_check(t, cuda.cupti.enable(rows[i].kind), rows[i].call, rows[i].meaning);
    if (cuda.version >= DECOMPRESSES)
        cuda_check(t, cuda.cupti.enable(CUPTI_DECOMPRESS), "cuptiActivityEnable(MEM_DECOMPRESS)",
                   "work of the decompression engine is missing");
    if (cuda.cupti.all_syncs)
        cuda.cupti.all_syncs(0); /* frameworks ask without end whether an event has come */
}

/* Switches on what CUPTI takes only before CUDA is initialised, in which this library is called.
 * Older versions lack some of these calls. */
static void enable_details(struct capture_thread *t)
{
    if (cuda.cupti.latency && capture.config.hw_trace <= 0)
        cuda_check(t, cuda.cupti.latency(1), "cuptiActivityEnableLatencyTimestamps",
                   "how long kernels were queued is unknown");
    if (cuda.cupti.device_graphs)
        cuda_check(t, cuda.cupti.device_graphs(1), "cuptiActivityEnableDeviceGraph",
                   "graphs that the device launched are missing");
    if (capture.config.whole_graphs <= 0 ||
        !cuda_check(t, cuda.cupti.enable(CUPTI_GRAPH), "cuptiActivityEnable(GRAPH_TRACE)",
                    "graphs are recorded by their nodes"))
        return;
    capture_note(t, 0, "cuda.graphs",
                 "CUDA graphs were recorded whole (`graphs=whole`): their kernels, copies and "
                 "memsets are not in the profile");
}

static void enable_domains(struct capture_thread *t)
{
    cuda_check(t, cuda.cupti.enable_domain(1, cuda.subscriber, CUPTI_STATE),
               "cuptiEnableDomain(STATE)", "CUPTI's own troubles are not told");
    cuda_check(t, cuda.cupti.enable_domain(1, cuda.subscriber, CUPTI_RESOURCE),
               "cuptiEnableDomain(RESOURCE)", "device code and graph nodes are missing");
    if (cuda.cupti.thread_id_type)
        cuda_check(t, cuda.cupti.thread_id_type(CUPTI_THREAD_ID_SYSTEM), "cuptiSetThreadIdType",
                   "compilations have no thread");
}

/* Refusals are noted, and the target goes on. */
static void cuda_attach(struct capture_thread *t)
{
    char text[24];
    if (devices_hidden(t) || cuda_load(t, &cuda.cupti))
        return;
    int code = cuda.cupti.version(&cuda.version);
    snprintf(text, sizeof text, "%u", cuda.version);
    capture_meta(t, "cupti.version", text);
    if (code || cuda.version < 18) { /* 12.0 */
        capture_note(t, 2, "cuda.version",
                     "CUPTI's API version is %u, older than CUDA 12.0 (18): GPU work is missing",
                     cuda.version);
        return;
    }
    if (cuda.version == 130000)
        capture_note(t, 1, "cuda.version",
                     "CUDA 13.0 before update 1: CUPTI leaves device synchronisations out");
    if (cuda_subscribe(t))
        return;
    cuda.on = 1;
    cuda.pid = getpid();
    enable_domains(t);
    cuda_samples_prepare(t);
    cuda_at_exit(); /* and again after cuInit */
    enable_details(t);
    set_clock(t);
    int why = cuda_buffers_open();
    code = why ? 8 : cuda.cupti.register_buffers(cuda_request, cuda_complete);
    if (cuda_check(t, code, "cuptiActivityRegisterCallbacks", "all GPU activities are missing"))
        enable_kinds(t);
    cuda_calls_enable(t);
    why = cuda_flush_start();
    if (why)
        capture_note(t, 1, "cuda.thread", "no thread to flush CUPTI (%s): records come late",
                     raw_error_text(why));
}

void cuda_initialize(void)
{
    static int once; /* atomic */
    if (!(capture.config.modes & CAPTURE_CUDA) || __atomic_exchange_n(&once, 1, __ATOMIC_ACQ_REL))
        return;
    int saved = errno;
    uint64_t now = trace_now();
    struct capture_thread *t = capture_enter();
    one_thread_end(); /* the library's threads call CUPTI, which allocates */
    if (t) {
        cuda_attach(t);
        capture_leave(t, TRACE_PART_CUDA, now);
    }
    errno = saved;
}

static int cuda_start(void)
{
    const char *injection = getenv("CUDA_INJECTION64_PATH");
    struct capture_thread *t = capture_self();
    const char *ours = strrchr(capture.config.library, '/');
    ours = ours ? ours : capture.config.library;
    if (t && injection && *injection && !strstr(injection, ours))
        capture_note(t, 1, "cuda.other_tool",
                     "CUDA_INJECTION64_PATH names another tool (%.300s), which keeps the GPU: its "
                     "work is missing here",
                     injection);
    return 0;
}

static void cuda_tick(struct capture_thread *ours)
{
    if (cuda.on)
        cuda_flush_watch(ours);
}

/* CUDA cannot be used in a child of a process that initialised it; one that did not may start. */
static void cuda_fork_child(void)
{
    cuda.on = 0;
    cuda_samples_abandon();
    cuda_buffers_abandon();
    cuda_flush_abandon();
}

const struct recorder cuda_recorder = {
    .name = "cuda",
    .modes = CAPTURE_CUDA,
    .start = cuda_start,
    .tick = cuda_tick,
    .fork_child = cuda_fork_child,
    .stop = cuda_stop,
};
