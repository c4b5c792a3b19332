/* The recorder of MPI: ranks as facts, calls as records; the short ones without a stack, which
 * would take longer than they do. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/capture/core/asleep.h"
#include "profiler/capture/core/core.h"
#include "profiler/capture/core/stack.h"
#include "profiler/capture/recorders.h"
#include "profiler/capture/recorders/mpi/mpi.h"

enum { LEAST_NS = 10000, CALLS_MAX = 1000000 };

static int on;
static uint64_t calls;

static int mpi_is_wanted(void)
{
    struct thread_slot *s = capture_is_on() && on ? thread_self() : NULL;
    return s && !s->t.busy && !s->t.ours && thread_live();
}

static void mpi_record_rank(int rank, int size, const char *library)
{
    char text[32];
    const int saved = errno;
    struct capture_thread *t = on ? capture_enter() : NULL;
    if (t) {
        snprintf(text, sizeof text, "%d of %d", rank, size);
        capture_meta(t, "mpi.rank", text);
        capture_meta(t, "mpi.library", library);
        capture_leave(t, TRACE_PART_MPI, 0);
    }
    errno = saved;
}

static void mpi_put(struct capture_thread *t, const struct mpi_call *c)
{
    const uint64_t spent = c->end_ns - c->begin_ns;
    struct trace_mpi r = {.r.kind = TRACE_MPI,
                          .r.time_ns = c->end_ns,
                          .name = capture_text(t, c->name, strlen(c->name)),
                          .spent_ns = spent,
                          .bytes = c->bytes,
                          .group = c->group,
                          .sequence = c->sequence,
                          .size = c->size,
                          .peer = c->peer,
                          .tag = c->tag,
                          .tid = t->tid,
                          .op = c->op,
                          .flags = c->flags};
    if (c->whole_ns >= LEAST_NS)
        r.stack = capture_stack(t, NULL, c->caller);
    trace_put(&t->stream, &r.r, sizeof r, NULL, 0);
}

static void mpi_record_call(const struct mpi_call *c)
{
    const int saved = errno;
    const uint64_t n = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    const uint64_t now = trace_now();
    struct capture_thread *t = on && n <= CALLS_MAX ? capture_enter() : NULL;
    if (t) {
        if (n == CALLS_MAX)
            capture_note(t, 1, "mpi.full",
                         "The first %d calls of MPI of a process were recorded, and it made more: "
                         "times and bytes of MPI end there.",
                         CALLS_MAX);
        mpi_put(t, c);
        capture_leave(t, TRACE_PART_MPI, now);
    }
    errno = saved;
}

static const char *ranks_folder(void)
{
    static char path[4096];
    const char *trace = getenv("TOMOPROF_CAPTURE_DIR");
    const int n = trace ? snprintf(path, sizeof path, "%s/../ranks", trace) : -1;
    return n > 0 && n < (int)sizeof path ? path : NULL;
}

static void mpi_record_clock_shift(int which, int64_t shift_ns, uint64_t error_ns)
{
    trace_clock_shift(&capture.writer, which, shift_ns, error_ns);
}

CAPTURE_API const struct mpi_recorder *tomoprof_capture_mpi(void);
const struct mpi_recorder *tomoprof_capture_mpi(void)
{
    static const struct mpi_recorder table = {
        sizeof table,    trace_now,    mpi_is_wanted,  mpi_record_rank,
        mpi_record_call, ranks_folder, trace_clock_id, mpi_record_clock_shift};
    return &table;
}

static int mpi_start(void)
{
    on = 1;
    return 0;
}

static void mpi_fork_child(void)
{
    calls = 0;
}

const struct recorder mpi_recorder = {
    .name = "mpi", .modes = ~0u, .start = mpi_start, .fork_child = mpi_fork_child};
