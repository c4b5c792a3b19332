/* links: tp_analyze */
/* Names and lines of addresses: inlined calls, stripped files, separate debug files, the vdso. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/analyze/symbols/demangle.h"
#include "tests/unit/analyze/symbol_case.h"

static void check_inlined(const struct program *p, int prototypes)
{
    struct symbol_frame f[8];
    struct symbols *s = recorded(p);
    assert_int_equal(symbols_at(s, 1, 20, MODULE_START + p->inner, 0, f, 8), 3);
    /* what is never linked has a plain name in C++ as well */
    assert_true(!strcmp(f[0].function, "inner") ||
                (prototypes && !strcmp(f[0].function, "inner(int)")));
    assert_true(!strcmp(f[1].function, "middle") ||
                (prototypes && !strcmp(f[1].function, "middle(int)")));
    assert_string_equal(f[2].function, prototypes ? "outer(int)" : "outer");
    assert_file(f[0].file, "sub/inner.h");
    assert_file(f[1].file, "sub/inner.h");
    assert_file(f[2].file, "sub/main.c");
    assert_true(f[0].line == 3 && f[1].line == 8 && f[2].line == 18);
    assert_true(f[0].function_line == 1 && f[1].function_line == 6 && f[2].function_line == 16);
    assert_true(f[0].inlined && f[1].inlined && !f[2].inlined);
    for (int i = 0; i < 3; i++)
        assert_string_equal(f[i].module, p->path);
    assert_int_equal(symbols_at(s, 1, 20, MODULE_START + p->inner, 0, f, 2), 2);
    assert_int_equal(strncmp(f[1].function, "middle", 6), 0);
    struct symbols_quality q = symbols_quality(s);
    assert_true(q.modules == 1 && !q.no_lines && !q.no_symbols && !q.unverified);
    symbols_free(s);
}

#ifdef TP_DW
#define NEEDS_LINES()
#else
#define NEEDS_LINES()                                                                              \
    do {                                                                                           \
        print_message("this build has no elfutils\n");                                             \
        skip();                                                                                    \
    } while (0)
#endif

static void inlined_calls_come_innermost_first(void **state)
{
    (void)state;
    NEEDS_LINES();
    static const char *const flags[] = {
        "-O2 -g -fPIE -pie", "-O2 -g -fno-pie -no-pie", "-O2 -g1", "-O0 -g", "-O2 -g -gdwarf-4",
        "-O2 -g -gz",        "-O2 -g -gsplit-dwarf"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        struct program p = built("cc", flags[i]);
        check_inlined(&p, 0);
    }
}

static void units_without_an_address_table_are_found(void **state)
{
    (void)state;
    NEEDS_LINES();
    struct program p = built("cc", "-O2 -g");
    assert_true(run("objcopy --remove-section=.debug_aranges prog %s%s", "", ""));
    check_inlined(&p, 0);
}

static void names_of_cxx_are_readable(void **state)
{
    (void)state;
    NEEDS_LINES();
    struct program p = built("c++ -x c++", "-O2 -g");
    check_inlined(&p, 1);
    struct symbols *s = recorded(&p);
    struct symbol_frame f = frame_at(s, p.other);
    assert_string_equal(f.function, "int ns::apply<int>(int)");
    assert_true(f.line == 24 && f.function_line == 22);
    symbols_free(s);
    assert_true(run("strip -g prog %s%s", "", ""));
    s = recorded(&p);
    f = frame_at(s, p.other);
    assert_string_equal(f.function, "int ns::apply<int>(int)");
    symbols_free(s);
}

static void a_stripped_file_has_its_exported_functions_alone(void **state)
{
    (void)state;
    struct program p = built("cc", "-O2 -g -rdynamic");
    assert_true(run("strip -s prog %s%s", "", ""));
    struct symbols *s = recorded(&p);
    struct symbol_frame f = frame_at(s, p.inner);
    assert_string_equal(f.function, "outer");
    assert_true(!f.file && !f.line && !f.inlined);
    struct symbols_quality q = symbols_quality(s);
    assert_true(q.no_lines == 1 && q.no_symbols == 0);
    symbols_free(s);

    p = built("cc", "-O2 -g");
    assert_true(run("strip -s prog %s%s", "", ""));
    s = recorded(&p);
    f = frame_at(s, p.inner);
    assert_null(f.function);
    assert_string_equal(f.module, p.path);
    symbols_free(s);
}

/* Debug information in prog.debug, which is then moved by `command`. */
static int split_is_found(const struct program *p, const char *command)
{
    assert_true(run("objcopy --only-keep-debug prog prog.debug %s%s", "", ""));
    assert_true(run("strip -s prog %s%s", "", ""));
    assert_true(run(command, folder, folder));
    struct symbols *s = recorded(p);
    struct symbol_frame f = frame_at(s, p->inner);
    int lines = f.line == 3 && f.function && !strcmp(f.function, "inner");
    assert_true(lines || f.line == 0);
    symbols_free(s);
    return lines;
}

