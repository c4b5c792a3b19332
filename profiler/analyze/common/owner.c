/* Finds the first row of the table that a frame matches; a frame that matches none is own. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "profiler/analyze/common/owner.h"

enum { PATH_ROOM = 4200 };

enum code { /* how a frame was made, by its module and the end of its file's name */
            PYTHON = 1,
            NATIVE = 2,
            GO = 4,
            CYTHON = 8, /* lines of .pyx */
            JIT = 16,
            COMPILED = NATIVE | GO | CYTHON,
            ANY = PYTHON | COMPILED | JIT,
};

enum place {                  /* where a row's patterns are looked for */
             MODULE_NAME,     /* shell patterns of the module's file name */
             MODULE_BEGINS,   /* its path; not the program's own executable */
             MODULE_WITHIN,   /* any part of its path */
             MODULE_PREFIX,   /* lib/ beside the bin/ of Python's interpreter: conda, pyenv, any
                                 prefix */
             MODULE_NONE,     /* neither module nor file is known */
             FILE_BEGINS,     /* the path */
             FILE_WITHIN,     /* any part of the path; a folder at its beginning too */
             FILE_NAME,       /* shell patterns of the file name */
             FILE_PACKAGE,    /* the first folder or file in site-packages; of a stripped path */
             FILE_SCRIPT,     /* what the interpreter was told to run, but for a starter */
             FILE_STRIPPED,   /* the first folder or file of a stripped path */
             FILE_COMMAND,    /* the file is this, and python -c runs it */
             FILE_STARTER,    /* bin/pytest: the starter of an installed command */
             FILE_DRIVE,      /* any part of a path with a drive letter */
             FILE_RELATIVE,   /* a path that begins with no folder */
             FILE_BELOW,      /* below the working folder or the script's */
             FILE_NONE,       /* unknown */
             FUNCTION,        /* the name without result type begins with it */
             FUNCTION_ALONE,  /* likewise, where the file is unknown */
             FUNCTION_METHOD, /* a method as Java's maps have it, "double Recon.filter(int)"; no
                                 file */
             JIT_OF_PYTHON,
};

struct owner_row {
    enum place place;
    enum code code;
    enum owner owner;
    const char *patterns; /* divided by | */
};

#define PACKAGES    "/site-packages/|/dist-packages/"
#define INTERPRETER "libpython*|python3*|python"
#define CPYTHON_SOURCES                                                                            \
    "/Python-3.|/Objects/|/Python/|/Modules/|/Parser/|/_io/clinic/|/_sre/clinic/|"                 \
    "/Include/internal/|/Include/cpython/|/Include/object.h"
#define SYSTEM "/usr/|/lib/|/lib64/|/bin/|/sbin/|/etc/|/nix/store/|/opt/|/snap/"

