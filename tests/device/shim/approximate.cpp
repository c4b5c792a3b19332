/* The special-function unit: approximations with the errors that PTX's specification allows, spread
 * over them by the bits of the argument, so that they are the same on every run. */
#include "tests/device/shim/shim.h"

#include "cuda/common/runtime.cuh"

/* In [-1, 1], often at its ends. */
static double spread_of(uint64_t bits)
{
    bits *= 0x9e3779b97f4a7c15u;
    bits ^= bits >> 29;
    bits *= 0xbf58476d1ce4e5b9u;
    const int step = (int)(bits >> 60); /* 0 to 15 */
    return step < 4 ? -1 : step > 11 ? 1 : (step - 7.5) / 3.5;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* rcp.approx.ftz.f32: at most 1 ulp. */
float reciprocal_approx(float x)
{
    const float y = 1 / x;
    const double off = spread_of(bits_of(x));
    if (!isfinite(y) || y == 0)
        return y;
    return off <= -1 ? nextafterf(y, 0) : off >= 1 ? nextafterf(y, 2 * y) : y;
}

/* rsqrt.approx.ftz.f32: a relative error of 2^-22.9. */
float rsqrt_approx(float x)
{
    return (float)((1 + 1.25e-7 * spread_of(bits_of(x))) / sqrt((double)x));
}

/* sqrt.approx.ftz.f32: a relative error of 2^-23. */
float root_approx(float x)
{
    return (float)((1 + 1.19e-7 * spread_of(bits_of(x))) * sqrt((double)x));
}

/* rcp.approx.ftz.f64: of the upper halves. */
double reciprocal_approx(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= ~(uint64_t)0xffffffff;
    memcpy(&x, &bits, sizeof bits);
    x = 1 / x;
    memcpy(&bits, &x, sizeof bits);
    bits &= ~(uint64_t)0xffffffff;
    memcpy(&x, &bits, sizeof bits);
    return x;
}

static double far_from(double found, double truth)
{
    return fabs(found / truth - 1);
}

double shim_worst_error(enum shim_approximation which)
{
    double worst = 0;
    for (int i = 1; i < 100000; i++) {
        const double x = 1e-3 * exp(1e-4 * i);
        const float f = (float)x;
        const double off =
            which == SHIM_RECIPROCAL     ? far_from((double)reciprocal_approx(f), 1 / (double)f)
            : which == SHIM_INVERSE_ROOT ? far_from((double)rsqrt_approx(f), 1 / sqrt((double)f))
            : which == SHIM_ROOT         ? far_from((double)root_approx(f), sqrt((double)f))
            : which == SHIM_ROUGH        ? far_from(reciprocal_approx(x), 1 / x)
                                         : far_from(reciprocal_newton(x), 1 / x);
        worst = off > worst ? off : worst;
    }
    return worst;
}
