/* In the place of cuda/load.c: the program with the emulator inside. */
#include <stdlib.h>

#include "cuda/cuda.h"
#include "base/memory.h"
#include "base/mark/mark.h"
#include "tests/device/shim/shim.h"

const struct backend_ops *tomoprof_cuda(const struct cuda_services *services);

const struct cuda_services cuda_services = {
    sizeof(struct backend_ops), err_set, mem_human, mark_push, mark_pop, log_line};

enum err cuda_load(const struct backend_ops **ops)
{
    shim_faults.no_driver = getenv("SHIM_NO_DRIVER") != NULL;
    *ops = tomoprof_cuda(&cuda_services);
    return ERR_OK;
}

int cuda_driver_serves(void)
{
    return 0;
}

const struct cuda_build *cuda_chosen(void)
{
    return NULL;
}
