/* Stacks of the target's threads, native and of interpreters, as STACK records; and the memory of
 * which definitions the trace has already. */
#ifndef TP_CAPTURE_CORE_STACK_H
#define TP_CAPTURE_CORE_STACK_H

#include "profiler/capture/core/recorder.h"

extern const struct recorder stack_recorder;

/* Records the calling thread's stack and returns its id (0: none). `ucontext` from a signal
 * handler, or NULL: then the frames of this library are left out by `caller`, the return address of
 * its entry point. Async-signal-safe. */
uint64_t capture_stack(struct capture_thread *t, const void *ucontext, const void *caller);
/* Of another thread, blocked in the kernel at (pc, sp); written to t's stream. */
uint64_t capture_stack_of(struct capture_thread *t, pid_t tid, uintptr_t pc, uintptr_t sp);

/* From where an interpreter's frames are wanted: the thread itself, stopped with its stack pointer
 * at `floor` (what lies from there to `high` is read plainly), or another thread `tid`. */
enum { FRAME_SCRATCH = 8192 };
struct frame_view {
    pid_t tid; /* 0: the calling thread */
    uintptr_t floor, high;
    uint8_t *scratch; /* FRAME_SCRATCH bytes */
};
/* Fills `pair` with {line | TRACE_PYTHON_ENTRY, code id} from the leaf on, writes CODE records for
 * those that are new, returns how many; *flags: of enum trace_stack_flags. Async-signal-safe. */
typedef size_t frame_source(struct capture_thread *t, const struct frame_view *v, uint64_t *pair,
                            size_t room, uint32_t *flags);
/* Stacks have the frames of this source from now on; NULL: native ones alone. */
void stack_add_frames(frame_source *source);

/* Which definitions (stacks, code objects) the trace has already. Ids that find no room are
 * forgotten: they are written again, which does no harm. */
int stack_was_written(uint64_t id);
void stack_remember(uint64_t id);

/* Zeroed memory that stays, counted as the library's; NULL: there is none. */
void *stack_map(size_t bytes);

#endif
