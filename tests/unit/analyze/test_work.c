/* links: tp_analyze */
#include <string.h>

#include "tests/unit/check.h"
#include "profiler/analyze/attribute/work.h"
#include "profiler/analyze/model/model.h"

enum { DEEP = 4 };
struct work_case {
    const char *function[DEEP], *module[DEEP], *file[DEEP]; /* leaf first; a file: Python's */
    const char *user, *system;
};
#define UMATH  "/v/numpy/_core/_multiarray_umath.cpython-311-x86_64-linux-gnu.so"
#define LIBC   "/usr/lib/x86_64-linux-gnu/libc.so.6"
#define PYTHON "/usr/bin/python3.11"
#define JAX    "/v/site-packages/jaxlib/libjax_common.so"

/* clang-format off */
static const struct work_case cases[] = {
    {{"inflate_fast", "inflate"}, {"/usr/lib/libz.so.1", "/usr/lib/libz.so.1"}, {0}, "inflating", "page faults"},
    {{NULL, "BZ2_bzDecompress"}, {"/l/libbz2.so.1", "/l/libbz2.so.1"}, {0}, "decompressing (bzip2)", "page faults"},
    {{NULL, "deflate"}, {"/usr/lib/libz.so.1", "/usr/lib/libz.so.1"}, {0}, "compressing (deflate)", "page faults"},
    {{NULL, "inflate"}, {"/usr/lib/libz.so.1", "/usr/lib/libz.so.1"}, {0}, "inflating", "page faults"},
    {{NULL}, {"/usr/lib/libz.so.1"}, {0}, "zlib (a codec)", "page faults"},
    {{NULL, "EVP_hash"}, {"/usr/lib/libcrypto.so.3", "/usr/lib/python3.11/lib-dynload/_hashlib.cpython-311.so"}, {0}, "hashing", "page faults"},
    {{"deflate_slow", "deflate"}, {"/usr/lib/libz.so.1"}, {0}, "compressing (deflate)", "page faults"},
    {{"_aligned_contig_cast_ushort_to_double", "array_astype"}, {UMATH, UMATH}, {0}, "converting to float64", "page faults"},
    {{"DOUBLE_to_FLOAT"}, {UMATH}, {0}, "converting to float32", "page faults"},
    /* The owner of a copy says more than the copy. */
    {{"__memcpy_avx512_unaligned_erms", "_contig_to_contig", "PyArray_ConcatenateInto"}, {LIBC, UMATH, UMATH}, {0}, "copying arrays into a new one", "page faults"},
    {{"__memcpy_avx512_unaligned_erms"}, {LIBC}, {0}, "copying memory", "page faults"},
    {{"__GI_munmap", "free"}, {LIBC, LIBC}, {0}, "allocating memory", "giving memory back to the system"},
    {{"__pthread_mutex_lock"}, {LIBC}, {0}, "locking", "locks (kernel)"},
    {{"clock_gettime", "clock"}, {"[vdso]", LIBC}, {0}, "asking for the time", "system calls"},
    {{"__GI___libc_read"}, {LIBC}, {0}, "__GI___libc_read (libc)", "reading files"},
    {{"double_add", "DOUBLE_add"}, {UMATH, UMATH}, {0}, "NumPy scalars, one element at a time", "page faults"},
    {{"DOUBLE_add_AVX512F"}, {UMATH}, {0}, "arithmetic on whole arrays (NumPy)", "page faults"},
    {{"dgemm_kernel_SKYLAKEX", "inner_thread"}, {"/v/numpy.libs/libscipy_openblas64_-32a4.so", "/v/numpy.libs/libscipy_openblas64_-32a4.so"}, {0}, "matrix products (BLAS)", "page faults"},
    {{"blas_thread_server"}, {"/v/numpy.libs/libscipy_openblas64_-32a4.so"}, {0}, "threads of a pool that wait for work", "page faults"},
    {{"exec_blas", "dgemm_thread_nn"}, {"/v/numpy.libs/libscipy_openblas64_-32a4.so", "/v/numpy.libs/libscipy_openblas64_-32a4.so"}, {0}, "threads of a pool that wait for work", "page faults"},
    /* Compilers take their page faults with them. */
    {{"malloc", "llvm::SelectionDAG::Combine(int)"}, {LIBC, JAX}, {0}, "compiling (XLA)", "compiling (XLA)"},
    {{"xla::cpu::CpuCompiler::RunHloPasses(int)"}, {JAX}, {0}, "compiling (XLA)", "compiling (XLA)"},
    {{"void ynn::run_dot<int>(int)", "xla::cpu::DotThunk::Execute(int)"}, {JAX, JAX}, {0}, "matrix products (XLA)", "page faults"},
    {{"llvm::DenseMap::grow(int)"}, {"/v/llvmlite/binding/libllvmlite.so"}, {0}, "compiling (numba)", "compiling (numba)"},
    {{"__gufunc__._ZN13_3cdynamic_3e36__numba_parfor_gufunc_0x7f32ab36b250B3v10"}, {"[numba]"}, {0}, "running a parallel loop (numba)", "page faults"},
    {{"run_pass"}, {0}, {"/v/site-packages/numba/core/compiler_machinery.py"}, "compiling (numba)", "compiling (numba)"},
    {{"llvm::DenseMap::grow(int)"}, {"/usr/lib/libLLVM-17.so.1"}, {0}, "compiling (LLVM)", "compiling (LLVM)"},
    {{"nvrtcCompileProgram"}, {"/usr/lib/libnvrtc.so.12"}, {0}, "compiling (NVRTC)", "compiling (NVRTC)"},
    {{"compile_fx"}, {0}, {"/v/site-packages/torch/_inductor/compile_fx.py"}, "compiling (torch.compile)", "compiling (torch.compile)"},
    {{"gc_collect_main", "PyGC_Collect"}, {"/usr/lib/libpython3.11.so.1.0"}, {0}, "garbage collection", "page faults"},
    {{"sre_ucs1_match", "findall"}, {"/usr/lib/libpython3.11.so.1.0"}, {0, "/usr/lib/python3.11/re/__init__.py"}, "regular expressions", "page faults"},
    {{NULL, "findall"}, {"/usr/bin/python3.11"}, {0, "/usr/lib/python3.11/re/__init__.py"}, "regular expressions", "page faults"},
    {{"parse"}, {0}, {"/usr/lib/python3.11/re/_parser.py"}, "compiling regular expressions", "page faults"},
    {{"encoder_listencode_list"}, {"/usr/lib/python3.11/lib-dynload/_json.cpython-311.so"}, {0}, "JSON", "page faults"},
    /* It makes objects in new memory. */
    {{"save"}, {"/usr/lib/python3.11/lib-dynload/_pickle.cpython-311.so"}, {0}, "pickling", "pickling"},
    {{"__GI___libc_write", "save"}, {LIBC, "/usr/lib/python3.11/lib-dynload/_pickle.cpython-311.so"}, {0}, "pickling", "writing files"},
    {{"Logger._log"}, {0}, {"/usr/lib/python3.11/logging/__init__.py"}, "logging", "page faults"},
    /* The message of an exception is a part of it. */
    {{"__vfprintf_internal", "PyUnicode_FromFormatV", "PyErr_FormatV"}, {LIBC, "/usr/bin/python3.11", "/usr/bin/python3.11"}, {0}, "raising exceptions", "page faults"},
    {{"__vfprintf_internal"}, {LIBC}, {0}, "formatting text", "page faults"},
    /* The end of an array that is unpacked: nobody raised that. */
    {{"__vfprintf_internal", "PyErr_FormatV", "array_item"}, {LIBC, PYTHON, UMATH}, {0}, "NumPy scalars, one element at a time", "page faults"},
    {{"PyErr_SetString", "array_ass"}, {PYTHON, UMATH}, {0}, "array_ass (NumPy)", "page faults"},
    {{"_Unwind_RaiseException"}, {"/usr/lib/libgcc_s.so.1"}, {0}, "throwing exceptions", "page faults"},
    {{"std::__introsort_loop<int*>(int*)"}, {"/usr/lib/libx.so"}, {0}, "sorting", "page faults"},
    {{"join_append_data", "csv_writerow"}, {"/usr/lib/_csv.cpython-311.so", "/usr/lib/_csv.cpython-311.so"}, {0}, "writing CSV", "page faults"},
    {{"parse_process_char"}, {"/usr/lib/_csv.cpython-311.so"}, {0}, "parsing CSV", "page faults"},
    {{"Dragon4", "doubletype_str", "LONG_to_UNICODE"}, {UMATH, UMATH, UMATH}, {0}, "writing numbers as text", "page faults"},
    {{"std::string::compare(std::string const&)", "std::_Rb_tree<int, int>::_M_lower_bound(int)"}, {"/home/a/words", "/home/a/words"}, {0}, "ordered maps (trees)", "page faults"},
    /* Named only where nothing else is: the call that it counts says more. */
    {{"in_parent", "fork"}, {"/opt/tomoprof/libtomoprof_capture.so", LIBC}, {0}, "the recording itself", "page faults"},
    {{"malloc", "allocate"}, {LIBC, "/opt/tomoprof/libtomoprof_capture.so"}, {0}, "allocating memory", "page faults"},
    {{"broadcast_strides"}, {UMATH}, {0}, "broadcast_strides (NumPy)", "page faults"},
    /* Told in words where no row knows what they call. */
    {{"_send_bytes"}, {0}, {"/usr/lib/python3.11/multiprocessing/connection.py"}, "handing over work to a pool", "page faults"},
    {{"Handle._run"}, {0}, {"/usr/lib/python3.11/asyncio/events.py"}, "running an event loop (asyncio)", "page faults"},
    {{"HttpResponseParser.feed_data"}, {0}, {"/v/site-packages/aiohttp/client_proto.py"}, "HTTP requests", "page faults"},
    {{"inflate", "Handle._run"}, {"/usr/lib/libz.so.1"}, {0, "/usr/lib/python3.11/asyncio/events.py"}, "inflating", "page faults"},
    {{"svd", "worker"}, {0}, {"/v/site-packages/numpy/linalg/_linalg.py", "/usr/lib/python3.11/multiprocessing/pool.py"}, "numpy.linalg.svd", "page faults"},
    /* No row: by name; a Python function says more than its machine code. */
    {{"PyArray_Mean", "_mean"}, {UMATH}, {0, "/v/site-packages/numpy/_core/_methods.py"}, "numpy.mean", "page faults"},
    {{NULL, "ImageRegistrationMethod.Execute"}, {"/v/site-packages/SimpleITK/_SimpleITK.abi3.so"}, {0, "/v/site-packages/SimpleITK/SimpleITK.py"}, "SimpleITK.ImageRegistrationMethod.Execute", "page faults"},
    {{"NI_Correlate1D", "correlate1d"}, {"/v/site-packages/scipy/ndimage/_nd_image.cpython-311.so"}, {0, "/v/site-packages/scipy/ndimage/_filters.py"}, "scipy.ndimage.correlate1d", "page faults"},
    {{"NI_RankFilter", "_rank_filter", "median_filter"}, {"/v/site-packages/scipy/ndimage/_nd_image.cpython-311.so"}, {0, "/v/site-packages/scipy/ndimage/_filters.py", "/v/site-packages/scipy/ndimage/_filters.py"}, "scipy.ndimage.median_filter", "page faults"},
    {{"void ns::(anonymous namespace)::project<float>(float*, int)"}, {"/opt/lib/libproject.so.2"}, {0}, "ns::project (libproject)", "page faults"},
    {{NULL}, {"/opt/lib/libproject.so.2"}, {0}, "compiled code of libproject", "page faults"},
    {{"double fit::{lambda(double)#1}::operator()(double) const"}, {"/opt/lib/libproject.so.2"}, {0}, "fit::lambda (libproject)", "page faults"},
    {{"bool ns::operator< <int>(ns::A<int> const&, int)"}, {"/opt/lib/libproject.so.2"}, {0}, "ns::operator< (libproject)", "page faults"},
    /* Code of headers, compiled into the program. */
    {{"std::function<double (double)>::operator()(double) const"}, {"/home/a/words"}, {0}, "std::function::operator()", "page faults"},
    {{"wrapped_multiply"}, {"[jit]"}, {0}, "wrapped_multiply (compiled at run time)", "page faults"},
};

