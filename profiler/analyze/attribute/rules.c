/* Tables of runtimes, library paths and frameworks, by which a frame is user code or not; and
 * how paths lose what is personal. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analyze/attribute/rules.h"

/* Libraries that work for their callers: their time is attributed to the caller. Prefixes of file
 * names. */
static const char *const runtimes[] = {
    "libc.so",
    "libc-",
    "libm.so",
    "libm-",
    "libmvec",
    "ld-linux",
    "ld-musl",
    "libpthread",
    "libdl.so",
    "libdl-",
    "librt.so",
    "librt-",
    "libstdc++",
    "libc++",
    "libgcc_s",
    "libgomp",
    "libomp",
    "libiomp5",
    "libasan",
    "libtsan",
    "libubsan",
    "libtcmalloc",
    "libjemalloc",
    "libcuda.so",
    "libcudart",
    "libcupti",
    "libnvidia",
    "libnvToolsExt",
    "libtomoprof_capture",
    "tomoprof_capture",
    "linux-vdso",
    "[vdso]",
};

/* Compiled parts of Python packages and of Python itself: their time is that of the Python line. */
static const char *const library_modules[] = {"/lib-dynload/", "/site-packages/",
                                              "/dist-packages/"};

/* Source files of libraries, of any language. Their lines are attributed only when no user code is
 * below them on the stack, or on request. */
static const char *const library_paths[] = {
    "/lib/python3",
    "/lib64/python3",
    "<frozen ",
    "<string>",
    "<__array_function__",
    "/usr/include/",
    "/usr/lib/",
    "/usr/src/",
    "/usr/local/cuda",
    "/include/c++/",
    "/lib/gcc/",
    "/build/glibc",
    "/build/gcc",
    "../sysdeps/",
    "./malloc/",
    "./nptl/",
    "./string/",
    "../nptl/",
    "/.cargo/registry/",
    "/go/pkg/mod/",
    "/nvtx3/",
    "/include/crt/",
    "/include/python3",
    "cython_utility",
    "/library/core/src/",
    "/library/alloc/src/",
    "/library/std/src/",
    "/core_arch/src/",
    "/rust/deps/",
    "/usr/local/go/",
    "/lib/rustlib/",
};

/* Python packages that serve the package or the program that calls them. Any other package does the
 * work that somebody looks for (a reconstruction library, say): its lines are attributed. */
static const char *const frameworks[] = {
    "IPython",    "PIL",           "_pytest",     "absl",
    "astra",      "cffi",          "cloudpickle", "cupy",
    "cupyx",      "dask",          "dateutil",    "etils",
    "flax",       "h5py",          "ipykernel",   "itk",
    "jax",        "jaxlib",        "joblib",      "keras",
    "llvmlite",   "matplotlib",    "ml_dtypes",   "mpmath",
    "networkx",   "numba",         "numexpr",     "numpy",
    "nvidia",     "nvtx",          "onnx",        "onnxruntime",
    "opt_einsum", "optax",         "orbax",       "pandas",
    "pip",        "pkg_resources", "polars",      "pybind11",
    "pytest",     "ray",           "ruamel",      "scipy",
    "setuptools", "six.py",        "skimage",     "sklearn",
    "sympy",      "tensorflow",    "tensorstore", "threadpoolctl",
    "torch",      "tqdm",          "triton",      "typing_extensions.py",
    "xarray",     "yaml",          "zarr",
};

/* What follows site-packages/ in a path, NULL when it is of no package. */
static const char *in_package(const char *file)
{
    const char *at = strstr(file, "/site-packages/");
    at = at ? at : strstr(file, "/dist-packages/");
    return at ? at + 15 : NULL;
}

