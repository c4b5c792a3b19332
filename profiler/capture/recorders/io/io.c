/* The io recorder: starts the tables, has them written now and then, and at the end. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "profiler/capture/core/core.h"
#include "profiler/capture/core/thread_poll.h"
#include "profiler/capture/core/unwind/modules.h"
#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders.h"
#include "profiler/capture/recorders/io/lean.h"
#include "profiler/capture/recorders/io/names.h"
#include "profiler/capture/recorders/io/rings.h"

static unsigned ticks, next; /* when they are written: after 1, 2, 4, 8 s, then every 8 s */

static int tables_start(void)
{
    if (io)
        return 1;
    io = raw_map(sizeof *io, MAP_NORESERVE);
    if (io)
        io->files[0] =
            (struct io_file){.kind = TRACE_TO_OTHER, .name = "unknown", .resident = ~0ull, .id = 1};
    return io != NULL;
}

static int io_start(void)
{
    struct capture_thread *t = capture_self();
    if (!tables_start())
        return ENOMEM;
    asleep.counts = 0;
    io_short_measure();
    if (t)
        io_write_kernel(t, 0);
    io_on = 1;
    return 0;
}

/* Calls come here, and wake the process, or have it count them. */
static int io_asleep(void)
{
    io_on = 1;
    return 0;
}

static unsigned (*take_out)(void);
static int is_out;

void io_take_out_by(unsigned (*given)(void))
{
    take_out = given;
}

#define FREE_NS 1e9 /* of CPU time on which the share is granted at the start */
#define OUT     5   /* times the share of other wrappers: what goes is missed in each file's sums */

/* Limits the calls' cost to the program to its allowed share; stacks limit theirs themselves. */
static void io_follow_share(struct capture_thread *ours)
{
    struct timespec spent;
    double ns = 0;
    for (struct thread_slot *s = thread_first(); s; s = s->next)
        ns += s->used ? (double)s->t.io_ns : 0;
    if (is_out || capture.config.calls_share >= 1 ||
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent))
        return;
    double cpu = 1e9 * (double)spent.tv_sec + (double)spent.tv_nsec;
    if (ns <= OUT * capture.config.calls_share * (FREE_NS + cpu) || !modules_are_whole())
        return;
    is_out = 1;
    capture_note(
        ours, 1, "io.off",
        "The program reads and writes in so many small calls that recording them took "
        "%.1f %% of its CPU time: after %.2f s of CPU time they were taken out of its way. "
        "What was moved after that is seen in sum, by the kernel's counters. Set "
        "TOMOPROF_CAPTURE_CALLS=1 to record it at that price.",
        100 * ns / cpu, 1e-9 * cpu);
    modules_hold();
    take_out();
    modules_release();
}

static int is_noted, is_lean; /* that files were summed; that few calls are timed */

static void note_lean(struct capture_thread *t)
{
    if (is_lean || !io_lean_begun())
        return;
    is_lean = 1;
    capture_note(
        t, 1, "io.sampled",
        "The program makes so many small reads, writes, opens or seeks that timing each "
        "would take more than %.0f %% of its CPU time: from %.2f s of CPU time on, one in "
        "%d to %d is timed. Their counts, bytes and places in files are exact; their times are "
        "estimates. Set TOMOPROF_CAPTURE_CALLS=1 to time each.",
        100 * capture.config.calls_share, 1e-9 * (double)io_lean_begun(), LEAN_ONE_IN,
        LEAN_MOST_ONE_IN);
}

static void note_summed(struct capture_thread *t)
{
    if (is_noted || !io_summed)
        return;
    is_noted = 1;
    capture_note(t, 0, "io.summed",
                 "The program opens so many files that asking the kernel for each took 0.5 %% of "
                 "its time: some are summed by folder and ending, in rows with a *. Calls, bytes "
                 "and times are exact. Set TOMOPROF_CAPTURE_CALLS=1 to have a row for each of "
                 "the first 3,000.");
}

static void io_tick(struct capture_thread *ours)
{
    io_follow_share(ours);
    io_ticks_follow();
    unsigned second = (unsigned)capture.config.wait_hz;
    if (ticks % second == 0) {
        io_kernel_tick();
        io_names_change();
        note_summed(ours);
        io_lean_tick();
        note_lean(ours);
    }
    if (++ticks < (next ? next : second))
        return;
    next = next ? next * 2 : 2 * second;
    if (next > 8 * second) {
        ticks = 0;
        next = 8 * second;
    }
    io_write(ours, 1);
    io_write_kernel(ours, 1);
}

