/* CUPTI's activity records to ours: one function per kind. */
#include <stdio.h>
#include <string.h>

#include "profiler/capture/raw/safe_read.h"
#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders/cuda/call_state.h"
#include "profiler/capture/recorders/cuda/cupti_records.h"
#include "profiler/capture/recorders/cuda/cupti_records_graph.h"

/* Kernel names by their address. CUPTI shares one copy between the records of a kernel, but when it
 * goes is not written anywhere: after a module was unloaded an address is read again, and what
 * is there counts only if a launch has had this name. Otherwise the name is the one that the
 * address had, or left out: the call that launched the kernel has it too. */
enum { NAMES = 4096, NAME_MAX_BYTES = 8192 };
static struct name {
    const char *at;
    uint32_t unloads;
    uint64_t id;
} names[NAMES];
static char name_text[NAME_MAX_BYTES]; /* under the pool's lock, as all here */

/* Length of the text at an address that may be gone; 0 when it is none. */
static size_t read_name(const char *at)
{
    size_t n = 0;
    while (n < sizeof name_text) {
        size_t wish = 256 < sizeof name_text - n ? 256 : sizeof name_text - n;
        size_t got = safe_read_some((uintptr_t)at + n, name_text + n, wish);
        size_t end = n + strnlen(name_text + n, got);
        n += got;
        if (end < n)
            return end;
        if (got < wish)
            return 0;
    }
    return n;
}

static uint64_t name_id(struct capture_thread *t, const char *at, uint32_t graph)
{
    if (!at)
        return 0;
    struct name *n = names + ((uintptr_t)at * 0x9e3779b97f4a7c15u >> 52) % NAMES;
    uint32_t unloads = cuda.unloads;
    if (n->at == at && n->unloads == unloads)
        return n->id;
    size_t bytes = read_name(at);
    uint64_t id = bytes ? trace_hash(name_text, bytes, 0) : 0;
    /* Nodes of graphs may come without any launch that names them. */
    if (id && (!unloads || graph || cuda_symbol_known(id)))
        capture_text(t, name_text, bytes);
    else
        id = n->at == at ? n->id : 0;
    *n = (struct name){at, unloads, id};
    return id;
}

/* Every record that says when it ran; one without times is kept and counted. */
static void decode_put(struct capture_thread *t, struct trace_record *r, size_t bytes,
                       uint64_t start, uint64_t end)
{
    if (!start && !end)
        trace_lost(&capture.writer, TRACE_LOST_GPU_ZERO, 1);
    trace_put(&t->stream, r, bytes, NULL, 0);
}

static void decode_kernel(struct capture_thread *t, const void *record)
{
    const struct cupti_kernel *k = record;
    struct trace_kernel r = {
        .r.kind = TRACE_KERNEL,
        .start = k->start,
        .end = k->end,
        .queued = k->queued,
        .submitted = k->submitted,
        .name = name_id(t, k->name, k->graph),
        .graph_node = k->graph_node,
        .correlation = k->correlation,
        .device = k->device,
        .context = k->context,
        .stream = k->stream,
        .graph = k->graph,
        .registers = k->registers,
        .static_shared = (uint32_t)k->static_shared,
        .dynamic_shared = (uint32_t)k->dynamic_shared,
        .shared_executed = k->shared_executed,
        .local_bytes = k->local_total_64 ? k->local_total_64 : k->local_total,
        .launch_type = k->launch_type,
    };
    memcpy(r.grid, k->grid, sizeof r.grid);
    memcpy(r.block, k->block, sizeof r.block);
    memcpy(r.cluster, k->cluster, sizeof r.cluster);
    if (!k->graph)
        __atomic_sub_fetch(&cuda.unanswered, 1, __ATOMIC_RELAXED);
    decode_put(t, &r.r, sizeof r, k->start, k->end);
}

/* A whole graph counts as one kernel, without a launch configuration. */
static void put_graph(struct capture_thread *t, struct trace_kernel *r, uint32_t launcher)
{
    char name[64];
    int n = snprintf(name, sizeof name,
                     launcher ? "CUDA graph %u, launched by graph %u" : "CUDA graph %u", r->graph,
                     launcher);
    r->r.kind = TRACE_KERNEL;
    r->name = capture_text(t, name, (size_t)n);
    r->launch_type = TRACE_LAUNCH_GRAPH;
    decode_put(t, &r->r, sizeof *r, r->start, r->end);
}

