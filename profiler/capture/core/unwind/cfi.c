/* Reads .eh_frame: finds the description of a function and runs its instructions up to an address.
 */
#include <string.h>

#include "profiler/capture/core/unwind/cfi.h"

uint64_t cfi_fixed(struct cfi_cursor *c, unsigned bytes)
{
    uint64_t value = 0;
    if ((size_t)(c->end - c->at) < bytes) {
        c->bad = 1;
        return 0;
    }
    memcpy(&value, c->at, bytes);
    c->at += bytes;
    return value;
}

uint64_t cfi_uleb(struct cfi_cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; c->at < c->end; shift += 7) {
        uint8_t byte = *c->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    c->bad = 1;
    return 0;
}

int64_t cfi_sleb(struct cfi_cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; c->at < c->end;) {
        uint8_t byte = *c->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (!(byte & 0x80)) {
            if (byte & 0x40 && shift < 64)
                value |= ~0ull << shift;
            return (int64_t)value;
        }
    }
    c->bad = 1;
    return 0;
}

/* DW_EH_PE: the low four bits say how a pointer is stored, the next three what it is relative to.
 */
enum { PE_OMIT = 0xff, PE_PCREL = 0x10, PE_DATAREL = 0x30, PE_INDIRECT = 0x80 };

static uintptr_t cfi_encoded_pointer(struct cfi_cursor *c, unsigned encoding, uintptr_t data_base)
{
    static const struct {
        uint8_t bytes, is_signed;
    } form[16] = {[0] = {sizeof(uintptr_t), 0},
                  [2] = {2, 0},
                  [3] = {4, 0},
                  [4] = {8, 0},
                  [10] = {2, 1},
                  [11] = {4, 1},
                  [12] = {8, 1}};
    uintptr_t place = (uintptr_t)c->at, value;
    unsigned low = encoding & 15, relative = encoding & 0x70;
    if (low == 1 || low == 9) {
        value = low == 1 ? cfi_uleb(c) : (uintptr_t)cfi_sleb(c);
    } else if (form[low].bytes) {
        unsigned shift = 64 - 8 * form[low].bytes;
        value = cfi_fixed(c, form[low].bytes);
        if (form[low].is_signed)
            value = (uintptr_t)((int64_t)(value << shift) >> shift);
    } else {
        c->bad = 1;
        return 0;
    }
    if (relative == PE_PCREL)
        value += place;
    else if (relative == PE_DATAREL && data_base)
        value += data_base;
    else if (relative)
        c->bad = 1;
    return value; /* PE_INDIRECT occurs with personality routines only, which are skipped */
}

/* Makes a cursor over an entry of .eh_frame at `address`, behind its length. */
static struct cfi_cursor entry_at(const struct module *m, uintptr_t address)
{
    struct cfi_cursor c = {.bad = 1};
    if (address < m->start || address >= m->end)
        return c;
    c = (struct cfi_cursor){(const uint8_t *)address, (const uint8_t *)m->end, 0};
    uint64_t length = cfi_fixed(&c, 4);
    if (length == 0xffffffff)
        length = cfi_fixed(&c, 8);
    if (c.bad || !length || length > (size_t)(c.end - c.at))
        c.bad = 1;
    else
        c.end = c.at + length;
    return c;
}

/* The common part: alignments, return column and what its augmentation string announces. */
static int read_common(struct cfi_function *f, uintptr_t address, int *has_data)
{
    struct cfi_cursor c = entry_at(f->module, address);
    if (c.bad || cfi_fixed(&c, 4) != 0)
        return 0;
    uint64_t version = cfi_fixed(&c, 1);
    const char *text = (const char *)c.at;
    size_t room = (size_t)(c.end - c.at), length = strnlen(text, room);
    if (c.bad || length == room || (version != 1 && version != 3))
        return 0;
    c.at += length + 1;
    f->code_align = cfi_uleb(&c);
    f->data_align = cfi_sleb(&c);
    f->return_column = (unsigned)(version == 1 ? cfi_fixed(&c, 1) : cfi_uleb(&c));
    f->encoding = 0;
    f->signal_frame = 0;
    *has_data = *text == 'z';
    const uint8_t *instructions = c.at;
    if (*has_data) {
        uint64_t bytes = cfi_uleb(&c);
        if (bytes > (size_t)(c.end - c.at))
            return 0;
        instructions = c.at + bytes;
        for (const char *p = text + 1; *p && !c.bad; p++) {
            if (*p == 'R')
                f->encoding = (unsigned)cfi_fixed(&c, 1);
            else if (*p == 'L')
                (void)cfi_fixed(&c, 1);
            else if (*p == 'P')
                (void)cfi_encoded_pointer(&c, (unsigned)cfi_fixed(&c, 1) & 0x0f, 0);
            else if (*p == 'S')
                f->signal_frame = 1;
            else if (*p != 'B')
                break; /* the rest is unknown, but its length is not */
        }
    } else if (length) {
        return 0;
    }
    f->first = instructions;
    f->first_end = c.end;
    return !c.bad && f->return_column < UNWIND_COLUMNS;
}