static void separate_debug_files_are_found(void **state)
{
    (void)state;
    NEEDS_LINES();
    static const char *const found[] = {
        "objcopy --add-gnu-debuglink=prog.debug prog",
        "objcopy --add-gnu-debuglink=prog.debug prog && mkdir -p .debug && mv prog.debug .debug/",
        "objcopy --add-gnu-debuglink=prog.debug prog && mkdir -p debug%s && mv prog.debug debug%s/",
    };
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        struct program p = built("cc", "-O2 -g");
        assert_true(split_is_found(&p, found[i]));
        assert_true(run("rm -rf prog.debug .debug debug && mkdir debug %s%s", "", ""));
    }
    static const char *const not_found[] = {
        "true", "objcopy --add-gnu-debuglink=prog.debug prog && echo >>prog.debug", /* CRC */
        "objcopy --add-gnu-debuglink=prog.debug prog && rm prog.debug && mkfifo prog.debug"};
    for (size_t i = 0; i < sizeof not_found / sizeof *not_found; i++) {
        struct program p = built("cc", "-O2 -g");
        assert_false(split_is_found(&p, not_found[i]));
        assert_true(run("rm -f prog.debug %s%s", "", ""));
    }
}

static void by_id(const struct program *p, char *first, char *rest)
{
    sprintf(first, "%02x", p->build_id[0]);
    for (int i = 1; i < p->build_id_bytes; i++)
        sprintf(rest + 2 * (i - 1), "%02x", p->build_id[i]);
}

static void a_build_id_finds_debug_files_and_gone_programs(void **state)
{
    (void)state;
    NEEDS_LINES();
    char first[3], rest[128], command[256];
    struct program p = built("cc", "-O2 -g");
    by_id(&p, first, rest);
    snprintf(command, sizeof command,
             "mkdir -p debug/.build-id/%s && mv prog.debug debug/.build-id/%s/%s.debug", first,
             first, rest);
    assert_true(split_is_found(&p, command));
    assert_true(run("rm prog %s%s", "", ""));
    check_inlined(&p, 0); /* the debug file alone */
    assert_true(run("rm -rf debug && mkdir debug %s%s", "", ""));
}

static void a_changed_or_missing_file_is_not_used_and_counted(void **state)
{
    (void)state;
    struct program old = built("cc", "-O2 -g"), new = built("cc", "-O2 -g -DCHANGED=1 -O1");
    assert_memory_not_equal(old.build_id, new.build_id, 20);
    struct symbols *s = recorded(&old);
    struct symbol_frame f = frame_at(s, old.inner);
    assert_true(!f.function && !f.file && !f.line);
    assert_string_equal(f.module, old.path);
    assert_int_equal(symbols_quality(s).changed_files, 1);
    symbols_free(s);

    old.build_id_bytes = 0; /* then nobody can tell */
    s = recorded(&old);
    f = frame_at(s, new.inner);
    assert_non_null(f.function);
    assert_int_equal(symbols_quality(s).unverified, 1);
    symbols_free(s);

    assert_true(run("rm prog %s%s", "", ""));
    s = recorded(&new);
    f = frame_at(s, new.inner);
    assert_true(!f.function);
    assert_int_equal(symbols_quality(s).missing_files, 1);
    symbols_free(s);

    write_file("prog", "no ELF file");
    s = recorded(&new);
    frame_at(s, new.inner);
    assert_int_equal(symbols_quality(s).changed_files, 1);
    symbols_free(s);
}

static void a_return_address_belongs_to_the_call_before_it(void **state)
{
    (void)state;
    struct program p = built("cc", "-O2 -g");
    struct symbols *s = recorded(&p);
    struct symbol_frame f;
    assert_true(symbols_at(s, 1, 20, MODULE_START + p.outer, 1, &f, 1) == 1);
    assert_non_null(f.function);
    assert_string_equal(f.function, "outer");
    symbols_at(s, 1, 20, MODULE_START + p.outer, 0, &f, 1);
    assert_true(!f.function || strcmp(f.function, "outer"));
    symbols_free(s);
}

static void the_kernels_own_code_has_names(void **state)
{
    (void)state;
    NEEDS_LINES();
    uint64_t start = getauxval(AT_SYSINFO_EHDR);
    struct symbols *s;
    struct symbol_frame f;
    int clocks = 0;
    if (!start) {
        print_message("no vdso here\n");
        skip();
    }
    assert_ok(symbols_create(&s));
    assert_ok(symbols_module(s, 1, 10, start, start + 8192, start, "[vdso]", NULL, 0));
    for (uint64_t at = 0; at < 8192; at += 16) {
        symbols_at(s, 1, 20, start + at, 1, &f, 1);
        clocks += f.function && strstr(f.function, "clock_gettime");
    }
    assert_true(clocks > 0);
    symbols_free(s);
}

