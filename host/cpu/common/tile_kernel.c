/* Transposition between rows of channels and tile columns, in 16 x 16 blocks (1 KiB: both sides
 * stay in L1) of 4 x 4 in registers. */
#include <string.h>

#include "host/cpu/common/projection.h"
#include "host/cpu/common/vec.h"

#define SIDE 16

typedef float quad __attribute__((vector_size(16), may_alias));
typedef int32_t quad_index __attribute__((vector_size(16)));
typedef float quad_unaligned __attribute__((vector_size(16), aligned(4), may_alias));

VEC_INLINE quad quad_load(const float *p)
{
    return *(const quad_unaligned *)p;
}

VEC_INLINE void quad_store(float *p, quad v)
{
    *(quad_unaligned *)p = v;
}

/* to[c][r] = from[r][c], times weight[r][c] where given. */
VEC_INLINE void transpose_quads(const float *from, const float *weight, int64_t from_ld, float *to,
                                int64_t to_ld)
{
    for (int r = 0; r < SIDE; r += 4)
        for (int c = 0; c < SIDE; c += 4) {
            quad a[4];
            for (int i = 0; i < 4; i++) {
                const int64_t at = (r + i) * from_ld + c;
                a[i] = quad_load(from + at);
                if (weight)
                    a[i] *= quad_load(weight + at);
            }
            const quad low01 = vec_shuffle(quad_index, a[0], a[1], 0, 4, 1, 5);
            const quad low23 = vec_shuffle(quad_index, a[2], a[3], 0, 4, 1, 5);
            const quad high01 = vec_shuffle(quad_index, a[0], a[1], 2, 6, 3, 7);
            const quad high23 = vec_shuffle(quad_index, a[2], a[3], 2, 6, 3, 7);
            float *out = to + c * to_ld + r;
            quad_store(out, vec_shuffle(quad_index, low01, low23, 0, 1, 4, 5));
            quad_store(out + to_ld, vec_shuffle(quad_index, low01, low23, 2, 3, 6, 7));
            quad_store(out + 2 * to_ld, vec_shuffle(quad_index, high01, high23, 0, 1, 4, 5));
            quad_store(out + 3 * to_ld, vec_shuffle(quad_index, high01, high23, 2, 3, 6, 7));
        }
}

/* Reads a line's first element each, in order: the hardware then foresees the rows, which 16
 * streams side by side do not let it. */
static void tile_touch_line(const float *p, int64_t n)
{
    for (int64_t i = 0; i < n; i += SIDE)
        (void)*(const volatile float *)(p + i);
}

static void load_edge(const float *y, const float *w, int64_t channels, int64_t rows, int64_t cols,
                      float *tile, int64_t ld)
{
    for (int64_t c = 0; c < cols; c++)
        for (int64_t r = 0; r < rows; r++) {
            const float a = y ? y[r * channels + c] : 1;
            tile[c * ld + r] = w ? a * w[r * channels + c] : a;
        }
}

static void tile_load_rows(const float *y, const float *w, int64_t channels, int64_t rows,
                           float *tile, int64_t ld)
{
    const float *const first = y ? y : w, *const second = y ? w : NULL;
    for (int64_t r = 0; r < rows; r += SIDE) {
        const int64_t high = rows - r < SIDE ? rows - r : SIDE;
        if (first)
            tile_touch_line(first + r * channels, high * channels);
        if (second)
            tile_touch_line(second + r * channels, high * channels);
        for (int64_t c = 0; c < channels; c += SIDE) {
            const int64_t wide = channels - c < SIDE ? channels - c : SIDE;
            const int64_t at = r * channels + c;
            float *to = tile + c * ld + r;
            if (!first || high < SIDE || wide < SIDE)
                load_edge(y ? y + at : NULL, w ? w + at : NULL, channels, high, wide, to, ld);
            else if (second)
                transpose_quads(first + at, second + at, channels, to, ld);
            else
                transpose_quads(first + at, NULL, channels, to, ld);
        }
    }
}

/* A block of rows, past the caches where whole lines allow it. */
static void store_rows(const float *block, int64_t channels, int streams, float *y)
{
    for (int64_t r = 0; r < SIDE; r++)
        for (int c = 0; c < SIDE; c += VEC) {
            const vf v = vf_load(block + r * SIDE + c);
            if (streams)
                vf_stream(y + r * channels + c, v);
            else
                vf_store(y + r * channels + c, v);
        }
}

/* The columns [c, c + n) of a block of rows, those at the ends of a row. */
static void store_end(const float *block, int64_t n, int64_t channels, float *y)
{
    for (int64_t r = 0; r < SIDE; r++)
        memcpy(y + r * channels, block + r * SIDE, (size_t)n * sizeof *y);
}

/* Blocks begin at lines of memory where those of all rows do so at the same channels: arrays of
 * malloc and NumPy begin 16 bytes behind a line, and stores of half lines read both from memory
 * first. */
static void tile_store_columns(const float *tile, int64_t ld, int64_t channels, int64_t rows,
                               float *y)
{
    const int streams = channels % SIDE == 0;
    const int64_t behind = streams ? (int64_t)((uintptr_t)y % 64 / sizeof *y) : 0;
    for (int64_t at = -behind; at < channels; at += SIDE)
        for (int64_t r = 0; r < rows; r += SIDE) {
            const int64_t c = at < 0 ? 0 : at, end = at + SIDE < channels ? at + SIDE : channels;
            float *out = y + r * channels + c;
            if (rows - r >= SIDE && channels >= SIDE) {
                float block[SIDE * SIDE] __attribute__((aligned(64)));
                const int64_t first = c < channels - SIDE ? c : channels - SIDE;
                transpose_quads(tile + first * ld + r, NULL, ld, block, SIDE);
                if (end - c == SIDE)
                    store_rows(block, channels, streams, out);
                else
                    store_end(block + c - first, end - c, channels, out);
                continue;
            }
            const int64_t high = rows - r < SIDE ? rows - r : SIDE;
            for (int64_t i = 0; i < high; i++)
                for (int64_t j = 0; j < end - c; j++)
                    out[i * channels + j] = tile[(c + j) * ld + r + i];
        }
    vf_stream_end();
}

const struct tile_kernels ISA_NAME(tile_kernels) = {tile_load_rows, tile_store_columns};
