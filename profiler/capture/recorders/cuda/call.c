/* Callbacks of CUDA API calls. A runtime call makes driver calls, whose callbacks nest: the stack
 * is taken once, on the outermost enter, and that call's record lists the correlation ids of all
 * calls below it that make GPU work, since an activity may carry any of them. */
#include <stdio.h>
#include <string.h>

#include "profiler/capture/core/stack.h"
#include "profiler/capture/recorders/cuda/call_state.h"

enum { IDS = 4096 }; /* CUPTI 13.0 has 807 driver and 523 runtime calls */
static const struct cuda_rule *rule_of[2][IDS];

static int cuda_enable_domain(struct capture_thread *t, uint32_t domain, int *refused)
{
    int unknown = 0, count = 0;
    for (uint32_t id = 1; id < IDS && unknown < 256; id++) {
        const char *name = NULL;
        if (cuda.cupti.callback_name(domain, id, &name) || !name) {
            unknown++;
            continue;
        }
        unknown = 0;
        const struct cuda_rule *rule = cuda_rule(name);
        if (!rule)
            continue;
        int code = cuda.cupti.enable_callback(1, cuda.subscriber, domain, id);
        if (code) {
            if (!*refused)
                capture_note(t, 1, "cuda.callback", "cuptiEnableCallback(%s): %d, %s", name, code,
                             cuda_sentence(code));
            *refused += 1;
            continue;
        }
        rule_of[domain - 1][id] = rule;
        count++;
    }
    return count;
}

int cuda_calls_enable(struct capture_thread *t)
{
    int refused = 0;
    int count = cuda_enable_domain(t, CUPTI_RUNTIME, &refused) +
                cuda_enable_domain(t, CUPTI_DRIVER, &refused);
    if (refused)
        capture_note(
            t, 1, "cuda.callbacks",
            "%d of %d CUDA calls could not be followed: work that they start has no source "
            "line",
            refused, refused + count);
    return count;
}

/* Before the call does what its rule says. */
static void cuda_call_prepare(struct capture_thread *t, const struct cuda_rule *rule)
{
    if (rule->api_class == TRACE_API_LAUNCH)
        __atomic_add_fetch(&cuda.unanswered, 1, __ATOMIC_RELAXED);
    if (rule->effect == RULE_MANAGED)
        cuda_flush_managed();
    if (rule->effect == RULE_DISCARDS && !cuda.over)
        cuda_flush_now(t, 0); /* NVIDIA's samples do this here too */
}

static uint64_t cuda_call_bytes(const struct cuda_rule *rule, const void *parameters)
{
    const uint64_t *p = parameters;
    if (!rule->scale || !p)
        return 0;
    return p[rule->bytes / 8] * (rule->times ? p[rule->times / 8] : 1) * rule->scale;
}

static void cuda_call_put(struct capture_thread *t, const struct cuda_api_call *c, uint64_t end,
                          int result)
{
    struct trace_api r = {.r.kind = TRACE_API,
                          .r.time_ns = c->flags & TRACE_API_MORE ? 0 : end, /* 0: asks the clock */
                          .start_ns = c->start,
                          .end_ns = end,
                          .stack = c->stack,
                          .name = c->name,
                          .symbol = c->symbol,
                          .bytes = c->bytes,
                          .tid = t->tid,
                          .result = result,
                          .api_class = c->api_class,
                          .context = c->context,
                          .flags = c->flags,
                          .correlations = c->correlations};
    memcpy(r.correlation, c->correlation, sizeof r.correlation);
    trace_put(&t->stream, &r.r, sizeof r, NULL, 0);
}

/* A fifth id goes into a record of its own, of no duration. */
static void add_correlation(struct cuda_api_call *c, uint32_t id)
{
    for (uint32_t i = 0; i < c->correlations; i++)
        if (c->correlation[i] == id)
            return;
    if (c->correlations == 4) {
        int entered;
        uint64_t now = trace_now();
        struct capture_thread *t = cuda_enter(&entered);
        if (t) {
            struct cuda_api_call more = *c;
            more.flags |= TRACE_API_MORE;
            cuda_call_put(t, &more, c->start, 0);
            cuda_leave(t, entered, now);
        }
        c->correlations = 1; /* the outermost stays: it joins the records */
    }
    c->correlation[c->correlations++] = id;
}

/* Takes the symbol of the first launch in the call that has a name. */
static void take_symbol(struct capture_thread *t, struct cuda_api_call *c,
                        const struct cuda_rule *rule, const struct cupti_call *data)
{
    if (c->symbol || !data->symbol || rule->api_class != TRACE_API_LAUNCH)
        return;
    c->symbol = capture_text(t, data->symbol, strlen(data->symbol));
    cuda_learn_symbol(c->symbol);
}

static void enter_nested(struct cuda_api_call *c, const struct cuda_rule *rule,
                         const struct cupti_call *data)
{
    c->depth++;
    if (rule->api_class == TRACE_API_MODULE || rule->api_class == TRACE_API_OTHER)
        return;
    add_correlation(c, data->correlation);
    int entered;
    struct capture_thread *t = c->symbol || !data->symbol ? NULL : cuda_enter(&entered);
    if (!t)
        return;
    take_symbol(t, c, rule, data);
    cuda_leave(t, entered, 0);
}

static void cuda_call_enter(const struct cuda_rule *rule, const struct cupti_call *data,
                            const void *caller)
{
    struct cuda_api_call *c = &cuda_call_now;
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    if (c->depth && frame < c->frame) {
        enter_nested(c, rule, data);
        return;
    }
    uint64_t now = trace_now();
    int entered;
    struct capture_thread *t = cuda_enter(&entered);
    *c = (struct cuda_api_call){.depth = 1,
                                .frame = frame,
                                .start = now,
                                .bytes = cuda_call_bytes(rule, data->parameters),
                                .api_class = rule->api_class,
                                .context = data->context_id,
                                .correlations = 1,
                                .correlation = {data->correlation}};
    if (!t)
        return;
    c->stack = capture_stack(t, NULL, caller);
    if (data->function)
        c->name = capture_text(t, data->function, strlen(data->function));
    take_symbol(t, c, rule, data);
    cuda_call_prepare(t, rule);
    cuda_leave(t, entered, now);
}

static void cuda_call_leave(const struct cupti_call *data)
{
    struct cuda_api_call *c = &cuda_call_now;
    if (!c->depth || --c->depth) /* without a beginning: capture began inside the call */
        return;
    uint64_t now = trace_now();
    int entered;
    struct capture_thread *t = cuda_enter(&entered);
    if (!t)
        return;
    int result = data->result ? *data->result : 0;
    if (c->api_class != TRACE_API_MODULE && c->api_class != TRACE_API_OTHER)
        cuda.launched = 1;
    if (c->api_class == TRACE_API_LAUNCH && (result || c->flags & TRACE_API_CAPTURED))
        __atomic_sub_fetch(&cuda.unanswered, 1, __ATOMIC_RELAXED);
    cuda_call_put(t, c, now, result);
    cuda_leave(t, entered, now);
}

void cuda_call(uint32_t domain, uint32_t id, const struct cupti_call *data, const void *caller)
{
    const struct cuda_rule *rule = id < IDS ? rule_of[domain - 1][id] : NULL;
    if (!rule || !data)
        return;
    if (data->site == CUPTI_ENTER)
        cuda_call_enter(rule, data, caller);
    else
        cuda_call_leave(data);
}
