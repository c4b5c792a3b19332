/* links: tp_analyze */
#include <stdio.h>

#include "profiler/analyze/common/owner.h"
#include "tests/unit/check.h"

/* clang-format off */
static const struct owner_program
    scan = {.exe = "/home/me/job/scan", .cwd = "/home/me/job"},
    at_home = {.exe = "/home/me/bin/scan", .cwd = "/home/me"},
    container = {.exe = "/usr/src/app/scan", .cwd = "/usr/src/app"},
    packaged = {.exe = "/usr/bin/scan", .cwd = "/data"},
    child = {.exe = "/usr/bin/gzip", .cwd = "/data", .child = 1},
    python = {.exe = "/usr/bin/python3.11", .cwd = "/srv/job", .script = "/opt/app/main.py",
              .script_folder = "/opt/app", .python = 1},
    installed = {.exe = "/usr/bin/python3.11", .cwd = "/srv/venv", .python = 1,
                 .script = "lib/python3.11/site-packages/scan/run.py"},
    starter = {.exe = "/usr/bin/python3.11", .cwd = "/srv/job", .script = "/srv/venv/bin/scan",
               .python = 1},
    command = {.exe = "/usr/bin/python3.11", .cwd = "/", .script = "-c", .python = 1},
    conda = {.exe = "/data/forge/envs/ct/bin/python3.11", .cwd = "/home/me/ct", .python = 1},
    node = {.exe = "/usr/bin/node", .cwd = "/srv/job"},
    java = {.exe = "/home/me/.sdkman/java/21/bin/java", .cwd = "/srv/job"},
    imported = {.stripped = 1};

