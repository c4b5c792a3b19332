/* Decides what the program's own code is: first by folders that the recording names, then by the
 * usual places of packages, systems and tool chains, last by lists of names. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "profiler/analyze/attribute/own.h"

static int begins(const char *s, const char *prefix)
{
    return !strncmp(s, prefix, strlen(prefix));
}

static int any_in(const char *text, const char *const *parts)
{
    for (; *parts; parts++)
        if (strstr(text, *parts))
            return 1;
    return 0;
}

/* Installed packages and the standard library, wherever the interpreter lives; what waits for the
 * recorder in a notebook. */
static int installed(const char *path)
{
    static const char *const parts[] = {"/site-packages/",
                                        "/dist-packages/",
                                        "/lib-dynload/",
                                        "/lib/python3",
                                        "/lib64/python3",
                                        "/tomoprof/jupyter.py",
                                        NULL};
    return any_in(path, parts);
}

static int of_system(const char *path)
{
    static const char *const roots[] = {"/usr/", "/lib/",       "/lib64/", "/bin/",  "/sbin/",
                                        "/etc/", "/nix/store/", "/opt/",   "/snap/", NULL};
    for (const char *const *root = roots; *root; root++)
        if (begins(path, *root))
            return 1;
    return 0;
}

/* Sources of compilers and of what package managers of compiled languages fetch. */
static int of_toolchain(const char *file)
{
    static const char *const parts[] = {"/include/c++/",
                                        "/lib/gcc/",
                                        "/usr/include/",
                                        "/usr/src/",
                                        "/build/glibc",
                                        "/build/gcc",
                                        "../sysdeps/",
                                        "/rustc/",
                                        "/rust/deps/",
                                        "/lib/rustlib/",
                                        "/.rustup/",
                                        "/.cargo/registry/",
                                        "/.cargo/git/",
                                        "/go/pkg/mod/",
                                        "/go/src/runtime/",
                                        "/nvtx3/",
                                        "/include/crt/",
                                        "/usr/local/cuda",
                                        NULL};
    static const char *const glibc[] = {"./malloc/", "./nptl/",         "./string/",
                                        "./math/",   "./stdio-common/", "./stdlib/",
                                        "./elf/",    "../nptl/",        NULL};
    if (any_in(file, parts))
        return 1;
    for (const char *const *part = glibc; *part; part++)
        if (begins(file, *part))
            return 1;
    return 0;
}

/* Written by a program: nobody edits it. Cython's C is known by its names of functions. */
static int generated(const char *file, const char *function)
{
    const char *name = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    static const char *const ends[] = {"_pb2.py", ".pb.cc", ".pb.h", ".tab.c", ".yy.c"};
    const char *dot = strrchr(name, '.');
    if (dot && ((begins(name, "moc_") && !strcmp(dot, ".cpp")) ||
                (begins(name, "qrc_") && !strcmp(dot, ".cpp")) ||
                (begins(name, "ui_") && !strcmp(dot, ".h"))))
        return 1;
    if (function && (begins(function, "__pyx_") || begins(function, "__Pyx_")))
        return 1;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t n = strlen(name), k = strlen(ends[i]);
        if (n > k && !strcmp(name + n - k, ends[i]))
            return 1;
    }
    return 0;
}

static int below(const char *path, const char *folder)
{
    size_t n = folder ? strlen(folder) : 0;
    while (n && folder[n - 1] == '/')
        n--;
    return n && !strncmp(path, folder, n) && path[n] == '/';
}

/* python -c TEXT: what runs is "<string>". */
static int is_command(const struct image *im)
{
    return im->script && !strcmp(im->script, "-c");
}

static int own_python(const struct image *im, const char *file)
{
    if (*file == '<')
        return begins(file, "<stdin>") || begins(file, "<ipython-input") ||
               (is_command(im) && !strcmp(file, "<string>"));
    if (installed(file) || generated(file, NULL))
        return 0;
    const char *name = strrchr(file, '/');
    if (name && !strchr(name, '.') && name - file >= 4 && !strncmp(name - 4, "/bin", 4))
        return 0; /* the starter of an installed command: bin/pytest */
    if (*file != '/' || below(file, im->cwd) || below(file, im->script_folder))
        return 1;
    return !of_system(file);
}

/* "core::ptr::drop", "<alloc::vec::Vec<T> as ...>", "_RNvXs0_NtCsgEmf_4core3ops": the standard
 * libraries of C++ and Rust have no module and, without -g, no file of their own. */
static int of_standard_library(const char *function)
{
    static const char *const roots[] = {
        "std::", "core::", "alloc::", "hashbrown::", "__gnu_", "__cxxabiv1::", NULL};
    static const char *const crates[] = {"_3std", "_4core", "_5alloc", "_9hashbrown", NULL};
    if (begins(function, "_R")) {
        const char *crate = strstr(function, "Cs");
        crate = crate ? strchr(crate, '_') : NULL;
        for (const char *const *c = crates; crate && *c; c++)
            if (begins(crate, *c))
                return 1;
        return 0;
    }
    while (*function == '<' || *function == '&' || begins(function, "_<") || begins(function, "_$"))
        function++;
    for (const char *const *root = roots; *root; root++)
        if (begins(function, *root))
            return 1;
    /* "void std::__introsort_loop<...>(...)": the result's type comes first */
    const char *at = strstr(function, " std::");
    return at && at < function + strcspn(function, "(");
}

