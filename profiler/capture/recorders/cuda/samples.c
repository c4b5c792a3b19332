/* Samples inside kernels (`record --kernel-lines`): CUPTI's PC sampling in continuous mode, which
 * leaves kernels concurrent. The hardware notes at which instruction a warp stands and why it does
 * not go on; a thread of CUPTI's adds these up by instruction, and ours fetches the sums once a
 * second, before a context goes, and at the end.
 *
 * CUPTI's default keeps 512 MB of device memory for the hardware's notes; here it is 32 MB a
 * context. Device code is told apart by the hash that also names the saved files: CUPTI's own sum
 * looks at 25 bytes. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders/cuda/cuda.h"
#include "profiler/trace/stalls.h"

#define MEANING "the lines inside kernels are not known"
enum { CONTEXTS = 8, REASONS = 96, INSTRUCTIONS = 4096 };
static const size_t HARDWARE_BYTES = 32u << 20, SCRATCH_BYTES = 4u << 20;

struct sampled_buffer {
    struct cupti_pc_data data;
    struct cupti_pc pc[INSTRUCTIONS];
    struct cupti_stall stall[]; /* `reasons` for each */
};
static struct sampled_context {
    void *context;              /* NULL: free */
    struct sampled_buffer *now; /* for each call; */
    struct sampled_buffer *end; /* CUPTI writes what is left when sampling ends */
    size_t reasons, bytes;      /* reasons that are collected; bytes of both buffers */
    uint32_t number[REASONS];   /* of CUPTI, and ours: enum trace_stall */
    uint8_t reason[REASONS];
} sampled[CONTEXTS];
static int sampling; /* the calls are there and the program asked for it */
static int in_use;   /* atomic: a thread is in this file */
static char names[REASONS][CUPTI_REASON_BYTES]; /* while in_use */

static void samples_crc(const void *cubin, size_t bytes, uint64_t *crc)
{
    *crc = trace_hash(cubin, bytes, 0);
}

/* In cuInit, before any context is. */
void cuda_samples_prepare(struct capture_thread *t)
{
    const struct cupti *c = &cuda.cupti;
    if (capture.config.kernel_lines <= 0)
        return;
    const int has = c->sampling_enable && c->sampling_disable && c->sampling_configure &&
                    c->sampling_get && c->sampling_count && c->sampling_reasons && c->sampling_crc;
    if (!has) {
        capture_note(t, 1, "cuda.kernel_lines", "this CUPTI cannot sample inside kernels: %s",
                     MEANING);
        return;
    }
    sampling =
        cuda_check(t, c->sampling_crc(samples_crc), "cuptiRegisterComputeCrcCallback", MEANING);
}

/* Only one thread at a time; waits for it so many milliseconds. CUPTI does not wait for the device
 * in the calls that are made meanwhile. */
static int samples_enter(int patience_ms)
{
    for (int i = 0; __atomic_exchange_n(&in_use, 1, __ATOMIC_ACQUIRE); i++) {
        if (i >= patience_ms)
            return 0;
        raw_sleep(1000000);
    }
    return 1;
}

static void samples_leave(void)
{
    __atomic_store_n(&in_use, 0, __ATOMIC_RELEASE);
}

static void buffer_prepare(struct sampled_buffer *b, size_t reasons)
{
    b->data = (struct cupti_pc_data){.bytes = sizeof b->data, .room = INSTRUCTIONS, .pc = b->pc};
    for (size_t i = 0; i < INSTRUCTIONS; i++)
        b->pc[i] = (struct cupti_pc){.bytes = sizeof *b->pc, .stall = b->stall + i * reasons};
}

/* Asks which reasons there are, and keeps those of all samples: each has a second one for the part
 * of its samples in which no other warp could go on either. Returns 0 or CUPTI's code. */
