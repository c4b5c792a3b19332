/* DWARF expressions in call frame information: the part of its stack machine that they use. */
#include <stddef.h>

#include "profiler/capture/core/unwind/cfi.h"

enum { DEPTH = 16, STEPS = 256 };

struct cfi_machine {
    uintptr_t stack[DEPTH];
    unsigned n;
    struct cfi_cursor c;
    const uint8_t *start;
    struct unwind_registers *r;
    struct unwind_memory *memory;
    int bad;
};

static void expression_push(struct cfi_machine *m, uintptr_t value)
{
    if (m->n == DEPTH)
        m->bad = 1;
    else
        m->stack[m->n++] = value;
}

static uintptr_t expression_pop(struct cfi_machine *m)
{
    if (!m->n) {
        m->bad = 1;
        return 0;
    }
    return m->stack[--m->n];
}

static uintptr_t read_register(struct cfi_machine *m, uint64_t column)
{
    if (column < UNWIND_COLUMNS && m->r->known >> column & 1)
        return m->r->r[column];
    m->bad = 1;
    return 0;
}

static void expression_dereference(struct cfi_machine *m, unsigned bytes)
{
    uintptr_t value = 0;
    if (!bytes || bytes > sizeof value || !unwind_read(m->memory, expression_pop(m), &value)) {
        m->bad = 1;
        return;
    }
    expression_push(m, bytes == sizeof value ? value : value & ((1ull << 8 * bytes) - 1));
}

static void expression_pick(struct cfi_machine *m, uint64_t from_top)
{
    if (from_top >= m->n)
        m->bad = 1;
    else
        expression_push(m, m->stack[m->n - 1 - from_top]);
}

static void expression_rotate(struct cfi_machine *m)
{
    uintptr_t top = expression_pop(m), second = expression_pop(m), third = expression_pop(m);
    expression_push(m, top);
    expression_push(m, third);
    expression_push(m, second);
}

static void expression_jump(struct cfi_machine *m, int16_t by, int taken)
{
    if (!taken)
        return;
    if (by < m->start - m->c.at || by > m->c.end - m->c.at)
        m->bad = 1;
    else
        m->c.at += by;
}

static void expression_unary(struct cfi_machine *m, unsigned op)
{
    uintptr_t a = expression_pop(m);
    switch (op) {
    case 0x19: /* abs */
        expression_push(m, (intptr_t)a < 0 ? -a : a);
        break;
    case 0x1f: /* neg */
        expression_push(m, -a);
        break;
    case 0x20: /* not */
        expression_push(m, ~a);
        break;
    default: /* 0x23 plus_uconst */
        expression_push(m, a + cfi_uleb(&m->c));
    }
}

static uintptr_t expression_binary(struct cfi_machine *m, unsigned op, uintptr_t a, uintptr_t b)
{
    intptr_t sa = (intptr_t)a, sb = (intptr_t)b;
    switch (op) {
    case 0x1a: /* and */
        return a & b;
    case 0x1b: /* div, signed */
        if (!b || (sa == INTPTR_MIN && sb == -1))
            break;
        return (uintptr_t)(sa / sb);
    case 0x1c: /* minus */
        return a - b;
    case 0x1d: /* mod */
        if (!b)
            break;
        return a % b;
    case 0x1e: /* mul */
        return a * b;
    case 0x21: /* or */
        return a | b;
    case 0x22: /* plus */
        return a + b;
    case 0x24: /* shl */
        return b < 64 ? a << b : 0;
    case 0x25: /* shr */
        return b < 64 ? a >> b : 0;
    case 0x26: /* shra */
        return (uintptr_t)(sa >> (b < 64 ? b : 63));
    case 0x27: /* xor */
        return a ^ b;
    case 0x29: /* eq ge gt le lt ne, signed */
        return sa == sb;
    case 0x2a:
        return sa >= sb;
    case 0x2b:
        return sa > sb;
    case 0x2c:
        return sa <= sb;
    case 0x2d:
        return sa < sb;
    case 0x2e:
        return sa != sb;
    default:
        break;
    }
    m->bad = 1;
    return 0;
}

