/* Python frames of a thread, read from CPython's own structures: without the interpreter lock,
 * without calling it, from any place that a signal can hit. CPython 3.9 to 3.14, default builds. */
#ifndef TP_CAPTURE_RECORDERS_PYTHON_PYTHON_H
#define TP_CAPTURE_RECORDERS_PYTHON_PYTHON_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct capture_thread;

/* Looks for an interpreter among the images of the process; cheap when there are no new ones. Not
 * from a handler. */
void python_look(struct capture_thread *t);
/* Minor version of the interpreter whose frames are read; 0: none. */
int python_minor(void);
/* In a forked child: code objects are written again. */
void python_forked(void);

enum { PYTHON_SCRATCH = 8192 };

/* From where the frames are wanted: the thread itself, stopped with its stack pointer at `floor`
 * (what lies from there to `high` is read plainly), or another thread `tid` of the process. */
struct python_view {
    pid_t tid; /* 0: the calling thread */
    uintptr_t floor, high;
    uint8_t *scratch; /* PYTHON_SCRATCH bytes */
};

/* Fills `pair` with {line | TRACE_PYTHON_ENTRY, code id} from the leaf on, writes CODE records for
 * those that are new, returns how many; *flags: of enum trace_stack_flags. */
size_t python_frames(struct capture_thread *t, const struct python_view *v, uint64_t *pair,
                     size_t room, uint32_t *flags);

#endif
