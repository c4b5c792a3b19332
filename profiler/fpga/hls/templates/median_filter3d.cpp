/* Median of 3 x 3 x 3 of a padded volume, x fastest. The ranks are found by comparing all pairs:
 * for fewer LUTs take the networks of median_networks.v. */
#include "kernel.h"

static result_t median(const sample_t window[27])
{
    result_t out = window[0];
    for (int i = 0; i < 27; i++) {
#pragma HLS UNROLL
        int rank = 0;
        for (int k = 0; k < 27; k++) {
#pragma HLS UNROLL
            rank += window[k] < window[i] || (k < i && !(window[i] < window[k]));
        }
        if (rank == 13)
            out = window[i];
    }
    return out;
}

void kernel(hls::stream<sample_t> &in, hls::stream<result_t> &out)
{
#pragma HLS INTERFACE axis port = in
#pragma HLS INTERFACE axis port = out
    static sample_t planes[2][LINES][LINE], lines[3][2][LINE];
    sample_t window[27];
#pragma HLS ARRAY_PARTITION variable = window complete
#pragma HLS ARRAY_PARTITION variable = planes dim = 1 complete
#pragma HLS ARRAY_PARTITION variable = lines dim = 1 complete
#pragma HLS ARRAY_PARTITION variable = lines dim = 2 complete
    for (int z = 0; z < PLANES; z++)
        for (int y = 0; y < LINES; y++)
            for (int x = 0; x < LINE; x++) {
#pragma HLS PIPELINE II = 1
                const sample_t column[3] = {planes[0][y][x], planes[1][y][x], in.read()};
                planes[0][y][x] = column[1];
                planes[1][y][x] = column[2];
                for (int k = 0; k < 3; k++) {
                    const sample_t next[3] = {lines[k][0][x], lines[k][1][x], column[k]};
                    lines[k][0][x] = next[1];
                    lines[k][1][x] = next[2];
                    for (int j = 0; j < 3; j++) {
                        sample_t *w = window + 9 * k + 3 * j;
                        w[0] = w[1], w[1] = w[2], w[2] = next[j];
                    }
                }
                if (x >= 2 && y >= 2 && z >= 2)
                    out.write(median(window));
            }
}