static const struct {
    enum owner owner;
    const struct owner_program *program;
    int python;
    const char *file, *function, *module;
} cases[] = {
    /* C and C++ */
    {OWNER_OWN, &scan, 0, "/home/me/job/recon.c", "main", "/home/me/job/scan"},
    {OWNER_OWN, &scan, 0, "/home/me/build/recon.c", "main", "/home/me/job/scan"},
    {OWNER_OWN, &scan, 0, "/build/me/main.c", "main", "/home/me/job/scan"},
    {OWNER_OWN, &scan, 0, NULL, "waves", "/home/me/job/scan"},
    {OWNER_OWN, &scan, 0, NULL, "sum(std::vector<int> const&)", "/home/me/job/scan"},
    {OWNER_OWN, &scan, 0, "/home/me/job/fast.cpp", "filter", "/home/me/job/libfast.so"},
    {OWNER_OWN, &scan, 0, "/home/me/job/core.cpp", "core::Scan::load()", "/home/me/job/scan"},
    {OWNER_OWN, &container, 0, "/usr/src/app/main.c", "main", "/usr/src/app/scan"},
    {OWNER_OWN, &container, 0, "/usr/src/app/build/glue.c", "glue", "/usr/src/app/scan"},
    {OWNER_OWN, &packaged, 0, "/build/scan-1.2/main.c", "main", "/usr/bin/scan"},
    {OWNER_OWN, &at_home, 0, "/home/me/src/rustc/parse.c", "parse", "/home/me/bin/scan"},
    {OWNER_LIBRARY, &scan, 0, "/usr/include/c++/12/vector", "push_back", "/home/me/job/scan"},
    {OWNER_LIBRARY, &at_home, 0, "/home/me/gcc/include/c++/12/vector", "at", "/home/me/bin/scan"},
    {OWNER_LIBRARY, &scan, 0, NULL, "std::sort", "/home/me/job/scan"},
    {OWNER_LIBRARY, &scan, 0, NULL, "void std::__introsort_loop<int*, long>(int*, int*, long)",
     "/home/me/job/scan"},
    {OWNER_LIBRARY, &scan, 0, "/usr/local/include/eigen3/Eigen/src/Core/Block.h", "eval",
     "/home/me/job/scan"},
    {OWNER_LIBRARY, &scan, 0, "/build/glibc-6iIyqC/glibc-2.36/csu/libc-start.c", "start",
     "/home/me/job/scan"},
    {OWNER_LIBRARY, &scan, 0, "./malloc/malloc.c", "_int_malloc", "/home/me/job/scan"},
    {OWNER_LIBRARY, &scan, 0, "../sysdeps/x86_64/multiarch/memmove.S", "memmove",
     "/home/me/job/scan"},
    {OWNER_LIBRARY, &scan, 0, "/build/fftw3-vZxqv9/fftw3-3.3.10/kernel/plan.c", "plan",
     "/usr/lib/x86_64-linux-gnu/libfftw3.so.3"},
    {OWNER_LIBRARY, &scan, 0, NULL, "mkl_blas_dgemm", "/software/mkl/2023.1/lib/libmkl_core.so.2"},
    {OWNER_LIBRARY, &scan, 0, NULL, "dgemm_kernel", "/apps/openblas/lib/libopenblas.so.0"},
    {OWNER_RUNTIME, &scan, 0, NULL, "memmove", "/lib/x86_64-linux-gnu/libc.so.6"},
    {OWNER_RUNTIME, &scan, 0, "./math/s_sin.c", "sin", "/usr/lib/x86_64-linux-gnu/libm.so.6"},
    {OWNER_RUNTIME, &scan, 0, NULL, "clock_gettime", "[vdso]"},
    {OWNER_RUNTIME, &scan, 0, NULL, "GOMP_parallel", "/home/me/gcc/lib64/libgomp.so.1"},
    {OWNER_PACKAGE, &scan, 0, "/build/me/moc_window.cpp", "qt_metacall", "/home/me/job/scan"},
    {OWNER_PACKAGE, &scan, 0, "/home/me/job/parser.tab.c", "yyparse", "/home/me/job/scan"},
    {OWNER_PACKAGE, &child, 0, "/tmp/gzip-1.12/deflate.c", "deflate", "/usr/bin/gzip"},
    {OWNER_PACKAGE, &scan, 0, "/tmp/tigre/cone.cpp", "project", "/opt/tigre/lib/libtigre.so"},
    /* CUDA */
    {OWNER_OWN, &scan, 0, "/home/me/job/kernels.cu", "launch", "/home/me/job/scan"},
    {OWNER_LIBRARY, &scan, 0, "/usr/local/cuda-12.4/include/cuda_runtime.h", "cudaMalloc",
     "/home/me/job/scan"},
    {OWNER_LIBRARY, &scan, 0, "/apps/cuda/12.4/targets/x86_64-linux/include/crt/host_runtime.h",
     "__cudaLaunch", "/home/me/job/scan"},
    {OWNER_LIBRARY, &scan, 0, "/home/me/job/third/nvtx3/nvtxImpl.h", "nvtxRangePush",
     "/home/me/job/scan"},
    {OWNER_LIBRARY, &scan, 0, "/apps/cuda/12.4/include/thrust/sort.h", "sort", "/home/me/job/scan"},
    {OWNER_RUNTIME, &scan, 0, NULL, "cudaLaunchKernel", "/apps/cuda/12.4/lib64/libcudart.so.12"},
    {OWNER_LIBRARY, &scan, 0, NULL, "cufftExecC2C", "/apps/cuda/12.4/lib64/libcufft.so.11"},
    /* Rust */
    {OWNER_OWN, &scan, 0, "/home/me/job/src/main.rs", "scan::smooth", "/home/me/job/scan"},
    {OWNER_OWN, &scan, 0, NULL, "_RNvCsgEmfK2I1SDS_4scan6smooth", "/home/me/job/scan"},
    {OWNER_LIBRARY, &scan, 0, NULL, "core::slice::sort::stable::drift::sort", "/home/me/job/scan"},
    {OWNER_LIBRARY, &scan, 0, NULL, "_RNvXs0_NtNtNtCsgEmfK2I1SDS_4core3ops8function5impls",
     "/home/me/job/scan"},
    {OWNER_LIBRARY, &scan, 0, "/rustc/4d91de4e4819/library/core/src/cmp.rs", "cmp",
     "/home/me/job/scan"},
    {OWNER_LIBRARY, &scan, 0, "/rust/deps/hashbrown-0.16.1/src/raw.rs", "get", "/home/me/job/scan"},
    {OWNER_LIBRARY, &at_home, 0, "/home/me/.cargo/registry/src/index.crates.io-6f17/rayon/lib.rs",
     "join", "/home/me/bin/scan"},
    {OWNER_LIBRARY, &scan, 0, "/usr/local/cargo/registry/src/index.crates.io-6f17/ndarray/lib.rs",
     "dot", "/home/me/job/scan"},
    {OWNER_LIBRARY, &scan, 0, "/home/me/.cargo/git/checkouts/fft-1f/lib.rs", "fft",
     "/home/me/job/scan"},
    {OWNER_LIBRARY, &scan, 0,
     "/h/.rustup/toolchains/stable/lib/rustlib/src/rust/library/std/src/io.rs", "read",
     "/home/me/job/scan"},
    /* Go */
    {OWNER_OWN, &scan, 0, "/home/me/job/main.go", "main.filter", "/home/me/job/scan"},
    {OWNER_OWN, &scan, 0, "/home/me/go/src/lab.org/recon/fbp.go", "lab.org/recon.Fbp",
     "/home/me/job/scan"},
    {OWNER_LIBRARY, &scan, 0, "/usr/local/go/src/sort/zsortfunc.go", "sort.pdqsort_func",
     "/home/me/job/scan"},
    {OWNER_LIBRARY, &at_home, 0, "/home/me/sdk/go1.22.1/src/runtime/malloc.go", "runtime.mallocgc",
     "/home/me/bin/scan"},
    {OWNER_LIBRARY, &scan, 0, "/opt/hostedtoolcache/go/1.21.5/x64/src/net/http/server.go",
     "net/http.(*conn).serve", "/home/me/job/scan"},
    {OWNER_LIBRARY, &scan, 0, "/data/gopath/pkg/mod/gonum.org/v1/gonum@v0.14.0/mat/dense.go",
     "gonum.org/v1/gonum/mat.(*Dense).Mul", "/home/me/job/scan"},
    {OWNER_LIBRARY, &scan, 0, "gonum.org/v1/gonum@v0.14.0/mat/dense.go", /* go build -trimpath */
     "gonum.org/v1/gonum/mat.(*Dense).Mul", "/home/me/job/scan"},
    {OWNER_LIBRARY, &scan, 0, "runtime/malloc.go", "runtime.mallocgc", "/home/me/job/scan"},
    {OWNER_OWN, &scan, 0, "recon/fbp/filter.go", "recon/fbp.Filter", "/home/me/job/scan"},
    /* Python: the program's own */
    {OWNER_OWN, &python, 1, "/srv/job/recon.py", "f", NULL},
    {OWNER_OWN, &python, 1, "/srv/job/lib/helper.py", "f", NULL},
    {OWNER_OWN, &python, 1, "lib/helper.py", "f", NULL},
    {OWNER_OWN, &python, 1, "/data/shared/tools.py", "f", NULL},
    {OWNER_OWN, &python, 1, "/opt/app/main.py", "f", NULL},
    {OWNER_OWN, &python, 1, "<stdin>", "<module>", NULL},
    {OWNER_OWN, &python, 1, "<ipython-input-3-abc>", "<module>", NULL},
    {OWNER_OWN, &python, 1, "/tmp/ipykernel_4711/1187043.py", "<module>", NULL},
    {OWNER_OWN, &python, 1, "In [3]", "<module>", NULL},
    {OWNER_OWN, &command, 1, "<string>", "<module>", NULL},
    /* Python: packages, the standard library, generated code */
    /* The script is the program, wherever it is installed. */
    {OWNER_OWN, &installed, 1, "/srv/venv/lib/python3.11/site-packages/scan/run.py", "f", NULL},
    {OWNER_OWN, &installed, 1, "lib/python3.11/site-packages/scan/run.py", "f", NULL},
    {OWNER_PACKAGE, &installed, 1, "/srv/venv/lib/python3.11/site-packages/scan/step.py", "f",
     NULL},
    {OWNER_PACKAGE, &python, 1, "/srv/venv/lib/python3.11/site-packages/scan/run.py", "f", NULL},
    {OWNER_LIBRARY, &starter, 1, "/srv/venv/bin/scan", "<module>", NULL},
    {OWNER_PACKAGE, &python, 1, "/srv/job/venv/lib/python3.11/site-packages/mbirjax/cone.py", "f",
     NULL},
    {OWNER_PACKAGE, &python, 1, "/opt/other/main.py", "f", NULL},
    {OWNER_PACKAGE, &python, 1, "/srv/job/wire_pb2.py", "f", NULL},
    {OWNER_PACKAGE, &python, 1, "/srv/job/site/tomoprof/jupyter.py", "finish", NULL},
    {OWNER_LIBRARY, &python, 1, "/srv/job/venv/lib/python3.11/site-packages/itk/x.py", "f", NULL},
    {OWNER_LIBRARY, &python, 1, "/usr/lib/python3/dist-packages/numpy/core.py", "f", NULL},
    {OWNER_LIBRARY, &python, 1, "/srv/job/env/lib/python3.11/site-packages/six.py", "f", NULL},
    {OWNER_LIBRARY, &python, 1, "/srv/job/env/lib/python3.11/site-packages/_virtualenv.py", "f",
     NULL},
    {OWNER_LIBRARY, &python, 1, "/usr/lib/python3.11/threading.py", "f", NULL},
    {OWNER_LIBRARY, &conda, 1, "/data/forge/envs/ct/lib/python3.11/queue.py", "f", NULL},
    {OWNER_LIBRARY, &python, 1, "/home/me/.pyenv/versions/3.11.7/lib/python3.11/json/decoder.py",
     "f", NULL},
    {OWNER_LIBRARY, &python, 1, "/opt/pypy/lib/pypy3.9/json/decoder.py", "f", NULL},
    {OWNER_LIBRARY, &python, 1, "/srv/job/venv/bin/pytest", "<module>", NULL},
    {OWNER_LIBRARY, &python, 1, "<frozen importlib._bootstrap>", "_find_and_load", NULL},
    {OWNER_LIBRARY, &python, 1, "<string>", "__init__", NULL},
    {OWNER_LIBRARY, &python, 1, "<decorator-gen-12>", "wrapped", NULL},
    {OWNER_LIBRARY, &python, 1, NULL, "f", NULL},
    /* compiled code in Python's process */
    {OWNER_OWN, &python, 0, "/srv/job/smooth.pyx", "__pyx_pf_6smooth_run", "/srv/job/smooth.so"},
    {OWNER_OWN, &python, 0, "/srv/job/src/project.cpp", "project",
     "/srv/job/venv/lib/python3.11/site-packages/recon/_core.so"},
    {OWNER_PACKAGE, &python, 0, "/srv/job/smooth.c", "__pyx_pf_6smooth_run", "/srv/job/smooth.so"},
    {OWNER_PACKAGE, &python, 0, "/srv/job/recon.py", "loop", "[jit]"}, /* numba */
    {OWNER_LIBRARY, &python, 0, "/v/3.11.7/include/python3.11/object.h", "Py_DECREF",
     "/srv/job/smooth.so"},
    {OWNER_LIBRARY, &python, 0, "cython_utility", "f", "/srv/job/smooth.so"},
    {OWNER_LIBRARY, &python, 0, "/srv/job/cython_utility", "f", "/srv/job/smooth.so"},
    {OWNER_LIBRARY, &python, 0, "<stringsource>", "f", "/srv/job/smooth.so"},
    {OWNER_LIBRARY, &python, 0,
     "/srv/job/venv/lib/python3.11/site-packages/pybind11/include/pybind11/cast.h", "cast",
     "/srv/job/_core.so"},
    {OWNER_LIBRARY, &python, 0, "/srv/job/third/pybind11/include/pybind11/cast.h", "cast",
     "/srv/job/_core.so"},
    {OWNER_LIBRARY, &python, 0, "/project/numpy/_core/src/umath/loops.c", "add",
     "/srv/job/venv/lib/python3.11/site-packages/numpy/_core/_umath.so"},
    {OWNER_LIBRARY, &python, 0, NULL, "add",
     "/usr/lib/python3.11/lib-dynload/_json.cpython-311-x86_64-linux-gnu.so"},
    {OWNER_LIBRARY, &python, 0, "/srv/job/python-build.1/Python-3.11.7/Modules/zlibmodule.c",
     "zlib_decompress", "/v/3.11.7/lib/python3.11/lib-dynload/zlib.cpython-311-x86_64-linux-gnu.so"},
    {OWNER_LIBRARY, &conda, 0, NULL, "png_read", "/data/forge/envs/ct/lib/libpng16.so.16"},
    {OWNER_RUNTIME, &conda, 0, NULL, "_PyEval_Vector",
     "/data/forge/envs/ct/bin/python3.11"},
    {OWNER_RUNTIME, &python, 0, NULL, "PyObject_Call", "/usr/lib/libpython3.11.so.1.0"},
    /* node */
    {OWNER_OWN, &node, 0, "/srv/job/recon.js", "project", "[jit]"},
    {OWNER_OWN, &node, 0, "file:///srv/job/recon.mjs", "project", "[jit]"},
    {OWNER_OWN, &imported, 0, "file:///home/me/recon.mjs", "project", NULL},
    {OWNER_PACKAGE, &node, 0, "/srv/job/node_modules/fft.js/lib/fft.js", "f", "[jit]"},
    {OWNER_PACKAGE, &node, 0, "/data/node_modules/x/x.js", "f", "[jit]"},
    {OWNER_PACKAGE, &node, 0, "/usr/share/nodejs/x.js", "f", "[jit]"},
    {OWNER_LIBRARY, &node, 0, "node:internal/modules/run_main", "run", "[jit]"},
    {OWNER_LIBRARY, &node, 0, "internal/modules/cjs/loader.js", "run", "[jit]"},
    {OWNER_PACKAGE, &node, 0, "made.js", "made", "[jit]"},
    {OWNER_LIBRARY, &node, 0, NULL, "Builtins_JSEntryTrampoline", "[jit]"},
    {OWNER_LIBRARY, &node, 0, NULL, "Builtins_JSEntryTrampoline", "/usr/bin/node"},
    /* Java */
    {OWNER_OWN, &java, 0, NULL, "double Recon.filter(int)", "[jit]"},
    {OWNER_OWN, &java, 0, NULL, "void org.lab.Scan.load()", "[jit]"},
    {OWNER_OWN, &imported, 0, "Recon.java", "Recon.filter", NULL},
    {OWNER_PACKAGE, &java, 0, "Dense.java", "mul", "/home/me/.m2/repository/org/ejml/ejml-core.jar"},
    {OWNER_LIBRARY, &java, 0, NULL, "int java.lang.String.length()", "[jit]"},
    {OWNER_LIBRARY, &java, 0, NULL, "boolean jdk.internal.misc.VM.a()", "[jit]"},
    {OWNER_LIBRARY, &java, 0, NULL, "StubRoutines (1)", "[jit]"},
    {OWNER_LIBRARY, &java, 0, NULL, "Interpreter", "[jit]"},
    {OWNER_LIBRARY, &java, 0, NULL, "G1YoungGCTask::work", "/home/me/.sdkman/java/21/lib/libjvm.so"},
    {OWNER_LIBRARY, &imported, 0, "String.java", "java.base/java.lang.String.length", NULL},
    {OWNER_LIBRARY, &imported, 0, "HashMap.java", "java/util/HashMap.get", NULL},
    /* captures of other tools */
    {OWNER_OWN, &imported, 1, "recon.py", "f", NULL},
    {OWNER_OWN, &imported, 1, "job/lib/helper.py", "f", NULL},
    {OWNER_OWN, &imported, 0, "/home/me/build/recon.c", "f", NULL},
    {OWNER_OWN, &imported, 1, "C:\\Users\\me\\work\\recon.py", "f", NULL},
    {OWNER_PACKAGE, &imported, 1, "site-packages/mbirjax/cone.py", "f", NULL},
    {OWNER_LIBRARY, &imported, 1, "torch/nn/modules/conv.py", "f", NULL},
    {OWNER_LIBRARY, &imported, 1, "site-packages/torch/nn/modules/conv.py", "f", NULL},
    {OWNER_LIBRARY, &imported, 1, "threading.py", "f", NULL},
    {OWNER_LIBRARY, &imported, 1, "lib/python3.11/threading.py", "f", NULL},
    {OWNER_LIBRARY, &imported, 0, "./malloc/malloc.c", "_int_malloc", NULL},
    {OWNER_LIBRARY, &imported, 1, "C:\\Python311\\Lib\\site-packages\\numpy\\core.py", "f", NULL},
    {OWNER_LIBRARY, &imported, 1, "C:\\Program Files\\Python311\\Lib\\threading.py", "f", NULL},
    {OWNER_OWN, &imported, 0, NULL, "filter", "/usr/bin/scan"},
    {OWNER_LIBRARY, &imported, 0, NULL, "filter", "/usr/lib/x86_64-linux-gnu/libgdal.so.32"},
    {OWNER_LIBRARY, &imported, 0, NULL, "f", "[unknown]"},
    {OWNER_RUNTIME, &imported, 0, NULL, "memmove", "/usr/lib/x86_64-linux-gnu/libc-2.31.so"},
};
/* clang-format on */

