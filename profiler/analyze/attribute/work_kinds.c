/* Kinds of work by the names of functions, libraries and files that do it. */
#include <stddef.h>

#include "profiler/analyze/attribute/work.h"

/* clang-format off */
const struct work_row work_rows[] = {
    /* Compilers, by their runtime. */
    {"compile.xla", "compiling (XLA)", 0, 0, "*jaxlib*|libjax*|xla_extension*|_xla*|*pywrap_tensorflow*|libtensorflow*|*_jax.*",
     "llvm::*|*llvm::Pass*|mlir::*|*xla::cpu::CpuCompiler*|*xla::*Compiler::*|*xla::HloPass*|*xla::Hlo*Pass*|"
     "*xla::HloModule*|xla::HloInstruction*|*xla::HloEvaluator*|xla::HloCostAnalysis*|*Compile*|*xla::cpu::Jit*|"
     "*IrEmitter*|*xla::*Simplifier*|*xla::*Fusion*|*xla::BufferAssignment*|*xla::HloDataflow*|*xla::HloAlias*|"
     "*xla::HloOrdering*|*xla::SequentialHloOrdering*|(anonymous namespace)::*Pass*", NULL},
    {"compile.xla", "compiling (XLA)", 0, 1, NULL, "backend_compile*|compile_or_get_cached|_compile_and_write_cache|_cached_compilation", "*/jax/_src/*"},
    {"compile.numba", "compiling (numba)", 0, 0, "libllvmlite*|*llvmlite*", NULL, NULL},
    {"compile.numba", "compiling (numba)", 0, 1, NULL, NULL, "*/numba/core/*|*/numba/np/*|*/numba/cpython/*|*/numba/parfors/*|*/llvmlite/*|*/numba/misc/*|*/numba/stencils/*"},
    {"compile.triton", "compiling (Triton)", 0, 0, "libtriton*", NULL, NULL},
    {"compile.triton", "compiling (Triton)", 0, 1, NULL, NULL, "*/triton/compiler/*|*/triton/backends/*"},
    {"compile.torch", "compiling (torch.compile)", 0, 1, NULL, NULL, "*/torch/_dynamo/*|*/torch/_inductor/*|*/torch/_functorch/*|*/torch/fx/*|*/torch/_subclasses/*"},
    {"compile.nvrtc", "compiling (NVRTC)", 0, 0, "libnvrtc*|libnvJitLink*|libnvptxcompiler*|libcuda*ptxjit*|libnvidia-ptxjit*", NULL, NULL},
    {"compile.llvm", "compiling (LLVM)", 0, 0, NULL, "llvm::*|*llvm::Pass*|clang::*", NULL},
    {"compile.llvm", "compiling (LLVM)", 0, 0, "libLLVM*|libclang*", NULL, NULL},
    {"compile.java", "compiling (JIT of the JVM)", 0, 0, "libjvm.so", "*CompileBroker::*|*C2Compiler::*|*PhaseChaitin*|*PhaseIdealLoop*", NULL},
    {"compile.v8", "compiling (V8)", 0, 0, NULL, "v8::internal::compiler::*|v8::internal::maglev::*|v8::internal::interpreter::BytecodeGenerator*", NULL},
    {"trace.jax", "tracing (JAX)", 0, 1, NULL, NULL, "*/jax/_src/interpreters/*|*/jax/_src/lax/*|*/jax/_src/numpy/*|*/jaxlib/mlir/*|*/jax/_src/core.py|*/jax/_src/pjit.py|*/jax/_src/api.py|*/jax/_src/linear_util.py"},
    /* Runtimes of the language. */
    {"import", "importing modules", 0, 1, NULL, NULL, "<frozen importlib*"},
    {"gc", "garbage collection", 0, 0, NULL, "gc_collect_*|collect_generations|deduce_unreachable|visit_decref|subtract_refs|update_refs|visit_reachable|move_unreachable|gc_collect_main|PyGC_Collect|runtime.gc*|GCTaskThread*", NULL},
    {"spin", "threads of a pool that wait for work", 0, 0, NULL, "blas_thread_server|gomp_*barrier_wait*|gomp_thread_start|gomp_simple_barrier*|do_spin|__kmp_hyper_barrier*|__kmp_wait*|__kmp_*flag*wait*", NULL},
    {"spin", "threads of a pool that wait for work", WORK_CALLEE, 0, "libgomp*|libomp*|libiomp*", NULL, NULL},
    {"spin.eigen", "threads of a pool that wait for work", 0, 0, NULL, "*ThreadPoolTempl*WaitForWork*|*ThreadPoolTempl*Steal*", NULL},
    {"gil", "taking the GIL", 0, 0, NULL, "take_gil|drop_gil|PyEval_RestoreThread|_PyEval_*Thread", NULL},
    /* Numbers. */
    {"fft", "FFT", 0, 0, NULL, "*pocketfft*|fftw*|*ducc*fft*|*DftiCompute*", NULL},
    {"fft", "FFT", 0, 0, "libfftw3*|*pocketfft*|*pypocketfft*", NULL, NULL},
    {"sort", "sorting", 0, 0, NULL, "*qsort*|*quicksort*|*mergesort*|*timsort*|*heapsort*|*introsort*|*partition_unrolled*|*sort_n_vec*|std::__*sort*|*std::__adjust_heap*|*__unguarded_linear_insert*|list_sort*|listsort*|*introselect*|*argsort_*|core::slice::sort*|alloc::slice::*sort*|msort_with_tmp*", NULL},
    {"blas", "matrix products (BLAS)", 0, 0, "*openblas*|libmkl*|libblis*|libblas*|libcblas*|libatlas*", NULL, NULL},
    {"blas.xla", "matrix products (XLA)", 0, 0, NULL, "*ynn::*dot*|*ynn::run_dot*|*Eigen::internal::gebp*|*EigenMatMul*|*TensorContraction*", NULL},
    {"blas.dnn", "matrix products (oneDNN)", 0, 0, NULL, "dnnl::*gemm*|*dnnl::*matmul*", NULL},
    {"concat", "copying arrays into a new one", 0, 0, NULL, "PyArray_Concatenate*|array_concatenate", NULL},
    {"concat", "joining tables (pandas)", 0, 1, NULL, NULL, "*/pandas/core/reshape/concat.py|*/pandas/core/internals/concat.py"},
    {"apply", "calling a function for each row (pandas)", 1, 1, NULL, NULL, "*/pandas/core/apply.py"},
    {"loc", "finding single cells (pandas)", 1, 1, NULL, NULL, "*/pandas/core/indexing.py"},
    {"table", "pandas", 1, 1, NULL, NULL, "*/pandas/core/*|*/pandas/_libs/*"},
    {"vectorize", "calling a Python function for each element (np.vectorize)", 0, 0, NULL, "PyUFunc_On_Om", NULL},
    {"vectorize", "calling a Python function for each element (np.vectorize)", 1, 1, NULL, "vectorize.*", "*/numpy/lib/*"},
    {"cast", NULL, 0, 0, NULL, "_*cast_*_to_*|DOUBLE_to_*|FLOAT_to_*|HALF_to_*|LONG_to_*|ULONG_to_*|INT_to_*|UINT_to_*|SHORT_to_*|USHORT_to_*|BYTE_to_*|UBYTE_to_*|BOOL_to_*", NULL},
    {"cast", "converting to another type", 0, 0, NULL, "*ConvertType*|H5T__conv*|H5T_convert|array_astype|*H5T_conv*", NULL},
    {"scalar", "NumPy scalars, one element at a time", 0, 0, NULL, "PyArray_Scalar|gentype_*|*scalar_math*|scalar_*|convert_to_double|convert_to_float|convert_to_long|double_add|double_multiply|double_subtract|double_true_divide|double_power|double_richcompare|float_add|float_multiply|long_add|long_multiply|npy_*_floatstatus*|DOUBLE_setitem|DOUBLE_getitem|FLOAT_setitem|FLOAT_getitem|LONG_setitem|LONG_getitem|UBYTE_getitem|USHORT_getitem|INT_getitem", NULL},
    {"scalar", "NumPy scalars, one element at a time", 1, 0, "_multiarray_umath*", "array_subscript|array_item*|array_assign_subscript|array_assign_item|get_item_pointer|prepare_index*|PyArray_Pack", NULL},
    {"random", "drawing random numbers", 0, 0, NULL, "random_*|*mt19937*|*pcg64*|*philox*|*sfc64*", NULL},
    {"ufunc", "arithmetic on whole arrays (NumPy)", 1, 0, "_multiarray_umath*", "DOUBLE_*|FLOAT_*|HALF_*|LONG_*|ULONG_*|INT_*|UINT_*|SHORT_*|USHORT_*|BYTE_*|UBYTE_*|BOOL_*|CDOUBLE_*|CFLOAT_*|*_AVX*|*_X86_V*|*simd*", NULL},
    {"math", "functions such as exp, log and sin", 1, 0, "libm.so*|libm-*|libmvec*", NULL, NULL},
    /* Text and data. */
    {"log", "logging", 0, 1, NULL, NULL, "*/logging/__init__.py|*/logging/handlers.py|*/loguru/*|*/structlog/*"},
    {"recompile", "compiling regular expressions", 0, 1, NULL, NULL, "*/re/_parser.py|*/re/_compiler.py|*/sre_parse.py|*/sre_compile.py"},
    {"regex", "regular expressions", 0, 0, NULL, "sre_*|pattern_*match*|pattern_sub*|pcre*|re2::*|regexec|re_search*|std::__detail::_Executor*|*regex_automata::*|*regex_syntax::*|boost::re_detail*", NULL},
    {"regex", "regular expressions", 0, 1, NULL, NULL, "*/re/__init__.py|*/python3*/re.py|*/regex/*.py"},
    {"json", "JSON", 0, 0, "_json.*|*orjson*|*ujson*|*simdjson*", NULL, NULL},
    {"json", "JSON", 0, 0, NULL, "encoder_listencode_*|encoder_encode_*|scan_once_*|scanner_call|serde_json::*|nlohmann::*|cJSON_*", NULL},
    {"json", "JSON", 0, 1, NULL, NULL, "*/json/encoder.py|*/json/decoder.py|*/json/scanner.py|*/json/__init__.py|*/simplejson/*"},
    {"yaml", "parsing YAML", 0, 1, NULL, NULL, "*/yaml/*"},
    {"xml", "parsing XML", 0, 0, "pyexpat*|libexpat*|libxml2*|_elementtree*", NULL, NULL},
    {"xml", "parsing HTML or XML", 0, 1, NULL, NULL, "*/html/parser.py|*/bs4/*|*/xml/*"},
    {"csv", "parsing CSV", 0, 0, "_csv.*|*parsers.cpython*", NULL, NULL},
    {"csv", "parsing CSV", 1, 1, NULL, NULL, "*/python3*/csv.py|*/pandas/io/parsers/*"},
    {"csv", "parsing text into numbers", 0, 1, NULL, "loadtxt|_read|genfromtxt", "*/numpy/lib/*"},
    {"pickle", "pickling", 0, 0, "_pickle.*", NULL, NULL},
    {"pickle", "pickling", 0, 0, NULL, "_pickle_*|load_counted_*|batch_list*|batch_dict*|save_reduce|save_tuple|save_list|save_dict|_Pickler_*|Pdata_*", NULL},
    {"pickle", "pickling", 0, 1, NULL, NULL, "*/python3*/pickle.py|*/cloudpickle/*|*/multiprocessing/reduction.py|*/dill/*"},
    {"deepcopy", "copying objects (copy.deepcopy)", 0, 1, NULL, NULL, "*/python3*/copy.py"},
    {"date", "parsing dates", 0, 1, NULL, NULL, "*/_strptime.py|*/dateutil/*"},
    {"sql", "running SQL (SQLite)", 0, 0, "libsqlite3*|_sqlite3*", NULL, NULL},
    {"hash", "hashing", 0, 0, NULL, "*sha1_*|*sha256_*|*sha512_*|*sha3_*|*md5_*|*blake2*|*EVP_Digest*|XXH*|blake3*|*Sha256*|*sha2::*|*KeccakF*|MD5_*|SHA1_*|SHA256_*|SHA512_*", NULL},
    {"hash", "hashing", 0, 0, "_hashlib*|_sha*|_md5*|_blake2*|_xxhash*", NULL, NULL},
    {"tls", "encryption (TLS)", 0, 0, "libssl*|_ssl.*", NULL, NULL},
    {"image", "image operations (Pillow)", 1, 0, "_imaging*", NULL, NULL},
    {"image", "image operations (OpenCV)", 1, 0, "cv2.*|libopencv*", NULL, NULL},
    {"hdf5", "reading chunks (HDF5)", 1, 0, "libhdf5*", NULL, NULL},
    {"throw", "throwing exceptions", 0, 0, NULL, "_Unwind_*|__cxa_throw|__cxa_begin_catch|__gxx_personality_v0|uw_*|execute_cfa_program*|*_Unwind_Find_FDE*", NULL},
    {"throw", "raising exceptions", 0, 0, NULL, "PyErr_Format*|_PyErr_Format*|PyErr_Set*|_PyErr_Set*|PyErr_Normalize*|_PyErr_Normalize*|PyErr_GivenExc*|PyTraceBack_*|_PyTraceback_*|tb_dealloc|tb_create_raw|BaseException_*|PyException_*|_PyException_*|exception_unwind*", NULL},
    {"format", "formatting text", 1, 0, NULL, "PyUnicode_Format*|_PyUnicode_Format*|unicode_format*|PyUnicode_FromFormat*|unicode_fromformat_arg|_PyUnicodeWriter_*|format_*_internal|*vfprintf*|printf_*|*snprintf*|_Py_dg_dtoa|float_repr*|long_to_decimal_string*|*Dragon4*|*dragon4*|PyOS_double_to_string|PyObject_Format|core::fmt::*|fmt::*|std::ostream::*|*std::num_put*|__printf_fp*", NULL},
    {"parse", "parsing numbers", 1, 0, NULL, "strtod*|____strtod*|PyLong_FromString*|PyLong_FromUnicodeObject|_Py_dg_strtod|PyFloat_FromString|core::num::dec2flt*|*strtol*", NULL},
    {"string", "building strings", 1, 0, NULL, "PyUnicode_Concat|PyUnicode_Append*|unicode_concatenate|PyUnicode_Join|_PyUnicode_JoinArray|_copy_characters|resize_compact|_PyUnicode_FastCopyCharacters|bytes_concat|PyBytes_Concat", NULL},
    {"map", "hash tables", 1, 0, NULL, "*std::_Hashtable*|*std::unordered_map*|hashbrown::*|*std::collections::hash*|runtime.map*", NULL},
    {"alloc", "allocating memory", 1, 0, NULL, "malloc|calloc|realloc|free|__libc_*alloc*|__GI___libc_malloc|__GI___libc_free|__GI___libc_calloc|__GI___libc_realloc|_int_malloc|_int_free|_int_realloc|malloc_consolidate|sysmalloc|unlink_chunk*|operator new*|operator delete*|je_*|tc_malloc*|mi_malloc*|mi_free*|runtime.mallocgc", NULL},
    {"copy", "copying memory", 1, 0, NULL, "*memcpy*|*memmove*|raw_array_assign*|PyArray_CopyInto|array_assign_array|*CopyWithOffset|H5D__gather*|H5D__scatter*|*_contig_to_contig|_aligned_strided_to_*|_strided_to_*|_contig_to_*|_aligned_contig_to_*|PyArray_AssignArray|PyArray_NewCopy|array_copy|array_flatten|PyArray_TakeFrom|*mapiter_get*|mapiter_*", NULL},
    {"clear", "clearing memory", 1, 0, NULL, "*memset*", NULL},
    {"lock", "locking", 1, 0, NULL, "*pthread_mutex_*|*pthread_cond_*|*pthread_rwlock*|lll_*|__lll_*|*pthread_spin*", NULL},
    {"clock", "asking for the time", 1, 0, "[vdso]|linux-vdso*", NULL, NULL},
    {"pool", "handing over work to a pool", 2, 1, NULL, NULL, "*/multiprocessing/*|*/concurrent/futures/*|*/joblib/*"},
    {"loop", "running an event loop (asyncio)", 2, 1, NULL, NULL, "*/asyncio/*|*/uvloop/*|*/selectors.py"},
    {"http", "HTTP requests", 2, 1, NULL, NULL, "*/aiohttp/*|*/urllib3/*|*/requests/*|*/httpx/*|*/httpcore/*|*/http/client.py|*/botocore/*|*/yarl/*|*/multidict/*"},
    {"kernel.xla", "running compiled code (XLA)", 1, 0, NULL, "*xla::cpu::*Thunk*|*xla::cpu::Kernel*|*xla::cpu::Worker*|ynn::*|*xla::cpu::ThunkExecutor*", NULL},
};
const size_t work_rows_count = sizeof work_rows / sizeof *work_rows;

