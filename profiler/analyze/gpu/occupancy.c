/* Occupancy of a kernel from its registers, shared memory and block size. */
#include <math.h>
#include <stddef.h>

#include "profiler/analyze/gpu/occupancy.h"

/* Granularities of all devices since compute capability 7: registers are given per warp in units of
 * 256 and a multiprocessor's are split over 4 schedulers; shared memory in units of 128 bytes (256
 * before 8.0), of which the system takes 1 KiB per block since 8.0. */
struct occupancy occupancy_of(const struct trace_device *d, uint64_t threads, uint32_t registers,
                              uint64_t shared)
{
    struct occupancy none = {(double)NAN, NULL, 0};
    if (!d->threads_per_sm || !d->blocks_per_sm || !d->registers_per_sm || !d->shared_per_sm ||
        !d->warp || !threads || threads > d->threads_per_sm || registers > 512 || shared > 1u << 30)
        return none;
    uint64_t warps = (threads + d->warp - 1) / d->warp, limit = d->threads_per_sm / d->warp;
    uint64_t unit = d->major >= 8 ? 128 : 256, system = d->major >= 8 ? 1024 : 0;
    uint64_t bytes = shared + system;
    bytes = (bytes + unit - 1) / unit * unit;
    uint64_t per_warp = ((uint64_t)registers * d->warp + 255) / 256 * 256;
    uint64_t by_registers = UINT64_MAX, by_shared = bytes ? d->shared_per_sm / bytes : UINT64_MAX;
    if (per_warp) {
        uint64_t fit = d->registers_per_sm / 4 / per_warp * 4;
        by_registers = fit / warps;
    }
    struct {
        uint64_t blocks;
        const char *name;
    } limits[] = {{limit / warps, "warps"},
                  {d->blocks_per_sm, "blocks"},
                  {by_registers, "registers"},
                  {by_shared, "shared"}};
    size_t least = 0;
    for (size_t i = 1; i < 4; i++)
        if (limits[i].blocks < limits[least].blocks)
            least = i;
    return (struct occupancy){(double)(limits[least].blocks * warps) / (double)limit,
                              limits[least].name, (int)limits[least].blocks};
}