/* clang-format off */
static const struct owner_row rows[] = {
    /* Modules that work for their callers: their time is attributed to the caller. */
    {MODULE_NONE, COMPILED, OWNER_RUNTIME, NULL},
    {MODULE_NAME, COMPILED, OWNER_RUNTIME, INTERPRETER},
    {MODULE_NAME, COMPILED, OWNER_RUNTIME,
     "libc.so*|libc-*|libm.so*|libm-*|libmvec*|ld-linux*|ld-musl*|libpthread*|libdl.so*|libdl-*|"
     "librt.so*|librt-*|libstdc++*|libc++*|libgcc_s*|libgomp*|libomp*|libiomp5*|libasan*|libtsan*|"
     "libubsan*|libtcmalloc*|libjemalloc*|libcuda.so*|libcudart*|libcupti*|libnvidia*|"
     "libnvToolsExt*|libtomoprof_capture*|tomoprof_capture*|linux-vdso*|[vdso]*"},
    /* Text without a file. */
    {FILE_NONE, PYTHON, OWNER_LIBRARY, NULL},
    {FILE_BEGINS, PYTHON, OWNER_OWN, "<stdin>|<ipython-input"},
    {FILE_COMMAND, PYTHON, OWNER_OWN, "<string>"},
    {FILE_BEGINS, ANY, OWNER_LIBRARY, "<|["},
    {FILE_WITHIN, ANY, OWNER_LIBRARY, "/tomoprof/_region.py|/tomoprof_region.h"},
    /* Python packages that serve the package or the program that calls them: thin Python over
     * compiled work. Any other does the work that somebody looks for (a reconstruction library). */
    {FILE_PACKAGE, ANY, OWNER_LIBRARY,
     "IPython|PIL|_pytest|absl|astra|cffi|cloudpickle|cupy|cupyx|dask|dateutil|etils|flax|h5py|"
     "ipykernel|itk|jax|jaxlib|joblib|keras|llvmlite|matplotlib|ml_dtypes|mpmath|networkx|numba|"
     "numexpr|numpy|nvidia|nvtx|onnx|onnxruntime|opt_einsum|optax|orbax|pandas|pip|pkg_resources|"
     "polars|pybind11|pytest|ray|ruamel|scipy|setuptools|six.py|skimage|sklearn|sympy|tensorflow|"
     "tensorstore|threadpoolctl|torch|tqdm|triton|typing_extensions.py|xarray|yaml|zarr"},
    /* A script is the program, wherever it is installed. */
    {FILE_SCRIPT, PYTHON, OWNER_OWN, NULL},
    {FILE_WITHIN, ANY, OWNER_LIBRARY, "/site-packages/_|/dist-packages/_"}, /* _virtualenv.py */
    {FILE_WITHIN, PYTHON | JIT, OWNER_PACKAGE, PACKAGES},
    {FILE_WITHIN, COMPILED, OWNER_LIBRARY, PACKAGES},
    /* Python's standard library and headers, wherever it is installed; as captures strip it. */
    {FILE_WITHIN, ANY, OWNER_LIBRARY,
     "/lib/python3|/lib64/python3|/lib/pypy3|/lib-dynload/|/include/python3|cython_utility"},
    {FILE_DRIVE, PYTHON, OWNER_LIBRARY, "/Lib/|/lib/"},
    {FILE_STRIPPED, PYTHON, OWNER_LIBRARY,
     "asyncio|concurrent|contextlib.py|encodings|functools.py|importlib|json|logging|"
     "multiprocessing|pickle.py|queue.py|runpy.py|selectors.py|socket.py|socketserver.py|ssl.py|"
     "subprocess.py|tempfile.py|threading.py|unittest|urllib|zipfile.py"},
    {FILE_STARTER, PYTHON, OWNER_LIBRARY, NULL},
    /* Code that waits for the recorder in a notebook. */
    {FILE_WITHIN, PYTHON, OWNER_PACKAGE, "/tomoprof/jupyter.py"},
    /* Sources of compilers, and of what package managers of compiled languages fetch. */
    {FILE_BEGINS, COMPILED, OWNER_LIBRARY,
     "./malloc/|./nptl/|./string/|./math/|./stdio-common/|./stdlib/|./elf/|./csu/|../nptl/|"
     "../sysdeps/|/build/glibc|/build/gcc|/build/reproducible-path/glibc|/rustc/|/usr/local/go/"},
    {FILE_WITHIN, COMPILED, OWNER_LIBRARY,
     "/include/c++/|/lib/gcc/|/rust/deps/|/lib/rustlib/|/library/core/src/|/library/alloc/src/|"
     "/library/std/src/|/core_arch/src/|/.rustup/|/.cargo/registry/|/cargo/registry/|/.cargo/git/|"
     "/cargo/git/|/nvtx3/|/include/crt/|/include/thrust/|/include/cub/|/include/cuda/|"
     "/include/eigen3/|/include/boost/|/include/pybind11/"},
    {FILE_WITHIN, GO, OWNER_LIBRARY, "/pkg/mod/|@v|/go/src/runtime/"},
    {FUNCTION, GO, OWNER_LIBRARY,
     "runtime.|runtime/|internal/|sync.|sync/|syscall.|reflect.|fmt.|os.|io.|io/|bufio.|bytes.|"
     "strings.|strconv.|sort.|slices.|maps.|math.|math/|time.|encoding/|compress/|crypto/|hash/|"
     "net.|net/|context.|log.|regexp.|errors.|unicode/|image/"},
    {FUNCTION, NATIVE | JIT, OWNER_LIBRARY,
     "java.|java/|javax.|javax/|jdk.|jdk/|sun.|sun/|com.sun.|com/sun/|kotlin.|kotlin/|scala.|"
     "scala/"},
    {FILE_BEGINS, NATIVE, OWNER_LIBRARY, "node:"},
    {FILE_BEGINS, JIT, OWNER_LIBRARY, "node:|internal/"},
    {FILE_WITHIN, ANY, OWNER_PACKAGE, "/node_modules/"},
    /* Written by a program: nobody edits it. */
    {FILE_NAME, ANY, OWNER_PACKAGE,
     "*_pb2.py|*_pb2_grpc.py|*.pb.cc|*.pb.h|*.tab.c|*.yy.c|moc_*.cpp|qrc_*.cpp|ui_*.h"},
    {FUNCTION, NATIVE, OWNER_PACKAGE, "__pyx_|__Pyx_"},
    /* Code made at run time: the line that calls what Python's compilers made says more. Whose a
     * path without a folder is, its compiler alone knows. */
    {JIT_OF_PYTHON, JIT, OWNER_PACKAGE, NULL},
    {FILE_RELATIVE, JIT, OWNER_PACKAGE, NULL},
    {FUNCTION_METHOD, JIT, OWNER_OWN, NULL},
    {FILE_NONE, JIT, OWNER_LIBRARY, NULL},
    /* Python's own modules, also where its sources lie below the program's folder. */
    {MODULE_WITHIN, COMPILED, OWNER_LIBRARY, "/lib-dynload/"},
    /* The program's folders, whatever they are called: /usr/src/app in a container. */
    {FILE_BELOW, ANY, OWNER_OWN, NULL},
    {FILE_RELATIVE, PYTHON, OWNER_OWN, NULL},
    /* Installed modules: compiled parts of packages, runtimes that run other programs, libraries of
     * numbers and files, which computing centres install anywhere. */
    {MODULE_WITHIN, COMPILED, OWNER_LIBRARY, PACKAGES},
    {MODULE_WITHIN, COMPILED, OWNER_PACKAGE, "/.m2/repository/|/.gradle/caches/"},
    {MODULE_NAME, COMPILED, OWNER_LIBRARY,
     "node|nodejs|java|ruby|perl|php|julia|deno|bun|luajit|R|dotnet|libjvm.so|libnode.so*|libR.so|"
     "libjulia*|libruby*|libperl*|libcoreclr*"},
    {MODULE_NAME, COMPILED, OWNER_LIBRARY,
     "libmkl_*|libopenblas*|libblas*|liblapack*|libblis*|libfftw3*|libtbb*|libhdf5*|libtiff*|"
     "libz.so*|libcublas*|libcufft*|libcusparse*|libcusolver*|libcurand*|libcudnn*|libnccl*|"
     "libnvrtc*|libmpi.so*|libmpi_*|libopen-pal*|libopen-rte*|libucp*|libuct*"},
    {MODULE_PREFIX, COMPILED, OWNER_LIBRARY, NULL},
    {MODULE_BEGINS, COMPILED, OWNER_LIBRARY, "[|/usr/lib/|/usr/lib64/|/lib/|/lib64/"},
    {MODULE_BEGINS, COMPILED, OWNER_PACKAGE, SYSTEM},
    /* The standard libraries of C++ and Rust, known by name where -g was not given. */
    {FUNCTION, COMPILED, OWNER_LIBRARY, "std::|__gnu_|__cxxabiv1::"},
    {FUNCTION_ALONE, COMPILED, OWNER_LIBRARY,
     "core::|alloc::|hashbrown::|_3std|_4core|_5alloc|_9hashbrown"},
    /* Folders of the system. */
    {FILE_BEGINS, ANY, OWNER_LIBRARY,
     "/usr/include/|/usr/lib/|/usr/lib64/|/usr/src/|/usr/local/include/|/usr/local/cuda|/opt/cuda|"
     "/opt/rocm|/opt/intel/|/opt/nvidia/"},
    {FILE_BEGINS, PYTHON | JIT, OWNER_PACKAGE, SYSTEM},
};
/* clang-format on */

