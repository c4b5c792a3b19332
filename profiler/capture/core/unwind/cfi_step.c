/* Unwinds one step by call frame information, with a cache of the rows that most code has. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "profiler/capture/core/unwind/cfi.h"
#include "profiler/capture/core/unwind/unwind_before.h"
#include "profiler/capture/raw/system.h"

/* A row in 16 bytes, cached by address, so that a frame costs a probe and a few loads. What does
 * not fit (signal frames, PLT entries) stays with the interpreter. */
enum cfi_packed_kind { UNCACHED, FAST, FAST_DEREFERENCE, SLOW, ROOT, NONE };
struct cfi_packed {
    uint8_t kind, cfa_register, saved_base; /* slots count from this register; SAVED_AT_CFA */
    uint8_t spare;
    int32_t cfa_offset;
    int8_t slot[8]; /* of kept[i], in words from the base; ABSENT: not saved */
};
enum { SAVED_AT_CFA = 0xff, ABSENT = -128, WORD = sizeof(uintptr_t) };

#if defined __x86_64__
static const uint8_t kept[] = {3, 6, 12, 13, 14, 15}; /* rbx rbp r12..r15 */
enum { KEPT_MASK = 0xf048 };
#else
static const uint8_t kept[] = {29};
#define KEPT_MASK 0x3ff80000ull /* x19..x29 */
#endif
enum { KEPT = sizeof kept };
_Static_assert(KEPT <= 8, "one slot for each");

/* Lock-free: an entry is valid when its three words agree, so a torn one is a miss. 256 KiB, of
 * which the first page is used until it is half full, then twice as much: in a process of one stack
 * 20 frames over all pages were 35 page faults of 90. Entries that lie elsewhere then are made
 * again. */
enum { CACHE_BITS_FIRST = 7, CACHE_BITS = 13 };
static atomic_uint cache_bits = CACHE_BITS_FIRST, cache_added;
struct cfi_cached {
    _Atomic(uint64_t) check, a, b, spare;
};
static struct cfi_cached *cache;

int cfi_start(size_t *bytes)
{
    if (cache)
        return 0;
    cache = raw_map(sizeof(struct cfi_cached) << CACHE_BITS, 0);
    if (!cache)
        return ENOMEM;
    *bytes += sizeof(struct cfi_cached) << CACHE_BITS;
    return 0;
}

static uint64_t words_check(uint64_t key, uint64_t a, uint64_t b)
{
    return key ^ a * 0x9e3779b97f4a7c15ull ^ (b << 31 | b >> 33);
}

static struct cfi_cached *cfi_cache_slot(uint64_t key)
{
    const unsigned bits = atomic_load_explicit(&cache_bits, memory_order_relaxed);
    return &cache[key * 0x9e3779b97f4a7c15ull >> (64 - bits)];
}

/* A row stays valid until a library goes; a missing one, until one comes, too. A program that loads
 * a hundred libraries at its start keeps its rows. */
static uint64_t cfi_cache_key(uintptr_t pc, int none)
{
    return (uint64_t)pc ^ (uint64_t)modules_unloads() << 48 ^
           (none ? (uint64_t)modules_generation() << 48 ^ 1ull << 47 : 0);
}

static int cfi_cache_find_as(uintptr_t pc, int none, struct cfi_packed *p)
{
    uint64_t key = cfi_cache_key(pc, none);
    struct cfi_cached *c = cfi_cache_slot(key);
    uint64_t w[2] = {atomic_load_explicit(&c->a, memory_order_relaxed),
                     atomic_load_explicit(&c->b, memory_order_relaxed)};
    if (atomic_load_explicit(&c->check, memory_order_relaxed) != words_check(key, w[0], w[1]))
        return 0;
    memcpy(p, w, sizeof *p);
    return p->kind != UNCACHED;
}

static int cfi_cache_find(uintptr_t pc, struct cfi_packed *p)
{
    return cfi_cache_find_as(pc, 0, p) || cfi_cache_find_as(pc, 1, p);
}

