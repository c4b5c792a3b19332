/* Starts capture in this process: configuration, trace file, threads, recorders, our own thread. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/capture/core/asleep.h"
#include "profiler/capture/core/filter.h"
#include "profiler/capture/core/poll_thread.h"
#include "profiler/capture/core/signals.h"
#include "profiler/capture/raw/next_symbol.h"
#include "profiler/capture/raw/system.h"

static void find_library(struct capture_config *c)
{
    const char *name = own_image_name();
    if (name && strlen(name) < sizeof c->library)
        strcpy(c->library, name);
}

static const struct capture_parts *start_parts;
static char start_bad[1024];
static int start_why;

/* Gives the program back the signal by which the process was woken. */
static void start_wake(struct capture_thread *t)
{
    signals_withdraw();
    ((struct thread_slot *)t)->blocked = 0;
    capture.config.signal = signals_choose(asleep.wanted_signal);
    start_parts->setup();
}

static void capture_begin_recorders(struct capture_thread *t)
{
    t->busy = 1;
    if (asleep.since.r.time_ns)
        start_wake(t);
    if (*start_bad)
        capture_note(t, 1, "configuration", "not understood, the default is used: %s", start_bad);
    if (start_why)
        capture_note(t, 1, "process", "forks cannot be followed: %s", raw_error_text(start_why));
    recorders_start(start_parts->recorders, start_parts->count, t);
    if (!asleep.since.r.time_ns) {
        struct trace_account ready = facts_account(TRACE_AT_START);
        trace_put(&t->stream, &asleep.loaded.r, sizeof asleep.loaded, NULL, 0);
        trace_put(&t->stream, &ready.r, sizeof ready, NULL, 0);
    }
    capture.on = 1; /* before the timer, whose signal finds a recording that has ended otherwise */
    recorders_thread_start(t);
    t->busy = 0;
    poll_thread_begin_awake();
}

static void capture_begin_process(void)
{
    struct capture_config *c = &capture.config;
    if (!config_read(c, start_bad, sizeof start_bad) || process_is_over())
        return;
    if (filter_inherited()) /* before the calls below, which a filter may forbid */
        return;
    asleep.loaded = facts_account(TRACE_AT_LOAD);
    const char *clock = secure_getenv("TOMOPROF_CAPTURE_CLOCK");
    if (clock)
        trace_clock_given(clock);
    asleep.wanted_signal = c->signal;
    find_library(c);
    thread_setup();
    start_why = process_setup();
    asleep.begin = capture_begin_recorders;
    if (asleep_begin(ASLEEP_LOADED, start_parts))
        return;
    start_parts->setup();
    if (process_new_trace())
        return;
    c->signal = signals_choose(asleep.wanted_signal);
    struct thread_slot *s = thread_self();
    if (s) { /* it could not be asleep after all */
        trace_stream_open(&s->t.stream, &capture.writer, s->t.tid);
        thread_name(&s->t, s, s->name);
    } else if (!(s = thread_register(NULL, 0))) {
        return;
    }
    s->t.busy = 1;
    facts_write(&s->t, 0);
    facts_clock(&s->t);
    capture_begin_recorders(&s->t);
}

int capture_start(const struct capture_parts *parts, int early)
{
    static int state; /* 0, 1: a thread is at it, 2 */
    int none = 0, saved = errno;
    if (__atomic_compare_exchange_n(&state, &none, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        raw_files_alone(early);
        start_parts = parts;
        capture_begin_process();
        raw_files_alone(0);
        __atomic_store_n(&state, 2, __ATOMIC_RELEASE);
    }
    errno = saved;
    return capture.on || asleep.on;
}