static void clones_have_the_name_of_their_source(void **state)
{
    static const char *const names[][2] = {{"waves.constprop.0", "waves"},
                                           {"back.isra.0.cold", "back"},
                                           {"slow.part.3.lto_priv.1", "slow"},
                                           {"rare.cold", "rare"},
                                           {"far.cold.12", "far"},
                                           {"moved.llvm.123", "moved"},
                                           {".part.0", ".part.0"},
                                           {"module.function", "module.function"},
                                           {"s.coldest", "s.coldest"},
                                           {"", ""}};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *name = demangle(names[i][0]);
        assert_string_equal(name, names[i][1]);
        free(name);
    }
}

/* Examples of rustc-demangle and of RFC 2603, without hashes of crates. */
static void names_of_rust_are_readable(void **state)
{
    static const char *const names[][2] = {
        {"_RNvC6_123foo3bar", "123foo::bar"},
        {"_RNvNtNtCs1234_7mycrate3foo3bar3baz.llvm.15915590401395", "mycrate::foo::bar::baz"},
        {"_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
         "utf8_idents::\u10e1\u10d0\u10ed\u10db\u10d4\u10da\u10d0\u10d3_"
         "\u10d2\u10d4\u10db\u10e0\u10d8\u10d4\u10da\u10d8_"
         "\u10e1\u10d0\u10d3\u10d8\u10da\u10d8"},
        {"_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_", "cc::spawn::{closure#0}::{closure#0}"},
        {"_RNCINkXs25_NgCsbmNqQUJIY6D_4core5sliceINyB9_4IterhENuNgNoBb_4iter8iterator8Iterator"
         "9rpositionNCNgNpB9_6memchr7memrchrs_0E0Bb_",
         "<core::slice::Iter<u8> as core::iter::iterator::Iterator>::rposition::"
         "<core::slice::memchr::memrchr::{closure#1}>::{closure#0}"},
        {"_RINbNbCskIICzLVDPPb_5alloc5alloc8box_freeDINbNiB4_5boxed5FnBoxuEp6OutputuEL_"
         "ECs1iopQbuBiw2_"
         "3std",
         "alloc::alloc::box_free::<dyn alloc::boxed::FnBox<(), Output = ()>>"},
        {"_RINtC8arrayvec8ArrayVechKj7b_E", "arrayvec::ArrayVec::<u8, 123>"},
        {"_RMC0INtC8arrayvec8ArrayVechKj7b_E", "<arrayvec::ArrayVec<u8, 123>>"},
        {"_RINvCs1_1a1fKan80_Kb1_Kc76_KpE", "a::f::<-128, true, 'v', _>"},
        {"_RINvC1a1fRmQTlmEPSaATuEj_E", "a::f::<&u32, &mut (i32, u32), *const [i8], [((),); 0]>"},
        {"_RINvC1a1fRmQTlmEPSaAuj2_E", "a::f::<&u32, &mut (i32, u32), *const [i8], [(); 2]>"},
        {"_RINvC1a1fFUKCmEuFG_RL0_hEREE", NULL},
        {"_RINvC1a1fFUKCmEuE", "a::f::<unsafe extern \"C\" fn(u32)>"},
        {"_RINvC1a1fFG_RL0_hEbE", "a::f::<for<'a> fn(&'a u8) -> bool>"},
        {"_RNvC1a", NULL},
        {"_RNvC9999999999a1b", NULL},
        {"_RNvB_1b", NULL},
        {"_Read", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *name = demangle(names[i][0]);
        assert_string_equal(name, names[i][1] ? names[i][1] : names[i][0]);
        free(name);
    }
}

/* Each B leads to a pair of the level before: 2^30 types, of which none is printed. */
static void a_name_that_would_fill_the_memory_stays(void **state)
{
    char name[1024] = "_RINvC1a1fTuuE";
    size_t at = 8; /* of the last pair, behind "_R" */
    (void)state;
    for (int i = 0; i < 30; i++) {
        const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        char number[4];
        const size_t n = at - 1;
        if (n < 62)
            snprintf(number, sizeof number, "%c", digits[n]);
        else
            snprintf(number, sizeof number, "%c%c", digits[n / 62], digits[n % 62]);
        at = strlen(name) - 2;
        snprintf(name + strlen(name), sizeof name - strlen(name), "TB%s_B%s_E", number, number);
    }
    strcat(name, "E");
    char *readable = demangle(name);
    assert_string_equal(readable, name);
    free(readable);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inlined_calls_come_innermost_first),
        cmocka_unit_test(units_without_an_address_table_are_found),
        cmocka_unit_test(names_of_cxx_are_readable),
        cmocka_unit_test(names_of_rust_are_readable),
        cmocka_unit_test(a_name_that_would_fill_the_memory_stays),
        cmocka_unit_test(a_stripped_file_has_its_exported_functions_alone),
        cmocka_unit_test(separate_debug_files_are_found),
        cmocka_unit_test(a_build_id_finds_debug_files_and_gone_programs),
        cmocka_unit_test(a_changed_or_missing_file_is_not_used_and_counted),
        cmocka_unit_test(a_return_address_belongs_to_the_call_before_it),
        cmocka_unit_test(the_kernels_own_code_has_names),
        cmocka_unit_test(clones_have_the_name_of_their_source),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