/* clang-format on */

static int case_frames(const struct work_case *c, struct resolved frames[DEEP + 1])
{
    int n = 0;
    for (int i = 0; i < DEEP && (c->function[i] || c->module[i]); i++)
        frames[n++] = (struct resolved){
            .function = c->function[i],
            .module = c->module[i],
            .file = c->file[i],
            .python = c->file[i] != NULL,
            .owner = c->module[i] && !strcmp(c->module[i], PYTHON) ? OWNER_RUNTIME : OWNER_LIBRARY};
    return n;
}

static void image_begin(struct image *im, struct run *r)
{
    *r = (struct run){0};
    *im = (struct image){.run = r, .program.exe = "/home/a/words"};
    assert_ok(model_create(&r->m));
}

static void image_end_of(struct image *im, struct run *r)
{
    table_free(&im->work_of);
    model_destroy(r->m);
}

static void stacks_have_the_words_of_their_work(void **state)
{
    (void)state;
    struct run r;
    struct image im;
    image_begin(&im, &r);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct resolved frames[DEEP + 1];
        struct stack_work found[WORK_MODES];
        int n = case_frames(&cases[i], frames);
        frames[n++] = (struct resolved){.function = "main", .file = "app.py", .python = 1};
        assert_ok(work_find(&im, NULL, 0, frames, n, found));
        assert_string_equal(found[WORK_USER].what, cases[i].user);
        assert_string_equal(found[WORK_SYSTEM].what, cases[i].system);
    }
    image_end_of(&im, &r);
}

/* Frames above the own line are not its work. */
static void work_ends_at_own_code(void **state)
{
    (void)state;
    struct run r;
    struct image im;
    struct stack_work found[WORK_MODES];
    image_begin(&im, &r);
    const struct resolved frames[] = {
        {.function = "main", .file = "app.py", .python = 1},
        {.function = "inflate", .module = "/usr/lib/libz.so.1", .owner = OWNER_LIBRARY}};
    assert_ok(work_find(&im, NULL, 0, frames, 2, found));
    assert_string_equal(found[WORK_USER].kind, "python");
    const struct resolved inner[] = {
        {.function = "list_sort_impl", .module = "/usr/bin/python3.11", .owner = OWNER_RUNTIME}};
    assert_ok(work_find(&im, inner, 1, frames, 2, found));
    assert_string_equal(found[WORK_USER].what, "sorting");
    image_end_of(&im, &r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stacks_have_the_words_of_their_work),
                                       cmocka_unit_test(work_ends_at_own_code)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
