/* Rounding of float64 values to fixed point, small floats and block floats. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profiler/fpga/width/width_twin.h"

struct number_format number_wide(void)
{
    return (struct number_format){.kind = NUMBER_WIDE, .bits = 64};
}

struct number_format number_fixed(int bits, int range)
{
    const double step = ldexp(1, range - (bits - 1));
    return (struct number_format){.kind = NUMBER_FIXED,
                                  .bits = bits,
                                  .range = range,
                                  .step = step,
                                  .inverse = 1 / step,
                                  .most = ldexp(1, range) - step};
}

static int fraction_bits(const struct number_format *f)
{
    return f->bits - 1 - f->exponent_bits;
}

struct number_format number_float(int bits, int exponent_bits)
{
    struct number_format f = {.kind = NUMBER_FLOAT, .bits = bits, .exponent_bits = exponent_bits};
    if (exponent_bits >= 11 && fraction_bits(&f) >= 52)
        return number_wide();
    /* No code is kept for infinity and NaN of a value: the largest exponent is 2^(e-1) - 1. */
    f.most = ldexp(2 - ldexp(1, -fraction_bits(&f)), (1 << (exponent_bits - 1)) - 1);
    return f;
}

struct number_format number_block(int bits)
{
    return (struct number_format){.kind = NUMBER_BLOCK, .bits = bits};
}

/* Nearest integer, ties to even, for |v| < 2^51: adding 1.5 2^52 leaves no room for a fraction.
 * rint() is a call where the machine's baseline has no instruction for it. */
static double round_to_integer(double v)
{
    const double shift = 0x1.8p52;
    return v + shift - shift;
}

static double number_clip(double v, double low, double high, struct number_faults *faults)
{
    if (v >= low && v <= high)
        return v;
    faults->saturated++;
    return v < low ? low : high;
}

static double round_fixed(const struct number_format *f, double v, struct number_faults *faults)
{
    if (isnan(v)) {
        faults->invalid++;
        return 0;
    }
    const double low = -f->most - f->step;
    if (v < low || v > f->most)
        return v > f->most && v <= f->most + f->step / 2 ? f->most
                                                         : number_clip(v, low, f->most, faults);
    return round_to_integer(v * f->inverse) * f->step;
}

static double round_float(const struct number_format *f, double v, struct number_faults *faults)
{
    if (isnan(v)) {
        faults->invalid++;
        return v;
    }
    if (v == 0)
        return v;
    if (isinf(v))
        return number_clip(v, -f->most, f->most, faults);
    const int lowest = 2 - (1 << (f->exponent_bits - 1)); /* below it: subnormal */
    const int exponent = ilogb(v) < lowest ? lowest : ilogb(v);
    const double step = ldexp(1, exponent - fraction_bits(f));
    return number_clip(round_to_integer(v / step) * step, -f->most, f->most, faults);
}

double number_round(const struct number_format *f, double v, struct number_faults *faults)
{
    switch (f->kind) {
    case NUMBER_FIXED:
        return round_fixed(f, v, faults);
    case NUMBER_FLOAT:
        return round_float(f, v, faults);
    case NUMBER_WIDE:
    case NUMBER_BLOCK:
        break;
    }
    return v;
}

static void round_block(const struct number_format *f, const double *v, int64_t n, double *out,
                        struct number_faults *faults)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(v[i]))
            most = fmax(most, fabs(v[i]));
    const struct number_format shared = number_fixed(f->bits, most > 0 ? ilogb(most) + 1 : 0);
    for (int64_t i = 0; i < n; i++)
        out[i] = round_fixed(&shared, v[i], faults);
}

void number_round_all(const struct number_format *f, const double *v, int64_t n, double *out,
                      struct number_faults *faults)
{
    const int64_t length = NUMBER_BLOCK_LENGTH;
    if (f->kind == NUMBER_BLOCK)
        for (int64_t i = 0; i < n; i += length)
            round_block(f, v + i, n - i < length ? n - i : length, out + i, faults);
    else
        for (int64_t i = 0; i < n; i++)
            out[i] = number_round(f, v[i], faults);
}

char *number_name(const struct number_format *f, char out[24])
{
    switch (f->kind) {
    case NUMBER_WIDE:
        strcpy(out, "float64");
        break;
    case NUMBER_FIXED:
        snprintf(out, 24, "Q%d.%d", f->range, f->bits - 1 - f->range);
        break;
    case NUMBER_FLOAT:
        snprintf(out, 24, "e%dm%d", f->exponent_bits, fraction_bits(f));
        break;
    case NUMBER_BLOCK:
        snprintf(out, 24, "b%d", f->bits);
        break;
    }
    return out;
}
