/* Logarithm and exponential by their series. */
#include <stdint.h>
#include <string.h>

#include "profiler/capture/raw/logarithm.h"

#define LN2 0.69314718055994530942

static double power_of_two(int n) /* normal numbers alone */
{
    uint64_t bits = (uint64_t)(1023 + n) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* x = 2^n m with m around 1; log m = 2 artanh((m - 1) / (m + 1)). */
double raw_log(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int n = (int)(bits >> 52 & 0x7ff) - 1023;
    double m = x * power_of_two(-n);
    if (m > 1.41421356237309504880) {
        m *= 0.5;
        n++;
    }
    double s = (m - 1) / (m + 1), square = s * s, sum = 0;
    for (int k = 21; k >= 1; k -= 2)
        sum = sum * square + 1.0 / k;
    return n * LN2 + 2 * s * sum;
}

/* e^x = 2^n e^r with r within half of ln 2. */
double raw_expm1(double x)
{
    if (x < -40)
        return -1;
    int n = (int)(x / LN2 - 0.5);
    double r = x - n * LN2, sum = 0;
    for (int k = 15; k >= 1; k--)
        sum = (sum + 1) * r / k;
    double two = power_of_two(n);
    return two * sum + (two - 1);
}
