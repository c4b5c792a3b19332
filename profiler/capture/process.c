#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "profiler/capture/core.h"

static pid_t pid;

int process_is_ours(void)
{
    return getpid() == pid;
}

static void finish(enum trace_end end, int detail)
{
    if (!capture.on || !process_is_ours())
        return;
    wait_stop();
    struct capture_thread *t = capture_enter();
    if (t) {
        parts_stop();
        facts_clock(t);
        for (struct slot *s = thread_first(); s; s = s->next)
            if (s->used && s->t.tid)
                thread_put_end(t, s);
    }
    trace_finish(&capture.writer, end, detail);
    capture.on = 0;
}

static int exit_code;

static void note_exit(int status, void *unused)
{
    (void)unused;
    exit_code = status;
}

__attribute__((destructor)) static void unloaded(void)
{
    finish(TRACE_EXIT, exit_code);
}

int process_setup(void)
{
    pid = getpid();
    on_exit(note_exit, NULL);
    return 0;
}