/* Threads that count or grow it at once lose a step, which does no harm. */
static void cfi_cache_grow(void)
{
    const unsigned bits = atomic_load_explicit(&cache_bits, memory_order_relaxed),
                   added = atomic_load_explicit(&cache_added, memory_order_relaxed) + 1;
    const int full = bits < CACHE_BITS && added >= 1u << bits >> 1;
    atomic_store_explicit(&cache_added, full ? 0 : added, memory_order_relaxed);
    if (full)
        atomic_store_explicit(&cache_bits, bits + 1, memory_order_relaxed);
}

static void cfi_cache_add(uintptr_t pc, const struct cfi_packed *p)
{
    cfi_cache_grow();
    uint64_t key = cfi_cache_key(pc, p->kind == NONE), w[2];
    struct cfi_cached *c = cfi_cache_slot(key);
    memcpy(w, p, sizeof w);
    atomic_store_explicit(&c->a, w[0], memory_order_relaxed);
    atomic_store_explicit(&c->b, w[1], memory_order_relaxed);
    atomic_store_explicit(&c->check, words_check(key, w[0], w[1]), memory_order_relaxed);
}

/* "breg offset" with, or without, "deref" behind it: the expressions that compilers write for
 * frames that are aligned by hand. */
static int simple_expression(const uint8_t *block, const uint8_t *end, unsigned *base,
                             int64_t *offset, int *dereferenced)
{
    struct cfi_cursor c = {block, end, 0};
    uint64_t bytes = cfi_uleb(&c);
    if (c.bad || !bytes || bytes > (size_t)(end - c.at))
        return 0;
    c.end = c.at + bytes;
    unsigned op = *c.at++;
    if (op < 0x70 || op >= 0x90)
        return 0;
    *base = op - 0x70;
    *offset = cfi_sleb(&c);
    *dereferenced = c.end - c.at == 1 && *c.at == 0x06;
    return !c.bad && (*dereferenced || c.at == c.end);
}

static int pack_slot(const struct cfi_function *f, const struct cfi_row *row, unsigned column,
                     struct cfi_packed *p, int8_t *slot)
{
    unsigned base = SAVED_AT_CFA;
    int64_t at = row->value[column];
    int dereferenced = 0;
    *slot = ABSENT;
    if (row->kind[column] == CFI_SAME)
        return 1;
    if (row->kind[column] == CFI_EXPRESSION) {
        if (!simple_expression((const uint8_t *)at, (const uint8_t *)f->module->end, &base, &at,
                               &dereferenced) ||
            dereferenced)
            return 0;
    } else if (row->kind[column] != CFI_OFFSET) {
        return 0;
    }
    if (p->spare && p->saved_base != base)
        return 0;
    p->spare = 1; /* some slot has fixed the base */
    p->saved_base = (uint8_t)base;
    *slot = (int8_t)(at / WORD);
    return at % WORD == 0 && at / WORD > ABSENT && at / WORD < 128;
}

static void cfi_row_pack(const struct cfi_function *f, const struct cfi_row *row,
                         struct cfi_packed *p)
{
    *p = (struct cfi_packed){.kind = SLOW, .saved_base = SAVED_AT_CFA};
    if (row->kind[f->return_column] == CFI_UNDEFINED) {
        p->kind = ROOT;
        return;
    }
    if (UNWIND_RETURN != 16 || f->return_column != 16 || f->signal_frame ||
        row->kind[16] != CFI_OFFSET || row->value[16] != -WORD || row->kind[UNWIND_SP] != CFI_SAME)
        return;
    int64_t offset = row->cfa_value;
    unsigned base = row->cfa_register;
    int dereferenced = 0;
    if (row->cfa_is_expression &&
        (!simple_expression((const uint8_t *)row->cfa_value, (const uint8_t *)f->module->end, &base,
                            &offset, &dereferenced) ||
         !dereferenced))
        return;
    if (base >= 16 || offset != (int32_t)offset)
        return;
    for (unsigned i = 0; i < KEPT; i++)
        if (!pack_slot(f, row, kept[i], p, &p->slot[i]))
            return;
    p->cfa_register = (uint8_t)base;
    p->cfa_offset = (int32_t)offset;
    p->kind = dereferenced ? FAST_DEREFERENCE : FAST;
}

