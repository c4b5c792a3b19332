/* Arithmetic of numbers that are known within bounds. */
#include <math.h>

#include "profiler/triage/model/bounds.h"

struct bounds bounds_of(double low, double high)
{
    return (struct bounds){low, high};
}

struct bounds bounds_over(struct bounds a, struct bounds b)
{
    return bounds_of(a.low / b.high, a.high / b.low);
}

struct bounds bounds_times(struct bounds a, double k)
{
    return bounds_of(a.low * k, a.high * k);
}

double bounds_middle(struct bounds b)
{
    return sqrt(b.low * b.high);
}
