/* Arithmetic of trial centres by symmetry that the kernels of all back ends share: C17 and CUDA. */
#ifndef TP_BACKEND_SYMMETRY_MATH_H
#define TP_BACKEND_SYMMETRY_MATH_H

#include "host/backend/prepare_math.h"

#define PREPARE_OBJECT 0.5 /* symmetry: of the detector's width, what the double wedge is for */

/* Keys' cubic between four of n samples, the ends repeated. */
PREPARE_INLINE double prepare_cubic(const float *x, int64_t n, double at)
{
    const int64_t below = (int64_t)floor(at);
    const double t = at - (double)below;
    double y[4];
    for (int k = 0; k < 4; k++) {
        int64_t i = below - 1 + k;
        i = i < 0 ? 0 : i < n ? i : n - 1;
        y[k] = (double)x[i];
    }
    const double a = -0.5 * y[0] + 1.5 * y[1] - 1.5 * y[2] + 0.5 * y[3];
    const double b = y[0] - 2.5 * y[1] + 2 * y[2] - 0.5 * y[3];
    return ((a * t + b) * t + 0.5 * (y[2] - y[0])) * t + y[1];
}

/* Symmetry, the other half of a turn: view v mirrored about the centre; what lies beside the
 * detector there is taken from the view of the same place in reverse order. */
PREPARE_INLINE float prepare_mirrored(const float *in, int64_t views, int64_t n, double center,
                                      int64_t v, int64_t c)
{
    const double at = 2 * center - (double)c;
    return at >= 0 && at <= (double)(n - 1) ? (float)prepare_cubic(in + v * n, n, at)
                                            : in[(views - 1 - v) * n + c];
}

/* Symmetry: at frequency k along the views the frequencies along channels up to this one lie
 * outside of the double wedge. */
PREPARE_INLINE int64_t prepare_wedge(int64_t views, int64_t channels, int64_t k)
{
    const double height = 2 * (double)views, along = (double)k;
    const double radius = 0.5 * PREPARE_OBJECT * (double)channels;
    const double least = floor(0.05 * height), drop = least < 20 ? least : 20;
    const double step = (height - 1) / (height * 2 * 3.14159265358979323846);
    return along <= drop ? 0 : (int64_t)ceil(along * step / radius * (double)channels);
}

#endif