static int is_plain(const struct unwind_memory *m, uintptr_t address)
{
    return address >= m->floor && address <= m->high - WORD && m->floor < m->high;
}

/* Notes the step's reads, for a later comparison (unwind_before.c). */
static void note_step(const struct unwind_registers *r, const struct unwind_memory *m,
                      const struct cfi_packed *p, uintptr_t cfa, uintptr_t base)
{
    struct unwind_before *b = m->before;
    unsigned from = p->cfa_register;
    b->step = (struct unwind_known){.base = from,
                                    .slot = from == UNWIND_SP ? 0 : b->from[from],
                                    .value = r->r[from],
                                    .kind = UNWIND_SLOW};
    if (p->kind == FAST && p->saved_base == SAVED_AT_CFA && is_plain(m, cfa - WORD) &&
        b->step.slot != UNWIND_NOWHERE)
        b->step.kind = UNWIND_COMPARABLE;
    for (unsigned i = 0; i < KEPT; i++)
        if (p->slot[i] != ABSENT) {
            uintptr_t slot = base + (uintptr_t)(intptr_t)p->slot[i] * WORD;
            b->from[kept[i]] = is_plain(m, slot) ? slot : UNWIND_NOWHERE;
        }
}

static enum cfi_step cfi_step_packed(struct unwind_registers *r, struct unwind_memory *m,
                                     const struct cfi_packed *p)
{
    if (!(r->known >> p->cfa_register & 1))
        return CFI_FAILED;
    uintptr_t cfa = r->r[p->cfa_register] + (uintptr_t)(intptr_t)p->cfa_offset, pc;
    if (p->kind == FAST_DEREFERENCE && !unwind_read(m, cfa, &cfa))
        return CFI_FAILED;
    if (cfa <= r->r[UNWIND_SP] || !unwind_read(m, cfa - WORD, &pc))
        return CFI_FAILED;
    uintptr_t base = cfa;
    if (p->saved_base != SAVED_AT_CFA) {
        if (!(r->known >> p->saved_base & 1))
            return CFI_FAILED;
        base = r->r[p->saved_base];
    }
    if (m->before)
        note_step(r, m, p, cfa, base);
    for (unsigned i = 0; i < KEPT; i++)
        if (p->slot[i] != ABSENT) {
            if (!unwind_read(m, base + (uintptr_t)(intptr_t)p->slot[i] * WORD, &r->r[kept[i]]))
                return CFI_FAILED;
            r->known |= 1ull << kept[i];
        }
    r->r[UNWIND_SP] = cfa;
    r->pc = pc;
    r->slot = cfa - WORD;
    r->known &= KEPT_MASK | 1ull << UNWIND_SP;
    return pc ? CFI_DONE : CFI_ROOT;
}

static int cfi_recover_register(const struct cfi_function *f, const struct cfi_row *row,
                                unsigned column, uintptr_t cfa, struct unwind_registers *from,
                                struct unwind_memory *m, struct unwind_registers *to)
{
    int64_t value = row->value[column];
    uintptr_t *out = &to->r[column], at;
    switch (row->kind[column]) {
    case CFI_OFFSET:
        return unwind_read(m, cfa + (uintptr_t)value, out);
    case CFI_VAL_OFFSET:
        *out = cfa + (uintptr_t)value;
        return 1;
    case CFI_REGISTER:
        if (value < 0 || value >= UNWIND_COLUMNS || !(from->known >> value & 1))
            return 0;
        *out = from->r[value];
        return 1;
    case CFI_EXPRESSION:
        return cfi_evaluate(f->module, (const uint8_t *)value, from, m, 1, cfa, &at) &&
               unwind_read(m, at, out);
    case CFI_VAL_EXPRESSION:
        return cfi_evaluate(f->module, (const uint8_t *)value, from, m, 1, cfa, out);
    default:
        return 0;
    }
}

