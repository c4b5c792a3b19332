/* For a thread that is seen from outside, only pc and stack pointer are known. The first of its
 * functions that finds its frame by the frame pointer ends the unwinding, unless one below it has
 * saved that register. Then its return address is searched: the word in the stack that is
 * the address behind a call of this very function. */
#include <string.h>

#include "profiler/capture/core/unwind/cfi.h"
#include "profiler/capture/raw/safe_read.h"

enum { SEARCHED = 16384, JUMP_BYTES = 16 };
enum call_found { NO_CALL, SOME_CALL, THIS_CALL };

#if defined __x86_64__
/* Returns the target of a stub of the procedure linkage table: [endbr64] [bnd] jmp *slot(%rip). */
static uintptr_t behind_stub(uintptr_t stub)
{
    uint8_t b[JUMP_BYTES];
    int32_t slot;
    uintptr_t target;
    if (!safe_read(stub, b, sizeof b))
        return 0;
    unsigned at = !memcmp(b, "\xf3\x0f\x1e\xfa", 4) ? 4 : 0;
    at += b[at] == 0xf2;
    if (b[at] != 0xff || b[at + 1] != 0x25)
        return 0;
    memcpy(&slot, b + at + 2, sizeof slot);
    return safe_read(stub + at + 6 + (uintptr_t)(intptr_t)slot, &target, sizeof target) ? target
                                                                                        : 0;
}

/* Finds the function that the instruction before `pc` calls. */
static enum call_found search_call_target(uintptr_t pc, uintptr_t function)
{
    struct module m;
    uint8_t b[7];
    int32_t distance;
    uintptr_t target;
    if (!modules_find(pc - 1, &m) || !safe_read(pc - 7, b, sizeof b))
        return NO_CALL;
    memcpy(&distance, b + 3, sizeof distance);
    if (b[2] == 0xe8) {
        target = pc + (uintptr_t)(intptr_t)distance;
        /* It calls another function, which may have passed on to this one by a jump. */
        return target == function || behind_stub(target) == function ? THIS_CALL : SOME_CALL;
    }
    if (b[1] == 0xff && b[2] == 0x15) { /* call *slot(%rip) */
        int known = safe_read(pc + (uintptr_t)(intptr_t)distance, &target, sizeof target);
        return known && target == function ? THIS_CALL : NO_CALL;
    }
    int through_register =
        (b[5] == 0xff && (b[6] & 0x38) == 0x10) || (b[4] == 0xff && (b[5] & 0xf8) == 0x50) ||
        (b[3] == 0xff && (b[4] & 0x38) == 0x10) || (b[1] == 0xff && (b[2] & 0xf8) == 0x90) ||
        (b[0] == 0xff && (b[1] & 0xf8) == 0x90);
    return through_register ? SOME_CALL : NO_CALL;
}

/* Other calls, as those through a register, are believed when the frame pointers go on from here.
 */
static int chain_goes_on(struct unwind_memory *m, uintptr_t frame)
{
    uintptr_t next, pc;
    struct module module;
    return unwind_read(m, frame, &next) && next > frame && next - frame < 1 << 20 &&
           next % sizeof next == 0 && unwind_read(m, next + sizeof next, &pc) &&
           modules_find(pc - 1, &module);
}

int unwind_search(struct unwind_registers *r, struct unwind_memory *m, int exact)
{
    struct module module;
    struct cfi_function f;
    uintptr_t at, word, likely = 0, pc = exact ? r->pc : r->pc - 1;
    if (r->known >> UNWIND_FP & 1 || !modules_find(pc, &module) || !cfi_find(&module, pc, &f))
        return 0;
    at = r->r[UNWIND_SP] + sizeof at; /* the frame pointer lies one word below */
    for (uintptr_t end = at + SEARCHED; at < end && unwind_read(m, at, &word); at += sizeof at) {
        enum call_found v = search_call_target(word, f.start);
        if (v == SOME_CALL && !likely && chain_goes_on(m, at - sizeof at))
            likely = at - sizeof at;
        if (v == THIS_CALL) {
            likely = at - sizeof at;
            break;
        }
    }
    if (!likely)
        return 0;
    r->r[UNWIND_FP] = likely;
    r->known |= 1ull << UNWIND_FP;
    return 1;
}
#else
int unwind_search(struct unwind_registers *r, struct unwind_memory *m, int exact)
{
    (void)r;
    (void)m;
    (void)exact;
    return 0;
}
#endif