static int samples_reasons(struct sampled_context *s, uint32_t wanted[REASONS])
{
    static uint32_t index[REASONS];
    static char *name[REASONS];
    size_t n = 0;
    int code = cuda.cupti.sampling_count(
        &(struct cupti_sampling_count){sizeof(struct cupti_sampling_count), NULL, s->context, &n});
    if (code)
        return code;
    n = n < REASONS ? n : REASONS;
    for (size_t i = 0; i < n; i++)
        name[i] = names[i];
    code = cuda.cupti.sampling_reasons(&(struct cupti_sampling_reasons){
        sizeof(struct cupti_sampling_reasons), NULL, s->context, n, index, name});
    static const char begin[] = "smsp__pcsamp_warps_issue_stalled_", part[] = "_not_issued";
    s->reasons = 0;
    for (size_t i = 0; i < n && !code; i++) {
        names[i][CUPTI_REASON_BYTES - 1] = 0;
        const size_t length = strlen(names[i]);
        if (length >= sizeof part && !strcmp(names[i] + length + 1 - sizeof part, part))
            continue;
        const char *plain =
            strncmp(names[i], begin, sizeof begin - 1) ? names[i] : names[i] + sizeof begin - 1;
        s->reason[s->reasons] = (uint8_t)trace_stall_of(plain);
        s->number[s->reasons] = index[i];
        wanted[s->reasons++] = index[i];
    }
    return code;
}

static int samples_map(struct sampled_context *s)
{
    const size_t one = sizeof(struct sampled_buffer) +
                       INSTRUCTIONS * (s->reasons ? s->reasons : 1) * sizeof(struct cupti_stall);
    s->bytes = 2 * ((one + 4095) & ~(size_t)4095);
    uint8_t *at = raw_map(s->bytes, MAP_NORESERVE);
    if (!at)
        return 8;
    capture_count_memory((int64_t)s->bytes);
    s->now = (void *)at;
    s->end = (void *)(at + s->bytes / 2);
    buffer_prepare(s->now, s->reasons);
    buffer_prepare(s->end, s->reasons);
    return 0;
}

static int samples_configure(struct sampled_context *s, uint32_t wanted[REASONS])
{
    struct cupti_sampling_attribute rows[] = {
        {.type = CUPTI_SAMPLING_MODE, .number = CUPTI_CONTINUOUS},
        {.type = CUPTI_SAMPLING_REASONS, .reasons = {s->reasons, wanted}},
        {.type = CUPTI_SAMPLING_SCRATCH, .size = SCRATCH_BYTES},
        {.type = CUPTI_SAMPLING_HARDWARE, .size = HARDWARE_BYTES},
        {.type = CUPTI_SAMPLING_START_STOP, .number = 0},
        {.type = CUPTI_SAMPLING_FORMAT, .number = CUPTI_PARSED},
        {.type = CUPTI_SAMPLING_BUFFER, .buffer = &s->end->data}};
    return cuda.cupti.sampling_configure(
        &(struct cupti_sampling_configure){sizeof(struct cupti_sampling_configure), NULL,
                                           s->context, sizeof rows / sizeof *rows, rows});
}

static void samples_forget(struct sampled_context *s)
{
    if (s->now) {
        raw_unmap(s->now, s->bytes);
        capture_count_memory(-(int64_t)s->bytes);
    }
    *s = (struct sampled_context){0};
}

/* A refusal names its call; what was switched on is switched off again. */
static void samples_begin(struct capture_thread *t, struct sampled_context *s)
{
    struct cupti_sampling_call call = {sizeof call, NULL, s->context};
    uint32_t wanted[REASONS];
    if (!cuda_check(t, cuda.cupti.sampling_enable(&call), "cuptiPCSamplingEnable", MEANING)) {
        *s = (struct sampled_context){0};
        return;
    }
    if (cuda_check(t, samples_reasons(s, wanted), "cuptiPCSamplingGetStallReasons", MEANING) &&
        cuda_check(t, samples_map(s), "cuptiPCSamplingSetConfigurationAttribute", MEANING) &&
        cuda_check(t, samples_configure(s, wanted), "cuptiPCSamplingSetConfigurationAttribute",
                   MEANING))
        return;
    cuda.cupti.sampling_disable(&call);
    samples_forget(s);
}

