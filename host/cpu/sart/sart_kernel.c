/* Rays of SART: points, sums and corrections, for both types. */
#include "host/cpu/sart/sart_rays.h"

#define SART_REAL   float
#define SART_(name) narrow_##name
#include "host/cpu/sart/sart_real.h"
#undef SART_REAL
#undef SART_

#define SART_REAL   double
#define SART_(name) wide_##name
#include "host/cpu/sart/sart_real.h"

const struct sart_kernels ISA_NAME(sart_kernels) = {{narrow_correct, narrow_apply},
                                                    {wide_correct, wide_apply}};
