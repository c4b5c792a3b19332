/* links: tp_analyze */
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analyze/symbols/cubin.h"
#include "profiler/analyze/symbols/cubin_lines.h"
#include "tests/unit/check.h"

/* Facts about tests/data/cubins/project.cu: the output of ptxas -v, and its lines. */
static const struct file {
    const char *name;
    int registers[2], reserved; /* shared bytes that the system keeps */
} files[] = {{"sm_75", {14, 10}, 0}, {"sm_90", {13, 12}, 1024}, {"sm_120", {24, 12}, 1024}};
static const char *const kernels[] = {"_Z7projectPfPKfi", "_Z11backprojectPfPKfi"};
enum { FIRST = 18, CALLS = 25, KERNEL_END = 27, WEIGHT = 4, WEIGHT_END = 8, SUM = 15 };

static unsigned char *slurp(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *n = (size_t)ftell(f);
    rewind(f);
    unsigned char *bytes = malloc(*n);
    assert_int_equal(fread(bytes, 1, *n, f), *n);
    fclose(f);
    return bytes;
}

static struct cubin *opened(const char *name, unsigned char **bytes, size_t *n)
{
    char path[512];
    struct cubin *c;
    snprintf(path, sizeof path, "%s/cubins/%s.cubin", TP_DATA, name);
    *bytes = slurp(path, n);
    assert_int_equal(cubin_open(*bytes, *n, name, &c), ERR_OK);
    return c;
}

static void kernels_say_where_they_begin_and_what_they_take(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        unsigned char *bytes;
        size_t n;
        struct cubin *c = opened(files[i].name, &bytes, &n);
        free(bytes); /* the cubin has its own copy */
        for (int k = 0; k < 2; k++) {
            struct cubin_kernel got;
            assert_int_equal(cubin_kernel(c, kernels[k], &got), 1);
            assert_string_equal(strrchr(got.begin.file, '/'), "/project.cu");
            assert_null(got.begin.function);
            assert_int_equal(got.begin.line, k ? 29 : 19);
            assert_int_equal(got.registers, files[i].registers[k]);
            assert_int_equal(got.shared_bytes, k ? 1024 + files[i].reserved : 0);
            assert_int_equal(got.local_bytes, 0);
        }
        struct cubin_kernel none;
        assert_int_equal(cubin_kernel(c, "_Z7missingv", &none), 0);
        assert_int_equal(none.registers, -1);
        cubin_free(c);
    }
}

static void inlined_calls_are_followed_to_the_kernel(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        unsigned char *bytes;
        size_t n;
        struct cubin *c = opened(files[i].name, &bytes, &n);
        struct cubin_frame f[8];
        int depths[8] = {0}, calls[2] = {0}, d;
        for (uint64_t offset = 0; (d = cubin_at(c, kernels[0], offset, f, 8)); offset += 16) {
            assert_in_range(d, 1, 3);
            depths[d]++;
            assert_null(f[d - 1].function);
            assert_in_range(f[d - 1].line, FIRST, KERNEL_END);
            if (d > 1) {
                assert_string_equal(f[d - 2].function, "_Z6samplePKfif");
                assert_in_range(f[d - 1].line, CALLS, CALLS + 1);
                calls[f[d - 1].line - CALLS]++;
            }
            if (d == 3) {
                assert_string_equal(f[0].function, "_Z6weightff");
                assert_in_range(f[0].line, WEIGHT, WEIGHT_END);
                assert_int_equal(f[1].line, SUM);
            }
        }
        assert_true(depths[1] && depths[2] && depths[3] && calls[0] && calls[1]);
        assert_int_equal(cubin_at(c, kernels[0], 1 << 20, f, 8), 0);
        assert_int_equal(cubin_at(c, "_Z7missingv", 0, f, 8), 0);
        assert_int_equal(cubin_at(c, kernels[0], 0, f, 0), 0);
        cubin_free(c);
        free(bytes);
    }
}

static void code_without_lines_still_tells_registers(void **state)
{
    (void)state;
    unsigned char *bytes;
    size_t n;
    struct cubin *c = opened("plain", &bytes, &n);
    struct cubin_kernel got;
    struct cubin_frame f[8];
    assert_int_equal(cubin_kernel(c, kernels[0], &got), 1);
    assert_int_equal(got.registers, 13);
    assert_null(got.begin.file);
    assert_int_equal(cubin_at(c, kernels[0], 0, f, 8), 0);
    cubin_free(c);
    free(bytes);
}

/* cuptiGetSassToSourceCorrelation and its parameters; it needs no GPU. */
struct correlation {
    size_t bytes;
    const void *cubin;
    const char *function;
    size_t cubin_bytes;
    uint32_t line;
    uint64_t offset;
    char *file, *folder;
};