struct owner_texts { /* of a frame, as they are compared */
    const char *file, *file_name, *module, *module_name, *function;
    int drive;
    enum code code;
    char path[PATH_ROOM];
};

/* 1: `path` lies below `folder`. */
static int is_below(const char *path, const char *folder)
{
    size_t n = folder ? strlen(folder) : 0;
    while (n && folder[n - 1] == '/')
        n--;
    return n && !strncmp(path, folder, n) && path[n] == '/';
}

/* Skips what stands before the name that decides: "void std::sort<...>" -> "std::sort<...>",
 * "<alloc::vec::Vec<T> as ...>" -> "alloc::vec::Vec<T> as ...>",
 * "_RNvXs0_NtNtCsgEmf_4core3ops" -> "_4core3ops". */
static const char *function_root(const char *function)
{
    if (text_begins(function, "_R")) {
        const char *crate = strstr(function, "Cs");
        crate = crate ? strchr(crate, '_') : NULL;
        return crate ? crate : function;
    }
    while (*function == '<' || *function == '&' || text_begins(function, "_<") ||
           text_begins(function, "_$"))
        function++;
    size_t end = strcspn(function, "(<"), begin = end;
    while (begin && function[begin - 1] != ' ')
        begin--;
    function += begin;
    return text_begins(function, "java.base/") ? function + strlen("java.base/") : function;
}

