// What the two projectors share: the weights of a footprint.
#ifndef PROJECTOR_H
#define PROJECTOR_H

#include "kernel.h"

#if UNDER
#define BLENDED(sample, foot) blended(sample, foot)
#else
#define BLENDED(sample, foot) (sample)
#endif

typedef ap_fixed<30, 4, AP_RND_CONV, AP_SAT> overlap_t; // holds half a share exactly
typedef ap_fixed<36, 14, AP_RND_CONV, AP_SAT> place_t;  // a channel, in the detector or beside it

static inline coefficient_t weight_of(share_t share)
{
#if POWER == 2
    return share * share;
#else
    return share;
#endif
}

static inline overlap_t smaller(overlap_t a, overlap_t b)
{
    return a < b ? a : b;
}

// max(0, min(1, W, (W + 1) / 2 - |t|)) of a box of width W at distance t from a cell, times the
// path's length
static inline coefficient_t overlap(share_t width, share_t height, overlap_t distance)
{
    const overlap_t zero = 0, one = 1, half = 0.5, behind = zero - distance,
                    away = distance < zero ? behind : distance;
    const overlap_t reach = half * (overlap_t(width) + one), inside = reach - away;
    overlap_t value = smaller(smaller(one, overlap_t(width)), inside);
    if (value < zero)
        value = zero;
    return weight_of(share_t(value * height));
}

// Weights of TAPS channels from the one returned on.
static inline int weigh(const footprint &foot, coefficient_t weight[TAPS])
{
    const place_t lifted = foot.position + place_t(4096); // not negative: cut is down
    const int first = lifted.to_int() - 4096 + 1 - TAPS / 2;
    for (int k = 0; k < TAPS; k++)
        weight[k] = overlap(foot.width, foot.height, overlap_t(foot.position - place_t(first + k)));
    return first;
}

#endif
