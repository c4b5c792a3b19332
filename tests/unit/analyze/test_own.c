/* links: tp_analyze */
#include <string.h>

#include "tests/unit/check.h"
#include "profiler/analyze/attribute/own.h"

static struct run run;
static struct image im;
static const struct analyze_options none;

static void begin(const char *exe, const char *cwd, const char *command)
{
    run = (struct run){.options = &none};
    assert_ok(model_create(&run.m));
    im = (struct image){.run = &run, .exe = exe, .cwd = cwd};
    assert_ok(arena_create(&im.arena));
    assert_ok(own_command(&im, command));
}

static void end(void)
{
    table_free(&im.own_of);
    table_free(&run.path_of);
    free(run.paths.items);
    arena_free(im.arena);
    model_destroy(run.m);
}

struct row {
    int own;
    const char *file, *function;
};

static void check(const struct row *rows, size_t n, const char *module)
{
    for (size_t i = 0; i < n; i++) {
        struct resolved f = {.file = rows[i].file,
                             .function = rows[i].function,
                             .module = module,
                             .line = 1,
                             .class = FRAME_USER,
                             .python = !module};
        if (own_frame(&im, &f) != rows[i].own || own_frame(&im, &f) != rows[i].own)
            fail_msg("%s, %s: not %s", f.file ? f.file : "no file", f.function,
                     rows[i].own ? "own" : "of others");
    }
}
#define CHECK(rows, module) check(rows, sizeof rows / sizeof *rows, module)

static void python_files_by_where_they_lie(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {1, "/srv/job/recon.py", "f"},
        {1, "/srv/job/lib/helper.py", "f"},
        {1, "recon.py", "f"},
        {1, "/data/shared/tools.py", "f"},
        {1, "/opt/app/main.py", "f"}, /* the script's folder, wherever it is */
        {0, "/opt/other/main.py", "f"},
        {0, "/srv/job/site/tomoprof/jupyter.py", "finish"}, /* waits for the recorder */
        {0, "/srv/job/venv/lib/python3.11/site-packages/itk/x.py", "f"},
        {0, "/usr/lib/python3/dist-packages/numpy/core.py", "f"},
        {0, "/usr/lib/python3.11/threading.py", "f"},
        {0, "/srv/job/venv/bin/pytest", "<module>"},
        {0, "<frozen importlib._bootstrap>", "_find_and_load"},
        {0, "<string>", "__init__"},
        {1, "<stdin>", "<module>"},
        {1, "<ipython-input-3-abc>", "<module>"},
        {0, "/srv/job/wire_pb2.py", "f"},
    };
    begin("/usr/bin/python3.11", "/srv/job", "python3\n-X\ndev\n-u\n/opt/app/main.py\n--size\n3");
    assert_string_equal(im.script, "/opt/app/main.py");
    CHECK(rows, NULL);
    end();
}

static void the_text_of_a_command_is_own(void **state)
{
    (void)state;
    static const struct row rows[] = {{1, "<string>", "<module>"}};
    begin("/usr/bin/python3.11", "/", "python3\n-c\nimport time");
    CHECK(rows, NULL);
    end();
    static const struct row helper[] = {{0, "<string>", "<module>"}};
    static const char *const helpers[] = {
        "python3\n-c\nfrom multiprocessing.resource_tracker import main;main(7)",
        "python3\n-X\ndev\n-c\nfrom joblib.externals.loky.backend.resource_tracker import main; "
        "main(7, False)"};
    for (int i = 0; i < 2; i++) {
        begin("/usr/bin/python3.11", "/", helpers[i]);
        CHECK(helper, NULL);
        end();
    }
    begin("/usr/bin/python3.11", "/", "python3\n-m\ntimeit");
    assert_null(im.script_folder);
    end();
}

