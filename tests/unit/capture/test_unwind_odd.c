/* links: tp_stacks tp_trace */
/* The unwinder on stacks of garbage, and on tables that are cut short or wrong. */
#include <stdlib.h>
#include <sys/mman.h>

#include "tests/unit/capture/unwind_case.h"

enum { DEPTH = 128 };

/* Words that look like what a stack holds: addresses of code, of itself, and nonsense. */
static uintptr_t odd_word(uintptr_t base, size_t bytes)
{
    uint64_t x = next_random();
    switch (x % 4) {
    case 0:
        return (uintptr_t)next_random + x / 4 % 4096;
    case 1:
        return base + x / 4 % bytes;
    case 2:
        return (uintptr_t)qsort + x / 4 % 4096;
    default:
        return x;
    }
}

static void test_garbage_ends_and_does_not_fault(void **state)
{
    (void)state;
    enum { BYTES = 16384 };
    uintptr_t base = (uintptr_t)mmap(NULL, BYTES + 4096, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect((void *)(base + BYTES), 4096, PROT_NONE);
    size_t seen = 0;
    for (int i = 0; i < 20000; i++) {
        uintptr_t pc[DEPTH];
        int complete;
        struct unwind_registers r = {.known = 0xffff};
        struct unwind_memory m = memory();
        if (i % 2) {
            m.low = base;
            m.high = base + BYTES;
        }
        for (int k = 0; k < 64; k++)
            ((uintptr_t *)base)[next_random() % (BYTES / 8)] = odd_word(base, BYTES);
        for (int k = 0; k < UNWIND_COLUMNS; k++)
            r.r[k] = odd_word(base, BYTES);
        r.r[UNWIND_SP] = base + next_random() % BYTES;
        r.pc = odd_word(base, BYTES);
        size_t n = unwind(&r, &m, pc, DEPTH, &complete);
        assert_true(n <= DEPTH);
        seen += n;
    }
    munmap((void *)base, BYTES + 4096);
    /* Some of it was believed: the loop was exercised. A word is a frame of its own on x86-64
     * alone, where functions that push nothing find their caller there. */
    assert_true(seen >= (UNWIND_RETURN == 16 ? 21000 : 20000));
}

/* The program's own image, copied in front of a page that cannot be read. */
static uintptr_t guarded_copy(const struct module *m, size_t bytes, uintptr_t *map, size_t *mapped)
{
    *mapped = (m->end - m->start + 4095) / 4096 * 4096 + 4096;
    *map =
        (uintptr_t)mmap(NULL, *mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uintptr_t at = *map + *mapped - 4096 - bytes;
    (void)safe_read_some(m->start, (void *)at, bytes);
    mprotect((void *)(*map + *mapped - 4096), 4096, PROT_NONE);
    return at;
}

static int describe(const struct module *m, uintptr_t pc)
{
    struct cfi_function f;
    return cfi_find(m, pc, &f) && cfi_row(&f, pc, &scratch);
}

static void test_truncated_tables_are_refused(void **state)
{
    (void)state;
    struct module m;
    uintptr_t self = (uintptr_t)test_truncated_tables_are_refused + 8;
    assert_true(modules_find(self, &m));
    assert_true(describe(&m, self));
    size_t header = m.eh_frame_hdr - m.start, whole = m.end - m.start, found = 0;
    for (size_t bytes = header; bytes < whole; bytes += 1 + (bytes - header) / 16) {
        uintptr_t map;
        size_t mapped;
        uintptr_t at = guarded_copy(&m, bytes, &map, &mapped);
        struct module copy = {at, at + bytes, at, at + header};
        found += (size_t)describe(&copy, at + (self - m.start));
        munmap((void *)map, mapped);
    }
    assert_true(found > 0);
}

static void test_flipped_tables_do_not_fault(void **state)
{
    (void)state;
    struct module m;
    uintptr_t self = (uintptr_t)test_flipped_tables_do_not_fault + 8, map;
    assert_true(modules_find(self, &m));
    size_t whole = m.end - m.start, header = m.eh_frame_hdr - m.start, mapped, found = 0;
    uintptr_t at = guarded_copy(&m, whole, &map, &mapped);
    struct module copy = {at, at + whole, at, at + header};
    uint8_t *tables = (uint8_t *)at + header;
    size_t bytes = whole - header < 8192 ? whole - header : 8192;
    for (int i = 0; i < 50000; i++) {
        size_t where = next_random() % bytes;
        uint8_t old = tables[where];
        tables[where] ^= (uint8_t)(1u << next_random() % 8);
        found += (size_t)describe(&copy, at + (self - m.start) + next_random() % 512);
        if (i % 4)
            tables[where] = old;
    }
    munmap((void *)map, mapped);
    assert_true(found > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_garbage_ends_and_does_not_fault),
        cmocka_unit_test(test_truncated_tables_are_refused),
        cmocka_unit_test(test_flipped_tables_do_not_fault),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
