/* Device records that are only counted and added up by their kind: overheads, page faults,
 * synchronisations. */
#include <stdio.h>

#include "profiler/analyze/gpu/clock.h"
#include "profiler/analyze/gpu/gpu.h"

const char *const gpu_directions[] = {"h2d", "d2h",        "d2d",   "p2p",
                                      "h2h", "decompress", "other", NULL};
const char *const gpu_memories[] = {"unknown", "pageable",      "pinned",         "device", "array",
                                    "managed", "device_static", "managed_static", NULL};

int gpu_times(struct image *im, const struct gpu *g, uint64_t start, uint64_t end, uint64_t *from,
              uint64_t *to)
{
    struct quality_count *q = &im->run->q;
    if (!start && !end) {
        q->zero_times++;
        return 0;
    }
    uint64_t a = clock_of(g, start), b = clock_of(g, end), origin = im->run->origin;
    if (image_left_out(im, a))
        return 0;
    if (end < start || b < a || a < origin || b - origin > 1ull << 53) {
        q->bad_values++;
        return 0;
    }
    im->last = im->last > b ? im->last : b;
    *from = a - origin;
    *to = b - origin;
    return 1;
}

static const char *kind_name(struct run *r, const char *const *names, size_t n, uint32_t i)
{
    char text[32];
    if (i < n && names[i])
        return names[i];
    snprintf(text, sizeof text, "kind %u", i);
    return run_text(r, text);
}

static enum err count_kind(struct image *im, const struct gpu *g, struct counters *list,
                           const char *name, uint64_t value, uint64_t start, uint64_t end)
{
    struct counter *t = counter_of(list, NULL, name, 0, 0, 0, 0);
    FAIL_IF(!t, ERR_MEMORY, "no memory for the analysis");
    uint64_t from, to;
    t->value += value < 1ull << 53 ? (double)value : 0;
    if (gpu_times(im, g, start, end, &from, &to))
        return dist_add(&t->time, to - from);
    return dist_add(&t->time, 0);
}

/* CUpti_ActivityOverheadKind: 1 is the compiler, all further ones are n << 16. */
enum err gpu_overhead(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_gpu_overhead *o = (const void *)item->record;
    static const char *const names[] = {"unknown",
                                        "CUPTI buffer flush",
                                        "CUPTI instrumentation",
                                        "CUPTI resource",
                                        "runtime-triggered module load",
                                        "lazy function load",
                                        "command buffer full",
                                        "activity buffer request",
                                        "unified memory start"};
    static const char *const jit[] = {"JIT", "JIT cache load", "JIT cache store", "JIT compile"};
    const char *name = o->kind == 1
                           ? "driver compiler"
                           : kind_name(im->run, names, sizeof names / sizeof *names, o->kind >> 16);
    if (o->kind & TRACE_OVERHEAD_JIT)
        name = jit[(o->kind & 0xff) < 4 ? o->kind & 0xff : 0];
    TRY(clock_need(im, state));
    return count_kind(im, state, &im->run->gpu.overheads, name, 0, o->start, o->end);
}

enum err gpu_fault(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_gpu_fault *f = (const void *)item->record;
    static const char *const names[] = {
        "unknown",         "bytes host to device", "bytes device to host",
        "CPU page faults", "GPU page faults",      "thrashing",
        "throttling",      "remote map",           "bytes device to device"};
    return count_kind(im, state, &im->run->gpu.faults,
                      kind_name(im->run, names, sizeof names / sizeof *names, f->kind),
                      f->kind == 3 ? 1 : f->value, f->start, f->end);
}

enum err gpu_sync(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_gpu_sync *s = (const void *)item->record;
    static const char *const names[] = {"unknown", "event", "stream waits for event", "stream",
                                        "context"};
    TRY(clock_need(im, state));
    return count_kind(im, state, &im->run->gpu.syncs,
                      kind_name(im->run, names, sizeof names / sizeof *names, s->type), 0, s->start,
                      s->end);
}