/* Programs that run another one, whose code they make: node script.js, java Recon. */
static int of_runtime(const char *module)
{
    static const char *const names[] = {"node", "nodejs", "java", "ruby", "perl",
                                        "php",  "julia",  "deno", "bun",  "luajit",
                                        "R",    "dotnet", NULL};
    const char *name = strrchr(module, '/') ? strrchr(module, '/') + 1 : module;
    for (const char *const *n = names; *n; n++)
        if (!strcmp(name, *n))
            return 1;
    return 0;
}

/* A method as Java's maps have it, "double Recon.filter(int)", and of no package of Java itself. */
static int own_method(const char *function)
{
    static const char *const packages[] = {"java.",    "javax.",  "jdk.",   "sun.",
                                           "com.sun.", "kotlin.", "scala.", NULL};
    size_t end = strcspn(function, "("), begin = end;
    while (begin && function[begin - 1] != ' ')
        begin--;
    for (const char *const *package = packages; *package; package++)
        if (!strncmp(function + begin, *package, strlen(*package)))
            return 0;
    return function[end] && memchr(function + begin, '.', end - begin) != NULL;
}

/* Code made at run time is own where the program is what a runtime runs. Of Python's compilers the
 * line that calls the code says more. */
static int own_jit(const struct image *im, const struct resolved *f)
{
    if (im->python)
        return 0;
    if (f->file)
        return below(f->file, im->cwd) ||
               (*f->file == '/' && !of_system(f->file) && !strstr(f->file, "/node_modules/"));
    return f->function && own_method(f->function);
}

static int own_module(const struct image *im, const char *module)
{
    if (installed(module) || *module == '[' || of_runtime(module))
        return 0;
    if (im->exe && !strcmp(module, im->exe))
        return !of_system(module) || im->index == 0;
    return !im->exe || below(module, im->cwd) || !of_system(module);
}

static int own_native(const struct image *im, const struct resolved *f)
{
    if (f->module && !strcmp(f->module, "[jit]"))
        return own_jit(im, f);
    if (!f->module || !own_module(im, f->module))
        return 0;
    if (f->function && of_standard_library(f->function))
        return 0;
    if (!f->file)
        return im->exe != NULL;
    if (below(f->file, im->cwd) && !generated(f->file, f->function))
        return 1; /* whatever its folder is called: /usr/src/app in a container */
    return !installed(f->file) && !of_toolchain(f->file) && !generated(f->file, f->function);
}

static int decide(struct image *im, const struct resolved *f)
{
    int chosen = f->file ? rules_chosen(im->run, f->file) : RULES_OPEN;
    if (chosen != RULES_OPEN)
        return chosen;
    return f->python ? f->file && own_python(im, f->file) : own_native(im, f);
}

int own_frame(struct image *im, const struct resolved *f)
{
    if (f->class == FRAME_RUNTIME)
        return 0;
    uint64_t key = table_mix((uintptr_t)f->file + (uint64_t)(f->python != 0), (uintptr_t)f->module);
    key = table_mix(key, (uintptr_t)f->function);
    uint32_t own = table_get(&im->own_of, key);
    if (own != TABLE_NONE)
        return (int)own;
    own = (uint32_t)decide(im, f);
    (void)table_put(&im->own_of, key, own); /* a cache: it may be full */
    return (int)own;
}

/* The folder of the script, or of the package that it is a part of; NULL: no script, or one that a
 * package manager installed. */
static const char *folder_of(struct image *im, const char *script)
{
    char path[4096], init[4200];
    int n = snprintf(path, sizeof path, "%s%s%s", *script != '/' && im->cwd ? im->cwd : "",
                     *script != '/' && im->cwd ? "/" : "", script);
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
    return name && !strcmp(name, "/bin") ? NULL : arena_text(im->arena, path);
}

/* What multiprocessing, and joblib's loky, give to `python -c` for helpers and workers. */
static int of_multiprocessing(const char *code)
{
    return begins(code, "from multiprocessing.") || begins(code, "from joblib.externals.loky.") ||
           begins(code, "from loky.");
}

enum err own_command(struct image *im, const char *cmdline)
{
    const char *at = strchr(cmdline, '\n'); /* after the interpreter */
    while (at && at[1] == '-' && at[2] != 'c' && at[2] != 'm') {
        int more = (at[2] == 'X' || at[2] == 'W') && (at[3] == '\n' || !at[3]);
        at = strchr(at + 1, '\n');
        at = at && more ? strchr(at + 1, '\n') : at;
    }
    if (!at || (begins(at, "\n-c\n") && of_multiprocessing(at + strlen("\n-c\n"))))
        return ERR_OK;
    im->script = arena_text_n(im->arena, at + 1, strcspn(at + 1, "\n"));
    FAIL_IF(!im->script, ERR_MEMORY, "no memory for the texts of a trace");
    if (*im->script != '-')
        im->script_folder = folder_of(im, im->script);
    return ERR_OK;
}

int own_import(const struct resolved *f)
{
    return f->python && f->file && begins(f->file, "<frozen importlib._bootstrap");
}
