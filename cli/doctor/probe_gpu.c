/* Probes a GPU, its driver and NVIDIA's libraries. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cuda/cuda.h"
#include "host/backend/registry.h"
#include "base/run_folder.h"
#include "cli/cli.h"
#include "cli/doctor/probes.h"

#define CAP_SYS_ADMIN_BIT 21
#define OLD_DRIVER        "update NVIDIA's driver to 525 or newer"

/* Tells which of the builds computes, and why. */
static void gpu_print_build(struct found *f)
{
    const struct cuda_build *b = cuda_chosen();
    int serves = cuda_driver_serves();
    if (b && b->major && serves)
        found_add(f,
                  "; of the builds here the one for CUDA %d is used: the driver serves CUDA %d.%d",
                  b->major, serves / 1000, serves % 1000 / 10);
    else if (b && !b->major)
        found_add(f, "; TOMOPROF_CUDA names %s", b->path);
}

enum state probe_cuda(struct found *f)
{
    struct backend *be = NULL;
    const char *name, *reason;
    for (int i = 0; backend_describe(i, &name, &reason) && strcmp(name, "cuda"); i++)
        ;
    if (!*reason && backend_open("cuda", &(struct backend_options){0}, &be))
        reason = err_text();
    SAY(f, "%s", be ? be->device : reason);
    gpu_print_build(f);
    if (cuda_driver_serves())
        f->fix = cuda_driver_serves() < 12000 ? OLD_DRIVER
                                              : "./start.sh cuda, which builds for the driver here";
    backend_close(be);
    return be ? OK : MISSING;
}

enum state probe_driver(struct found *f)
{
    char line[256];
    int version = cuda_driver_serves();
    if (!version) {
        SAY(f, "no libcuda.so.1 that answers");
        return MISSING;
    }
    probe_line("/proc/driver/nvidia/version", line, sizeof line);
    SAY(f, "CUDA %d.%d; %s", version / 1000, version % 1000 / 10,
        *line ? line : "the kernel module is not loaded, or does not tell its version");
    f->consequence = "profiles lack GPU work: CUPTI of CUDA 12 and 13 needs a newer driver";
    f->fix = OLD_DRIVER;
    return version < 12000 ? LIMITED : OK;
}

/* A folder of NVIDIA's wheels, where this program is in one too: site-packages/nvidia beside
 * site-packages/tomoprof/bin. NULL: it is not. */
static const char *wheel_folder(const char *below, char path[RUN_PATH])
{
    const char *program = "";
    const char *mine = cli_program(&program) ? NULL : strstr(program, "-packages/tomoprof/bin/");
    if (!mine)
        return NULL;
    const int before = (int)(mine - program + (ptrdiff_t)strlen("-packages/"));
    return snprintf(path, RUN_PATH, "%.*snvidia/%s", before, program, below) < RUN_PATH ? path
                                                                                        : NULL;
}

static void *open_named(const char *const *names)
{
    char newest[RUN_PATH], older[RUN_PATH];
    static const char *const below[] = {"", "/extras/CUPTI/lib64", "/lib64", "/lib"};
    const char *roots[] = {"",
                           getenv("CUDA_PATH"),
                           getenv("CUDA_HOME"),
                           wheel_folder("cu13", newest),
                           wheel_folder("cuda_cupti", older),
                           "/usr/local/cuda",
                           TP_CUDA_ROOTS};
    char path[RUN_PATH + 64];
    for (size_t r = 0; r < sizeof roots / sizeof *roots; r++)
        for (size_t b = r ? 1 : 0; roots[r] && b < (r ? 4 : 1); b++)
            for (int n = 0; names[n]; n++) {
                snprintf(path, sizeof path, "%s%s%s%s", roots[r], below[b], r ? "/" : "", names[n]);
                void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
                if (library)
                    return library;
            }
    return NULL;
}