static void decode_graph(struct capture_thread *t, const void *record)
{
    const struct cupti_graph_run *g = record;
    struct trace_kernel r = {.start = g->start,
                             .end = g->end,
                             .correlation = g->correlation,
                             .device = g->device,
                             .context = g->context,
                             .stream = g->stream,
                             .graph = g->graph};
    put_graph(t, &r, 0);
}

static void decode_device_graph(struct capture_thread *t, const void *record)
{
    const struct cupti_device_graph_run *g = record;
    struct trace_kernel r = {.start = g->start,
                             .end = g->end,
                             .device = g->device,
                             .context = g->context,
                             .stream = (uint32_t)g->stream,
                             .graph = g->graph};
    put_graph(t, &r, g->launcher);
}

static void decode_decompress(struct capture_thread *t, const void *record)
{
    const struct cupti_decompress *d = record;
    struct trace_gpu_copy r = {.r.kind = TRACE_GPU_COPY,
                               .start = d->start,
                               .end = d->end,
                               .bytes = d->bytes,
                               .correlation = d->correlation,
                               .device = d->device,
                               .context = d->context,
                               .stream = d->stream,
                               .kind = TRACE_COPY_DECOMPRESS,
                               .from = TRACE_MEMORY_DEVICE,
                               .to = TRACE_MEMORY_DEVICE,
                               .asynchronous = 1,
                               .copies = d->operations,
                               .peer_device = d->device};
    decode_put(t, &r.r, sizeof r, d->start, d->end);
}

static void decode_copy(struct capture_thread *t, const void *record)
{
    const struct cupti_memcpy *m = record;
    struct trace_gpu_copy r = {.r.kind = TRACE_GPU_COPY,
                               .start = m->start,
                               .end = m->end,
                               .bytes = m->bytes,
                               .graph_node = m->graph_node,
                               .correlation =
                                   m->correlation ? m->correlation : m->runtime_correlation,
                               .device = m->device,
                               .context = m->context,
                               .stream = m->stream,
                               .graph = m->graph,
                               .kind = m->copy_kind,
                               .from = m->from,
                               .to = m->to,
                               .asynchronous = m->flags & 1,
                               .copies = (uint32_t)(m->copies ? m->copies : 1),
                               .peer_device = m->device};
    decode_put(t, &r.r, sizeof r, m->start, m->end);
}

static void decode_peer_copy(struct capture_thread *t, const void *record)
{
    const struct cupti_memcpy_peer *m = record;
    struct trace_gpu_copy r = {.r.kind = TRACE_GPU_COPY,
                               .start = m->start,
                               .end = m->end,
                               .bytes = m->bytes,
                               .graph_node = m->graph_node,
                               .correlation = m->correlation,
                               .device = m->device,
                               .context = m->context,
                               .stream = m->stream,
                               .graph = m->graph,
                               .kind = m->copy_kind ? m->copy_kind : TRACE_COPY_PTOP,
                               .from = m->from,
                               .to = m->to,
                               .asynchronous = m->flags & 1,
                               .copies = 1,
                               .peer_device = m->to_device};
    decode_put(t, &r.r, sizeof r, m->start, m->end);
}

static void decode_set(struct capture_thread *t, const void *record)
{
    const struct cupti_memset *m = record;
    struct trace_gpu_set r = {.r.kind = TRACE_GPU_SET,
                              .start = m->start,
                              .end = m->end,
                              .bytes = m->bytes,
                              .graph_node = m->graph_node,
                              .correlation = m->correlation,
                              .device = m->device,
                              .context = m->context,
                              .stream = m->stream,
                              .graph = m->graph,
                              .memory_kind = m->memory_kind};
    decode_put(t, &r.r, sizeof r, m->start, m->end);
}

static void decode_memory(struct capture_thread *t, const void *record)
{
    const struct cupti_memory *m = record;
    struct trace_gpu_memory r = {.r.kind = TRACE_GPU_MEMORY,
                                 .at = m->timestamp,
                                 .address = m->address,
                                 .bytes = m->bytes,
                                 .pool = m->pool,
                                 .pool_reserved = m->pool_type == 1 ? m->pool_size : 0, /* local */
                                 .pool_used = m->pool_used,
                                 .correlation = m->correlation,
                                 .device = m->device,
                                 .context = m->context,
                                 .stream = m->stream,
                                 .operation = m->operation,
                                 .memory_kind = m->memory_kind};
    decode_put(t, &r.r, sizeof r, m->timestamp, m->timestamp);
}