static enum cfi_step cfi_step_full(struct unwind_registers *r, struct unwind_memory *m,
                                   const struct cfi_function *f, const struct cfi_row *row)
{
    struct unwind_registers from = *r, to = *r;
    uintptr_t cfa;
    if (f->signal_frame && unwind_signal_frame(r))
        return CFI_DONE_SIGNAL;
    if (UNWIND_RETURN == 16) {
        from.r[UNWIND_RETURN] = r->pc; /* "rip" in an expression is the place in this frame */
        from.known |= 1ull << UNWIND_RETURN;
    }
    if (row->cfa_is_expression) {
        if (!cfi_evaluate(f->module, (const uint8_t *)row->cfa_value, &from, m, 0, 0, &cfa))
            return CFI_FAILED;
    } else {
        if (!(r->known >> row->cfa_register & 1))
            return CFI_FAILED;
        cfa = r->r[row->cfa_register] + (uintptr_t)row->cfa_value;
    }
    to.known &= KEPT_MASK | (UNWIND_RETURN == 16 ? 0 : 1ull << UNWIND_RETURN);
    to.r[UNWIND_SP] = cfa;
    to.known |= 1ull << UNWIND_SP;
    for (unsigned i = 0; i < UNWIND_COLUMNS; i++) {
        if (row->kind[i] == CFI_SAME)
            continue;
        to.known &= ~(1ull << i);
        if (cfi_recover_register(f, row, i, cfa, &from, m, &to))
            to.known |= 1ull << i;
    }
    if (!(to.known >> f->return_column & 1) || !(to.known >> UNWIND_SP & 1))
        return CFI_FAILED;
    if (!f->signal_frame && to.r[UNWIND_SP] <= r->r[UNWIND_SP] && UNWIND_RETURN == 16)
        return CFI_FAILED;
    to.pc = unwind_strip(to.r[f->return_column]);
    to.slot = row->kind[f->return_column] == CFI_OFFSET
                  ? cfa + (uintptr_t)row->value[f->return_column]
                  : 0;
    if (!f->signal_frame) /* a call has overwritten it, where it is a register of its own */
        to.known &= ~(1ull << UNWIND_RETURN);
    *r = to;
    if (!r->pc)
        return CFI_ROOT;
    return f->signal_frame ? CFI_DONE_SIGNAL : CFI_DONE;
}

/* The first address of a function is not a return address: the maker of this stack (makecontext, a
 * coroutine library) put it there, and there is nothing above it. */
static uint8_t no_caller(uintptr_t pc)
{
    struct module m;
    struct cfi_function f;
    return modules_find(pc, &m) && cfi_find(&m, pc, &f) && f.start == pc ? ROOT : NONE;
}

enum cfi_step cfi_step(struct unwind_registers *r, struct unwind_memory *m, int exact)
{
    uintptr_t pc = exact ? r->pc : r->pc - 1;
    struct cfi_packed p;
    struct module module;
    struct cfi_function f;
    int known = cache && cfi_cache_find(pc, &p);
    if (!known || p.kind == SLOW) {
        if (modules_find(pc, &module) && cfi_find(&module, pc, &f) && cfi_row(&f, pc, m->scratch))
            cfi_row_pack(&f, &m->scratch->now, &p);
        else
            p = (struct cfi_packed){.kind = exact ? NONE : no_caller(r->pc)};
        if (cache)
            cfi_cache_add(pc, &p);
    }
    switch (p.kind) {
    case FAST:
    case FAST_DEREFERENCE:
        return cfi_step_packed(r, m, &p);
    case SLOW:
        return cfi_step_full(r, m, &f, &m->scratch->now);
    case ROOT:
        if (m->before)
            m->before->step.kind = UNWIND_ROOT;
        return CFI_ROOT;
    default:
        return CFI_NONE;
    }
}