void cuda_samples_context(struct capture_thread *t, void *context)
{
    if (!sampling || !samples_enter(1000))
        return;
    size_t i = 0;
    while (i < CONTEXTS && sampled[i].context && sampled[i].context != context)
        i++;
    if (i == CONTEXTS) {
        capture_note(t, 1, "cuda.kernel_lines", "more than %d CUDA contexts: in some of them %s",
                     CONTEXTS, MEANING);
    } else if (!sampled[i].context) {
        sampled[i].context = context;
        samples_begin(t, &sampled[i]);
    }
    samples_leave();
}

static uint32_t samples_reason(const struct sampled_context *s, uint32_t number)
{
    for (size_t i = 0; i < s->reasons; i++)
        if (s->number[i] == number)
            return s->reason[i];
    return TRACE_STALL_OTHER;
}

static void samples_put(struct capture_thread *t, const struct sampled_context *s,
                        const struct cupti_pc *pc)
{
    struct trace_stall_count tail[TRACE_STALLS] = {{0}};
    struct trace_gpu_samples r = {
        .r.kind = TRACE_GPU_SAMPLES, .cubin = pc->crc, .offset = pc->offset};
    for (size_t i = 0; i < pc->stalls && i < s->reasons; i++) {
        const uint32_t why = samples_reason(s, pc->stall[i].reason);
        uint32_t at = 0;
        while (at < r.stalls && tail[at].reason != why)
            at++;
        if (!pc->stall[i].samples)
            continue;
        r.stalls += at == r.stalls;
        tail[at].reason = why;
        tail[at].samples += pc->stall[i].samples;
    }
    if (!r.stalls)
        return;
    if (pc->function)
        r.name = capture_text(t, pc->function, strlen(pc->function));
    trace_put(&t->stream, &r.r, sizeof r, tail, r.stalls * sizeof *tail);
}

static void samples_write(struct capture_thread *t, const struct sampled_context *s,
                          struct sampled_buffer *b)
{
    for (size_t i = 0; i < b->data.count && i < INSTRUCTIONS; i++)
        samples_put(t, s, &b->pc[i]);
    if (b->data.dropped)
        trace_lost(&capture.writer, TRACE_LOST_GPU_SAMPLES, b->data.dropped);
    if (b->data.full)
        capture_note(t, 1, "cuda.kernel_lines",
                     "the hardware's buffer of samples was full for a time: samples inside kernels "
                     "are missing");
    b->data.count = b->data.dropped = b->data.full = 0;
}

static void samples_fetch(struct capture_thread *t, struct sampled_context *s)
{
    struct cupti_sampling_get call = {sizeof call, NULL, s->context, &s->now->data};
    for (int turn = 0; turn < 64; turn++) { /* 262,144 instructions: more wait for the next time */
        s->now->data.remaining = 0;
        const int code = cuda.cupti.sampling_get(&call);
        samples_write(t, s, s->now);
        if (!cuda_check(t, code, "cuptiPCSamplingGetData",
                        "samples inside kernels of this moment are missing") ||
            !s->now->data.remaining)
            return;
    }
}

void cuda_samples_take(struct capture_thread *t)
{
    if (!sampling || !samples_enter(0))
        return;
    for (size_t i = 0; i < CONTEXTS; i++)
        if (sampled[i].context)
            samples_fetch(t, &sampled[i]);
    samples_leave();
}

/* In a forked child, where CUPTI may not be called. */
void cuda_samples_abandon(void)
{
    sampling = in_use = 0;
}

void cuda_samples_end(struct capture_thread *t, const void *context)
{
    if (!sampling || !samples_enter(1000))
        return;
    for (size_t i = 0; i < CONTEXTS; i++) {
        struct sampled_context *s = &sampled[i];
        if (!s->context || (context && s->context != context))
            continue;
        samples_fetch(t, s);
        struct cupti_sampling_call call = {sizeof call, NULL, s->context};
        if (cuda_check(t, cuda.cupti.sampling_disable(&call), "cuptiPCSamplingDisable",
                       "the last samples inside kernels are missing"))
            samples_write(t, s, s->end);
        else
            s->now = NULL; /* CUPTI may still write into it */
        samples_forget(s);
    }
    samples_leave();
}