static enum code code_of(const struct owner_frame *f)
{
    if (f->python)
        return PYTHON;
    if (f->module && !strcmp(f->module, "[jit]"))
        return JIT;
    if (!f->file)
        return NATIVE;
    if (text_has_suffix(f->file, ".go"))
        return GO;
    return text_has_suffix(f->file, ".pyx") || text_has_suffix(f->file, ".pxd") ? CYTHON : NATIVE;
}

static void owner_texts_of(const struct owner_frame *f, struct owner_texts *t)
{
    static const char url[] = "file://";
    *t = (struct owner_texts){.file = f->file, .module = f->module, .code = code_of(f)};
    if (f->file && text_begins(f->file, url))
        t->file += strlen(url);
    t->drive = t->file && *t->file && t->file[1] == ':' && strchr("/\\", t->file[2]);
    if (t->drive) {
        snprintf(t->path, sizeof t->path, "%s", t->file);
        for (char *at = t->path; *at; at++)
            *at = *at == '\\' ? '/' : *at;
        t->file = t->path;
    }
    t->file_name = base_name(t->file);
    t->module_name = base_name(t->module);
    t->function = f->function ? function_root(f->function) : NULL;
}

static int is_prefix(const char *text, const char *pattern, size_t n)
{
    return !strncmp(text, pattern, n);
}

static int is_within(const char *text, const char *pattern, size_t n)
{
    return memmem(text, strlen(text), pattern, n) ||
           (*pattern == '/' && is_prefix(text, pattern + 1, n - 1));
}

/* Allows at most one * in the pattern. */
static int pattern_matches(const char *text, const char *pattern, size_t n)
{
    const char *star = memchr(pattern, '*', n);
    size_t before = star ? (size_t)(star - pattern) : n, after = n - before, k = strlen(text);
    if (!star)
        return k == n && is_prefix(text, pattern, n);
    return k + 1 >= n && is_prefix(text, pattern, before) &&
           !memcmp(text + k + 1 - after, star + 1, after - 1);
}

/* The first folder or file is this. */
static int is_first(const char *text, const char *pattern, size_t n)
{
    return is_prefix(text, pattern, n) && (text[n] == '/' || !text[n]);
}

