/* Arrays whose values are far from 1, brought near it. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "host/recon/common/rescale.h"

#define NORMAL 32 /* 2^-32 to 2^32: left alone */

enum err rescale_largest(struct backend *be, const struct buffer *b, int on_host, double *out)
{
    double sum = 0, l2, low = 0, high = 0;
    if (!on_host) {
        TRY(be->ops->fingerprint(be, b, &sum, &l2, &low, &high));
    } else {
        const float *x = b->ptr;
        const int64_t n = (int64_t)(b->bytes / sizeof(float));
#pragma omp parallel for schedule(static) reduction(+ : sum) reduction(max : high)
        for (int64_t i = 0; i < n; i++) {
            sum += (double)x[i];
            high = fmax(high, fabs((double)x[i]));
        }
    }
    *out = isfinite(sum) ? fmax(fabs(low), fabs(high)) : (double)NAN;
    return ERR_OK;
}

int rescale_exponent(double largest)
{
    int exponent;
    if (!isfinite(largest) || largest == 0)
        return 0;
    frexp(largest, &exponent);
    return exponent > NORMAL || exponent < -NORMAL ? -exponent : 0;
}

/* In two steps, for float32 has no 2^-150; the first one is exact. */
enum err rescale_by(struct backend *be, struct buffer *b, int on_host, int exponent)
{
    const int64_t n = (int64_t)(b->bytes / sizeof(float));
    if (!on_host) {
        TRY(be->ops->scale(be, ldexp(1, exponent / 2), b));
        return be->ops->scale(be, ldexp(1, exponent - exponent / 2), b);
    }
    float *x = b->ptr;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++)
        x[i] = ldexpf(x[i], exponent);
    return ERR_OK;
}

enum err rescale_copy(struct backend *be, const char *what, const struct buffer *from, int on_host,
                      int exponent, struct buffer *to)
{
    *to = (struct buffer){PLACE_HOST, 0, from->bytes, NULL};
    if (on_host) {
        TRY(mem_alloc(what, from->bytes, &to->ptr));
        memcpy(to->ptr, from->ptr, from->bytes);
    } else {
        TRY(be->ops->alloc(be, what, from->bytes, to));
        TRY(be->ops->copy(be, from, to));
    }
    return rescale_by(be, to, on_host, exponent);
}

void rescale_release(struct backend *be, struct buffer *b, int on_host)
{
    if (on_host)
        mem_free(b->ptr);
    else if (b->ptr)
        be->ops->release(be, b);
    b->ptr = NULL;
}
