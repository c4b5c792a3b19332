/* Forward projection of one slice: each pixel adds to up to TAPS channels of the view's row, of a
 * cone beam through the UNDER rows that the voxel falls on: here one, of slices that are all alike;
 * for a volume, keep UNDER rows. */
#include "projector.h"

static sum_t added(sum_t sum, sample_t x, coefficient_t weight, const footprint &foot)
{
    const product_t product = x * weight;
#if UNDER
    for (int j = 0; j < UNDER; j++) {
#pragma HLS UNROLL
        const product_t share = product * weight_of(foot.rows[j]);
        sum = sum + share;
    }
#else
    (void)foot;
    sum = sum + product;
#endif
    return sum;
}

void kernel(hls::stream<sample_t> &in, hls::stream<footprint> &footprints_in,
            hls::stream<result_t> &out)
{
#pragma HLS INTERFACE axis port = in
#pragma HLS INTERFACE axis port = footprints_in
#pragma HLS INTERFACE axis port = out
    static sample_t picture[PIXELS];
    sum_t row[CHANNELS]; /* a cell waits for the addition before it: pixels of a row in an order
                            that parts them, or copies of the row, let this run at II = 1 */
#pragma HLS ARRAY_PARTITION variable = row cyclic factor = TAPS
    for (int p = 0; p < PIXELS; p++)
        picture[p] = in.read();
    for (int v = 0; v < VIEWS; v++) {
        for (int c = 0; c < CHANNELS; c++)
            row[c] = 0;
        for (int p = 0; p < PIXELS; p++) {
#pragma HLS PIPELINE
            const footprint foot = footprints_in.read();
            coefficient_t weight[TAPS];
            const int first = weigh(foot, weight);
            for (int k = 0; k < TAPS; k++)
                if (first + k >= 0 && first + k < CHANNELS)
                    row[first + k] = added(row[first + k], picture[p], weight[k], foot);
        }
        for (int c = 0; c < CHANNELS; c++)
            out.write(row[c]);
    }
}
