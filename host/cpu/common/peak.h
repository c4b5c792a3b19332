/* Measured peak of this machine: an entry of the back end's table (host/backend/backend.h). */
#ifndef TP_CPU_COMMON_PEAK_H
#define TP_CPU_COMMON_PEAK_H

#include <stddef.h>
#include <stdint.h>

#include "host/backend/backend.h"
#include "host/cpu/common/isa.h"

enum err cpu_measure_peak(struct backend *be, struct peak *out);
enum err cpu_glance_peak(struct backend *be, double enough, double *flops_per_s);

/* Inner loops that reach the machine's ceilings. */

struct peak_kernels {
    /* `steps` rounds of independent multiply-adds, `flops_per_step` operations each. Returns their
     * sum, so that no compiler drops them; it is finite for |factor| < 1. */
    float (*multiply_add)(int64_t steps, float factor, float term);
    int flops_per_step;
    /* Copies n floats, both arrays 64-byte aligned, n a multiple of 64, past the caches where the
     * machine can. */
    void (*stream)(const float *from, float *to, size_t n);
};
ISA_TABLES(peak_kernels);

#endif
