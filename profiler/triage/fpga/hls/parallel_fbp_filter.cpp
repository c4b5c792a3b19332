/* Ramp filter of a row by convolution: CHANNELS multipliers side by side, or as many as FACTOR
 * leaves. */
#include "kernel.h"

static sum_t filtered(const sample_t row[CHANNELS], int at)
{
    sum_t sum = 0;
    for (int c = 0; c < CHANNELS; c++) {
#pragma HLS UNROLL factor = FACTOR
        const int m = at < c ? c - at : at - c;
        if (m == 0 || m % 2) { /* even taps are 0 */
            const product_t product = row[c] * taps[m];
            sum = sum + product;
        }
    }
    return sum;
}

void kernel(hls::stream<sample_t> &in, hls::stream<result_t> &out)
{
#pragma HLS INTERFACE axis port = in
#pragma HLS INTERFACE axis port = out
    sample_t row[CHANNELS];
#pragma HLS ARRAY_PARTITION variable = row cyclic factor = FACTOR
    for (int r = 0; r < ROWS; r++) {
        for (int c = 0; c < CHANNELS; c++)
            row[c] = in.read();
        for (int c = 0; c < CHANNELS; c++) {
#pragma HLS PIPELINE II = 1
            out.write(filtered(row, c));
        }
    }
}
