/* The CUDA back end on the emulator, alone. */
#include "cuda/cuda.h"
#include "tests/operators/harness.h"

const struct backend_ops *tomoprof_cuda(const struct cuda_services *services);

void harness_register(void)
{
    backend_register(tomoprof_cuda(&cuda_services));
}
