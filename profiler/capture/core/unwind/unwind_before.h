/* Keeps the memory that a thread's last unwinding to its root has read, so that the next one
 * compares instead of unwinding. */
#ifndef TP_CAPTURE_CORE_UNWIND_UNWIND_BEFORE_H
#define TP_CAPTURE_CORE_UNWIND_UNWIND_BEFORE_H

#include "profiler/capture/core/unwind/unwind.h"

enum unwind_known_kind { UNWIND_SLOW, UNWIND_COMPARABLE, UNWIND_ROOT };
struct unwind_known {
    uintptr_t pc, sp; /* of the frame; pc 0: behind the root */
    uintptr_t slot;   /* where `base` had been saved; 0: not in this walk */
    uintptr_t value;  /* of `base` */
    unsigned base;    /* the register from which its end is counted */
    enum unwind_known_kind kind;
};
enum { UNWIND_BEFORE = 256 /* frames, the root among them */, UNWIND_NOWHERE = 1 };
struct unwind_before {
    uint32_t unloads; /* code that goes away takes what is known of it along */
    size_t first, end, fresh_count;
    uintptr_t from[UNWIND_COLUMNS]; /* where each register was restored from in this walk */
    struct unwind_known step;       /* what the last step was */
    struct unwind_known known[UNWIND_BEFORE], fresh[UNWIND_BEFORE];
};

/* All with m->before: `r`, at a return address, is where the last way was, and
 * nothing has changed from there to the root: the frames behind it are given. Else 0. */
int unwind_before_reaches(const struct unwind_registers *r, struct unwind_memory *m, uintptr_t *pc,
                          size_t room, size_t *n);
void unwind_before_start(struct unwind_memory *m);
/* A step from this frame has told m->before->step. */
void unwind_before_add(struct unwind_memory *m, uintptr_t pc, uintptr_t sp);
void unwind_before_end(struct unwind_memory *m, uintptr_t pc, uintptr_t sp); /* at the root */

#endif
