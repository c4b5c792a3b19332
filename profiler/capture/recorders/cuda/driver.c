/* Reads which CUDA the driver serves, which decides the CUPTI that fits. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders/cuda/cuda.h"

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  ...", "... UNIX Open Kernel Module
 * for x86_64  580.65.06  ...": the first word that begins with a number and a point. 0: none. */
static int version_in(const char *text)
{
    for (const char *p = text; *p; p++)
        if ((p == text || p[-1] == ' ') && *p >= '0' && *p <= '9') {
            const char *end = p + strspn(p, "0123456789");
            if (*end == '.')
                return atoi(p);
        }
    return 0;
}

/* The driver is asked itself, which may be done before cuInit has ended; where it is not loaded
 * yet, its kernel module's text says it. */
int cuda_driver_version(void)
{
    static const struct {
        int driver, serves;
    } rows[] = {{580, 13000}, {575, 12090}, {570, 12080}, {1, 12000}}; /* older ones alike */
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    void *symbol = driver ? dlsym(driver, "cuDriverGetVersion") : NULL;
    int (*serves)(int *), version = 0;
    memcpy(&serves, &symbol, sizeof symbol);
    if (symbol && !serves(&version) && version)
        return version;
    char text[512];
    size_t n = raw_read_file("/proc/driver/nvidia/version", text, sizeof text);
    version = n ? version_in(text) : 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (version >= rows[i].driver)
            return rows[i].serves;
    return 0;
}
