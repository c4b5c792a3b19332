/* Return addresses of a stack, from the leaf to the root. Async-signal-safe, no heap, no locks; a
 * stack that was overwritten gives a wrong or short answer and never a fault. */
#ifndef TP_CAPTURE_CORE_UNWIND_UNWIND_H
#define TP_CAPTURE_CORE_UNWIND_UNWIND_H

#include <stddef.h>
#include <stdint.h>

#include "profiler/capture/core/unwind/deep.h"

/* Deeper stacks keep these many frames from the leaf and from the root. */
enum { UNWIND_INNER = 768, UNWIND_OUTER = 256, UNWIND_ROOM = UNWIND_INNER + 1 + UNWIND_OUTER };

/* Registers by their DWARF number. */
#if defined __x86_64__
enum { UNWIND_FP = 6, UNWIND_SP = 7, UNWIND_COLUMNS = 17, UNWIND_RETURN = 16 };
#elif defined __aarch64__
enum { UNWIND_FP = 29, UNWIND_SP = 31, UNWIND_COLUMNS = 32, UNWIND_RETURN = 30 };
#else
#error "stacks can be taken on x86-64 and aarch64"
#endif

struct unwind_registers {
    uintptr_t pc, r[UNWIND_COLUMNS];
    uint64_t known; /* bit per register */
    uintptr_t slot; /* where pc was read, on the stack; 0: elsewhere */
};

struct unwind_before; /* unwind_before.h */

/* Memory that may be read directly: from `floor` on (the stack pointer where the thread was
 * stopped) to the end of its stack. All else goes through a window that is filled by
 * safe_read_some. */
struct unwind_memory {
    uintptr_t low, high; /* the thread's stack; 0, 0: nothing is read plainly */
    uintptr_t floor;
    uintptr_t window_at;
    size_t window_bytes, window_room;
    uint8_t *window;
    struct cfi_scratch *scratch;
    struct unwind_before *before; /* NULL: each step is taken */
    size_t at_before;
};

/* Root of the thread's last deep stack: return addresses and where they lie. As long as they lie
 * there still, the way to the root need not be taken again. */
struct unwind_outer {
    struct deep deep;
    int known;
    uintptr_t pc[UNWIND_OUTER], slot[UNWIND_OUTER];
};

void unwind_from_context(struct unwind_registers *r, const void *ucontext);
uintptr_t unwind_stack_pointer(const void *ucontext);

/* From the caller itself, whose frame must still be there when unwind() runs: hence inline. */
static inline __attribute__((always_inline)) void unwind_from_here(struct unwind_registers *r)
{
#if defined __x86_64__
    __asm__ volatile("leaq 1f(%%rip), %%rax\n1: movq %%rax, 0(%0)\n"
                     "movq %%rbx, 32(%0)\nmovq %%rbp, 56(%0)\nmovq %%rsp, 64(%0)\n"
                     "movq %%r12, 104(%0)\nmovq %%r13, 112(%0)\n"
                     "movq %%r14, 120(%0)\nmovq %%r15, 128(%0)"
                     :
                     : "r"(r)
                     : "rax", "memory");
    r->known = 0xf0c8;
#else
    __asm__ volatile("adr x9, 1f\n1: str x9, [%0]\nstr x29, [%0, #240]\n"
                     "mov x9, sp\nstr x9, [%0, #256]"
                     :
                     : "r"(r)
                     : "x9", "memory");
    r->known = 1ull << UNWIND_FP | 1ull << UNWIND_SP;
#endif
}

/* Fills `pc`, returns how many; *complete: the last one is the root of its thread. A frame that a
 * signal interrupted is given as its address + 1, so that address - 1 is right for all but the
 * first.
 */
size_t unwind(struct unwind_registers *r, struct unwind_memory *m, uintptr_t *pc, size_t room,
              int *complete);

/* unwind_outer.c: the same with UNWIND_ROOM; *deep: the middle is left out, where TRACE_LEFT_OUT
 * lies. */
size_t unwind_both_ends(struct unwind_registers *r, struct unwind_memory *m, uintptr_t *pc,
                        struct unwind_outer *o, int *complete, int *deep);

/* For the files of this folder: one frame, and from *n frames on up to `room`. *exact: r->pc is not
 * a return address. */
enum unwind_next { NEXT_FRAME, NEXT_ROOT, NEXT_LOST };
enum unwind_next unwind_next(struct unwind_registers *r, struct unwind_memory *m, int *exact);
enum unwind_next unwind_fill(struct unwind_registers *r, struct unwind_memory *m, int *exact,
                             uintptr_t *pc, size_t room, size_t *n);

/* unwind_search.c: the frame pointer where it is not known; 0: not found. */
int unwind_search(struct unwind_registers *r, struct unwind_memory *m, int exact);

/* signal_frame.c: where r->pc is the return of a signal handler that only its code tells: the
 * registers that the signal found. */
int unwind_signal_frame(struct unwind_registers *r);

/* Without the signature that aarch64 may put into the upper bits of a return address. */
static inline uintptr_t unwind_strip(uintptr_t pc)
{
#if defined __aarch64__
    return pc & 0xffffffffffffull;
#else
    return pc;
#endif
}

/* unwind_memory.c: 0: it cannot be read. */
int unwind_read(struct unwind_memory *m, uintptr_t address, uintptr_t *value);

#endif