static void nvidias_own_reader_says_the_same(void **state)
{
    (void)state;
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12",
                                        "/usr/local/cuda/lib64/libcupti.so",
                                        "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"};
    void *library = NULL;
    int (*correlate)(struct correlation *) = NULL;
#ifdef __SANITIZE_ADDRESS__
    print_message("part skipped: libcupti leaks, which AddressSanitizer reports\n");
    skip();
#endif
    for (size_t i = 0; i < 4 && !library; i++)
        library = dlopen(names[i], RTLD_NOW);
    void *symbol = library ? dlsym(library, "cuptiGetSassToSourceCorrelation") : NULL;
    memcpy(&correlate, &symbol, sizeof symbol);
    if (!symbol) {
        print_message("part skipped: no libcupti to compare with\n");
        skip();
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        unsigned char *bytes;
        size_t n;
        struct cubin *c = opened(files[i].name, &bytes, &n);
        struct cubin_frame f[8];
        int compared = 0;
        for (int k = 0; k < 2; k++)
            for (uint64_t at = 0; cubin_at(c, kernels[k], at, f, 8); at += 16, compared++) {
                struct correlation p = {sizeof p, bytes, kernels[k], n, 0, at, NULL, NULL};
                assert_int_equal(correlate(&p), 0);
                assert_int_equal(p.line, f[0].line);
                assert_non_null(strstr(f[0].file, p.file));
                free(p.file);
                free(p.folder);
            }
        assert_true(compared > 150);
        cubin_free(c);
        free(bytes);
    }
}

static void wrong_files_are_refused_with_a_reason(void **state)
{
    (void)state;
    unsigned char *bytes;
    size_t n;
    struct cubin *c = opened("sm_90", &bytes, &n);
    cubin_free(c);
    assert_error(cubin_open("no", 2, "a", &c), ERR_INPUT, "ELF");
    assert_error(cubin_open(bytes, 32, "a", &c), ERR_INPUT, "ELF");
    bytes[18] = 62; /* e_machine: x86-64 */
    assert_error(cubin_open(bytes, n, "a", &c), ERR_INPUT, "device code");
    bytes[18] = 190;
    bytes[0x28] ^= 0xff, bytes[0x2d] ^= 0x7f; /* e_shoff */
    assert_error(cubin_open(bytes, n, "a", &c), ERR_INPUT, "section table");
    free(bytes);
}

/* This program's own line table, in the DWARF version of the compiler (5 from gcc 11 on). */
static struct bytes own_section(const unsigned char *elf, size_t n, const char *name)
{
    Elf64_Ehdr h;
    Elf64_Shdr s, names;
    memcpy(&h, elf, sizeof h);
    memcpy(&names, elf + h.e_shoff + h.e_shstrndx * sizeof names, sizeof names);
    for (size_t i = 0; i < h.e_shnum; i++) {
        memcpy(&s, elf + h.e_shoff + i * sizeof s, sizeof s);
        if (!strcmp((const char *)elf + names.sh_offset + s.sh_name, name) &&
            !(s.sh_flags & SHF_COMPRESSED) && s.sh_offset + s.sh_size <= n)
            return (struct bytes){elf + s.sh_offset, s.sh_size};
    }
    return (struct bytes){elf, 0};
}

static void a_compilers_newest_tables_are_read(void **state)
{
    (void)state;
    size_t n, found = 0, order = 0;
    unsigned char *elf = slurp("/proc/self/exe", &n);
    struct bytes line = own_section(elf, n, ".debug_line");
    struct line_table t;
    if (!line.n) {
        print_message("part skipped: this program was built without line table\n");
        skip();
    }
    assert_int_equal(line_table_read(line, own_section(elf, n, ".debug_str"),
                                     own_section(elf, n, ".debug_line_str"), &t),
                     ERR_OK);
    for (size_t i = 0; i < t.row_count; i++) {
        const char *file = t.rows[i].file < t.file_count ? t.files[t.rows[i].file] : "";
        if (!strstr(file, "test_cubin.c"))
            continue;
        found++;
        assert_in_range(t.rows[i].line, 1, __LINE__ + 40);
    }
    for (size_t i = 0; i < t.sequence_count; i++)
        order += (size_t)t.sequences[i].sorted;
    assert_true(found > 50);
    assert_int_equal(order, t.sequence_count);
    line_table_free(&t);
    free(elf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_say_where_they_begin_and_what_they_take),
        cmocka_unit_test(inlined_calls_are_followed_to_the_kernel),
        cmocka_unit_test(code_without_lines_still_tells_registers),
        cmocka_unit_test(nvidias_own_reader_says_the_same),
        cmocka_unit_test(wrong_files_are_refused_with_a_reason),
        cmocka_unit_test(a_compilers_newest_tables_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
