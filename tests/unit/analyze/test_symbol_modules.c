/* links: tp_analyze */
/* Modules that come and go, many of them, and damaged files. */
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/analyze/symbol_case.h"

enum { MANY = 300 };

static void a_module_counts_from_its_time_until_the_next(void **state)
{
    (void)state;
    struct symbols *s;
    struct symbol_frame f;
    static const struct {
        int32_t pid;
        uint64_t time, address;
        const char *module;
    } cases[] = {
        {1, 15, 0x5800, "/old"},   {1, 25, 0x5800, "/new"},      {1, 20, 0x5800, "/new"},
        {1, 5, 0x5800, "/old"}, /* its record came late */
        {1, 25, 0x5400, "/old"},   {1, 25, 0x6000, "/new"},      {1, 25, 0x6fff, "/new"},
        {2, 25, 0x5800, "/other"}, {1, 25, 0x7000, "[jit]"},     {1, 25, 0x4fff, "[jit]"},
        {1, 25, 0, "[unknown]"},   {3, 25, 0x5800, "[unknown]"}, {1, 25, UINT64_MAX, "[jit]"},
    };
    assert_ok(symbols_create(&s));
    assert_ok(symbols_module(s, 2, 10, 0x5000, 0x6000, 0, "/other", NULL, 0));
    assert_ok(symbols_module(s, 1, 20, 0x5800, 0x7000, 0, "/new", "12345678", 8));
    assert_ok(symbols_module(s, 1, 10, 0x5000, 0x6000, 0, "/old", NULL, -1));
    assert_ok(symbols_module(s, 1, 10, 0x6000, 0x5000, 0, "/inverted", NULL, 0));
    assert_ok(symbols_module(s, 1, 10, 0x5000, 0x9000, 0, "", NULL, 0));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int n = symbols_at(s, cases[i].pid, cases[i].time, cases[i].address, 1, &f, 1);
        assert_int_equal(n, 1);
        assert_string_equal(f.module, cases[i].module);
        assert_true(!f.function && !f.file && !f.line && !f.inlined);
    }
    assert_int_equal(symbols_quality(s).missing_files, 3);
    symbols_free(s);
}

/* Libraries opened in turn at the same place; records in the order in which threads wrote them. */
static void libraries_in_turn_at_one_place(void **state)
{
    (void)state;
    struct symbols *s;
    struct symbol_frame f;
    static const struct {
        uint64_t time, address;
        const char *module;
    } cases[] = {
        {5, 0x5800, "/a"},                                          /* its record came late */
        {12, 0x5800, "/a"}, {19, 0x5800, "/a"}, {20, 0x5800, "/b"}, /* gone, and the next record is
                                                                       late */
        {26, 0x5800, "/b"}, {31, 0x5800, "/a"}, {45, 0x5800, "/c"}, {45, 0x7800, "/c"},
        {60, 0x5800, "/c"}, /* after its end: what was there last */
        {60, 0x5400, "/c"},
    };
    assert_ok(symbols_create(&s));
    assert_ok(symbols_module_gone(s, 1, 40, 0x5000, 0x6000));
    assert_ok(symbols_module(s, 1, 30, 0x5000, 0x6000, 0x5000, "/a", NULL, 0));
    assert_ok(symbols_module_gone(s, 1, 30, 0x5000, 0x6000));
    assert_ok(symbols_module(s, 1, 25, 0x5000, 0x6000, 0x5000, "/b", NULL, 0));
    assert_ok(symbols_module_gone(s, 1, 50, 0x5000, 0x8000));
    assert_ok(symbols_module(s, 1, 10, 0x5000, 0x6000, 0x5000, "/a", NULL, 0));
    assert_ok(symbols_module(s, 1, 41, 0x5000, 0x8000, 0x5000, "/c", NULL, 0));
    assert_ok(symbols_module_gone(s, 1, 20, 0x5000, 0x6000));
    assert_ok(symbols_module_gone(s, 1, 20, 0x9000, 0xa000)); /* of nothing that is known */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(symbols_at(s, 1, cases[i].time, cases[i].address, 1, &f, 1), 1);
        assert_string_equal(f.module, cases[i].module);
    }
    symbols_free(s);
}

/* More than are kept open at a time, each asked twice. */
static void many_modules_are_opened_and_closed(void **state)
{
    (void)state;
    struct program p = built("cc", "-O2 -g");
    struct symbols *s;
    struct symbol_frame f[8];
    char path[160];
    assert_ok(symbols_create(&s));
    for (unsigned i = 0; i < MANY; i++) {
        uint64_t start = (uint64_t)(i + 1) << 32;
        snprintf(path, sizeof path, "%s/prog-%u", folder, i);
        assert_int_equal(symlink("prog", path), 0);
        assert_ok(symbols_module(s, 1, 10, start, start + (1ull << 32), start, path, NULL, 0));
    }
    for (int round = 0; round < 2; round++)
        for (unsigned i = 0; i < MANY; i++) {
            uint64_t at = ((uint64_t)(i + 1) << 32) + (round ? p.outer : p.inner);
            int n = symbols_at(s, 1, 20, at, round, f, 8);
            assert_non_null(f[n - 1].function);
            assert_string_equal(f[n - 1].function, "outer");
        }
    assert_int_equal(symbols_quality(s).modules, MANY);
    symbols_free(s);
}

/* A copy with wrong bytes, cut short now and then. */
static void ask_damaged(const struct program *p, unsigned seed)
{
    static unsigned char bytes[1 << 20];
    struct program damaged = *p;
    struct symbol_frame f[8];
    FILE *file = fopen(p->path, "rb");
    size_t n = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    assert_true(n > 0);
    fclose(file);
    for (int i = 0; i < 20; i++) {
        size_t all = i % 3 ? n : 4096; /* every third one in the headers */
        bytes[(size_t)rand_r(&seed) % all] ^= (unsigned char)rand_r(&seed);
    }
    if (seed % 8 == 0)
        n = (size_t)rand_r(&seed) % n;
    snprintf(damaged.path, sizeof damaged.path, "%s/damaged", folder);
    damaged.build_id_bytes = 0;
    file = fopen(damaged.path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    fclose(file);
    struct symbols *s = recorded(&damaged);
    for (unsigned long at = p->outer - 256; at < p->outer + 256; at += 5) {
        int count = symbols_at(s, 1, 20, MODULE_START + at, 1, f, 8);
        assert_in_range(count, 1, 8);
        for (int i = 0; i < count; i++) { /* texts end */
            assert_true(!f[i].function || strlen(f[i].function) > 0);
            assert_true(!f[i].file || strlen(f[i].file) > 0);
        }
    }
    symbols_free(s);
}

static void damaged_files_do_no_harm(void **state)
{
    (void)state;
    struct program p = built("cc", "-O2 -g");
    for (unsigned seed = 0; seed < 200; seed++)
        ask_damaged(&p, seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_module_counts_from_its_time_until_the_next),
        cmocka_unit_test(libraries_in_turn_at_one_place),
        cmocka_unit_test(many_modules_are_opened_and_closed),
        cmocka_unit_test(damaged_files_do_no_harm),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