/* The kernel's time, by the function that a thread was in: a page fault comes at any instruction,
 * a system call is made by the C library. */
#define C_LIBRARY "libc.so*|libc-*|ld-linux*|ld-musl*|libpthread*|libc.musl*"
const struct work_row kernel_rows[] = {
    {"spin", "threads of a pool that wait for work", 0, 0, "libgomp*|libomp*|libiomp*", NULL, NULL},
    {"unmap", "giving memory back to the system", 0, 0, C_LIBRARY, "*munmap*|*madvise*|*brk*|*mremap*|systrim*", NULL},
    {"unmap", "asking the system for memory", 0, 0, C_LIBRARY, "*mmap*|*mprotect*", NULL},
    {"fault", "page faults", 0, 0, C_LIBRARY, "*mem*|*str*|*alloc*|_int_*|*free*|unlink_chunk*|qsort*|msort*", NULL},
    {"futex", "locks (kernel)", 0, 0, C_LIBRARY, "*futex*|*lll_*|*pthread*|*sched_yield*|*sem_*", NULL},
    {"read", "reading files", 0, 0, C_LIBRARY, "*read*", NULL},
    {"write", "writing files", 0, 0, C_LIBRARY, "*write*|*fsync*|*fdatasync*|*sendfile*|*copy_file*", NULL},
    {"network", "sending and receiving", 0, 0, C_LIBRARY, "*recv*|*send*|*poll*|*select*|*connect*|*accept*", NULL},
    {"open", "opening and listing files", 0, 0, C_LIBRARY, "*open*|*stat*|*getdents*|*close*|*access*|*lseek*|*readdir*|*unlink*|*rename*", NULL},
    {"process", "starting processes", 0, 0, C_LIBRARY, "*fork*|*clone*|*exec*|*wait4*|*waitpid*|*posix_spawn*", NULL},
    {"sleep", "short sleeps", 0, 0, C_LIBRARY, "*sleep*", NULL},
    {"kernel", "system calls", 0, 0, C_LIBRARY, "*syscall*|*clock*|*get*id|*ioctl*|*fcntl*|*prctl*|*sig*|*kill*|*getrusage*|*time*|*sched_*|*event*|*pipe*|*dup*|*socket*|*rseq*|*exit*", NULL},
    {"kernel", "system calls", 0, 0, "[vdso]|linux-vdso*", NULL, NULL},
    {"kernel", "system calls", 0, 0, NULL, "*yscall*|runtime.futex*|runtime.usleep*|runtime.madvise*", NULL},
    {"fault", "page faults", 0, 0, NULL, NULL, NULL},
};
const size_t kernel_rows_count = sizeof kernel_rows / sizeof *kernel_rows;
/* clang-format on */
