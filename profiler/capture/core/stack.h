/* Stacks of the target's threads, native and of interpreters, as STACK records; and the memory of
 * which definitions the trace has already. */
#ifndef TP_CAPTURE_CORE_STACK_H
#define TP_CAPTURE_CORE_STACK_H

#include "profiler/capture/core/recorder.h"
#include "profiler/capture/core/unwind/deep.h"

extern const struct recorder stack_recorder;

/* Records the calling thread's stack and returns its id (0: none). `ucontext` from a signal
 * handler, or NULL: then the frames of this library are left out by `caller`, the return address of
 * its entry point. Async-signal-safe. */
uint64_t capture_stack(struct capture_thread *t, const void *ucontext, const void *caller);
/* Takes the stack of another thread, blocked in the kernel at (pc, sp); written to t's stream. */
uint64_t capture_stack_of(struct capture_thread *t, pid_t tid, uintptr_t pc, uintptr_t sp);

/* Takes the stack of a thread of another process, which is stopped with the registers in
 * `ucontext`. For that process, stack_start_outside() takes the place of the recorder's start: 0 or
 * errno; what it reads are safe_read_process() and modules_set(). */
uint64_t capture_stack_stopped(struct capture_thread *t, pid_t tid, const void *ucontext);
int stack_start_outside(void);

/* Deeper stacks keep the first and the last of their frames. */
enum { FRAME_INNER = 384, FRAME_OUTER = 128, FRAME_ROOM = FRAME_INNER + 1 + FRAME_OUTER };
/* The source's memory of the root of this thread's last deep stack: its last frames, those of the
 * root last, what each was executing and its pair; and room to read pages. */
struct frame_outer {
    size_t known; /* 0: nothing */
    uintptr_t at[FRAME_OUTER], code[FRAME_OUTER];
    intptr_t instruction[FRAME_OUTER];
    uint64_t pair[FRAME_OUTER][2];
    uint8_t page[4096];
};
/* From where an interpreter's frames are wanted: the thread itself, stopped with its stack pointer
 * at `floor` (what lies from there to `high` is read plainly), or another thread `tid`. */
enum { FRAME_SCRATCH = 8192, FRAME_RECENT = 32768 };
struct frame_view {
    pid_t tid;  /* 0: the calling thread */
    int called; /* it called us, no signal came: its frames are as between two instructions */
    uintptr_t floor, high;
    uint8_t *scratch; /* FRAME_SCRATCH bytes */
    void *recent; /* FRAME_RECENT bytes, the source's own, that this thread's next view has again,
                     zero at first; NULL: none */
    struct deep *deep;
    struct frame_outer *outer;
};
/* Fills `pair` (FRAME_ROOM of them) with {line | TRACE_PYTHON_ENTRY, code id} from the leaf on, or
 * {TRACE_LEFT_OUT | n, 0}, writes CODE records for those that are new, returns how many; *flags: of
 * enum trace_stack_flags. Async-signal-safe. */
typedef size_t frame_source(struct capture_thread *t, const struct frame_view *v, uint64_t *pair,
                            uint32_t *flags);
/* Stacks have the frames of this source from now on; NULL: native ones alone. */
void stack_add_frames(frame_source *source);

/* Tracks which definitions (stacks, code objects) the trace has already. Ids that find no room are
 * forgotten: they are written again, which does no harm. */
int stack_was_written(uint64_t id);
void stack_remember(uint64_t id);
/* The program has made other code: the same addresses may be another function's from now on. */
void stack_code_changed(void);

/* Zeroed memory that stays, counted as the library's; NULL: there is none. */
void *stack_map(size_t bytes);

#endif
