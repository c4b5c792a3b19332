/* Per pixel and 16 slices, that is 16 updates, AVX-512 issues 1 load, a multiply-add and an
 * addition (for two taps); back shares load and store between two views. */
#include <math.h>
#include <string.h>

#include "host/cpu/parallel/pixel_blocks.h"
#include "host/cpu/common/vec.h"

#define COLUMN_REGISTERS                                                                           \
    4 /* registers of a column; two columns and a cylinder fit the 16 of AVX2 */

/* First taps and weights as in footprint_kernel.c, with one width for all. */
static void block_weigh(const struct projector *p, const struct block_place *at,
                        const uint8_t *pixel, int power, struct block_footprints *out)
{
    const int taps = p->taps;
    const double shift = 1 - 0.5 * taps, low = -taps, high = (double)p->scan.channels;
    const double width = at->view[0].width, middle = 0.5 * (BLOCK_SIDE - 1);
    const float reach = (float)(0.5 * (width + 1)), most = (float)fmin(width, 1);
    const float height = (float)at->view[0].height;
    float offset[BLOCK_PIXELS];
    for (int q = 0; q < BLOCK_PIXELS; q++) {
        const double position = at->position[0] +
                                at->view[0].col * (pixel[q] % BLOCK_SIDE - middle) +
                                at->view[0].row * (pixel[q] / BLOCK_SIDE - middle);
        double first = floor(position + shift);
        offset[q] = (float)(position - first);
        first = first < low ? low : first > high ? high : first;
        out->view[0].start[q] = (int32_t)(first - low);
    }
    for (int t = 0; t < taps; t++)
        for (int q = 0; q < BLOCK_PIXELS; q++) {
            float overlap = reach - fabsf(offset[q] - (float)t);
            overlap = overlap < 0 ? 0 : overlap > most ? most : overlap;
            float w = overlap * height;
            out->view[0].weight[t * BLOCK_PIXELS + q] = power == 2 ? w * w : w;
        }
    if (taps % 2)
        memset(out->view[0].weight + taps * BLOCK_PIXELS, 0, BLOCK_PIXELS * sizeof(float));
}

/* Computes the first of two taps. Offsets from the centre reach 5.7 channels: an error of 2e-7 in
 * float32.
 */
static void weigh_first(const struct projector *p, double centre, const struct block_view *view,
                        const float *offset, int32_t *start, float *weight)
{
    const double whole = floor(centre), far = 1e9;
    const float part = (float)(centre - whole), entry = (float)view->height;
    const float reach = (float)(0.5 * (view->width + 1)), most = (float)view->width;
    const int32_t base = (int32_t)(whole < -far ? -far : whole > far ? far : whole) + 2;
    const int32_t high = (int32_t)p->scan.channels + 2;
    for (int q = 0; q < BLOCK_PIXELS; q++) {
        const float position = part + offset[q], first = floorf(position);
        const int32_t column = (int32_t)first + base;
        float overlap = reach - (position - first);
        overlap = overlap < 0 ? 0 : overlap > most ? most : overlap;
        start[q] = column < 0 ? 0 : column > high ? high : column;
        weight[q] = overlap * entry;
    }
}

/* Bit i where a[i] != b[i]. */
VEC_INLINE uint32_t vi_differ(const int32_t *a, const int32_t *b)
{
#if defined(__AVX512F__)
    return _mm512_cmpneq_epi32_mask(_mm512_loadu_si512(a), _mm512_loadu_si512(b));
#elif defined(__AVX2__)
    const __m256i same = _mm256_cmpeq_epi32(_mm256_loadu_si256((const __m256i *)a),
                                            _mm256_loadu_si256((const __m256i *)b));
    return 0xFF ^ (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(same));
#elif defined(__SSE2__)
    const __m128i same =
        _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)a), _mm_loadu_si128((const __m128i *)b));
    return 0xF ^ (uint32_t)_mm_movemask_ps(_mm_castsi128_ps(same));
#else
    uint32_t bits = 0;
    for (int i = 0; i < VEC; i++)
        bits |= (uint32_t)(a[i] != b[i]) << i;
    return bits;
#endif
}

/* Bit q where a[q] differs from a[q + 1]. */
static uint64_t find_steps(const int32_t *a)
{
    uint64_t bits = 0;
    for (int q = 0; q < BLOCK_PIXELS; q += VEC)
        bits |= (uint64_t)vi_differ(a + q, a + q + 1) << q;
    return bits;
}