static int any_of(const char *patterns, const char *text,
                  int (*matches)(const char *text, const char *pattern, size_t n))
{
    for (const char *at = text ? patterns : NULL; at;) {
        size_t n = strcspn(at, "|");
        if (matches(text, at, n))
            return 1;
        at = at[n] ? at + n + 1 : NULL;
    }
    return 0;
}

static const char *within_packages(const char *file)
{
    const char *at = strstr(file, "site-packages/");
    at = at ? at : strstr(file, "dist-packages/");
    return at && (at == file || at[-1] == '/') ? strchr(at, '/') + 1 : NULL;
}

static int is_relative(const struct owner_texts *t)
{
    return t->file && *t->file != '/' && !t->drive;
}

static int is_starter(const struct owner_texts *t)
{
    return !strchr(t->file_name, '.') && t->file_name - t->file >= 5 &&
           text_begins(t->file_name - 5, "/bin/");
}

static int is_script(const struct owner_program *p, const struct owner_texts *t)
{
    const char *file = p->script && *p->script != '-' ? t->file : NULL;
    if (!file || is_starter(t))
        return 0;
    if (*p->script != '/' && is_below(file, p->cwd))
        file += strlen(p->cwd) + (p->cwd[strlen(p->cwd) - 1] != '/');
    return !strcmp(file, p->script + (text_begins(p->script, "./") ? 2 : 0));
}

static int below_prefix(const struct owner_program *p, const char *module)
{
    char folder[PATH_ROOM];
    int n = snprintf(folder, sizeof folder, "%s", p->python && p->exe ? p->exe : "");
    for (int i = 0; i < 2; i++)
        *(strrchr(folder, '/') ? strrchr(folder, '/') : folder) = 0;
    n = (int)strlen(folder);
    snprintf(folder + n, sizeof folder - (size_t)n, "/lib");
    return n && module && is_below(module, folder);
}

/* 1: the module is the program's executable, or may be it where that is unknown. */
static int is_program(const struct owner_program *p, const struct owner_texts *t)
{
    if (!p->exe)
        return *t->module != '[' && !strstr(t->module_name, ".so");
    return !p->child && !strcmp(t->module, p->exe);
}

static int is_method(const struct owner_texts *t)
{
    size_t end = t->function ? strcspn(t->function, "(") : 0;
    return !t->file && end && t->function[end] && memchr(t->function, '.', end);
}

static int row_matches(const struct owner_row *r, const struct owner_program *p,
                       const struct owner_texts *t)
{
    const char *package = t->file ? within_packages(t->file) : NULL;
    const char *stripped = p->stripped && is_relative(t) ? t->file : NULL;
    switch (r->place) {
    case MODULE_NAME:
        return any_of(r->patterns, t->module_name, pattern_matches);
    case MODULE_BEGINS:
        return t->module && !is_program(p, t) && !is_below(t->module, p->cwd) &&
               any_of(r->patterns, t->module, is_prefix);
    case MODULE_WITHIN:
        return any_of(r->patterns, t->module, is_within);
    case MODULE_PREFIX:
        return below_prefix(p, t->module);
    case MODULE_NONE:
        return !t->module && !t->file;
    case FILE_BEGINS:
        return any_of(r->patterns, t->file, is_prefix);
    case FILE_WITHIN:
        return any_of(r->patterns, t->file, is_within);
    case FILE_NAME:
        return any_of(r->patterns, t->file_name, pattern_matches);
    case FILE_PACKAGE:
        return any_of(r->patterns, package ? package : stripped, is_first);
    case FILE_STRIPPED:
        return any_of(r->patterns, stripped, is_first);
    case FILE_COMMAND:
        return p->script && !strcmp(p->script, "-c") && !strcmp(t->file, r->patterns);
    case FILE_SCRIPT:
        return is_script(p, t);
    case FILE_STARTER:
        return is_starter(t);
    case FILE_DRIVE:
        return t->drive && any_of(r->patterns, t->file, is_within);
    case FILE_RELATIVE:
        return is_relative(t);
    case FILE_BELOW:
        return t->file && (is_below(t->file, p->cwd) || is_below(t->file, p->script_folder));
    case FILE_NONE:
        return !t->file;
    case FUNCTION:
        return any_of(r->patterns, t->function, is_prefix);
    case FUNCTION_ALONE:
        return !t->file && any_of(r->patterns, t->function, is_prefix);
    case FUNCTION_METHOD:
        return is_method(t);
    case JIT_OF_PYTHON:
        return p->python;
    }
    return 0;
}

