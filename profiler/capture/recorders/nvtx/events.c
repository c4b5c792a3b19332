/* NVTX's functions. Texts are copied during the call: the target may free them after it. Without an
 * earlier tool a handle of a domain or registered string is the id of its text. */
#include <stdio.h>
#include <string.h>

#include "profiler/capture/core/asleep.h"
#include "profiler/capture/core/stack.h"
#include "profiler/capture/recorders/cuda/cuda.h"
#include "profiler/capture/recorders/nvtx/nvtx.h"

#define CALLER __builtin_return_address(0)
/* Calls the earlier tool's function of this slot, if there is one: ELSE is the result without. */
#define NEXT(module, slot, type, arguments, otherwise)                                             \
    (nvtx_previous[module][slot] ? ((type)(void *)nvtx_previous[module][slot])arguments            \
                                 : (otherwise))

nvtx_function *nvtx_previous[NVTX_MODULES][NVTX_SLOTS];

static void range_payload(struct trace_range *r, const struct nvtx_event *e)
{
    static const uint8_t kinds[] = {0,
                                    TRACE_PAYLOAD_U64,
                                    TRACE_PAYLOAD_I64,
                                    TRACE_PAYLOAD_F64,
                                    TRACE_PAYLOAD_U64,
                                    TRACE_PAYLOAD_I64,
                                    TRACE_PAYLOAD_F64};
    if (e->payload_type < 1 || e->payload_type > 6) /* extensions: a pointer to their own data */
        return;
    uint32_t low = (uint32_t)e->payload;
    float f;
    double d;
    r->payload_kind = kinds[e->payload_type];
    r->payload = e->payload;
    if (e->payload_type == 4) {
        r->payload = low;
    } else if (e->payload_type == 5) {
        r->payload = (uint64_t)(int64_t)(int32_t)low;
    } else if (e->payload_type == 6) {
        memcpy(&f, &low, sizeof f);
        d = (double)f;
        memcpy(&r->payload, &d, sizeof d);
    }
}

/* Data of a call; `event` or a plain text. */
struct nvtx_annotation {
    const void *domain, *caller;
    const struct nvtx_event *event;
    const char *ascii;
    const wchar_t *wide;
    uint64_t handle, text;
    const char *domain_name; /* of regions; NULL: `domain` */
};

static void range_record(enum trace_range_op op, const struct nvtx_annotation *s)
{
    uint64_t now = trace_now();
    struct capture_thread *t = capture_enter();
    if (!t)
        return;
    struct trace_range r = {.r = {.kind = TRACE_RANGE, .time_ns = now},
                            .domain = nvtx_text_of(s->domain),
                            .message = s->text,
                            .handle = s->handle,
                            .op = op,
                            .tid = t->tid};
    if (s->domain_name)
        r.domain = nvtx_ascii(t, s->domain_name);
    if (s->ascii)
        r.message = nvtx_ascii(t, s->ascii);
    if (s->wide)
        r.message = nvtx_wide(t, s->wide);
    if (s->event) {
        r.message = nvtx_message_text(t, s->event->message_type, s->event->message);
        r.category = s->event->category;
        r.color = s->event->color_type == 1 ? s->event->color : 0; /* ARGB */
        range_payload(&r, s->event);
    }
    if (op != TRACE_POP && op != TRACE_STOP)
        r.stack = capture_stack(t, NULL, s->caller);
    trace_put(&t->stream, &r.r, sizeof r, NULL, 0);
    capture_leave(t, TRACE_PART_NVTX, now);
}

#define RECORD(op, ...) range_record(op, &(struct nvtx_annotation){.caller = CALLER, __VA_ARGS__})

