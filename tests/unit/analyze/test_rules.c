/* links: tp_analyze */
#include <stdio.h>

#include "profiler/analyze/attribute/rules.h"
#include "tests/unit/check.h"

static void code_belongs_to_who_can_change_it(void **state)
{
    static const struct {
        enum frame_class class;
        const char *file, *module;
        int python;
    } cases[] = {
        {FRAME_USER, "/src/recon.c", "/bin/recon", 0},
        {FRAME_USER, "/src/smooth.pyx", "/src/smooth.so", 0},
        {FRAME_USER, "/src/recon.py", "/src/recon.py", 1},
        {FRAME_USER, "/src/rustc/parse.rs", "/bin/recon", 0},
        {FRAME_USER, "/v/lib/python3.11/site-packages/mbirjax/cone.py", "x", 1},
        {FRAME_RUNTIME, NULL, "/lib/x86_64-linux-gnu/libc.so.6", 0},
        {FRAME_LIBRARY, "/usr/include/c++/12/vector", "/bin/recon", 0},
        {FRAME_LIBRARY, "/v/lib/python3.11/site-packages/numpy/core.py", "x", 1},
        /* inline functions of Python's own headers, wherever it is installed; helpers that Cython
           writes */
        {FRAME_LIBRARY, "/v/3.11.7/include/python3.11/object.h", "/src/smooth.so", 0},
        {FRAME_LIBRARY, "cython_utility", "/src/smooth.so", 0},
        {FRAME_LIBRARY, "/src/cython_utility", "/src/smooth.so", 0},
        /* Rust's and Go's standard libraries, by the paths that their compilers write */
        {FRAME_LIBRARY, "/rustc/4d91de4e48198da2e33413efdcd9cd2cc0c46688/library/core/src/cmp.rs",
         "/bin/recon", 0},
        {FRAME_LIBRARY, "/rust/deps/hashbrown-0.16.1/src/rustc_entry.rs", "/bin/recon", 0},
        {FRAME_LIBRARY, "/h/.rustup/toolchains/stable/lib/rustlib/src/rust/library/std/src/io.rs",
         "/bin/recon", 0},
        {FRAME_LIBRARY, "/usr/local/go/src/sort/zsortfunc.go", "/bin/recon", 0},
        /* thin Python over compiled work: the line that calls it is the one to see */
        {FRAME_LIBRARY, "/v/lib/python3.11/site-packages/astra/algorithm.py", "x", 1},
        {FRAME_LIBRARY, "/v/lib/python3.11/site-packages/itk/ITKCommonBasePython.py", "x", 1},
        {FRAME_LIBRARY, "/v/lib/python3.11/site-packages/onnxruntime/capi/session.py", "x", 1},
        {FRAME_LIBRARY, "/v/lib/python3.11/site-packages/polars/lazyframe/frame.py", "x", 1},
    };
    struct analyze_options options = {0};
    struct run r = {.options = &options};
    int wrong = 0;
    (void)state;
    assert_ok(model_create(&r.m));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (rules_class(&r, cases[i].file, cases[i].module, cases[i].python) != cases[i].class)
            wrong += fprintf(stderr, "wrong: %s in %s\n", cases[i].file, cases[i].module) > 0;
    assert_int_equal(wrong, 0);
    model_destroy(r.m);
    table_free(&r.class_of);
    table_free(&r.path_of);
    free(r.paths.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(code_belongs_to_who_can_change_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
