/* Back projection of one slice, pixel by pixel: up to TAPS channels under a pixel, of a cone beam
 * each blended from the UNDER rows under the voxel. POWER 2: squared weights, the Hessian's
 * diagonal. The rows hold the same samples in the slice that was simulated; for a volume, keep
 * UNDER rows. */
#include "projector.h"

#if UNDER
static sum_t blended(sample_t sample, const footprint &foot)
{
    sum_t sum = 0;
    for (int j = 0; j < UNDER; j++) {
#pragma HLS UNROLL
        const product_t product = sample * weight_of(foot.rows[j]);
        sum = sum + product;
    }
    return sum;
}
#endif

void kernel(hls::stream<sample_t> &in, hls::stream<footprint> &footprints_in,
            hls::stream<result_t> &out)
{
#pragma HLS INTERFACE axis port = in
#pragma HLS INTERFACE axis port = footprints_in
#pragma HLS INTERFACE axis port = out
    static sum_t sums[PIXELS];
    sample_t row[CHANNELS];
#pragma HLS ARRAY_PARTITION variable = row cyclic factor = TAPS
    for (int p = 0; p < PIXELS; p++)
        sums[p] = 0;
    for (int v = 0; v < VIEWS; v++) {
        for (int c = 0; c < CHANNELS; c++)
            row[c] = in.read();
        for (int p = 0; p < PIXELS; p++) {
#pragma HLS PIPELINE II = 1
            const footprint foot = footprints_in.read();
            coefficient_t weight[TAPS];
            const int first = weigh(foot, weight);
            sum_t sum = sums[p];
            for (int k = 0; k < TAPS; k++)
                if (first + k >= 0 && first + k < CHANNELS) {
                    const product_t product = BLENDED(row[first + k], foot) * weight[k];
                    sum = sum + product;
                }
            sums[p] = sum;
        }
    }
    for (int p = 0; p < PIXELS; p++)
        out.write(sums[p]);
}