static int is_listed(const char *const *patterns, const struct owner_frame *f)
{
    for (; patterns && *patterns; patterns++)
        if (!fnmatch(*patterns, f->file, 0) || (f->shown && !fnmatch(*patterns, f->shown, 0)) ||
            strstr(f->file, *patterns))
            return 1;
    return 0;
}

enum owner frame_owner(const struct owner_program *p, const struct owner_frame *f)
{
    enum owner owner = OWNER_OWN;
    struct owner_texts t;
    owner_texts_of(f, &t);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].code & t.code && row_matches(&rows[i], p, &t)) {
            owner = rows[i].owner;
            break;
        }
    if (owner == OWNER_RUNTIME || !f->file)
        return owner;
    if (is_listed(p->exclude, f))
        return OWNER_LIBRARY;
    if (p->include && *p->include)
        return is_listed(p->include, f) ? OWNER_OWN : OWNER_LIBRARY;
    return owner == OWNER_LIBRARY && p->libraries ? OWNER_PACKAGE : owner;
}

int owner_is_interpreter(const char *module, const char *file)
{
    if (module)
        return any_of(INTERPRETER, base_name(module), pattern_matches);
    return !file || any_of(CPYTHON_SOURCES, file, is_within);
}

/* The folder of the script, or of the package that it is a part of; NULL: no script, or one that a
 * package manager installed. */
static const char *script_folder(const struct owner_program *p, struct arena *arena)
{
    char path[4096], init[PATH_ROOM];
    int inside = *p->script != '/' && p->cwd;
    int n =
        snprintf(path, sizeof path, "%s%s%s", inside ? p->cwd : "", inside ? "/" : "", p->script);
    if (n < 0 || n >= (int)sizeof path)
        return NULL;
    for (int depth = 0; depth < 16; depth++) {
        char *slash = strrchr(path, '/');
        if (!slash || slash == path)
            return NULL;
        *slash = 0;
        snprintf(init, sizeof init, "%s/__init__.py", path);
        if (access(init, F_OK))
            break;
    }
    const char *name = strrchr(path, '/');
    return name && !strcmp(name, "/bin") ? NULL : arena_text(arena, path);
}

/* 1: multiprocessing, or joblib's loky, gives this code to `python -c` for helpers and workers. */
static int is_of_multiprocessing(const char *code)
{
    static const char prefixes[] = "from multiprocessing.|from joblib.externals.loky.|from loky.";
    return any_of(prefixes, code, is_prefix);
}

enum err owner_command(struct owner_program *p, struct arena *arena, const char *cmdline)
{
    static const char command[] = "\n-c\n";
    const char *at = strchr(cmdline, '\n'); /* after the interpreter */
    while (at && at[1] == '-' && at[2] != 'c' && at[2] != 'm') {
        int more = (at[2] == 'X' || at[2] == 'W') && (at[3] == '\n' || !at[3]);
        at = strchr(at + 1, '\n');
        at = at && more ? strchr(at + 1, '\n') : at;
    }
    if (!at || (text_begins(at, command) && is_of_multiprocessing(at + strlen(command))))
        return ERR_OK;
    p->script = arena_text_n(arena, at + 1, strcspn(at + 1, "\n"));
    FAIL_IF(!p->script, ERR_MEMORY, "no memory for the texts of a trace");
    if (*p->script != '-')
        p->script_folder = script_folder(p, arena);
    return ERR_OK;
}