static int of_framework(const char *package)
{
    for (size_t i = 0; i < sizeof frameworks / sizeof *frameworks; i++) {
        size_t n = strlen(frameworks[i]);
        if (!strncmp(package, frameworks[i], n) && (package[n] == '/' || !package[n]))
            return 1;
    }
    return package[0] == '_'; /* generated hooks of packages: _distutils_hack, _virtualenv.py */
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int begins(const char *s, const char *prefix)
{
    return !strncmp(s, prefix, strlen(prefix));
}

int rules_interpreter(const char *module)
{
    if (!module)
        return 0;
    const char *name = base_name(module);
    return begins(name, "libpython") || begins(name, "python3") || !strcmp(name, "python");
}

int rules_eval(const char *function)
{
    return function &&
           (begins(function, "_PyEval_EvalFrameDefault") || begins(function, "_TAIL_CALL_"));
}

int rules_trampoline(const char *module, const char *function)
{
    return module && function && !strcmp(module, "[jit]") && begins(function, "py::");
}

static int listed(const char *const *patterns, const char *recorded, const char *shown)
{
    for (; *patterns; patterns++)
        if (!fnmatch(*patterns, recorded, 0) || !fnmatch(*patterns, shown, 0) ||
            strstr(recorded, *patterns))
            return 1;
    return 0;
}

int rules_chosen(struct run *r, const char *file)
{
    const struct analyze_options *o = r->options;
    const char *shown = rules_path(r, file);
    shown = shown ? shown : file;
    if (o->exclude && listed(o->exclude, file, shown))
        return 0;
    if (o->include && *o->include)
        return listed(o->include, file, shown);
    return RULES_OPEN;
}

int rules_recorder(const char *module)
{
    return begins(base_name(module), "libtomoprof_capture");
}

static enum frame_class classify(struct run *r, const char *file, const char *module, int python)
{
    const struct analyze_options *o = r->options;
    if (!python && (!module || rules_interpreter(module)))
        return FRAME_RUNTIME;
    for (size_t i = 0; !python && i < sizeof runtimes / sizeof *runtimes; i++)
        if (begins(base_name(module), runtimes[i]))
            return FRAME_RUNTIME;
    if (!file)
        return FRAME_LIBRARY;
    int chosen = rules_chosen(r, file);
    if (chosen != RULES_OPEN)
        return chosen ? FRAME_USER : FRAME_LIBRARY;
    if (o->libraries)
        return FRAME_USER;
    for (size_t i = 0; !python && i < sizeof library_modules / sizeof *library_modules; i++)
        if (strstr(module, library_modules[i]))
            return FRAME_LIBRARY;
    const char *package = in_package(file);
    if (package)
        return of_framework(package) ? FRAME_LIBRARY : FRAME_USER;
    for (size_t i = 0; i < sizeof library_paths / sizeof *library_paths; i++)
        if (strstr(file, library_paths[i]))
            return FRAME_LIBRARY;
    return FRAME_USER;
}

enum frame_class rules_class(struct run *r, const char *file, const char *module, int python)
{
    uint64_t key = table_mix((uintptr_t)file + (uint64_t)(python != 0), (uintptr_t)module);
    uint32_t class = table_get(&r->class_of, key);
    if (class != TABLE_NONE)
        return (enum frame_class) class;
    class = classify(r, file, module, python);
    (void)table_put(&r->class_of, key, class); /* a cache: it may be full */
    return (enum frame_class) class;
}

/* Where the rest of `path` begins below `folder`; NULL: it is not below it. */
static const char *below(const char *path, const char *folder)
{
    size_t n = folder ? strlen(folder) : 0;
    while (n && folder[n - 1] == '/')
        n--;
    return n && !strncmp(path, folder, n) && path[n] == '/' ? path + n + 1 : NULL;
}

/* "/home/NAME/rest" -> rest; "/home/NAME" -> "" */
static const char *below_any_home(const char *path)
{
    static const char *const homes[] = {"/home/", "/Users/", "/root"};
    for (size_t i = 0; i < sizeof homes / sizeof *homes; i++) {
        size_t n = strlen(homes[i]);
        if (strncmp(path, homes[i], n))
            continue;
        size_t name = strcspn(path + n, "/:;, \t\n'\"");
        if (i < 2 ? !name : name) /* no name, or something like /rootfs */
            continue;
        path += n + name;
        return path + (*path == '/');
    }
    return NULL;
}

/* Folders of the system and those that containers mount, with names that are not personal. */
static int of_system(const char *path)
{
    static const char *const roots[] = {"/usr/", "/lib",  "/bin/",       "/sbin/",
                                        "/opt/", "/etc/", "/nix/store/", "/proc/",
                                        "/dev/", "/src/", "/app/",       "/workspace/"};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
        if (begins(path, roots[i]))
            return 1;
    return 0;
}

static int is_taken(const struct run *r, const char *shown)
{
    for (size_t i = 0; i < r->paths.count; i++)
        if (r->paths.items[i] && !strcmp(r->paths.items[i], shown))
            return 1;
    return 0;
}

/* The last three parts of a path behind "...", numbered where another file has the same name. */
static const char *shortened(struct run *r, const char *recorded)
{
    char text[4200];
    const char *at = recorded + strlen(recorded);
    for (int parts = 0; parts < 3 && at > recorded + 1; parts++)
        do
            at--;
        while (at > recorded + 1 && *at != '/');
    if (*at != '/') /* the first folder stays away: it may be a name */
        at = strchr(at, '/') ? strchr(at, '/') : recorded;
    int n = snprintf(text, sizeof text, "...%.4100s", at);
    for (int number = 2; is_taken(r, text); number++)
        snprintf(text + n, sizeof text - (size_t)n, " (%d)", number);
    return run_text(r, text);
}

/* Nothing personal: below the working folder relative to it, packages by their own path, the home
 * folder as ~, of other folders but the system's the last parts. */
static const char *shown_path(struct run *r, const char *recorded)
{
    char text[4200];
    const char *rest, *packages;
    if (r->options->absolute_paths || recorded[0] != '/')
        return run_text(r, recorded);
    if ((rest = below(recorded, r->cwd)))
        return run_text(r, rest);
    if ((packages = strstr(recorded, "/site-packages/")) ||
        (packages = strstr(recorded, "/dist-packages/")))
        return run_text(r, packages + 1);
    if (!(rest = below(recorded, r->home)))
        rest = below_any_home(recorded);
    if (!rest)
        return of_system(recorded) ? run_text(r, recorded) : shortened(r, recorded);
    snprintf(text, sizeof text, "~/%s", rest);
    return run_text(r, text);
}

const char *rules_path(struct run *r, const char *recorded)
{
    uint32_t at = table_get(&r->path_of, (uintptr_t)recorded);
    if (!recorded || at != TABLE_NONE)
        return recorded ? r->paths.items[at] : NULL;
    const char *shown = shown_path(r, recorded);
    if (vector_add(&r->paths, shown) == ERR_OK)
        (void)table_put(&r->path_of, (uintptr_t)recorded, (uint32_t)r->paths.count - 1);
    return shown;
}

/* Where the path ends that begins at `text`: lists are divided by these. */
static size_t path_length(const char *text)
{
    return strcspn(text, " :;,'\"\n\t");
}

const char *rules_words(struct run *r, const char *text)
{
    if (r->options->absolute_paths)
        return run_text(r, text);
    char *shown = NULL;
    size_t bytes;
    FILE *out = open_memstream(&shown, &bytes);
    if (!out)
        return NULL;
    for (const char *before = " "; *text; before = text - 1) {
        if (*text != '/' || !strchr(" :;,'\"=\n\t", *before)) {
            fputc(*text++, out); /* inside of a word */
            continue;
        }
        char path[4096];
        size_t n = path_length(text);
        snprintf(path, sizeof path, "%.*s", (int)(n < sizeof path ? n : sizeof path - 1), text);
        const char *clean = strchr(path + 1, '/') ? rules_path(r, run_text(r, path)) : path;
        fputs(clean ? clean : "...", out);
        text += n;
    }
    if (fclose(out)) {
        free(shown);
        return NULL;
    }
    const char *kept = run_text(r, shown);
    free(shown);
    return kept;
}