static void native_code_by_module_file_and_name(void **state)
{
    (void)state;
    static const struct row program[] = {
        {1, "/build/me/main.c", "main"},
        {1, NULL, "waves"},
        {0, "/usr/include/c++/12/bits/stl_algo.h", "std::sort"},
        {0, "/rustc/0123/library/core/src/ptr/mod.rs", "copy"},
        {0, "/home/me/.cargo/registry/src/x/rayon/lib.rs", "join"},
        {0, NULL, "core::slice::sort::stable::drift::sort"},
        {0, NULL, "_RNvXs0_NtNtNtCsgEmfK2I1SDS_4core3ops8function5impls"},
        {1, NULL, "_RNvCsgEmfK2I1SDS_4scan6smooth"},
        {0, NULL, "void std::__introsort_loop<int*, long>(int*, int*, long)"},
        {1, NULL, "sum(std::vector<int> const&)"},
        {0, "/build/me/moc_window.cpp", "qt_metacall"},
        {0, "/build/me/parser.tab.c", "yyparse"},
    };
    static const struct row beside[] = {{1, "/home/me/job/fast.cpp", "filter"},
                                        {0, "/home/me/job/fast.c", "__pyx_pf_4fast_mandel"}};
    static const struct row system[] = {{0, NULL, "sin"}, {0, "./math/s_sin.c", "do_sin"}};
    begin("/home/me/job/scan", "/home/me/job", "./scan\n3");
    CHECK(program, "/home/me/job/scan");
    CHECK(beside, "/home/me/job/libfast.so");
    CHECK(system, "/usr/lib/x86_64-linux-gnu/libm.so.6");
    end();
    static const struct row container[] = {{1, "/usr/src/app/main.c", "main"}};
    begin("/usr/src/app/scan", "/usr/src/app", "./scan");
    CHECK(container, "/usr/src/app/scan");
    end();
}

static void what_a_runtime_runs(void **state)
{
    (void)state;
    static const struct row map[] = {{1, NULL, "double Recon.filter(int)"},
                                     {1, NULL, "void org.lab.Scan.load()"},
                                     {0, NULL, "int java.lang.String.length()"},
                                     {0, NULL, "StubRoutines (1)"},
                                     {0, NULL, "Interpreter"},
                                     {0, NULL, "boolean jdk.internal.misc.VM.a()"}};
    static const struct row script[] = {{1, "/srv/job/recon.js", "project"},
                                        {0, "/usr/share/nodejs/x.js", "f"},
                                        {0, "/data/node_modules/x/x.js", "f"},
                                        {0, "node:internal/modules/run_main", "run"},
                                        {0, NULL, "Builtins_JSEntryTrampoline"}};
    static const struct row runtime[] = {{0, NULL, "Builtins_JSEntryTrampoline"}};
    begin("/usr/bin/java", "/srv/job", "java\nRecon");
    CHECK(map, "[jit]");
    end();
    begin("/usr/bin/node", "/srv/job", "node\nrecon.js");
    CHECK(script, "[jit]");
    CHECK(runtime, "/usr/bin/node");
    end();
    begin("/usr/bin/python3.11", "/srv/job", "python3\nrecon.py");
    im.python = 1;
    static const struct row numba[] = {{0, "/srv/job/recon.py", "loop"}};
    CHECK(numba, "[jit]");
    end();
}

static void patterns_go_first(void **state)
{
    (void)state;
    static const char *const include[] = {"*/itk/*", NULL}, *const exclude[] = {"*/lib/*", NULL};
    static const struct analyze_options chosen = {.include = include},
                                        left_out = {.exclude = exclude};
    static const struct row in[] = {{1, "/v/lib/python3.11/site-packages/itk/x.py", "f"},
                                    {0, "/srv/job/recon.py", "f"}};
    static const struct row out[] = {{0, "/srv/job/lib/helper.py", "f"}, {1, "/srv/job/a.py", "f"}};
    begin("/usr/bin/python3.11", "/srv/job", "python3\nrecon.py");
    run.options = &chosen;
    CHECK(in, NULL);
    end();
    begin("/usr/bin/python3.11", "/srv/job", "python3\nrecon.py");
    run.options = &left_out;
    CHECK(out, NULL);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(python_files_by_where_they_lie),
        cmocka_unit_test(the_text_of_a_command_is_own),
        cmocka_unit_test(native_code_by_module_file_and_name),
        cmocka_unit_test(what_a_runtime_runs),
        cmocka_unit_test(patterns_go_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