static int read_function(struct cfi_function *f, uintptr_t address)
{
    struct cfi_cursor c = entry_at(f->module, address);
    uintptr_t place = (uintptr_t)c.at;
    uint64_t back = c.bad ? 0 : cfi_fixed(&c, 4);
    int has_data;
    if (!back || c.bad || !read_common(f, place - back, &has_data))
        return 0;
    f->start = cfi_encoded_pointer(&c, f->encoding, 0);
    f->end = f->start + cfi_encoded_pointer(&c, f->encoding & 0x0f, 0);
    if (has_data) {
        uint64_t bytes = cfi_uleb(&c);
        if (c.bad || bytes > (size_t)(c.end - c.at))
            return 0;
        c.at += bytes;
    }
    f->program = c.at;
    f->program_end = c.end;
    return !c.bad && f->start < f->end;
}

int cfi_find(const struct module *m, uintptr_t pc, struct cfi_function *f)
{
    uintptr_t header = m->eh_frame_hdr;
    if (header < m->start || header >= m->end)
        return 0;
    struct cfi_cursor c = {(const uint8_t *)header, (const uint8_t *)m->end, 0};
    uint32_t kinds = (uint32_t)cfi_fixed(&c, 4);
    /* Version 1, and a table of 32-bit pairs relative to the header: what all linkers write. */
    if ((kinds & 0xff) != 1 || kinds >> 24 != (PE_DATAREL | 11))
        return 0;
    (void)cfi_encoded_pointer(&c, kinds >> 8 & 0xff, header);
    size_t n = cfi_encoded_pointer(&c, kinds >> 16 & 0xff, header);
    if (c.bad || n > (size_t)(c.end - c.at) / 8)
        return 0;
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int32_t start;
        memcpy(&start, c.at + middle * 8, 4);
        if (header + (uintptr_t)(intptr_t)start <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return 0;
    int32_t at;
    memcpy(&at, c.at + (low - 1) * 8 + 4, 4);
    f->module = m;
    return read_function(f, header + (uintptr_t)(intptr_t)at) && pc >= f->start && pc < f->end;
}

/* Instructions: their operands and what is done with them. The three that carry an operand in
 * their own low six bits (advance, offset, restore) come as rows 0x40.. of the table. */
enum cfi_operand {
    NO,
    ULEB,
    SLEB,
    FACTORED,
    FACTORED_SIGNED,
    BLOCK,
    BYTES_1,
    BYTES_2,
    BYTES_4,
    POINTER
};
enum cfi_action {
    BAD,
    NOP,
    ADVANCE,
    SET,
    RULE,
    RESTORE,
    REMEMBER,
    RECALL,
    CFA,
    CFA_REG,
    CFA_OFF,
    CFA_EXP
};
static const struct cfi_instruction {
    uint8_t action, a, b, kind;
} instructions[0x30] = {
    [0x00] = {NOP, NO, NO, 0},
    [0x01] = {SET, POINTER, NO, 0},
    [0x02] = {ADVANCE, BYTES_1, NO, 0},
    [0x03] = {ADVANCE, BYTES_2, NO, 0},
    [0x04] = {ADVANCE, BYTES_4, NO, 0},
    [0x05] = {RULE, ULEB, FACTORED, CFI_OFFSET},
    [0x06] = {RESTORE, ULEB, NO, 0},
    [0x07] = {RULE, ULEB, NO, CFI_UNDEFINED},
    [0x08] = {RULE, ULEB, NO, CFI_SAME},
    [0x09] = {RULE, ULEB, ULEB, CFI_REGISTER},
    [0x0a] = {REMEMBER, NO, NO, 0},
    [0x0b] = {RECALL, NO, NO, 0},
    [0x0c] = {CFA, ULEB, ULEB, 0},
    [0x0d] = {CFA_REG, ULEB, NO, 0},
    [0x0e] = {CFA_OFF, NO, ULEB, 0},
    [0x0f] = {CFA_EXP, NO, BLOCK, 0},
    [0x10] = {RULE, ULEB, BLOCK, CFI_EXPRESSION},
    [0x11] = {RULE, ULEB, FACTORED_SIGNED, CFI_OFFSET},
    [0x12] = {CFA, ULEB, FACTORED_SIGNED, 0},
    [0x13] = {CFA_OFF, NO, FACTORED_SIGNED, 0},
    [0x14] = {RULE, ULEB, FACTORED, CFI_VAL_OFFSET},
    [0x15] = {RULE, ULEB, FACTORED_SIGNED, CFI_VAL_OFFSET},
    [0x16] = {RULE, ULEB, BLOCK, CFI_VAL_EXPRESSION},
    [0x2d] = {NOP, NO, NO, 0},   /* aarch64: the return address is signed from here on */
    [0x2e] = {NOP, ULEB, NO, 0}, /* GNU_args_size */
};
static const struct cfi_instruction advance = {ADVANCE, NO, NO, 0},
                                    offset = {RULE, NO, FACTORED, CFI_OFFSET},
                                    restore = {RESTORE, NO, NO, 0};

static int64_t cfi_read_operand(struct cfi_cursor *c, const struct cfi_function *f, unsigned kind)
{
    switch (kind) {
    case ULEB:
        return (int64_t)cfi_uleb(c);
    case SLEB:
        return cfi_sleb(c);
    case FACTORED:
        return (int64_t)(cfi_uleb(c) * (uint64_t)f->data_align);
    case FACTORED_SIGNED:
        return (int64_t)((uint64_t)cfi_sleb(c) * (uint64_t)f->data_align);
    case BYTES_1:
    case BYTES_2:
    case BYTES_4:
        return (int64_t)cfi_fixed(c, 1u << (kind - BYTES_1));
    case POINTER:
        return (int64_t)cfi_encoded_pointer(c, f->encoding, 0);
    case BLOCK: {
        int64_t start = (int64_t)(uintptr_t)c->at;
        uint64_t bytes = cfi_uleb(c);
        if (bytes > (size_t)(c->end - c->at))
            c->bad = 1;
        else
            c->at += bytes;
        return start;
    }
    default:
        return 0;
    }
}

/* Applies everything but moving on in the code; 0: broken. */
static int cfi_apply(const struct cfi_instruction *i, int64_t a, int64_t b, struct cfi_scratch *s,
                     unsigned *depth)
{
    struct cfi_row *row = &s->now;
    int in_range = a >= 0 && a < UNWIND_COLUMNS;
    switch (i->action) {
    case NOP:
        return 1;
    case RULE:
        if (in_range) { /* vector registers have columns too, and no say here */
            row->kind[a] = i->kind;
            row->value[a] = b;
        }
        return 1;
    case RESTORE:
        if (in_range) {
            row->kind[a] = s->initial.kind[a];
            row->value[a] = s->initial.value[a];
        }
        return 1;
    case REMEMBER:
        if (*depth == CFI_REMEMBERED)
            return 0;
        s->remembered[(*depth)++] = *row;
        return 1;
    case RECALL:
        if (!*depth)
            return 0;
        *row = s->remembered[--*depth];
        return 1;
    case CFA_EXP:
        row->cfa_is_expression = 1;
        row->cfa_value = b;
        return 1;
    case CFA:
    case CFA_REG:
    case CFA_OFF:
        if (i->action != CFA_OFF) {
            if (!in_range)
                return 0;
            row->cfa_register = (uint8_t)a;
            row->cfa_is_expression = 0;
        }
        if (i->action != CFA_REG)
            row->cfa_value = b;
        return 1;
    default:
        return 0;
    }
}

static int cfi_run(const struct cfi_function *f, const uint8_t *from, const uint8_t *to,
                   uintptr_t pc, struct cfi_scratch *s)
{
    struct cfi_cursor c = {from, to, 0};
    uintptr_t at = f->start;
    unsigned depth = 0;
    while (c.at < c.end) {
        uint8_t byte = *c.at++;
        const struct cfi_instruction *i = &instructions[byte % 0x30];
        int64_t a = byte & 0x3f;
        if (byte >> 6)
            i = byte >> 6 == 1 ? &advance : byte >> 6 == 2 ? &offset : &restore;
        else if (byte >= 0x30)
            return 0;
        if (i->a != NO)
            a = cfi_read_operand(&c, f, i->a);
        int64_t b = cfi_read_operand(&c, f, i->b);
        if (c.bad)
            return 0;
        if (i->action == ADVANCE || i->action == SET) {
            at = i->action == SET ? (uintptr_t)a : at + (uintptr_t)a * f->code_align;
            if (at > pc)
                return 1;
        } else if (!cfi_apply(i, a, b, s, &depth)) {
            return 0;
        }
    }
    return 1;
}

int cfi_row(const struct cfi_function *f, uintptr_t pc, struct cfi_scratch *s)
{
    memset(&s->now, 0, sizeof s->now);
    if (!cfi_run(f, f->first, f->first_end, UINTPTR_MAX, s))
        return 0;
    s->initial = s->now;
    return cfi_run(f, f->program, f->program_end, pc, s);
}
