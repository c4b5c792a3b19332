/* Ramp filter of a row by convolution, of a cone beam after its cosine weights: CHANNELS
 * multipliers side by side, or as many as FACTOR leaves. */
#include "kernel.h"

#ifdef COSINES /* of the fan's rays, on the way in */
typedef decltype(sample_t() * share_t()) row_t;
#define WEIGHTED(sample, channel) ((sample)*cosines[channel])
#else
typedef sample_t row_t;
#define WEIGHTED(sample, channel) (sample)
#endif

static sum_t filtered(const row_t row[CHANNELS], int at)
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
    row_t row[CHANNELS];
#pragma HLS ARRAY_PARTITION variable = row cyclic factor = FACTOR
    for (int r = 0; r < ROWS; r++) {
        for (int c = 0; c < CHANNELS; c++)
            row[c] = WEIGHTED(in.read(), c);
        for (int c = 0; c < CHANNELS; c++) {
#pragma HLS PIPELINE II = 1
            out.write(filtered(row, c));
        }
    }
}