/* The order with only the pixels that are there, the rest arbitrary; returns how many are. */
static int block_choose(const struct block_order *o, uint64_t present, struct block_order *out)
{
    int n = 0;
    *out = *o;
    for (int q = 0; q < BLOCK_PIXELS; q++) {
        out->pixel[n] = o->pixel[q];
        out->offset[0][n] = o->offset[0][q];
        out->offset[1][n] = o->offset[1][q];
        n += present >> o->pixel[q] & 1;
    }
    return n;
}

static void block_find_footprints(const struct projector *p, const struct block_place *at,
                                  int power, struct block_footprints *out)
{
    const struct block_order *order = at->order;
    struct block_order chosen;
    uint64_t steps = 0;
    out->count = BLOCK_PIXELS;
    if (at->present != ~0ull) {
        out->count = block_choose(order, at->present, &chosen);
        order = &chosen;
    }
    memcpy(out->pixel, order->pixel, sizeof out->pixel);
    for (int v = 0; v < at->views; v++) {
        int32_t *start = out->view[v].start;
        if (block_two_taps(p, power))
            weigh_first(p, at->position[v], &at->view[v], order->offset[v], start,
                        out->view[v].weight);
        else
            block_weigh(p, at, order->pixel, power, out);
        start[BLOCK_PIXELS] = -1;
        steps |= find_steps(start);
        start[out->count] = -1;
    }
    out->runs = (steps << 1 | 1) & ~0ull >> (BLOCK_PIXELS - out->count);
}

