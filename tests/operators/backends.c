/* The back ends that the operator tests run on: those of this build that work here; with
 * TOMOPROF_TEST_BACKEND=cuda that one alone. */
#include <stdlib.h>
#include <string.h>

#include "cuda/cuda.h"
#include "host/cpu/cpu.h"
#include "tests/operators/harness.h"

void harness_register(void)
{
    const char *only = getenv("TOMOPROF_TEST_BACKEND");
    const struct backend_options options = {0};
    const struct backend_ops *cuda;
    struct backend *be;
    if (!only || strcmp(only, "cuda") != 0)
        backend_register(&cpu_backend);
    if (cuda_load(&cuda) != ERR_OK || cuda->open(&options, &be) != ERR_OK) {
        if (only && !strcmp(only, "cuda"))
            print_error("cuda: %s\n", err_text());
        return;
    }
    cuda->close(be);
    backend_register(cuda);
}
