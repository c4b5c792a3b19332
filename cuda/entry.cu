/* The entry of the shared object: the only symbol that it shows. */
#include "cuda/common/services.cuh"
#include "cuda/open.cuh"

extern "C" __attribute__((visibility("default"))) const struct backend_ops *
tomoprof_cuda(const struct cuda_services *lent)
{
    if (lent->seam != sizeof(struct backend_ops))
        return NULL;
    services = lent;
    return &cuda_backend_ops;
}