static void decode_memory_pool(struct capture_thread *t, const void *record)
{
    const struct cupti_memory_pool *m = record;
    struct trace_gpu_memory r = {.r.kind = TRACE_GPU_MEMORY,
                                 .at = m->timestamp,
                                 .pool = m->address,
                                 .pool_reserved = m->size,
                                 .pool_used = m->used,
                                 .correlation = m->correlation,
                                 .device = m->device,
                                 .operation = m->operation + 2, /* 3 created, 4 destroyed, 5 .. */
                                 .memory_kind = TRACE_MEMORY_DEVICE};
    decode_put(t, &r.r, sizeof r, m->timestamp, m->timestamp);
}

static void decode_device(struct capture_thread *t, const void *record)
{
    const struct cupti_device *d = record;
    char name[256] = "";
    size_t n = d->name ? strnlen(name, safe_read_some((uintptr_t)d->name, name, sizeof name)) : 0;
    struct trace_device r = {.r.kind = TRACE_DEVICE,
                             .memory_bytes = d->memory,
                             .memory_bandwidth_kb_s = d->bandwidth,
                             .id = d->id,
                             .major = d->major,
                             .minor = d->minor,
                             .multiprocessors = d->multiprocessors,
                             .clock_khz = d->clock,
                             .threads_per_sm = d->warps_per_sm * d->warp,
                             .blocks_per_sm = d->blocks_per_sm,
                             .registers_per_sm = d->registers_per_sm,
                             .shared_per_sm = d->shared_per_sm,
                             .shared_per_block = d->shared_per_block,
                             .warp = d->warp,
                             .name_bytes = (uint32_t)n};
    memcpy(r.uuid, d->uuid, sizeof r.uuid);
    trace_put(&t->stream, &r.r, sizeof r, name, n); /* name is CUPTI's malloc: 40 bytes, left */
}

static void decode_context(struct capture_thread *t, const void *record)
{
    const struct cupti_context *c = record;
    struct trace_context r = {
        .r.kind = TRACE_CONTEXT, .id = c->id, .device = c->device, .null_stream = c->null_stream};
    trace_put(&t->stream, &r.r, sizeof r, NULL, 0);
}

static void decode_stream(struct capture_thread *t, const void *record)
{
    const struct cupti_stream *s = record;
    struct trace_gpu_stream r = {.r.kind = TRACE_GPU_STREAM,
                                 .id = s->id,
                                 .context = s->context,
                                 .priority = s->priority,
                                 .flags = s->flags};
    trace_put(&t->stream, &r.r, sizeof r, NULL, 0);
}

static void decode_synchronisation(struct capture_thread *t, const void *record)
{
    const struct cupti_sync *s = record;
    struct trace_gpu_sync r = {.r.kind = TRACE_GPU_SYNC,
                               .start = s->start,
                               .end = s->end,
                               .correlation = s->correlation,
                               .context = s->context,
                               .stream = s->stream,
                               .type = s->type};
    decode_put(t, &r.r, sizeof r, s->start, s->end);
}

/* The data of a full command buffer is CUPTI's malloc and the client's to free; a million launches
 * may each wait for that buffer. */
static void decode_overhead(struct capture_thread *t, const void *record)
{
    static void *libc_free;
    const struct cupti_overhead *o = record;
    struct trace_gpu_overhead r = {.r.kind = TRACE_GPU_OVERHEAD,
                                   .start = o->start,
                                   .end = o->end,
                                   .kind = o->overhead,
                                   .correlation = o->correlation};
    decode_put(t, &r.r, sizeof r, o->start, o->end);
    if (o->overhead == CUPTI_COMMAND_BUFFER_FULL && o->data)
        ((void (*)(void *))raw_next(&libc_free, "free"))(o->data);
}