static void expression_stack_op(struct cfi_machine *m, unsigned op)
{
    uintptr_t a, b;
    switch (op) {
    case 0x12: /* dup */
        expression_pick(m, 0);
        break;
    case 0x13: /* drop */
        (void)expression_pop(m);
        break;
    case 0x14: /* over */
        expression_pick(m, 1);
        break;
    case 0x15: /* pick */
        expression_pick(m, cfi_fixed(&m->c, 1));
        break;
    case 0x16: /* swap */
        a = expression_pop(m);
        b = expression_pop(m);
        expression_push(m, a);
        expression_push(m, b);
        break;
    default: /* 0x17 rot */
        expression_rotate(m);
    }
}

static void expression_constant(struct cfi_machine *m, unsigned op)
{
    if (op == 0x10) {
        expression_push(m, cfi_uleb(&m->c));
    } else if (op == 0x11) {
        expression_push(m, (uintptr_t)cfi_sleb(&m->c));
    } else { /* 0x08.. const1u const1s const2u .. const8s */
        unsigned bytes = 1u << (op - 0x08) / 2, shift = 64 - 8 * bytes;
        uint64_t value = cfi_fixed(&m->c, bytes);
        expression_push(m, op & 1 ? (uintptr_t)((int64_t)(value << shift) >> shift) : value);
    }
}

static void expression_execute(struct cfi_machine *m, unsigned op)
{
    if (op >= 0x30 && op < 0x50)
        expression_push(m, op - 0x30);
    else if (op >= 0x70 && op < 0x90)
        expression_push(m, read_register(m, op - 0x70) + (uintptr_t)cfi_sleb(&m->c));
    else if (op >= 0x08 && op <= 0x11)
        expression_constant(m, op);
    else if (op >= 0x12 && op <= 0x17)
        expression_stack_op(m, op);
    else if (op == 0x19 || op == 0x1f || op == 0x20 || op == 0x23)
        expression_unary(m, op);
    else if (op == 0x28 || op == 0x2f) { /* bra, skip */
        int16_t by = (int16_t)cfi_fixed(&m->c, 2);
        expression_jump(m, by, op == 0x2f || expression_pop(m) != 0);
    } else if (op >= 0x1a && op <= 0x2e) {
        uintptr_t b = expression_pop(m), a = expression_pop(m);
        expression_push(m, expression_binary(m, op, a, b));
    } else if (op == 0x03) /* addr */
        expression_push(m, cfi_fixed(&m->c, sizeof(uintptr_t)));
    else if (op == 0x06)
        expression_dereference(m, sizeof(uintptr_t));
    else if (op == 0x94)
        expression_dereference(m, (unsigned)cfi_fixed(&m->c, 1));
    else if (op == 0x92) { /* bregx */
        uint64_t column = cfi_uleb(&m->c);
        expression_push(m, read_register(m, column) + (uintptr_t)cfi_sleb(&m->c));
    } else if (op != 0x96) /* nop */
        m->bad = 1;
}

int cfi_evaluate(const struct module *module, const uint8_t *block, struct unwind_registers *r,
                 struct unwind_memory *memory, int has_cfa, uintptr_t cfa, uintptr_t *result)
{
    struct cfi_machine m = {
        .c = {block, (const uint8_t *)module->end, 0}, .r = r, .memory = memory};
    uint64_t bytes = cfi_uleb(&m.c);
    if (m.c.bad || bytes > (size_t)(m.c.end - m.c.at))
        return 0;
    m.start = m.c.at;
    m.c.end = m.c.at + bytes;
    if (has_cfa)
        expression_push(&m, cfa);
    for (int i = 0; i < STEPS && m.c.at < m.c.end && !m.bad && !m.c.bad; i++)
        expression_execute(&m, *m.c.at++);
    if (m.bad || m.c.bad || m.c.at < m.c.end)
        return 0;
    *result = expression_pop(&m);
    return !m.bad;
}
