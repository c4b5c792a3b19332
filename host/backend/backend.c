/* Bookkeeping that all back ends share: declared work and peak memory. */
#include "host/backend/backend.h"

struct work backend_take_work(struct backend *be)
{
    struct work w = be->declared;
    be->declared = (struct work){0};
    return w;
}

void backend_reset_peak(struct backend *be)
{
    be->device_peak = be->device_bytes;
}

void backend_declare(struct backend *be, double flops, double bytes_min, double bytes_ideal_cache)
{
    be->declared.flops += flops;
    be->declared.bytes_min += bytes_min;
    be->declared.bytes_ideal_cache += bytes_ideal_cache;
}
