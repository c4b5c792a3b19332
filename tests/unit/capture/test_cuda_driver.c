/* links: tp_trace */
/* Reads which CUDA a driver serves, from the text of its kernel module. */
#include "profiler/capture/recorders/cuda/driver.c"
#include "tests/unit/check.h"

static const char *module;

/* In the place of the capture library's: what /proc/driver/nvidia/version holds. */
size_t raw_read_file(const char *path, char *out, size_t bytes)
{
    assert_string_equal(path, "/proc/driver/nvidia/version");
    if (!module)
        return 0;
    assert_true(strlen(module) < bytes);
    strcpy(out, module);
    return strlen(out);
}

static void the_module_tells_the_version(void **state)
{
    static const struct {
        const char *text;
        int serves;
    } cases[] = {
        {"NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 07:18:09 UTC "
         "2025\n",
         13000},
        {"NVRM version: NVIDIA UNIX x86_64 Kernel Module  525.147.05  Wed Oct 25 20:27:35 UTC\n",
         12000},
        {"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n"
         "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n",
         13000},
        {"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.10  Release Build\n",
         12080},
        {"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.57.08  Release Build\n",
         12090},
        {"NVRM version: NVIDIA UNIX x86_64 Kernel Module  565.77  Wed Nov 27 23:33:08 UTC 2024\n",
         12000},
        {"NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.82.07  Release Build\n",
         13000},
        {"no number\n", 0},
        {NULL, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        module = cases[i].text;
        if (cuda_driver_version() != cases[i].serves)
            fail_msg("%s: %d, not %d", module ? module : "no file", cuda_driver_version(),
                     cases[i].serves);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_module_tells_the_version)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
