/* Checks if the driver is too old for CUPTI of CUDA 13. */
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
int cuda_driver_is_old(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    void *symbol = driver ? dlsym(driver, "cuDriverGetVersion") : NULL;
    int (*serves)(int *), version = 0;
    memcpy(&serves, &symbol, sizeof symbol);
    if (symbol && !serves(&version) && version)
        return version < 13000;
    char text[512];
    size_t n = raw_read_file("/proc/driver/nvidia/version", text, sizeof text);
    version = n ? version_in(text) : 0;
    return version && version < 580; /* of CUDA 13 */
}
