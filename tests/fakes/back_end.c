/* In the place of a build of the CUDA back end (BUILD: 12 or 13): opening it only says which it is.
 */
#include "cuda/cuda.h"

static const struct cuda_services *services;

static enum err open_device(const struct backend_options *options, struct backend **out)
{
    (void)options;
    *out = NULL;
    return services->err_set(ERR_UNSUPPORTED, __FILE__, __LINE__,
                             "the build for CUDA %d was opened", BUILD);
}

__attribute__((visibility("default"))) cuda_entry tomoprof_cuda;

const struct backend_ops *tomoprof_cuda(const struct cuda_services *given)
{
    static const struct backend_ops ops = {.name = "cuda", .open = open_device};
    services = given;
    return given->seam == sizeof ops ? &ops : NULL;
}
