/* The list of all kernels of the shared object. */
#include "tests/device/ptx/instructions.h"

const struct ptx_host *host;
static const struct ptx_file *first;

ptx_file::ptx_file(const struct ptx_kernel *from, size_t n) : kernels(from), count(n), next(first)
{
    first = this;
}

extern "C" __attribute__((visibility("default"))) const struct ptx_file *
ptx_open(const struct ptx_host *from)
{
    host = from;
    return first;
}