/* Streams whose last calls no hook has seen: getc, printf. */
static void catch_up(struct capture_thread *t)
{
    uint64_t now = trace_now();
    for (int fd = 0; fd < io_descriptor_count; fd++) {
        struct io_descriptor *d = io_descriptor_known(fd);
        long at =
            d && d->stream && d->seekable && d->known ? syscall(SYS_lseek, fd, 0L, SEEK_CUR) : -1;
        if (at > 0 && (uint64_t)at > d->offset)
            io_add(t, d, &io->files[d->file - 1],
                   &(struct io_add){.op = d->writes ? TRACE_IO_WRITE : TRACE_IO_READ,
                                    .bytes = at - (int64_t)d->offset,
                                    .offset = (int64_t)d->offset,
                                    .begin = now,
                                    .end = now},
                   NULL);
        if (at > 0)
            d->offset = (uint64_t)at;
    }
}

static void io_stop(void)
{
    struct capture_thread *t = capture_self();
    if (!t)
        return;
    note_summed(t);
    note_lean(t);
    io_lean_stop();
    catch_up(t);
    io_rings_all();
    io_mapped_all(t);
    io_write(t, 1);
    io_write_kernel(t, 1);
}

/* The tables, as a child of the process begins with them. */
static void tables_forked(void)
{
    ticks = next = 0;
    is_noted = is_lean = 0;
    io_names_forked();
    io_lean_forked(); /* before descriptors are forgotten: what waits in them is the parent's */
    io_files_forked();
    for (int fd = 0; io_missed && fd < io_descriptor_count; fd++)
        io_forget(fd);
    io_missed = 0;
    io_mapped_forked();
    io_rings_forked();
    io_kernel_forked();
    io_asleep_bytes[0] = io_asleep_bytes[1] = 0;
}

static void io_fork_child(void)
{
    struct capture_thread *t = capture_self();
    if (is_out && t)
        capture_note(t, 1, "io.off",
                     "The process that made this one had taken reads and writes out of the "
                     "program's way: they are seen in sum alone.");
    if (!asleep.counts)
        tables_forked();
    asleep.counts = 0;
    io_lean_set(io_lean);
    if (t)
        io_write_kernel(t, IO_FORKED);
}

/* Most that wake only read and write a little: the tables suffice for that, and 60 of the 140 us
 * that they took more than asleep were for stacks, modules and the kernel's counters. A child of vfork
 * has its parent's memory. */
static int tables_doze(void)
{
    struct thread_slot *s = thread_self();
    if (!asleep.on || asleep.counts || !io_on)
        return asleep.on && asleep.counts;
    const int saved = errno, is_forked = asleep.on == ASLEEP_FORKED;
    const uint64_t begin = thread_poll_cpu(0);
    if (!s || !capture_is_here() || s->t.busy || (is_forked ? !io : !tables_start())) {
        capture_wake();
        errno = saved;
        return 0;
    }
    if (is_forked) {
        tables_forked();
        trace_abandon_file(&capture.writer);
        thread_cost_reset(&s->t);
    }
    s->t.tid = (uint32_t)syscall(SYS_gettid);
    asleep.counts = 1;
    thread_cost_add(&s->t, TRACE_PART_WAKE, begin);
    errno = saved;
    return 1;
}

uint64_t io_begin_asleep(void)
{
    if (!capture.on && !tables_doze() && !capture.on) /* it may have woken */
        return 0;
    return io_on ? trace_now() : 0;
}

static void io_asleep_stop(struct capture_thread *t)
{
    const uint64_t begin = thread_poll_cpu(0);
    if (!asleep.counts)
        return;
    io_lean_stop();
    catch_up(t);
    io_write(t, 1);
    thread_cost_add(t, TRACE_PART_WAKE, begin);
}

const struct recorder io_recorder = {
    .name = "io",
    .modes = CAPTURE_IO,
    .start = io_start,
    .asleep = io_asleep,
    .asleep_stop = io_asleep_stop,
    .thread_start = io_lean_thread,
    .thread_gone = io_kernel_thread_ends,
    .tick = io_tick,
    .fork_prepare = io_makes_child,
    .fork_child = io_fork_child,
    .stop = io_stop,
};
