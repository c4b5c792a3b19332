/* links: tp_stage tp_trace */
/* Tests a profile's facts about the files of a run: their source lines, and paths that name
 * nobody. */
#include <stdio.h>
#include <sys/stat.h>

#include "tests/trace/run_case.h"

#define NEAR(a, b) assert_near(a, b, 1e-12)

static int after_files(void **state)
{
    static const char *const files[] = {"own.py", "huge.py", "site-packages/other.py",
                                        "site-packages"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[100];
        snprintf(path, sizeof path, "%s/%s", stage_folder, files[i]);
        remove(path);
    }
    return after(state);
}

static void paths_name_nobody(void **state)
{
    (void)state;
    static const char *const paths[] = {"/data/alice/scan/code/a.py", "/data/bob/scan/code/a.py",
                                        "/x.py", "/eve/b.py"};
    static const char *const shown[] = {".../scan/code/a.py", ".../scan/code/a.py (2)", ".../x.py",
                                        ".../b.py"};
    for (int i = 0; i < 4; i++) {
        const uint64_t words[] = {AT(EVAL, 1), (uint64_t)(i + 1) | TRACE_PYTHON_ENTRY,
                                  stage_code(&st, paths[i], "main", 1)};
        stage_sample(&st, 0, 10 * (i + 1), stage_stack(&st, words, 1, 1), 10, TRACE_USER);
    }
    analyse();
    for (int i = 0; i < 4; i++)
        NEAR(stage_line(m, shown[i], i + 1)->cpu.user, 0.01);
}

static const char *fact(const char *key)
{
    for (int i = 0; i < m->environment_count; i++)
        if (!strcmp(m->environment[i].key, key))
            return m->environment[i].value;
    return NULL;
}

static void nothing_personal_is_shown_unless_asked(void **state)
{
    (void)state;
    uint64_t code = stage_code(&st, "/home/ada/lib/tool.py", "main", 1);
    const uint64_t words[] = {AT(EVAL, 1), 5 | TRACE_PYTHON_ENTRY, code};
    stage_sample(&st, 0, 10, stage_stack(&st, words, 1, 1), 5, TRACE_USER);
    stage_meta(&st, "cwd", "/home/ada/work");
    stage_meta(&st, "cmdline", "/usr/bin/python3\n/home/ada/work/run.py\n--out=/home/ada/out");
    stage_meta(&st, "env.XLA_FLAGS", "--dump=/home/eve --other=/root/y:/home/ada/work/z /rootfs");
    stage_close(&st, TRACE_EXIT, 0);
    m = stage_model(NULL);
    assert_non_null(stage_line(m, "~/lib/tool.py", 5));
    assert_string_equal(m->meta.command[1], "run.py");
    assert_string_equal(m->meta.command[2], "--out=~/out");
    assert_string_equal(fact("env.XLA_FLAGS"), "--dump=~/ --other=~/y:z /rootfs");
    model_destroy(m);
    struct analyze_options o = {.absolute_paths = 1};
    m = stage_model(&o);
    assert_non_null(stage_line(m, "/home/ada/lib/tool.py", 5));
    assert_string_equal(m->meta.command[2], "--out=/home/ada/out");
}

static void write_lines(const char *name, int lines)
{
    char path[100];
    snprintf(path, sizeof path, "%s/%s", stage_folder, name);
    FILE *f = fopen(path, "w");
    for (int i = 1; i <= lines; i++)
        fprintf(f, "%s line %d\r\n", name, i);
    assert_int_equal(fclose(f), 0);
}

static const struct model_file *file_of(const char *path)
{
    for (int i = 0; i < m->files_count; i++)
        if (!strcmp(m->files[i].path, path))
            return &m->files[i];
    fail_msg("no file %s", path);
    return NULL;
}

static void cost(const char *file, uint32_t line, uint64_t ms)
{
    uint64_t code = stage_code(&st, file, "f", 1);
    const uint64_t words[] = {AT(EVAL, 1), line | TRACE_PYTHON_ENTRY, code};
    stage_sample(&st, 0, ms, stage_stack(&st, words, 1, 1), 5, TRACE_USER);
}

