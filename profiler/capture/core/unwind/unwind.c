/* The stack from the leaf to the root: call frame information first, then frame pointers, then
 * calls found before return addresses. */
#include <string.h>
#include <ucontext.h>

#include "profiler/capture/core/unwind/cfi.h"
#include "profiler/capture/core/unwind/unwind_before.h"
#include "profiler/capture/raw/safe_read.h"

void unwind_from_context(struct unwind_registers *r, const void *ucontext)
{
    const ucontext_t *u = ucontext;
#if defined __x86_64__
    /* DWARF's order of the registers in the kernel's. */
    static const uint8_t order[16] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                      REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                      REG_R12, REG_R13, REG_R14, REG_R15};
    for (int i = 0; i < 16; i++)
        r->r[i] = (uintptr_t)u->uc_mcontext.gregs[order[i]];
    r->pc = (uintptr_t)u->uc_mcontext.gregs[REG_RIP];
    r->known = 0xffff;
#else
    memcpy(r->r, u->uc_mcontext.regs, sizeof u->uc_mcontext.regs);
    r->r[UNWIND_SP] = u->uc_mcontext.sp;
    r->pc = u->uc_mcontext.pc;
    r->known = 0xffffffff;
#endif
}

uintptr_t unwind_stack_pointer(const void *ucontext)
{
    const ucontext_t *u = ucontext;
#if defined __x86_64__
    return (uintptr_t)u->uc_mcontext.gregs[REG_RSP];
#else
    return u->uc_mcontext.sp;
#endif
}

/* Memory below the stack pointer of a stopped thread may never have been touched; memory above it
 * has. */
static void set_floor(struct unwind_memory *m, uintptr_t sp)
{
    m->floor = sp >= m->low && sp < m->high ? sp : m->high;
}

/* The forms of "call" by how many bytes they have. */
static int follows_call(uintptr_t pc)
{
#if defined __x86_64__
    uint8_t b[7];
    if (!safe_read(pc - 7, b, 7))
        return 0;
    return b[2] == 0xe8 || (b[5] == 0xff && (b[6] & 0x38) == 0x10) ||
           (b[4] == 0xff && (b[5] & 0xf8) == 0x50) || (b[3] == 0xff && (b[4] & 0x38) == 0x10) ||
           (b[1] == 0xff && (b[2] & 0xf8) == 0x90) || (b[0] == 0xff && (b[1] & 0xf8) == 0x90);
#else
    uint32_t b;
    return safe_read(pc - 4, &b, 4) && (b >> 26 == 0x25 || (b & 0xfffffc1f) == 0xd63f0000);
#endif
}

/* Return addresses outside of any image (generated code) are believed when a call comes before
 * them. */
static int is_return_address(uintptr_t pc)
{
    struct module m;
    return modules_find(pc - 1, &m) || follows_call(pc);
}

enum unwind_step { STEP_DONE, STEP_ROOT, STEP_LOST };

static enum unwind_step frame_pointer_step(struct unwind_registers *r, struct unwind_memory *m)
{
    uintptr_t fp = r->r[UNWIND_FP], next, pc;
    if (!(r->known >> UNWIND_FP & 1) || fp < r->r[UNWIND_SP] || fp % sizeof fp)
        return STEP_LOST;
    if (!unwind_read(m, fp, &next) || !unwind_read(m, fp + sizeof fp, &pc))
        return STEP_LOST;
    if (!pc)
        return STEP_ROOT;
    if ((next && next <= fp) || !is_return_address(unwind_strip(pc)))
        return STEP_LOST;
    r->pc = unwind_strip(pc);
    r->slot = fp + sizeof fp;
    r->r[UNWIND_FP] = next;
    r->r[UNWIND_SP] = fp + 2 * sizeof fp;
    r->known = 1ull << UNWIND_FP | 1ull << UNWIND_SP;
    return STEP_DONE;
}

