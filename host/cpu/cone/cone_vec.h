/* Finds 1/cos(psi) for the inner loops of cone beams, a vector of slices at a time. */
#ifndef TP_CPU_CONE_CONE_VEC_H
#define TP_CPU_CONE_CONE_VEC_H

#include "host/cpu/common/vec_overlap.h"
#include "host/cpu/common/vec_window.h"
#include "host/cpu/cone/cone_worker.h"

/* 1/cos(psi): coefficients in z^2. */
struct cosine {
    float c[4], square; /* square: of its square, beside 1 */
};

VEC_INLINE struct cosine cosine_of(const struct projector *p, double slope)
{
    const double square = slope * slope;
    struct cosine c = {.square = (float)square};
    double power = 1;
    for (int i = 0; i < 4; i++, power *= square)
        c.c[i] = (float)(p->cos_poly[i] * power);
    return c;
}

VEC_INLINE vf inverse_cosine(const struct cosine *c, vf z_squared, enum cosine_form form, int power)
{
    const vf square = 1 + c->square * z_squared;
    if (power == 2)
        return square;
    if (form == COSINE_EXACT)
        return vf_sqrt(square);
    vf high = vf_set(c->c[2]);
    if (form == COSINE_CUBIC)
        high += z_squared * c->c[3];
    return c->c[0] + z_squared * (c->c[1] + z_squared * high);
}

#endif
