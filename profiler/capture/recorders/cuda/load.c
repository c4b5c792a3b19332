/* Searches libcupti in: the copy that the process has loaded, TOMOPROF_CAPTURE_CUPTI, the toolkit
 * of CUDA_PATH or CUDA_HOME, beside the CUDA runtime that is loaded (toolkits and Python wheels),
 * NVIDIA's wheels beside any Python package that is loaded, the loader's own search, the customary
 * folder, the toolkits that this library was built beside. CUPTI older than the driver works, the
 * reverse does not: with a driver of CUDA 12 all places are asked for CUPTI 12 first, and before
 * that, where the driver serves it, for the one of CUDA 12.8 that cuda/toolkit.sh names so: the
 * first that knows Blackwell. */
#include <dlfcn.h>
#include <link.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/capture/core/core.h"
#include "profiler/capture/recorders/cuda/cuda.h"

struct cupti_search {
    char path[PATH_MAX];
    void *handle;
    const char *names[4]; /* in this order, NULL at the end */
};

static void try_path(struct cupti_search *s, const char *path, int flags)
{
    if (s->handle || strlen(path) >= sizeof s->path)
        return;
    s->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | flags);
    if (s->handle)
        strcpy(s->path, path);
}

static void try_folder(struct cupti_search *s, const char *folder, const char *below)
{
    for (size_t i = 0; s->names[i]; i++) {
        static char path[PATH_MAX]; /* CUPTI is looked for once */
        int n = snprintf(path, sizeof path, "%s%s/%s", folder, below, s->names[i]);
        if (n > 0 && (size_t)n < sizeof path)
            try_path(s, path, 0);
    }
}

struct runtime_folder {
    char folder[PATH_MAX];
};
struct package_folders { /* CuPy, for one, has the CUDA runtime inside itself */
    size_t n;
    char folder[4][PATH_MAX];
};

/* Only copies the path: no dlopen while the loader's list is read. */
static int note_runtime(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    struct runtime_folder *r = user;
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    if (!slash || strncmp(slash + 1, "libcudart.so", 12) != 0 ||
        (size_t)(slash - info->dlpi_name) >= sizeof r->folder)
        return 0;
    memcpy(r->folder, info->dlpi_name, (size_t)(slash - info->dlpi_name));
    r->folder[slash - info->dlpi_name] = 0;
    return 1;
}

static void try_beside_runtime(struct cupti_search *s)
{
    static struct runtime_folder r; /* 4 KiB, used once */
    static const char *const below[] = {"", "/../../cuda_cupti/lib", "/../extras/CUPTI/lib64"};
    if (s->handle || !dl_iterate_phdr(note_runtime, &r))
        return;
    for (size_t i = 0; i < sizeof below / sizeof *below; i++)
        try_folder(s, r.folder, below[i]);
}

static int note_packages(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    struct package_folders *p = user;
    const char *path = info->dlpi_name ? info->dlpi_name : "", *end = strstr(path, "-packages/");
    size_t bytes = end ? (size_t)(end - path) + strlen("-packages") : 0;
    if (!bytes || bytes >= sizeof *p->folder)
        return 0;
    for (size_t i = 0; i < p->n; i++)
        if (!strncmp(p->folder[i], path, bytes) && !p->folder[i][bytes])
            return 0;
    memcpy(p->folder[p->n], path, bytes);
    p->folder[p->n++][bytes] = 0;
    return p->n == sizeof p->folder / sizeof *p->folder;
}

static void try_beside_packages(struct cupti_search *s)
{
    static const char *const below[] = {"/nvidia/cu13/lib", "/nvidia/cuda_cupti/lib"};
    static struct package_folders p; /* 16 KiB, used once */
    p.n = 0;
    if (!s->handle)
        dl_iterate_phdr(note_packages, &p);
    for (size_t i = 0; i < p.n; i++)
        for (size_t k = 0; k < sizeof below / sizeof *below; k++)
            try_folder(s, p.folder[i], below[k]);
}

static void try_toolkit(struct cupti_search *s, const char *root)
{
    static const char *const below[] = {"/extras/CUPTI/lib64", "/lib64", "/lib"};
    for (size_t i = 0; root && *root && i < sizeof below / sizeof *below; i++)
        try_folder(s, root, below[i]);
}

