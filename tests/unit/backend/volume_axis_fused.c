/* volume_axis as a compiler makes it that contracts a * b + c into one rounding, as nvcc does. */
#include "tests/unit/backend/volume_axis_fused.h"

#include "host/backend/volume_math.h"

void volume_axis_fused(enum volume_kind kind, int64_t from, int64_t n, int64_t i, int32_t *at,
                       float *t)
{
    volume_axis(kind, from, n, i, at, t);
}

/* So that the test knows that its options do what their names say: a * b + c of numbers whose
 * product is not exact. */
double volume_fused_sum(double a, double b, double c)
{
    return a * b + c;
}
