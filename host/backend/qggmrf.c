/* Constants of the qGGMRF prior from its parameters. */
#include <math.h>

#include "host/backend/qggmrf.h"
#include "host/geom/scan.h"

/* 12 leading bits and the rest. */
static struct split_exponent exponent_split(double value)
{
    int exponent;
    double fraction = frexp(value, &exponent);
    double high = ldexp(nearbyint(ldexp(fraction, 12)), exponent - 12);
    return (struct split_exponent){(float)high, (float)(value - high)};
}

enum err qggmrf_init(const struct regularisation *r, struct qggmrf *q)
{
    const double tail = r->q - r->p, middle = r->p - 2;
    FAIL_IF(!(fabs(tail) <= 5 && fabs(middle) <= 5), ERR_INPUT,
            "p %g, q %g: the prior needs p - q and p - 2 within -5 to 5 (0 < q < p <= 2 is usual)",
            r->p, r->q);
    FAIL_IF(!(r->sigma_x > 0 && r->T > 0), ERR_INPUT,
            "sigma_x %g, T %g: both must be greater than 0", r->sigma_x, r->T);
    const double *w = r->neighbour_weights, sum = w[0] + w[1] + w[2];
    FAIL_IF(!(sum > 0), ERR_INPUT, "qggmrf_nbr_wts: their sum %g must be greater than 0", sum);
    double steepest = fmax(fmax(fabs(tail), fabs(middle)), 1);
    *q = (struct qggmrf){
        .scale = (float)(pow(r->T, middle) / (r->sigma_x * r->sigma_x)),
        .ratio = (float)(r->q / r->p),
        .inverse = (float)(1 / (r->T * r->sigma_x)),
        .most = (float)exp2(120 / steepest),
        .tail = exponent_split(tail),
        .middle = exponent_split(middle),
        .quadratic = middle == 0,
    };
    for (int axis = 0; axis < 3; axis++)
        q->b[axis] = (float)(w[axis] / (2 * sum));
    return ERR_OK;
}