/* As the capture library does: a driver of CUDA 12 refuses CUPTI 13. */
static void *open_cupti(int driver)
{
    static const char *const all[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so", NULL},
                             *const old[] = {"libcupti.so.12", NULL},
                             *const of_12_8[] = {"libcupti-12.8.so.12", NULL};
    const char *given = getenv("TOMOPROF_CAPTURE_CUPTI");
    void *library = given ? dlopen(given, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library && driver >= 12080 && driver < 13000)
        library = open_named(of_12_8);
    if (!library && driver && driver < 13000)
        library = open_named(old);
    return library ? library : open_named(all);
}

/* Returns the newest chip here by its compute capability, as 120 for 12.0; 0: unknown. */
static int newest_chip(void)
{
    enum { MAJOR = 75, MINOR = 76 }; /* of cuda.h's CUdevice_attribute */
    int (*init)(unsigned), (*count)(int *), (*get)(int *, int), (*attribute)(int *, int, int);
    static const char *const names[] = {"cuInit", "cuDeviceGetCount", "cuDeviceGet",
                                        "cuDeviceGetAttribute"};
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *call[4];
    int devices = 0, newest = 0, device, major, minor;
    for (int i = 0; i < 4; i++)
        if (!(call[i] = driver ? dlsym(driver, names[i]) : NULL))
            return 0;
    memcpy(&init, &call[0], sizeof init);
    memcpy(&count, &call[1], sizeof count);
    memcpy(&get, &call[2], sizeof get);
    memcpy(&attribute, &call[3], sizeof attribute);
    if (init(0) || count(&devices))
        return 0;
    for (int i = 0; i < devices; i++)
        if (!get(&device, i) && !attribute(&major, MAJOR, device) &&
            !attribute(&minor, MINOR, device) && 10 * major + minor > newest)
            newest = 10 * major + minor;
    return newest;
}

/* The first version of CUPTI that knows a chip: 18 to 28 are CUDA 11.8 to 12.9, then 130000. */
static uint32_t cupti_for(int chip)
{
    static const struct {
        int chip;
        uint32_t version;
    } rows[] = {{121, 27}, {120, 26}, {110, 130000}, {103, 27}, {100, 26}, {0, 18}};
    int i = 0;
    while (rows[i].chip > chip)
        i++;
    return rows[i].version;
}

/* Does the library fit the driver, and know the GPU? */
enum state probe_cupti(struct found *f)
{
    uint32_t version = 0;
    int driver = cuda_driver_serves();
    void *library = open_cupti(driver);
    int (*get)(uint32_t *) =
        library ? (int (*)(uint32_t *))dlsym(library, "cuptiGetVersion") : NULL;
    if (get)
        get(&version);
    int major = version >= 130000 ? (int)(version / 10000) : version >= 18 ? 12 : 0;
    if (!major) {
        SAY(f,
            version ? "API version %u, older than CUDA 12.0"
                    : "no libcupti in the loader's path, CUDA_PATH or /usr/local/cuda",
            version);
        return MISSING;
    }
    SAY(f, "API version %u, of CUDA %d", version, major);
    if (!driver)
        found_add(f, "; no driver to match it with");
    else
        found_add(f, "; the driver serves CUDA %d.%d", driver / 1000, driver % 1000 / 10);
    if (driver && driver / 1000 < major) {
        f->consequence = "this driver refuses it: no GPU work in profiles";
        f->fix = driver < 12000 ? OLD_DRIVER
                                : "./start.sh cuda, which brings one for the driver here, or name "
                                  "an older libcupti.so in TOMOPROF_CAPTURE_CUPTI";
        return LIMITED;
    }
    const int chip = newest_chip();
    if (chip)
        found_add(f, "; the GPU has compute capability %d.%d", chip / 10, chip % 10);
    if (version < cupti_for(chip)) {
        f->consequence = "this CUPTI does not know the GPU: no GPU work in profiles";
        f->fix = "install CUPTI of CUDA 12.8 or newer (./start.sh cuda brings it), or name its "
                 "libcupti.so in TOMOPROF_CAPTURE_CUPTI";
        return LIMITED;
    }
    f->consequence = "this version leaves device synchronisations out";
    f->fix = "update the CUDA toolkit to 13.0 update 1 or newer";
    return version == 130000 ? LIMITED : OK;
}

static int has_sys_admin(void)
{
    char line[128];
    unsigned long long effective = 0;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "CapEff: %llx", &effective) == 1)
            break;
    if (file)
        fclose(file);
    return effective >> CAP_SYS_ADMIN_BIT & 1;
}

/* Reads the loaded module's setting: 1 for administrators alone, 0 for all, -1 unknown. */
static int admin_only(void)
{
    char line[256];
    int value = -1;
    FILE *file = fopen("/proc/driver/nvidia/params", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "RmProfilingAdminOnly: %d", &value) == 1)
            break;
    if (file)
        fclose(file);
    return value;
}

enum state probe_counters(struct found *f)
{
    int only = admin_only();
    if (!cuda_driver_serves()) {
        SAY(f, "no NVIDIA driver");
        f->fix = "install NVIDIA's driver";
        return MISSING;
    }
    if (probe_in_wsl()) {
        SAY(f, "Windows decides");
        f->fix = "NVIDIA Control Panel of Windows, Developer, Manage GPU Performance Counters: "
                 "allow all users";
        return LIMITED;
    }
    SAY(f, "%s",
        only > 0    ? "the driver gives them to administrators alone"
        : only == 0 ? "the driver gives them to all users"
                    : "the driver does not say to whom it gives them");
    if (only && has_sys_admin())
        found_add(f, ", and this process has CAP_SYS_ADMIN");
    return only && !has_sys_admin() ? LIMITED : OK;
}

/* Searches where the CUDA back end does: cuda/filter/fft.cu. */
enum state probe_cufft(struct found *f)
{
    char newest[RUN_PATH], older[RUN_PATH];
    static const char *const places[] = {"", "../lib/tomoprof/"};
    const char *const folders[] = {wheel_folder("cu13/lib", newest),
                                   wheel_folder("cufft/lib", older),
                                   TP_CUFFT_FOLDERS "/usr/local/cuda/lib64"};
    const struct cuda_build *b = cuda_chosen();
    const char *given = getenv("TOMOPROF_CUFFT"), *program = "",
               *name = b ? b->cufft : "libcufft.so.12";
    char path[2 * RUN_PATH];
    void *library = dlopen(given && *given ? given : name, RTLD_LAZY | RTLD_LOCAL);
    if (cli_program(&program))
        program = "";
    const int folder = (int)(base_name(program) - program);
    for (int i = 0; i < 2 && !library; i++) {
        snprintf(path, sizeof path, "%.*s%s%s", folder, program, places[i], name);
        library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    }
    for (size_t i = 0; i < sizeof folders / sizeof *folders && !library; i++) {
        if (!folders[i])
            continue;
        snprintf(path, sizeof path, "%s/%s", folders[i], name);
        library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    }
    int version = 0;
    int (*get)(int *) = library ? (int (*)(int *))dlsym(library, "cufftGetVersion") : NULL;
    if (get)
        get(&version);
    if (version)
        SAY(f, "cuFFT %d.%d.%d", version / 1000, version % 1000 / 100, version % 100);
    else
        SAY(f, "no %s beside tomoprof or in the loader's path", name);
    if (library)
        dlclose(library);
    return version ? OK : MISSING;
}
