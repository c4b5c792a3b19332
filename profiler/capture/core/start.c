/* Starts capture in this process: configuration, trace file, threads, recorders, our own thread. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/capture/core/filter.h"
#include "profiler/capture/core/poll_thread.h"
#include "profiler/capture/core/signals.h"
#include "profiler/capture/raw/system.h"

static void find_library(struct capture_config *c)
{
    Dl_info info;
    if (dladdr((void *)&capture, &info) && info.dli_fname &&
        strlen(info.dli_fname) < sizeof c->library)
        strcpy(c->library, info.dli_fname);
}

static void capture_begin_process(const struct recorder *const *recorders, size_t count)
{
    static char bad[1024];
    if (!config_read(&capture.config, bad, sizeof bad) || process_is_over())
        return;
    if (filter_inherited()) /* before the calls below, which a filter may forbid */
        return;
    struct trace_account loaded = facts_account(TRACE_AT_LOAD), ready;
    find_library(&capture.config);
    if (process_new_trace())
        return;
    thread_setup();
    int why = process_setup();
    capture.config.signal = signals_choose(capture.config.signal);
    struct thread_slot *s = thread_register(NULL, 0);
    if (!s)
        return;
    struct capture_thread *t = &s->t;
    t->busy = 1;
    facts_write(t);
    facts_clock(t);
    if (*bad)
        capture_note(t, 1, "configuration", "not understood, the default is used: %s", bad);
    if (why)
        capture_note(t, 1, "process", "forks cannot be followed: %s", raw_error_text(why));
    recorders_start(recorders, count, t);
    trace_put(&t->stream, &loaded.r, sizeof loaded, NULL, 0);
    ready = facts_account(TRACE_AT_START);
    trace_put(&t->stream, &ready.r, sizeof ready, NULL, 0);
    capture.on = 1; /* before the timer, whose signal finds a recording that has ended otherwise */
    recorders_thread_start(t);
    t->busy = 0;
    poll_thread_begin();
}

int capture_start(const struct recorder *const *recorders, size_t count, int early)
{
    static int state; /* 0, 1: a thread is at it, 2 */
    int none = 0, saved = errno;
    if (__atomic_compare_exchange_n(&state, &none, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        raw_files_alone(early);
        capture_begin_process(recorders, count);
        raw_files_alone(0);
        __atomic_store_n(&state, 2, __ATOMIC_RELEASE);
    }
    errno = saved;
    return capture.on;
}