static void each_frame_has_its_owner(void **state)
{
    int wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct owner_frame f = {.file = cases[i].file,
                                      .function = cases[i].function,
                                      .module = cases[i].module,
                                      .python = cases[i].python};
        enum owner is = frame_owner(cases[i].program, &f);
        if (is != cases[i].owner)
            wrong += fprintf(stderr, "%s, %s in %s: owner %d, expected %d\n",
                             f.file ? f.file : "no file", f.function,
                             f.module ? f.module : "no module", is, cases[i].owner) > 0;
    }
    assert_int_equal(wrong, 0);
}

static void patterns_of_the_user_go_first(void **state)
{
    static const char *const itk[] = {"*/itk/*", NULL}, *const lib[] = {"*/lib/*", NULL};
    static const struct owner_frame package = {"/v/lib/python3.11/site-packages/itk/x.py", NULL,
                                               "f", NULL, 1},
                                    recon = {"/srv/job/recon.py", NULL, "f", NULL, 1},
                                    helper = {"/srv/job/lib/helper.py", NULL, "f", NULL, 1},
                                    shown = {"/srv/job/helper.py", "x/lib/helper.py", "f", NULL, 1},
                                    runtime = {"/srv/itk/x.c", NULL, "f", "/lib/libc.so.6", 0};
    struct owner_program p = python;
    (void)state;
    p.include = itk;
    assert_int_equal(frame_owner(&p, &package), OWNER_OWN);
    assert_int_equal(frame_owner(&p, &recon), OWNER_LIBRARY);
    assert_int_equal(frame_owner(&p, &runtime), OWNER_RUNTIME);
    p.exclude = itk;
    assert_int_equal(frame_owner(&p, &package), OWNER_LIBRARY);
    p.include = NULL;
    p.exclude = lib;
    assert_int_equal(frame_owner(&p, &recon), OWNER_OWN);
    assert_int_equal(frame_owner(&p, &helper), OWNER_LIBRARY);
    assert_int_equal(frame_owner(&p, &shown), OWNER_LIBRARY);
}

