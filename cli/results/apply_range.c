/* Holds what an operator of `apply` gets and returns against the range of float32. */
#include <float.h>
#include <math.h>

#include "base/log.h"
#include "cli/results/apply_range.h"
#include "host/recon/common/rescale.h"
#include "host/suite/catalogue/catalogue.h"

/* Returns the inputs' largest magnitude that is farthest from 1; NaN: not all are finite. */
static double given = 1;

enum err apply_range_input(struct run_state *s, const struct array_pair *a)
{
    double largest;
    TRY(rescale_largest(s->be, &a->buffer, s->large, &largest));
    if (isnan(largest) || (largest > 0 && fabs(log(largest)) > fabs(log(given))))
        given = largest;
    return ERR_OK;
}

enum err apply_range_result(const struct run_state *s, const struct fingerprint *f)
{
    static const char advice[] = "Multiply the input by a power of two that brings it near 1";
    const double largest = fmax(fabs(f->min), fabs(f->max));
    if (isnan(given) || s->op->output == ARRAY_PARTITION || s->op->output == ARRAY_FILE)
        return ERR_OK;
    if (!isfinite(f->sum) && s->op->step)
        log_warn("%s: the result holds NaN or infinity, the input does not", s->op->name);
    FAIL_IF(!isfinite(f->sum) && !s->op->step, ERR_INPUT,
            "%s: the result holds NaN or infinity, the input (values up to %g) does not: values "
            "left the range of float32, 1.2e-38 to 3.4e38. %s",
            s->op->name, given, advice);
    if (s->op->step)
        return ERR_OK;
    FAIL_IF(largest == 0 && given > 0 && given < RESCALE_TINY, ERR_INPUT,
            "%s: the result is 0 everywhere, the input (values up to %g) is not: values left the "
            "range of float32, 1.2e-38 to 3.4e38. %s",
            s->op->name, given, advice);
    if (largest == 0 && given > 0)
        log_warn("%s: the result is 0 everywhere, the input (values up to %g) is not", s->op->name,
                 given);
    if (largest > 0 && largest < (double)FLT_MIN)
        log_warn("%s: the result's values (up to %g) are below 1.2e-38, where float32 loses "
                 "digits. %s",
                 s->op->name, largest, advice);
    return ERR_OK;
}