/* Taps t and t + 1 of slices [0, registers * VEC). */
VEC_INLINE void forward_taps(const struct block_footprints *f, int t, const float *x, float *tile,
                             int registers)
{
    const float *weight = f->view[0].weight + t * BLOCK_PIXELS;
    vf low[COLUMN_REGISTERS] = {{0}}, high[COLUMN_REGISTERS] = {{0}};
    tile += t * SLICES;
    int q = 0;
    for (uint64_t left = f->runs & (f->runs - 1);; left &= left - 1) {
        const int end = left ? __builtin_ctzll(left) : f->count;
        float *column = tile + (int64_t)f->view[0].start[q] * SLICES;
        const int step = f->view[0].start[end] - f->view[0].start[q];
        for (; q < end; q++) {
            const float *cylinder = x + (size_t)f->pixel[q] * SLICES;
            const vf w0 = vf_set(weight[q]), w1 = vf_set(weight[BLOCK_PIXELS + q]);
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

VEC_INLINE void back_taps(const struct block_footprints *f, int t, const float *tile, float *x,
                          int registers)
{
    const float *weight = f->view[0].weight + t * BLOCK_PIXELS;
    tile += t * SLICES;
    int q = 0;
    for (uint64_t left = f->runs & (f->runs - 1);; left &= left - 1) {
        const int end = left ? __builtin_ctzll(left) : f->count;
        const float *column = tile + (int64_t)f->view[0].start[q] * SLICES;
        vf low[COLUMN_REGISTERS], high[COLUMN_REGISTERS];
        for (int i = 0; i < registers; i++) {
            low[i] = vf_load(column + i * VEC);
            high[i] = vf_load(column + SLICES + i * VEC);
        }
        for (; q < end; q++) {
            float *cylinder = x + (size_t)f->pixel[q] * SLICES;
            const vf w0 = vf_set(weight[q]), w1 = vf_set(weight[BLOCK_PIXELS + q]);
            for (int i = 0; i < registers; i++)
                vf_store(cylinder + i * VEC,
                         (vf_load(cylinder + i * VEC) + w0 * low[i]) + w1 * high[i]);
        }
        if (!left)
            return;
    }
}

/* Two taps: the second column gets whole * sum of the voxels less what the first got. */
VEC_INLINE void forward_light(const struct block_footprints *f, float whole, const float *x,
                              float *tile, int registers)
{
    const int32_t *const start = f->view[0].start;
    const float *const weight = f->view[0].weight;
    vf carry[COLUMN_REGISTERS] = {{0}};
    int q = 0;
    for (uint64_t left = f->runs & (f->runs - 1);; left &= left - 1) {
        const int end = left ? __builtin_ctzll(left) : f->count;
        float *column = tile + (int64_t)start[q] * SLICES;
        const int step = start[end] - start[q];
        vf low[COLUMN_REGISTERS] = {{0}}, sum[COLUMN_REGISTERS] = {{0}};
        for (; q < end; q++) {
            const float *cylinder = x + (size_t)f->pixel[q] * SLICES;
            const vf w = vf_set(weight[q]);
            for (int i = 0; i < registers; i++) {
                const vf voxels = vf_load(cylinder + i * VEC);
                low[i] += w * voxels;
                sum[i] += voxels;
            }
        }
        for (int i = 0; i < registers; i++) {
            vf_store(column + i * VEC, vf_load(column + i * VEC) + (low[i] + carry[i]));
            carry[i] = whole * sum[i] - low[i];
        }
        if (step == 1)
            continue; /* the next run's first column is this one's second */
        column += SLICES;
        for (int i = 0; i < registers; i++) {
            vf_store(column + i * VEC, vf_load(column + i * VEC) + carry[i]);
            carry[i] = (vf){0};
        }
        if (!left)
            return;
    }
}

/* Its transpose, for two views: a column's share of every pixel and the slope to its neighbour. */
VEC_INLINE void back_light(const struct block_footprints *f, float whole, const float *tile,
                           int64_t next, float *x, int registers)
{
    int q = 0;
    for (uint64_t left = f->runs & (f->runs - 1);; left &= left - 1) {
        const int end = left ? __builtin_ctzll(left) : f->count;
        const float *a = tile + (int64_t)f->view[0].start[q] * SLICES;
        const float *b = tile + next + (int64_t)f->view[1].start[q] * SLICES;
        vf slope0[COLUMN_REGISTERS], slope1[COLUMN_REGISTERS], share[COLUMN_REGISTERS];
        for (int i = 0; i < registers; i++) {
            const vf high0 = vf_load(a + SLICES + i * VEC), high1 = vf_load(b + SLICES + i * VEC);
            slope0[i] = vf_load(a + i * VEC) - high0;
            slope1[i] = vf_load(b + i * VEC) - high1;
            share[i] = whole * (high0 + high1);
        }
        for (; q < end; q++) {
            float *cylinder = x + (size_t)f->pixel[q] * SLICES;
            const vf w0 = vf_set(f->view[0].weight[q]), w1 = vf_set(f->view[1].weight[q]);
            for (int i = 0; i < registers; i++)
                vf_store(cylinder + i * VEC,
                         ((vf_load(cylinder + i * VEC) + share[i]) + w0 * slope0[i]) +
                             w1 * slope1[i]);
        }
        if (!left)
            return;
    }
}

/* Calls one of the above for all slices: COLUMN_REGISTERS registers at a time, then what is left. */
#define OVER_SLICES(call)                                                                          \
    do {                                                                                           \
        int k = 0;                                                                                 \
        for (; k + (COLUMN_REGISTERS - 1) * VEC < slices; k += COLUMN_REGISTERS * VEC)             \
            call(COLUMN_REGISTERS);                                                                \
        if (k + 2 * VEC < slices)                                                                  \
            call(3);                                                                               \
        else if (k + VEC < slices)                                                                 \
            call(2);                                                                               \
        else if (k < slices)                                                                       \
            call(1);                                                                               \
    } while (0)

static void block_forward(const struct block_footprints *f, int taps, int slices, const float *x,
                          float *tile)
{
#define CALL(registers) forward_taps(f, t, x + k, tile + k, registers)
    for (int t = 0; t < taps; t += 2)
        OVER_SLICES(CALL);
#undef CALL
}

static void block_back(const struct block_footprints *f, int taps, int slices, const float *tile,
                       float *x)
{
#define CALL(registers) back_taps(f, t, tile + k, x + k, registers)
    for (int t = 0; t < taps; t += 2)
        OVER_SLICES(CALL);
#undef CALL
}

static void forward_two_taps(const struct block_footprints *f, float whole, int slices,
                             const float *x, float *tile)
{
#define CALL(registers) forward_light(f, whole, x + k, tile + k, registers)
    OVER_SLICES(CALL);
#undef CALL
}

static void back_two_taps(const struct block_footprints *f, float whole, int slices,
                          const float *tile, int64_t next, float *x)
{
#define CALL(registers) back_light(f, whole, tile + k, next, x + k, registers)
    OVER_SLICES(CALL);
#undef CALL
}

const struct block_kernels ISA_NAME(block_kernels) = {block_find_footprints, block_forward,
                                                      block_back, forward_two_taps, back_two_taps};