static void decode_jit(struct capture_thread *t, const void *record)
{
    const struct cupti_jit *j = record;
    struct trace_gpu_overhead r = {.r.kind = TRACE_GPU_OVERHEAD,
                                   .start = j->start,
                                   .end = j->end,
                                   .kind = TRACE_OVERHEAD_JIT | (j->entry & 255) << 8 |
                                           (j->operation & 255),
                                   .correlation = j->correlation};
    decode_put(t, &r.r, sizeof r, j->start, j->end);
}

static void decode_fault(struct capture_thread *t, const void *record)
{
    const struct cupti_unified_memory *u = record;
    struct trace_gpu_fault r = {.r.kind = TRACE_GPU_FAULT,
                                .start = u->start,
                                .end = u->end,
                                .value = u->value,
                                .address = u->address,
                                .kind = u->counter,
                                .from = u->from,
                                .to = u->to,
                                .process = u->process};
    decode_put(t, &r.r, sizeof r, u->start, u->end);
}

static const struct activity_kind {
    void (*decode)(struct capture_thread *t, const void *record);
    size_t bytes;
} kinds[] = {
    [CUPTI_KERNEL] = {decode_kernel, sizeof(struct cupti_kernel)},
    [CUPTI_SERIAL_KERNEL] = {decode_kernel, sizeof(struct cupti_kernel)},
    [CUPTI_MEMCPY] = {decode_copy, sizeof(struct cupti_memcpy)},
    [CUPTI_MEMCPY_PEER] = {decode_peer_copy, sizeof(struct cupti_memcpy_peer)},
    [CUPTI_MEMSET] = {decode_set, sizeof(struct cupti_memset)},
    [CUPTI_MEMORY] = {decode_memory, sizeof(struct cupti_memory)},
    [CUPTI_MEMORY_POOL] = {decode_memory_pool, sizeof(struct cupti_memory_pool)},
    [CUPTI_DEVICE] = {decode_device, sizeof(struct cupti_device)},
    [CUPTI_CONTEXT] = {decode_context, sizeof(struct cupti_context)},
    [CUPTI_STREAM] = {decode_stream, sizeof(struct cupti_stream)},
    [CUPTI_SYNC] = {decode_synchronisation, sizeof(struct cupti_sync)},
    [CUPTI_OVERHEAD] = {decode_overhead, sizeof(struct cupti_overhead)},
    [CUPTI_JIT] = {decode_jit, sizeof(struct cupti_jit)},
    [CUPTI_UNIFIED_MEMORY] = {decode_fault, sizeof(struct cupti_unified_memory)},
    [CUPTI_GRAPH] = {decode_graph, sizeof(struct cupti_graph_run)},
    [CUPTI_DEVICE_GRAPH] = {decode_device_graph, sizeof(struct cupti_device_graph_run)},
    [CUPTI_DECOMPRESS] = {decode_decompress, sizeof(struct cupti_decompress)},
};

_Static_assert(sizeof(struct cupti_kernel) >= sizeof(struct cupti_device), "the longest");

void cuda_decode(struct capture_thread *t, uint8_t *buffer, size_t bytes)
{
    uint8_t *record = NULL, *next = NULL;
    int code = bytes ? cuda.cupti.next(buffer, bytes, &record) : CUPTI_MAX_LIMIT;
    for (; !code; record = next) {
        next = record;
        code = cuda.cupti.next(buffer, bytes, &next);
        /* CUPTI alone knows how long a record is; where the next one begins bounds what may be
         * read of a struct that is shorter than ours. */
        const uint8_t *end = code ? buffer + bytes : next;
        if (record < buffer || end <= record + sizeof(uint32_t))
            break;
        uint32_t id;
        memcpy(&id, record, sizeof id);
        const struct activity_kind *k = id < sizeof kinds / sizeof *kinds ? kinds + id : kinds;
        if (!k->decode) {
            trace_lost(&capture.writer, TRACE_LOST_GPU_UNKNOWN, 1);
            continue;
        }
        _Alignas(8) char copied[sizeof(struct cupti_kernel)] = {0};
        size_t n = (size_t)(end - record);
        memcpy(copied, record, n < k->bytes ? n : k->bytes);
        k->decode(t, copied);
    }
    if (code && code != CUPTI_MAX_LIMIT) { /* what follows in this buffer cannot be read */
        trace_lost(&capture.writer, TRACE_LOST_GPU_UNKNOWN, 1);
        cuda_check(t, code, "cuptiActivityGetNextRecord", "GPU records are missing");
    }
}
