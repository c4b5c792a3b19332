/* A call from its first check to its last byte: where it runs, what it leaves as it was. */
#include <fenv.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "host/api/call.h"
#include "host/backend/course.h"
#include "host/backend/streams.h"
#include "host/cpu/common/threads.h"

static pid_t loaded_in; /* the process that loaded the library */

__attribute__((constructor)) static void library_loaded(void)
{
    loaded_in = getpid();
}

void call_progress(void *context, int64_t done, int64_t total)
{
    tomoprof_context *c = context;
    if (c->progress && c->progress(c->progress_user, (double)done, (double)total))
        c->stop = 1;
    watch_step(c, (double)done, (double)total);
}

/* The same for calls that know which share is done. */
static void call_share(void *context, double share)
{
    tomoprof_context *c = context;
    if (c->progress && c->progress(c->progress_user, share, 1))
        c->stop = 1;
    watch_step(c, share, 1);
}

static void call_log(void *context, enum log_level level, const char *sentence)
{
    tomoprof_context *c = context;
    if (c->log)
        c->log(c->log_user, (int)level, sentence);
    watch_send(
        c, (tomoprof_event){.kind = TOMOPROF_SENTENCE, .level = (int)level, .sentence = sentence});
}

/* ---- Where a call runs ---- */

struct visit {
    tomoprof_context *context;
    enum err (*work)(void *state);
    void *state;
    enum err e;
};

static _Thread_local tomoprof_context *visited; /* whose callback may have made this call */

static void visit_settings(tomoprof_context *c)
{
    visited = c;
    log_redirect(c ? call_log : NULL, c);
    mem_limit(c ? c->memory : 0);
}

/* The work, on the context's GPU where it has one. */
static enum err visit_work(const struct visit *v)
{
    struct backend *be = v->context->be;
    int outer = 0;
    if (be->ops->streams)
        TRY(be->ops->streams->enter(be, &outer));
    const enum err e = v->work(v->state);
    if (be->ops->streams)
        be->ops->streams->leave(be, outer);
    return e;
}

static void visit_run(struct visit *v)
{
    tomoprof_context *c = v->context, *const outer = visited;
    const struct cpu_threads_saved before = cpu_threads_take(c->be->threads);
    fenv_t numbers;
    fegetenv(&numbers);
    fesetenv(FE_DFL_ENV); /* threads that start now keep this for ever: not the caller's rounding */
    visit_settings(c);
    v->e = visit_work(v);
    visit_settings(outer);
    fesetenv(&numbers);
    cpu_threads_restore(before);
    if (v->e && c->stop && v->e != ERR_USAGE)
        v->e = FAIL(ERR_INTERRUPTED, "cancelled; the arrays hold what was done until then");
    if (v->e)
        snprintf(c->sentence, sizeof c->sentence, "%s", err_text());
}

static void *visit_thread(void *context)
{
    visit_run(context);
    return NULL;
}

/* A team of OpenMP does not survive fork(): the thread that forked would wait for it for ever. A
 * thread of its own makes a new one, 0.1 ms for each call. */
static enum err visit_in_new_thread(struct visit *v)
{
    pthread_t thread;
    const int failed = pthread_create(&thread, NULL, visit_thread, v);
    FAIL_IF(failed, ERR_MEMORY, "a thread cannot be started after fork(): %s", strerror(failed));
    watch_join(v->context, thread);
    return v->e;
}

tomoprof_status call_simple(tomoprof_context *c, enum err (*work)(void *state), void *state)
{
    struct visit v = {c, work, state, ERR_OK};
    if (!c)
        return fail_without_context("c is NULL; make a context with tomoprof_context_create");
    if (c->process != getpid()) {
        snprintf(c->sentence, sizeof c->sentence,
                 "c was made in process %ld, before fork(); make a context in this process, %ld",
                 (long)c->process, (long)getpid());
        return TOMOPROF_UNSUPPORTED;
    }
    if (__atomic_exchange_n(&c->running, 1, __ATOMIC_ACQUIRE))
        return fail_without_context("c is in use by another call; make a context for each thread");
    *c->sentence = 0;
    c->stop = 0;
    watch_begin(c);
    if (loaded_in == c->process) {
        visit_run(&v);
    } else if (visit_in_new_thread(&v) && !*c->sentence) {
        snprintf(c->sentence, sizeof c->sentence, "%s", err_text());
    }
    __atomic_store_n(&c->running, 0, __ATOMIC_RELEASE);
    return status_of(v.e, c->be);
}

/* ---- Arrays of a call ---- */

const struct buffer *operand_buffer(const struct operand *o)
{
    return o->buffer.ptr ? &o->buffer : NULL;
}

#define EACH_OPERAND(k, o)                                                                         \
    for (struct operand *o = (k)->operands; o < (k)->operands + CALL_OPERANDS && o->name; o++)     \
        if (o->array)

