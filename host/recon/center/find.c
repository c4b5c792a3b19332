/* The search for the axis, by the method that was asked for. */
#include <math.h>

#include "host/recon/center/center.h"

enum err center_find(struct backend *be, enum center_method how, const struct center_views *p,
                     double *center, double *score)
{
    *score = (double)NAN;
    return how == CENTER_ENTROPY    ? center_entropy(be, p, center)
           : how == CENTER_SYMMETRY ? center_symmetry(be, p, center)
                                    : center_registration(p, center, score);
}