static void try_everywhere(struct cupti_search *s)
{
    try_toolkit(s, getenv("CUDA_PATH"));
    try_toolkit(s, getenv("CUDA_HOME"));
    try_beside_runtime(s);
    try_beside_packages(s);
    for (size_t i = 0; s->names[i]; i++)
        try_path(s, s->names[i], 0);
    try_toolkit(s, "/usr/local/cuda");
    static const char *const built_with[] = {TP_CUDA_ROOTS NULL};
    for (size_t i = 0; built_with[i]; i++)
        try_toolkit(s, built_with[i]);
}

static void cupti_find(struct cupti_search *s)
{
    static const char *const all[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so", NULL};
    const char *given = getenv("TOMOPROF_CAPTURE_CUPTI");
    memcpy(s->names, all, sizeof all);
    for (size_t i = 0; all[i]; i++) /* two copies of CUPTI in one process disturb each other */
        try_path(s, all[i], RTLD_NOLOAD);
    if (given && *given)
        try_path(s, given, 0);
    const int serves = cuda_driver_version();
    if (serves >= 12080 && serves < 13000) {
        memcpy(s->names, (const char *[4]){"libcupti-12.8.so.12"}, sizeof s->names);
        try_everywhere(s);
    }
    if (serves && serves < 13000) {
        memcpy(s->names, (const char *[4]){all[1]}, sizeof s->names);
        try_everywhere(s);
    }
    memcpy(s->names, all, sizeof all);
    try_everywhere(s);
}

int cuda_load(struct capture_thread *t, struct cupti *out)
{
    static const struct {
        const char *symbol;
        size_t at;
        int required;
    } calls[] = {
#define X(member, symbol, required, parameters) {symbol, offsetof(struct cupti, member), required},
        CUPTI_CALLS(X) CUPTI_SAMPLING_CALLS(X)
#undef X
    };
    static struct cupti_search s; /* 4 KiB, used once */
    cupti_find(&s);
    if (!s.handle) {
        capture_note(t, 2, "cuda.library",
                     "libcupti was not found, so GPU work is missing: install the CUDA toolkit's "
                     "CUPTI, or name the file in TOMOPROF_CAPTURE_CUPTI");
        return -1;
    }
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        void *symbol = dlsym(s.handle, calls[i].symbol);
        memcpy((char *)out + calls[i].at, &symbol, sizeof symbol);
        if (!symbol && calls[i].required) {
            capture_note(t, 2, "cuda.library", "%s has no %s, so GPU work is missing", s.path,
                         calls[i].symbol);
            return -1;
        }
    }
    Dl_info where;
    if (dladdr(dlsym(s.handle, "cuptiGetVersion"), &where) && where.dli_fname)
        capture_meta(t, "cupti.path", where.dli_fname);
    return 0;
}

const char *cuda_sentence(int code)
{
    static const struct {
        int code;
        const char *text;
    } rows[] = {
        {1, "a parameter is not valid for this CUPTI"},
        {7, "the operation is not possible now"},
        {8, "out of memory"},
        {9, "the hardware reports an error"},
        {11, "not implemented in this CUPTI"},
        {13, "not ready"},
        {14, "not compatible with this device or driver"},
        {15, "CUPTI could not be initialised with this driver"},
        {21, "this CUPTI does not know the activity kind"},
        {27, "not supported on this system or device"},
        {28, "unified memory cannot be profiled on this platform"},
        {29, "unified memory cannot be profiled on this device"},
        {30, "unified memory cannot be profiled on several devices without peer access"},
        {31, "unified memory cannot be profiled under MPS"},
        {33, "not supported on a virtual GPU"},
        {35, "the driver reserves this for administrators: run as root, or with CAP_SYS_ADMIN, or "
             "load nvidia with NVreg_RestrictProfilingToAdminUsers=0"},
        {36, "another profiling interface of the driver is in use"},
        {38, "the legacy profiler is not supported on this device"},
        {39, "another profiler or debugger holds CUPTI in this process"},
        {40, "the virtual GPU's host does not permit profiling"},
        {41, "not supported with confidential computing"},
        {42, "not supported on CMP devices"},
        {43, "not supported on this MIG instance"},
        {44, "not supported on SLI devices"},
        {45, "not supported under WSL"},
        {999, "CUPTI gives no reason; most often the driver or the device cannot be used"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].code == code)
            return rows[i].text;
    return "a code that is not known here";
}
