/* Per pixel and 16 slices, that is 16 updates of two taps, AVX-512 issues 1 load, 2 multiply-adds
 * and for back 1 store; a run adds 2 loads and 1 store per 16 slices, once for its ~6 pixels. */
#include <math.h>
#include <string.h>

#include "host/cpu/square_kernel.h"
#include "host/cpu/vec.h"

#define BLOCK 4 /* registers of a column; two columns and a cylinder fit the 16 of AVX2 */

/* First tap and weights as in footprint_kernel.c, with one width for all. */
static void weigh(const struct projector *p, const struct square_at *at, const double *position,
                  int power, struct square_feet *out)
{
    const int taps = p->taps;
    const double shift = 1 - 0.5 * taps, low = -taps, high = (double)p->scan.channels;
    const float reach = (float)(0.5 * (at->width + 1)), most = (float)fmin(at->width, 1);
    const float height = (float)at->height;
    float offset[SQUARE];
    for (int q = 0; q < SQUARE; q++) {
        double first = floor(position[q] + shift);
        offset[q] = (float)(position[q] - first);
        first = first < low ? low : first > high ? high : first;
        out->start[q] = (int32_t)(first - low);
    }
    for (int t = 0; t < taps; t++)
        for (int q = 0; q < SQUARE; q++) {
            float overlap = reach - fabsf(offset[q] - (float)t);
            overlap = overlap < 0 ? 0 : overlap > most ? most : overlap;
            float w = overlap * height;
            out->weight[t * SQUARE + q] = power == 2 ? w * w : w;
        }
    if (taps % 2)
        memset(out->weight + taps * SQUARE, 0, SQUARE * sizeof *out->weight);
}

/* Bit q where a[q] differs from a[q - 1]; bit 0 is set. */
static uint64_t find_runs(const int32_t *a)
{
    uint8_t differs[SQUARE] = {1};
    uint64_t bits = 0;
    for (int q = 1; q < SQUARE; q++)
        differs[q] = a[q] != a[q - 1];
    for (int q = 0; q < SQUARE; q += 8)
        for (int b = 0; b < 8; b++)
            bits |= (uint64_t)differs[q + b] << (q + b);
    return bits;
}

static void feet(const struct projector *p, const struct square_at *at, int power,
                 struct square_feet *out)
{
    const struct square_order *o = at->order;
    double position[SQUARE];
    int n = SQUARE;
    if (at->present == ~0ull) {
        memcpy(out->pixel, o->pixel, sizeof out->pixel);
        for (int q = 0; q < SQUARE; q++)
            position[q] = at->position + o->offset[q];
    } else {
        n = 0;
        for (int q = 0; q < SQUARE; q++) {
            out->pixel[n] = o->pixel[q];
            position[n] = at->position + o->offset[q];
            n += at->present >> o->pixel[q] & 1;
        }
        for (int q = n; q < SQUARE; q++)
            position[q] = at->position;
    }
    weigh(p, at, position, power, out);
    out->count = n;
    out->runs = find_runs(out->start) & ~0ull >> (SQUARE - n);
    out->start[n] = -1;
}

/* Taps t and t + 1 of slices [0, BLOCK * VEC), or of one register. */
VEC_INLINE void forward_taps(const struct square_feet *f, int t, const float *x, float *tile,
                             int registers)
{
    const float *weight = f->weight + t * SQUARE;
    vf low[BLOCK] = {{0}}, high[BLOCK] = {{0}};
    tile += t * SLICES;
    int q = 0;
    for (uint64_t left = f->runs & (f->runs - 1);; left &= left - 1) {
        const int end = left ? __builtin_ctzll(left) : f->count;
        float *column = tile + (int64_t)f->start[q] * SLICES;
        const int step = f->start[end] - f->start[q];
        for (; q < end; q++) {
            const float *cylinder = x + f->pixel[q] * SLICES;
            const vf w0 = vf_set(weight[q]), w1 = vf_set(weight[SQUARE + q]);
            for (int i = 0; i < registers; i++) {
                const vf voxels = vf_load(cylinder + i * VEC);
                low[i] += w0 * voxels;
                high[i] += w1 * voxels;
            }
        }
        for (int i = 0; i < registers; i++) {
            vf_store(column + i * VEC, vf_load(column + i * VEC) + low[i]);
            low[i] = high[i];
            high[i] = (vf){0};
        }
        if (step == 1)
            continue; /* the next run's first column is this one's second */
        column += SLICES;
        for (int i = 0; i < registers; i++) {
            vf_store(column + i * VEC, vf_load(column + i * VEC) + low[i]);
            low[i] = (vf){0};
        }
        if (!left)
            return;
    }
}

VEC_INLINE void back_taps(const struct square_feet *f, int t, const float *tile, float *x,
                          int registers)
{
    const float *weight = f->weight + t * SQUARE;
    tile += t * SLICES;
    int q = 0;
    for (uint64_t left = f->runs & (f->runs - 1);; left &= left - 1) {
        const int end = left ? __builtin_ctzll(left) : f->count;
        const float *column = tile + (int64_t)f->start[q] * SLICES;
        vf low[BLOCK], high[BLOCK];
        for (int i = 0; i < registers; i++) {
            low[i] = vf_load(column + i * VEC);
            high[i] = vf_load(column + SLICES + i * VEC);
        }
        for (; q < end; q++) {
            float *cylinder = x + f->pixel[q] * SLICES;
            const vf w0 = vf_set(weight[q]), w1 = vf_set(weight[SQUARE + q]);
            for (int i = 0; i < registers; i++)
                vf_store(cylinder + i * VEC,
                         (vf_load(cylinder + i * VEC) + w0 * low[i]) + w1 * high[i]);
        }
        if (!left)
            return;
    }
}

static void forward(const struct square_feet *f, int taps, int slices, const float *x, float *tile)
{
    for (int t = 0; t < taps; t += 2) {
        int k = 0;
        for (; k + VEC < slices; k += BLOCK * VEC)
            forward_taps(f, t, x + k, tile + k, BLOCK);
        if (k < slices)
            forward_taps(f, t, x + k, tile + k, 1);
    }
}

static void back(const struct square_feet *f, int taps, int slices, const float *tile, float *x)
{
    for (int t = 0; t < taps; t += 2) {
        int k = 0;
        for (; k + VEC < slices; k += BLOCK * VEC)
            back_taps(f, t, tile + k, x + k, BLOCK);
        if (k < slices)
            back_taps(f, t, tile + k, x + k, 1);
    }
}

const struct square_kernels ISA_NAME(square_kernels) = {feet, forward, back};
