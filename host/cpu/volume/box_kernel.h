/* Short rows of a box, once per instruction set. */
#ifndef TP_CPU_VOLUME_BOX_KERNEL_H
#define TP_CPU_VOLUME_BOX_KERNEL_H

#include <stdint.h>

#include "host/cpu/common/isa.h"

#define BOX_LEAST 16 /* floats of a row: a vector of any set */

struct box_kernels {
    /* `count` rows of n floats, n >= BOX_LEAST, each `step` behind the one before it, to rows one
     * behind the other. */
    void (*rows)(const float *x, int64_t step, int64_t count, int64_t n, float *out);
};
ISA_TABLES(box_kernels);

#endif
