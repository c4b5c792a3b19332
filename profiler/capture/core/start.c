#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/capture/core/core.h"

struct capture capture;

static void find_library(struct capture_config *c)
{
    Dl_info info;
    if (dladdr((void *)&capture, &info) && info.dli_fname &&
        strlen(info.dli_fname) < sizeof c->library)
        strcpy(c->library, info.dli_fname);
}

int start_trace(void)
{
    int failed = trace_create(&capture.writer, capture.config.folder, capture.config.run_id,
                              capture.config.byte_limit);
    text_forget();
    for (struct slot *s = thread_first(); s && !failed; s = s->next) /* those of a fork's parent */
        capture.writer.header->capture_bytes += sizeof *s;
    return failed;
}

static void start(void)
{
    static char bad[1024];
    if (!config_read(&capture.config, bad, sizeof bad))
        return;
    find_library(&capture.config);
    if (start_trace())
        return;
    thread_setup();
    int why = process_setup();
    capture.config.signal = signals_choose(capture.config.signal);
    struct slot *s = thread_register(NULL, 0);
    if (!s)
        return;
    struct capture_thread *t = &s->t;
    t->busy = 1;
    facts_write(t);
    facts_clock(t);
    if (*bad)
        capture_note(t, 1, "configuration", "not understood, so the default holds: %s", bad);
    if (why)
        capture_note(t, 1, "process", "forks cannot be followed: %s", strerrordesc_np(why));
    parts_start(t);
    parts_thread_start(t);
    capture.on = 1;
    t->busy = 0;
    wait_begin();
}

int capture_start(void)
{
    static int state; /* 0, 1: a thread is at it, 2 */
    int none = 0, saved = errno;
    if (__atomic_compare_exchange_n(&state, &none, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        start();
        __atomic_store_n(&state, 2, __ATOMIC_RELEASE);
    }
    errno = saved;
    return capture.on;
}

__attribute__((constructor)) static void loaded(void)
{
    capture_start();
}
