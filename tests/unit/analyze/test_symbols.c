/* links: tp_analyze */
#include <dirent.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/analyze/symbols/symbols.h"
#include "tests/unit/check.h"

/* A program that prints its bias and the address to which leaf() returns, three inlined calls deep,
 * and that of a C++ function template. */
static const char inner_h[] = "static inline __attribute__((always_inline)) int inner(int x)\n"
                              "{\n"
                              "    leaf();\n" /* 3 */
                              "    return x + 1;\n"
                              "}\n"
                              "static inline __attribute__((always_inline)) int middle(int x)\n"
                              "{\n"
                              "    return inner(x) * 2;\n" /* 8 */
                              "}\n";
static const char main_c[] =
    "#define _GNU_SOURCE 1\n"
    "#include <link.h>\n"
    "#include <stdio.h>\n"
    "static unsigned long bias;\n"
    "static int first(struct dl_phdr_info *i, size_t n, void *p)\n"
    "{\n"
    "    (void)n, (void)p;\n"
    "    bias = i->dlpi_addr;\n"
    "    return 1;\n"
    "}\n"
    "__attribute__((noinline)) void leaf(void)\n"
    "{\n"
    "    printf(\"%lx \", (unsigned long)__builtin_return_address(0) - bias);\n"
    "}\n"
    "#include \"inner.h\"\n"
    "__attribute__((noinline)) int outer(int x)\n" /* 16 */
    "{\n"
    "    return middle(x) + 3;\n" /* 18 */
    "}\n"
    "#ifdef __cplusplus\n"
    "namespace ns {\n"
    "template <class T> __attribute__((noinline)) T apply(T x)\n" /* 22 */
    "{\n"
    "    leaf();\n" /* 24 */
    "    return x + 1;\n"
    "}\n"
    "}\n"
    "#endif\n"
    "int main(int argc, char **argv)\n"
    "{\n"
    "    dl_iterate_phdr(first, argv);\n"
    "    int sum = outer(argc);\n"
    "#ifdef __cplusplus\n"
    "    sum += ns::apply(argc);\n"
    "#endif\n"
    "    printf(\"%lx\\n\", (unsigned long)&outer - bias);\n"
    "    return sum == 12345;\n"
    "}\n";

enum { MODULE_START = 0x10000000, MODULE_END = 0x20000000, MANY = 300 };
static char folder[64];

struct program {
    char path[128];
    unsigned long inner, other; /* return addresses in the file; other: of the template, or 0 */
    unsigned long outer;        /* where the function begins */
    uint8_t build_id[64];
    int build_id_bytes;
};

/* Runs a command in the folder; 1 when it worked. */
static int run(const char *format, const char *a, const char *b)
{
    char command[1024];
    int n = snprintf(command, sizeof command, "cd %s && ", folder);
    snprintf(command + n, sizeof command - (size_t)n, format, a, b);
    return system(command) == 0;
}

static void write_file(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/tomoprof-symbols-XXXXXX");
    if (!mkdtemp(folder) || !run("mkdir sub debug %s%s", "", ""))
        return -1;
    char path[128];
    snprintf(path, sizeof path, "%s/debug", folder);
    setenv("TOMOPROF_DEBUG_DIR", path, 1);
    write_file("sub/inner.h", inner_h);
    write_file("sub/main.c", main_c);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* Compiles and runs it; skips the test when the compiler is not there. */
static struct program built(const char *compiler, const char *flags)
{
    struct program p = {.build_id_bytes = 0};
    char line[512] = "";
    if (!run("%s -Werror -Wl,--build-id -o prog %s sub/main.c 2>log", compiler, flags)) {
        print_message("%s %s: does not compile here\n", compiler, flags);
        skip();
    }
    snprintf(p.path, sizeof p.path, "%s/prog", folder);
    FILE *f = popen(p.path, "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    pclose(f);
    int n = sscanf(line, "%lx %lx %lx", &p.inner, &p.other, &p.outer);
    if (n == 2) {
        p.outer = p.other;
        p.other = 0;
    }
    assert_true(n >= 2);
    snprintf(line, sizeof line, "readelf -n %s", p.path);
    f = popen(line, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        char *hex = strstr(line, "Build ID: ");
        unsigned byte;
        for (hex = hex ? hex + 10 : hex; hex && sscanf(hex, "%2x", &byte) == 1; hex += 2)
            p.build_id[p.build_id_bytes++] = (uint8_t)byte;
    }
    pclose(f);
    assert_int_equal(p.build_id_bytes, 20);
    return p;
}

static struct symbols *recorded(const struct program *p)
{
    struct symbols *s;
    assert_ok(symbols_create(&s));
    assert_ok(symbols_module(s, 1, 10, MODULE_START, MODULE_END, MODULE_START, p->path, p->build_id,
                             p->build_id_bytes));
    return s;
}

static struct symbol_frame frame_at(struct symbols *s, unsigned long address)
{
    struct symbol_frame frames[8];
    assert_true(symbols_at(s, 1, 20, MODULE_START + address, 0, frames, 8) >= 1);
    return frames[0];
}

static void assert_file(const char *file, const char *expected)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, expected);
    assert_non_null(file);
    assert_string_equal(file, path);
}

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
        cmocka_unit_test(inlined_calls_come_innermost_first),
        cmocka_unit_test(units_without_an_address_table_are_found),
        cmocka_unit_test(names_of_cxx_are_readable),
        cmocka_unit_test(a_stripped_file_has_its_exported_functions_alone),
        cmocka_unit_test(separate_debug_files_are_found),
        cmocka_unit_test(a_build_id_finds_debug_files_and_gone_programs),
        cmocka_unit_test(a_changed_or_missing_file_is_not_used_and_counted),
        cmocka_unit_test(a_return_address_belongs_to_the_call_before_it),
        cmocka_unit_test(a_module_counts_from_its_time_until_the_next),
        cmocka_unit_test(libraries_in_turn_at_one_place),
        cmocka_unit_test(many_modules_are_opened_and_closed),
        cmocka_unit_test(damaged_files_do_no_harm),
        cmocka_unit_test(the_kernels_own_code_has_names),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