static void own_files_keep_all_their_lines_and_others_those_around(void **state)
{
    (void)state;
    char library[100];
    snprintf(library, sizeof library, "%s/site-packages", stage_folder);
    assert_int_equal(mkdir(library, 0700), 0);
    write_lines("own.py", 1000);
    write_lines("site-packages/other.py", 1000);
    stage_meta(&st, "cwd", stage_folder);
    stage_meta(&st, "python.version", "3.11.2");
    cost("own.py", 7, 5);
    cost("own.py", 900, 10);
    snprintf(library, sizeof library, "%s/site-packages/other.py", stage_folder);
    cost(library, 500, 15);
    stage_close(&st, TRACE_EXIT, 0);
    m = stage_model(&(struct analyze_options){.libraries = 1});
    const struct model_file *own = file_of("own.py"), *other = file_of("site-packages/other.py");
    assert_int_equal(own->length, 1000);
    assert_string_equal(own->lines[1].text, "own.py line 900");
    assert_int_equal(own->source_count, 998);
    assert_string_equal(own->source[0].text, "own.py line 1");
    assert_int_equal(own->source[6].line, 8);
    assert_int_equal(own->source[997].line, 1000);
    assert_int_equal(other->length, 1000);
    assert_int_equal(other->source_count, 16);
    assert_int_equal(other->source[0].line, 492);
    assert_int_equal(other->source[8].line, 501);
    model_destroy(m);
    m = stage_model(&(struct analyze_options){.no_source = 1});
    own = file_of("own.py");
    assert_true(own->source_count == 0 && !own->lines[0].text && own->length == MODEL_UNKNOWN);
}

static void source_is_cut_where_there_is_no_more_room(void **state)
{
    (void)state;
    write_lines("huge.py", 60000); /* 1.2 MB: above what a profile carries */
    stage_meta(&st, "cwd", stage_folder);
    stage_meta(&st, "python.version", "3.11.2");
    cost("huge.py", 59999, 5);
    stage_close(&st, TRACE_EXIT, 0);
    m = stage_model(NULL);
    const struct model_file *huge = file_of("huge.py");
    assert_int_equal(huge->length, 60000);
    assert_string_equal(huge->lines[0].text, "huge.py line 59999");
    size_t bytes = 0;
    for (int i = 0; i < huge->source_count; i++)
        bytes += strlen(huge->source[i].text) + 2;
    assert_in_range(bytes, (1 << 20) - 100, 1 << 20);
}

/* The library's own counter may have grown by bytes that the kernel's had before, as the two are
 * read one after the other: that is not a byte of the program's, and takes none of what others
 * counted. */
static void bytes_of_the_kernel_are_not_below_0(void **state)
{
    (void)state;
    struct trace_io_kernel begin = {.r = {.kind = TRACE_IO_KERNEL, .time_ns = T0 + MS},
                                    .read_chars = 500,
                                    .write_chars = 9 << 20};
    struct trace_io_kernel end = {.r = {.kind = TRACE_IO_KERNEL, .time_ns = T0 + 9 * MS},
                                  .read_chars = 500 + (3 << 20),
                                  .own_read = 1 << 20,
                                  .write_chars = (9 << 20) + 1000,
                                  .own_write = 1000 + (203 << 10),
                                  .at = 1};
    stage_put(&st, 0, &begin);
    stage_put(&st, 0, &end);
    analyse();
    NEAR(m->io.kernel_read_mb, 2);
    NEAR(m->io.kernel_write_mb, 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, before, after_files)
    const struct CMUnitTest tests[] = {
        CASE(paths_name_nobody),
        CASE(bytes_of_the_kernel_are_not_below_0),
        CASE(nothing_personal_is_shown_unless_asked),
        CASE(own_files_keep_all_their_lines_and_others_those_around),
        CASE(source_is_cut_where_there_is_no_more_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