static uint64_t next_range(void)
{
    static uint64_t last;
    return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

/* CORE: a name per slot; the Ex, A and W variants differ in what they take. */
#define MARK(name, slot, type, field)                                                              \
    static void name(type m)                                                                       \
    {                                                                                              \
        RECORD(TRACE_MARK, .field = m);                                                            \
        if (nvtx_previous[NVTX_CORE][slot])                                                        \
            ((void (*)(type))(void *)nvtx_previous[NVTX_CORE][slot])(m);                           \
    }
#define START(name, slot, type, field)                                                             \
    static uint64_t name(type m)                                                                   \
    {                                                                                              \
        uint64_t id = NEXT(NVTX_CORE, slot, uint64_t(*)(type), (m), next_range());                 \
        RECORD(TRACE_START, .field = m, .handle = id);                                             \
        return id;                                                                                 \
    }
#define PUSH(name, slot, type, field)                                                              \
    static int name(type m)                                                                        \
    {                                                                                              \
        RECORD(TRACE_PUSH, .field = m);                                                            \
        return NEXT(NVTX_CORE, slot, int (*)(type), (m), NVTX_NO_TRACKING);                        \
    }
MARK(mark_ex, 1, const struct nvtx_event *, event)
MARK(mark_a, 2, const char *, ascii)
MARK(mark_w, 3, const wchar_t *, wide)
START(start_ex, 4, const struct nvtx_event *, event)
START(start_a, 5, const char *, ascii)
START(start_w, 6, const wchar_t *, wide)
PUSH(push_ex, 8, const struct nvtx_event *, event)
PUSH(push_a, 9, const char *, ascii)
PUSH(push_w, 10, const wchar_t *, wide)

static void range_end(uint64_t id)
{
    RECORD(TRACE_STOP, .handle = id);
    NEXT(NVTX_CORE, 7, void (*)(uint64_t), (id), (void)0);
}

static int range_pop(void)
{
    RECORD(TRACE_POP, .handle = 0);
    return NEXT(NVTX_CORE, 11, int (*)(void), (), NVTX_NO_TRACKING);
}

/* Names of things. Streams and threads have records; the rest becomes META nvtx.WHAT.WHICH. */
enum thing { CATEGORY, THREAD, STREAM, DEVICE, OTHER };

static void name_thing(enum thing what, const void *domain, uint64_t which, const char *a,
                       const wchar_t *w)
{
    char key[64];
    uint64_t now = trace_now();
    struct capture_thread *t = capture_enter();
    if (!t)
        return;
    char text[256] = "";
    if (a)
        strncpy(text, a, sizeof text - 1);
    for (size_t i = 0; w && w[i] && i < sizeof text - 1; i++)
        text[i] = w[i] < 128 ? (char)w[i] : '?';
    if (what == THREAD) {
        struct trace_thread r = {
            .r.kind = TRACE_THREAD, .tid = (uint32_t)which, .name_bytes = (uint32_t)strlen(text)};
        trace_put(&t->stream, &r.r, sizeof r, text, r.name_bytes);
    } else if (what == STREAM) {
        cuda_name_stream(t, (void *)(uintptr_t)which, a ? nvtx_ascii(t, a) : nvtx_wide(t, w));
    } else if (what == CATEGORY) {
        snprintf(key, sizeof key, "nvtx.category.%016llx.%u",
                 (unsigned long long)nvtx_text_of(domain), (unsigned)which);
        capture_meta(t, key, text);
    } else if (what == DEVICE) {
        snprintf(key, sizeof key, "nvtx.device.%d", (int)which);
        capture_meta(t, key, text);
    }
    capture_leave(t, TRACE_PART_NVTX, now);
}

#define NAME(name, module, slot, thing, type, a, w, text)                                          \
    static void name(type which, text s)                                                           \
    {                                                                                              \
        name_thing(thing, NULL, (uint64_t)which, a, w);                                            \
        if (nvtx_previous[module][slot])                                                           \
            ((void (*)(type, text))(void *)nvtx_previous[module][slot])(which, s);                 \
    }
#define NAMES(name, module, slot, thing, type)                                                     \
    NAME(name##_a, module, slot, thing, type, s, NULL, const char *)                               \
    NAME(name##_w, module, slot + 1, thing, type, NULL, s, const wchar_t *)
NAMES(category, NVTX_CORE, 12, CATEGORY, uint32_t)
NAMES(thread, NVTX_CORE, 14, THREAD, uint32_t)
NAMES(cu_device, NVTX_CUDA, 1, DEVICE, int)
NAMES(cu_stream, NVTX_CUDA, 5, STREAM, uintptr_t)
NAMES(cuda_device, NVTX_CUDART, 1, DEVICE, int)
NAMES(cuda_stream, NVTX_CUDART, 3, STREAM, uintptr_t)

/* CORE2: domains */
static void domain_mark(const void *d, const struct nvtx_event *e)
{
    RECORD(TRACE_MARK, .domain = d, .event = e);
    NEXT(NVTX_CORE2, 1, void (*)(const void *, const struct nvtx_event *), (d, e), (void)0);
}

static uint64_t domain_start(const void *d, const struct nvtx_event *e)
{
    uint64_t id = NEXT(NVTX_CORE2, 2, uint64_t(*)(const void *, const struct nvtx_event *), (d, e),
                       next_range());
    RECORD(TRACE_START, .domain = d, .event = e, .handle = id);
    return id;
}

static void domain_end(const void *d, uint64_t id)
{
    RECORD(TRACE_STOP, .domain = d, .handle = id);
    NEXT(NVTX_CORE2, 3, void (*)(const void *, uint64_t), (d, id), (void)0);
}

static int domain_push(const void *d, const struct nvtx_event *e)
{
    RECORD(TRACE_PUSH, .domain = d, .event = e);
    return NEXT(NVTX_CORE2, 4, int (*)(const void *, const struct nvtx_event *), (d, e),
                NVTX_NO_TRACKING);
}

static int domain_pop(const void *d)
{
    RECORD(TRACE_POP, .domain = d);
    return NEXT(NVTX_CORE2, 5, int (*)(const void *), (d), NVTX_NO_TRACKING);
}

static void domain_category_a(const void *d, uint32_t which, const char *s)
{
    name_thing(CATEGORY, d, which, s, NULL);
    NEXT(NVTX_CORE2, 8, void (*)(const void *, uint32_t, const char *), (d, which, s), (void)0);
}

static void domain_category_w(const void *d, uint32_t which, const wchar_t *s)
{
    name_thing(CATEGORY, d, which, NULL, s);
    NEXT(NVTX_CORE2, 9, void (*)(const void *, uint32_t, const wchar_t *), (d, which, s), (void)0);
}

/* The id of a text, made a handle, or tied to the earlier tool's. */
static const void *register_text(const void *handle, const char *a, const wchar_t *w,
                                 uint64_t domain)
{
    uint64_t now = trace_now();
    struct capture_thread *t = capture_enter();
    if (!t)
        return handle;
    uint64_t id = a ? nvtx_ascii(t, a) : nvtx_wide(t, w);
    if (handle)
        nvtx_keep(handle, id, domain);
    capture_leave(t, TRACE_PART_NVTX, now);
    return handle ? handle : (const void *)(uintptr_t)id;
}

static const void *string_a(const void *d, const char *s)
{
    return register_text(
        NEXT(NVTX_CORE2, 10, const void *(*)(const void *, const char *), (d, s), NULL), s, NULL,
        0);
}

static const void *string_w(const void *d, const wchar_t *s)
{
    return register_text(
        NEXT(NVTX_CORE2, 11, const void *(*)(const void *, const wchar_t *), (d, s), NULL), NULL, s,
        0);
}

static const void *domain_a(const char *s)
{
    return register_text(NEXT(NVTX_CORE2, 12, const void *(*)(const char *), (s), NULL), s, NULL,
                         0);
}

static const void *domain_w(const wchar_t *s)
{
    return register_text(NEXT(NVTX_CORE2, 13, const void *(*)(const wchar_t *), (s), NULL), NULL, s,
                         0);
}

/* SYNC: waiting for a user's lock is a range, its release a mark. */
static const void *sync_create(const void *d, const struct nvtx_sync *s)
{
    static uintptr_t last;
    const void *handle =
        NEXT(NVTX_SYNC, 1, const void *(*)(const void *, const struct nvtx_sync *), (d, s), NULL);
    struct capture_thread *t = capture_enter();
    if (!t)
        return handle;
    if (!handle)
        handle = (const void *)(__atomic_add_fetch(&last, 1, __ATOMIC_RELAXED) << 4 | 8);
    nvtx_keep(handle, s ? nvtx_message_text(t, s->message_type, s->message) : 0, nvtx_text_of(d));
    capture_leave(t, TRACE_PART_NVTX, 0);
    return handle;
}

#define SYNC(name, sync_slot, op)                                                                  \
    static void name(const void *h)                                                                \
    {                                                                                              \
        struct nvtx_handle *known = h ? nvtx_handle(h) : NULL;                                     \
        struct capture_thread *t = capture_self();                                                 \
        if (known)                                                                                 \
            RECORD(op, .domain = (const void *)(uintptr_t)known->domain, .text = known->text,      \
                   .handle = (uintptr_t)h ^ (t ? (uint64_t)t->tid << 32 : 0));                     \
        NEXT(NVTX_SYNC, sync_slot, void (*)(const void *), (h), (void)0);                          \
    }
SYNC(sync_acquire, 3, TRACE_START)
SYNC(sync_failed, 4, TRACE_STOP)
SYNC(sync_acquired, 5, TRACE_STOP)
SYNC(sync_release, 6, TRACE_MARK)

#define ROW(module, slot, function)                                                                \
    {                                                                                              \
        module, slot, (nvtx_function *)(void *)function                                            \
    }
const struct nvtx_row nvtx_rows[] = {
    ROW(NVTX_CORE, 1, mark_ex),
    ROW(NVTX_CORE, 2, mark_a),
    ROW(NVTX_CORE, 3, mark_w),
    ROW(NVTX_CORE, 4, start_ex),
    ROW(NVTX_CORE, 5, start_a),
    ROW(NVTX_CORE, 6, start_w),
    ROW(NVTX_CORE, 7, range_end),
    ROW(NVTX_CORE, 8, push_ex),
    ROW(NVTX_CORE, 9, push_a),
    ROW(NVTX_CORE, 10, push_w),
    ROW(NVTX_CORE, 11, range_pop),
    ROW(NVTX_CORE, 12, category_a),
    ROW(NVTX_CORE, 13, category_w),
    ROW(NVTX_CORE, 14, thread_a),
    ROW(NVTX_CORE, 15, thread_w),
    ROW(NVTX_CUDA, 1, cu_device_a),
    ROW(NVTX_CUDA, 2, cu_device_w),
    ROW(NVTX_CUDA, 5, cu_stream_a),
    ROW(NVTX_CUDA, 6, cu_stream_w),
    ROW(NVTX_CUDART, 1, cuda_device_a),
    ROW(NVTX_CUDART, 2, cuda_device_w),
    ROW(NVTX_CUDART, 3, cuda_stream_a),
    ROW(NVTX_CUDART, 4, cuda_stream_w),
    ROW(NVTX_CORE2, 1, domain_mark),
    ROW(NVTX_CORE2, 2, domain_start),
    ROW(NVTX_CORE2, 3, domain_end),
    ROW(NVTX_CORE2, 4, domain_push),
    ROW(NVTX_CORE2, 5, domain_pop),
    ROW(NVTX_CORE2, 8, domain_category_a),
    ROW(NVTX_CORE2, 9, domain_category_w),
    ROW(NVTX_CORE2, 10, string_a),
    ROW(NVTX_CORE2, 11, string_w),
    ROW(NVTX_CORE2, 12, domain_a),
    ROW(NVTX_CORE2, 13, domain_w),
    ROW(NVTX_SYNC, 1, sync_create),
    ROW(NVTX_SYNC, 3, sync_acquire),
    ROW(NVTX_SYNC, 4, sync_failed),
    ROW(NVTX_SYNC, 5, sync_acquired),
    ROW(NVTX_SYNC, 6, sync_release),
};
const size_t nvtx_row_count = sizeof nvtx_rows / sizeof *nvtx_rows;

/* Payload extension, where no earlier tool is loaded: its ranges, without their payloads. */
static uint64_t extension_register(const void *d, const void *attributes)
{
    (void)d;
    (void)attributes;
    return next_range() | 1ull << 40; /* ids below are the target's own */
}

static void extension_mark(const void *d)
{
    RECORD(TRACE_MARK, .domain = d);
}

static int extension_push(const void *d)
{
    RECORD(TRACE_PUSH, .domain = d);
    return NVTX_NO_TRACKING;
}

static int extension_pop(const void *d)
{
    RECORD(TRACE_POP, .domain = d);
    return NVTX_NO_TRACKING;
}

static uint64_t extension_start(const void *d)
{
    uint64_t id = next_range();
    RECORD(TRACE_START, .domain = d, .handle = id);
    return id;
}

static void extension_end(const void *d, uint64_t id)
{
    RECORD(TRACE_STOP, .domain = d, .handle = id);
}

const struct nvtx_row nvtx_extension_rows[] = {
    ROW(0, 0, extension_register), ROW(0, 1, extension_register),  ROW(0, 2, extension_mark),
    ROW(0, 3, extension_push),     ROW(0, 4, extension_pop),       ROW(0, 5, extension_start),
    ROW(0, 6, extension_end),      ROW(0, 12, extension_register),
};
const size_t nvtx_extension_row_count = sizeof nvtx_extension_rows / sizeof *nvtx_extension_rows;

/* Records regions, which a program names by a header for C or the Python package: ranges
 * of a domain of their own. Both find the functions below by their names. */
#define REGION(op, ...)                                                                            \
    do {                                                                                           \
        if (capture_is_on() && capture.config.modes & CAPTURE_NVTX)                                \
            RECORD(op, .domain_name = TRACE_REGION_DOMAIN, __VA_ARGS__);                           \
    } while (0)

CAPTURE_API void tomoprof_region_push(const char *name);
CAPTURE_API void tomoprof_region_push(const char *name)
{
    REGION(TRACE_PUSH, .ascii = name);
}

CAPTURE_API void tomoprof_region_pop(void);
CAPTURE_API void tomoprof_region_pop(void)
{
    REGION(TRACE_POP, .handle = 0);
}

/* For regions of one thread that overlap, as those of coroutines do. */
CAPTURE_API uint64_t tomoprof_region_start(const char *name);
CAPTURE_API uint64_t tomoprof_region_start(const char *name)
{
    const uint64_t id = next_range() | 1ull << 41; /* apart from NVTX's */
    REGION(TRACE_START, .ascii = name, .handle = id);
    return id;
}

CAPTURE_API void tomoprof_region_stop(uint64_t id);
CAPTURE_API void tomoprof_region_stop(uint64_t id)
{
    REGION(TRACE_STOP, .handle = id);
}

/* Marks where `record --paused` begins. */
CAPTURE_API void tomoprof_region_begin_here(void);
CAPTURE_API void tomoprof_region_begin_here(void)
{
    REGION(TRACE_MARK, .ascii = "start");
}