static size_t operand_bytes(const struct operand *o)
{
    return (size_t)o->elements * (o->raw ? type_bytes(o->a.type) : sizeof(float));
}

/* Decides if the arrays go to the device as a whole. */
static enum err call_place(struct api_call *k)
{
    size_t bytes = 0;
    if (!k->be->ops->streams || !k->places)
        return ERR_OK;
    EACH_OPERAND(k, o)
    bytes += operand_bytes(o);
    return recon_place(k->be, k->op, k->m, k->operands[0].array != NULL, bytes, &k->large);
}

static int stays_on_host(const struct api_call *k)
{
    return k->large || k->on_host || !k->be->ops->streams;
}

static enum err operand_open(struct api_call *k, struct operand *o)
{
    const size_t bytes = operand_bytes(o);
    void *copy;
    if (o->a.place == TOMOPROF_CUDA) {
        FAIL_IF(k->on_host, ERR_UNSUPPORTED,
                "%s lies on a GPU; this function takes arrays in host memory: copy it there",
                o->name);
        FAIL_IF(k->large, ERR_MEMORY,
                "%s: the arrays and what the call needs beside them do not fit the device; give "
                "arrays in host memory, which pass it in parts",
                o->name);
        o->buffer = (struct buffer){PLACE_DEVICE, 0, bytes, o->a.data};
        return k->be->ops->streams->take_foreign(k->be, o->name, o->a.data, bytes, o->a.stream);
    }
    o->host = o->a.data;
    if (!operand_is_plain(o)) {
        TRY(mem_alloc(o->name, bytes, &copy));
        o->host = o->copy = copy;
        if (o->way == WAY_IN)
            operand_read(o, o->copy);
    }
    if (stays_on_host(k)) {
        o->buffer = (struct buffer){PLACE_HOST, 0, bytes, o->host};
        return ERR_OK;
    }
    if (o->way == WAY_IN)
        return k->be->ops->upload(k->be, o->host, bytes, &o->buffer);
    return k->be->ops->alloc(k->be, o->name, bytes, &o->buffer);
}

/* Brings a result to the caller. */
static enum err operand_deliver(struct api_call *k, struct operand *o)
{
    if (o->way != WAY_OUT || o->a.place == TOMOPROF_CUDA)
        return ERR_OK;
    if (!stays_on_host(k))
        TRY(k->be->ops->download(k->be, &o->buffer, o->host, o->buffer.bytes));
    if (o->copy)
        operand_write(o, o->copy);
    return ERR_OK;
}

static void operand_close(struct api_call *k, struct operand *o)
{
    if (o->buffer.owned)
        k->be->ops->release(k->be, &o->buffer);
    mem_free(o->copy);
}

static enum err call_check(struct api_call *k)
{
    FAIL_IF(k->needs_model && !k->model, ERR_USAGE,
            "m is NULL; make a model with tomoprof_model_read or tomoprof_model_parse");
    k->m = k->model ? &k->model->m : NULL;
    if (k->prepare)
        TRY(k->prepare(k));
    for (struct operand *o = k->operands; o < k->operands + CALL_OPERANDS && o->name; o++)
        TRY(operand_check(k, o));
    TRY(operands_check_overlap(k));
    return k->check ? k->check(k) : ERR_OK;
}

/* The call in the caller's memory, or with what the back end needs beside it. */
static enum err call_compute(struct api_call *k)
{
    enum err e = ERR_OK;
    EACH_OPERAND(k, o)
    TRY_OUT(operand_open(k, o));
    TRY_OUT(k->be->ops->sync(k->be));
    e = k->compute(k);
    if (!e)
        e = k->be->ops->sync(k->be);
    if (!e && k->context->stop)
        e = FAIL(ERR_INTERRUPTED, "cancelled");
    if (e && !(e == ERR_INTERRUPTED || k->context->stop))
        goto out;
    EACH_OPERAND(k, o)
    {
        const enum err delivered = operand_deliver(k, o);
        e = e ? e : delivered;
    }
out:
    EACH_OPERAND(k, o)
    operand_close(k, o);
    return e;
}

static enum err call_work(void *state)
{
    struct api_call *k = state;
    k->be = k->context->be;
    tomoprof_context *c = k->context;
    struct backend_progress p = {.report = call_share, .context = c, .range = PROGRESS_ALL};
    TRY(call_check(k));
    TRY(call_place(k));
    const int shares = (c->progress || c->watch.steps) && !k->counts;
    progress_begin(k->be, shares ? &p : NULL);
    const enum err e = call_compute(k);
    progress_begin(k->be, NULL);
    if (!e && shares)
        call_share(c, 1);
    return e;
}

tomoprof_status call_run(struct api_call *k)
{
    return call_simple(k->context, call_work, k);
}