static void lines_of_libraries_cost_on_request(void **state)
{
    static const struct owner_frame standard = {"/usr/lib/python3.11/queue.py", NULL, "f", NULL, 1},
                                    runtime = {"./malloc/malloc.c", NULL, "f", "/lib/libc.so.6", 0},
                                    nothing = {NULL, NULL, "f", "/usr/lib/libz.so.1", 0};
    struct owner_program p = python;
    (void)state;
    p.libraries = 1;
    assert_int_equal(frame_owner(&p, &standard), OWNER_PACKAGE);
    assert_int_equal(frame_owner(&p, &runtime), OWNER_RUNTIME);
    assert_int_equal(frame_owner(&p, &nothing), OWNER_LIBRARY);
}

static void the_command_names_the_script(void **state)
{
    static const char *const helpers[] = {
        "python3\n-c\nfrom multiprocessing.resource_tracker import main;main(7)",
        "python3\n-X\ndev\n-c\nfrom joblib.externals.loky.backend.resource_tracker import main; "
        "main(7, False)"};
    struct arena *arena;
    (void)state;
    assert_ok(arena_create(&arena));
    struct owner_program p = {.cwd = "/srv/job"};
    assert_ok(owner_command(&p, arena, "python3\n-X\ndev\n-u\n/opt/app/main.py\n--size\n3"));
    assert_string_equal(p.script, "/opt/app/main.py");
    assert_string_equal(p.script_folder, "/opt/app");
    p = (struct owner_program){.cwd = "/srv/job"};
    assert_ok(owner_command(&p, arena, "python3\nwork/recon.py"));
    assert_string_equal(p.script_folder, "/srv/job/work");
    p = (struct owner_program){.cwd = "/srv/job"};
    assert_ok(owner_command(&p, arena, "python3\n-m\ntimeit"));
    assert_null(p.script_folder);
    for (int i = 0; i < 2; i++) {
        p = (struct owner_program){.cwd = "/"};
        assert_ok(owner_command(&p, arena, helpers[i]));
        assert_null(p.script);
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_frame_has_its_owner),
        cmocka_unit_test(patterns_of_the_user_go_first),
        cmocka_unit_test(lines_of_libraries_cost_on_request),
        cmocka_unit_test(the_command_names_the_script),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
