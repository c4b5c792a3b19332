/* Shared by tests of symbols: a program that is compiled, and tells where its functions are. */
#pragma once
#include <stdio.h>
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

enum { MODULE_START = 0x10000000, MODULE_END = 0x20000000 };
static char folder[64];

struct program {
    char path[128];
    unsigned long inner, other; /* return addresses in the file; other: of the template, or 0 */
    unsigned long outer;        /* where the function begins */
    uint8_t build_id[64];
    int build_id_bytes;
};

/* Runs a command in the folder; 1 when it worked. */
static inline int run(const char *format, const char *a, const char *b)
{
    char command[1024];
    int n = snprintf(command, sizeof command, "cd %s && ", folder);
    snprintf(command + n, sizeof command - (size_t)n, format, a, b);
    return system(command) == 0;
}

static inline void write_file(const char *name, const char *text)
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
static inline struct program built(const char *compiler, const char *flags)
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

static inline struct symbols *recorded(const struct program *p)
{
    struct symbols *s;
    assert_ok(symbols_create(&s));
    assert_ok(symbols_module(s, 1, 10, MODULE_START, MODULE_END, MODULE_START, p->path, p->build_id,
                             p->build_id_bytes));
    return s;
}

static inline struct symbol_frame frame_at(struct symbols *s, unsigned long address)
{
    struct symbol_frame frames[8];
    assert_true(symbols_at(s, 1, 20, MODULE_START + address, 0, frames, 8) >= 1);
    return frames[0];
}

static inline void assert_file(const char *file, const char *expected)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, expected);
    assert_non_null(file);
    assert_string_equal(file, path);
}
