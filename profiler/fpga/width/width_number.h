/* Number formats of hardware, simulated in float64: round to nearest even, saturate. */
#ifndef TP_FPGA_WIDTH_WIDTH_NUMBER_H
#define TP_FPGA_WIDTH_WIDTH_NUMBER_H

#include <stdint.h>

enum number_kind {
    NUMBER_WIDE,  /* float64 as it is */
    NUMBER_FIXED, /* two's complement of `bits`, in [-2^range, 2^range) */
    NUMBER_FLOAT, /* sign, exponent, fraction; subnormals; no infinity: it saturates */
    NUMBER_BLOCK, /* two's complement of `bits`, one exponent for NUMBER_BLOCK_LENGTH neighbours */
};
#define NUMBER_BLOCK_LENGTH 16
#define NUMBER_BITS_MOST    52 /* of a fixed-point number: float64 holds it and its halves exactly */

struct number_format {
    enum number_kind kind;
    int bits, range, exponent_bits;
    double step, inverse, most; /* fixed: 2^-fraction, its inverse, largest value; float: largest */
};

struct number_faults {
    int64_t saturated;
    int64_t invalid; /* NaN; where the format has none it becomes 0 */
};

struct number_format number_wide(void);
struct number_format number_fixed(int bits, int range);         /* 2 <= bits <= NUMBER_BITS_MOST */
struct number_format number_float(int bits, int exponent_bits); /* bf16 is (16, 8), fp16 (16, 5) */
struct number_format number_block(int bits);

/* NUMBER_BLOCK has no value on its own: it passes `v` on. */
double number_round(const struct number_format *f, double v, struct number_faults *faults);
/* An array in the order in which it is stored; `n` values. */
void number_round_all(const struct number_format *f, const double *v, int64_t n, double *out,
                      struct number_faults *faults);
/* "Q5.12" (bits of the whole part without the sign, of the fraction), "e8m7", "b12", "float64". */
char *number_name(const struct number_format *f, char out[24]);

#endif
