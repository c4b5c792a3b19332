/* ln(white - dark) - ln|count - dark|: the logarithm by its leading one, a table of 256 and a
 * slope. */
#include "kernel.h"

static sum_t natural_log(unsigned signal)
{
    int exponent = 0;
    for (int bit = 1; bit < 17; bit++) {
#pragma HLS UNROLL
        if (signal >> bit & 1)
            exponent = bit;
    }
    const unsigned mantissa = (signal << (16 - exponent)) & 0xffff; /* behind the leading one */
    const fraction_t rest = fraction_t((mantissa & 0xff) / 65536.0);
    const product_t product = slopes[mantissa >> 8] * rest;
    const sum_t sum = octaves[exponent] + bases[mantissa >> 8] + product;
    return sum;
}

void kernel(hls::stream<sample_t> &in, hls::stream<result_t> &out)
{
#pragma HLS INTERFACE axis port = in
#pragma HLS INTERFACE axis port = out
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < CHANNELS; c++) {
#pragma HLS PIPELINE II = 1
            const int count = int(in.read().to_double()),
                      off = count < darks[c] ? darks[c] - count : count - darks[c];
            out.write(whites[c] - natural_log(off ? unsigned(off) : DARK_STEP));
        }
}
