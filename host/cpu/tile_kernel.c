/* Transposition between rows of channels and tile columns, in 16 x 16 squares (1 KiB: both sides
 * stay in L1). */
#include "host/cpu/project.h"

#define SQUARE 16

static void load(const float *y, const float *w, int64_t channels, int64_t rows, float *tile,
                 int64_t ld)
{
    for (int64_t r0 = 0; r0 < rows; r0 += SQUARE) {
        int64_t r1 = r0 + SQUARE < rows ? r0 + SQUARE : rows;
        for (int64_t c0 = 0; c0 < channels; c0 += SQUARE) {
            int64_t c1 = c0 + SQUARE < channels ? c0 + SQUARE : channels;
            for (int64_t c = c0; c < c1; c++)
                for (int64_t r = r0; r < r1; r++) {
                    float a = y ? y[r * channels + c] : 1;
                    tile[c * ld + r] = w ? a * w[r * channels + c] : a;
                }
        }
    }
}

static void store(const float *tile, int64_t ld, int64_t channels, int64_t rows, float *y)
{
    for (int64_t r0 = 0; r0 < rows; r0 += SQUARE) {
        int64_t r1 = r0 + SQUARE < rows ? r0 + SQUARE : rows;
        for (int64_t c0 = 0; c0 < channels; c0 += SQUARE) {
            int64_t c1 = c0 + SQUARE < channels ? c0 + SQUARE : channels;
            for (int64_t r = r0; r < r1; r++)
                for (int64_t c = c0; c < c1; c++)
                    y[r * channels + c] = tile[c * ld + r];
        }
    }
}

const struct tile_kernels ISA_NAME(tile_kernels) = {load, store};
