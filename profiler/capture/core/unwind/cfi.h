/* Call frame information (.eh_frame): where a function keeps its caller's registers, by address.
 * Async-signal-safe, no heap; whatever the tables hold, no byte outside of [start, end) of their
 * module is read. */
#ifndef TP_CAPTURE_CORE_UNWIND_CFI_H
#define TP_CAPTURE_CORE_UNWIND_CFI_H

#include "profiler/capture/core/unwind/modules.h"
#include "profiler/capture/core/unwind/unwind.h"

enum cfi_kind { /* of a register's rule */
                CFI_SAME,
                CFI_UNDEFINED,
                CFI_OFFSET,         /* at CFA + value */
                CFI_VAL_OFFSET,     /* is CFA + value */
                CFI_REGISTER,       /* in register `value` */
                CFI_EXPRESSION,     /* at the result of the expression at `value` */
                CFI_VAL_EXPRESSION, /* is that result */
};
struct cfi_row {
    uint8_t kind[UNWIND_COLUMNS];
    int64_t value[UNWIND_COLUMNS];
    uint8_t cfa_register, cfa_is_expression;
    int64_t cfa_value; /* offset, or address of the expression's length */
};
enum { CFI_REMEMBERED = 6 };
struct cfi_scratch { /* 2 KiB, too much for a signal's stack */
    struct cfi_row initial, now, remembered[CFI_REMEMBERED];
};

struct cfi_function {
    uintptr_t start, end; /* addresses of the function */
    uint64_t code_align;
    int64_t data_align;
    unsigned return_column, encoding;
    int signal_frame;
    const uint8_t *first, *first_end;     /* instructions that all functions of its kind share */
    const uint8_t *program, *program_end; /* its own */
    const struct module *module;
};

/* Finds the description of the function at `pc`. 0: there is none, or it cannot be read. */
int cfi_find(const struct module *m, uintptr_t pc, struct cfi_function *f);
/* The row for `pc`, left in s->now. 0: the program is broken or needs more than there is here. */
int cfi_row(const struct cfi_function *f, uintptr_t pc, struct cfi_scratch *s);

/* Evaluates a DWARF expression at `block` (its length first). */
int cfi_evaluate(const struct module *m, const uint8_t *block, struct unwind_registers *r,
                 struct unwind_memory *memory, int has_cfa, uintptr_t cfa, uintptr_t *result);

enum cfi_step { CFI_NONE, CFI_ROOT, CFI_FAILED, CFI_DONE, CFI_DONE_SIGNAL };
/* To the caller's registers. `exact`: pc is not a return address. CFI_NONE: nothing is known about
 * this address; `r` is unchanged unless done. */
enum cfi_step cfi_step(struct unwind_registers *r, struct unwind_memory *m, int exact);
int cfi_start(size_t *bytes); /* 0 or errno; adds the memory that it maps */

/* Bounded reading of encoded numbers. */
struct cfi_cursor {
    const uint8_t *at, *end;
    int bad;
};
uint64_t cfi_fixed(struct cfi_cursor *c, unsigned bytes);
uint64_t cfi_uleb(struct cfi_cursor *c);
int64_t cfi_sleb(struct cfi_cursor *c);

#endif