/* Hand-written code without call frame information that has pushed nothing yet. */
static enum unwind_step leaf_step(struct unwind_registers *r, struct unwind_memory *m)
{
    uintptr_t pc = unwind_strip(r->r[UNWIND_RETURN]);
    if (UNWIND_RETURN != 16) { /* aarch64: so do stubs of the procedure linkage table */
        if (!(r->known >> UNWIND_RETURN & 1) || !follows_call(pc))
            return STEP_LOST;
        r->pc = pc;
        r->slot = 0;
        r->known &= ~(1ull << UNWIND_RETURN);
        return STEP_DONE;
    }
    if (!unwind_read(m, r->r[UNWIND_SP], &pc) || !follows_call(pc))
        return STEP_LOST;
    r->pc = pc;
    r->slot = r->r[UNWIND_SP];
    r->r[UNWIND_SP] += sizeof pc;
    return STEP_DONE;
}

static enum unwind_step blind_step(struct unwind_registers *r, struct unwind_memory *m, int exact)
{
    struct module module;
    int known = exact && modules_find(r->pc, &module);
    if (exact && !known)
        modules_outside = 1;
    if (known && leaf_step(r, m) == STEP_DONE)
        return STEP_DONE;
    return frame_pointer_step(r, m);
}

/* The step's findings cannot be compared later. */
static void forget_step(struct unwind_memory *m)
{
    if (!m->before)
        return;
    m->before->step.kind = UNWIND_SLOW;
    memset(m->before->from, 0, sizeof m->before->from);
}

enum unwind_next unwind_next(struct unwind_registers *r, struct unwind_memory *m, int *exact)
{
    enum cfi_step step = cfi_step(r, m, *exact);
    if (step == CFI_FAILED && unwind_search(r, m, *exact)) {
        step = cfi_step(r, m, *exact);
        forget_step(m);
    }
    if (step == CFI_ROOT)
        return NEXT_ROOT;
    if (step == CFI_FAILED)
        return NEXT_LOST;
    if (step == CFI_NONE && !*exact && unwind_signal_frame(r)) {
        step = CFI_DONE_SIGNAL;
    } else if (step == CFI_NONE) {
        enum unwind_step blind = blind_step(r, m, *exact);
        if (blind != STEP_DONE)
            return blind == STEP_ROOT ? NEXT_ROOT : NEXT_LOST;
    }
    *exact = step == CFI_DONE_SIGNAL;
    if (*exact)
        set_floor(m, r->r[UNWIND_SP]);
    return NEXT_FRAME;
}

/* A step that is remembered, where it can be compared later. */
static enum unwind_next noted_step(struct unwind_registers *r, struct unwind_memory *m, int *exact)
{
    struct unwind_before *b = m->before;
    uintptr_t pc = r->pc, sp = r->r[UNWIND_SP];
    int was_exact = *exact;
    b->step.kind = UNWIND_SLOW;
    enum unwind_next next = unwind_next(r, m, exact);
    if (b->step.kind == UNWIND_SLOW)
        forget_step(m);
    if (b->step.kind != UNWIND_COMPARABLE || was_exact)
        b->fresh_count = b->step.kind == UNWIND_ROOT && !was_exact ? b->fresh_count : 0;
    else
        unwind_before_add(m, pc, sp);
    if (next != NEXT_ROOT || was_exact || !m->before)
        return next;
    if (b->step.kind == UNWIND_ROOT) /* by its code alone */
        unwind_before_end(m, pc, sp);
    else if (b->step.kind == UNWIND_COMPARABLE) /* its return address is 0 */
        unwind_before_end(m, 0, r->r[UNWIND_SP]);
    return next;
}

enum unwind_next unwind_fill(struct unwind_registers *r, struct unwind_memory *m, int *exact,
                             uintptr_t *pc, size_t room, size_t *n)
{
    enum unwind_next next = NEXT_FRAME;
    if (!*n)
        set_floor(m, r->r[UNWIND_SP]);
    unwind_before_start(m);
    while (next == NEXT_FRAME && *n < room) {
        pc[*n] = *exact && *n ? r->pc + 1 : r->pc;
        ++*n;
        if (!m->before) {
            next = unwind_next(r, m, exact);
            continue;
        }
        if (!*exact && unwind_before_reaches(r, m, pc, room, n))
            return NEXT_ROOT;
        next = noted_step(r, m, exact);
    }
    return next;
}

size_t unwind(struct unwind_registers *r, struct unwind_memory *m, uintptr_t *pc, size_t room,
              int *complete)
{
    size_t n = 0;
    int exact = 1;
    *complete = unwind_fill(r, m, &exact, pc, room, &n) == NEXT_ROOT;
    return n;
}
