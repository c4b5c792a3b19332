/* Forward keeps an entry's two columns in registers and stores the first of them each time,
 * complete or not: the last entry of a channel writes last. So no load waits for a store, and no
 * branch depends on how many pixels a channel has (1.6 on average at 1/128 of 256 x 256: every
 * second one would be foretold wrongly). Per entry and 16 slices: 1 load, 2 multiply-adds, 2
 * selections, 1 store. */
#include "host/cpu/sparse_kernel.h"
#include "host/cpu/vec.h"

#define BLOCK 4 /* registers of a column */

VEC_INLINE void forward_block(const struct sparse_view *v, const float *x, float *y, int registers)
{
    vf low[BLOCK] = {{0}}, high[BLOCK] = {{0}};
    int32_t channel = 0;
    for (int64_t n = 0; n < v->count; n++) {
        const float *voxels = x + (int64_t)v->pixel[n] * STRIP;
        const vi moves = (vi){0} - (v->channel[n] != channel);
        const vf w0 = vf_set(v->low[n]), w1 = vf_set(v->high[n]);
        channel = v->channel[n];
        float *column = y + (int64_t)channel * STRIP;
        for (int i = 0; i < registers; i++) {
            const vf a = vf_load(voxels + i * VEC);
            low[i] = (vf)(((vi)high[i] & moves) | ((vi)low[i] & ~moves)) + w0 * a;
            high[i] = (vf)((vi)high[i] & ~moves) + w1 * a;
            vf_store(column + i * VEC, low[i]);
        }
    }
    for (int i = 0; i < registers; i++)
        vf_store(y + (int64_t)(channel + 1) * STRIP + i * VEC, high[i]);
}

VEC_INLINE void back_block(const struct sparse_view *v, const float *y, float *x, int registers)
{
    for (int64_t n = 0; n < v->count; n++) {
        float *voxels = x + (int64_t)v->pixel[n] * STRIP;
        const float *column = y + (int64_t)v->channel[n] * STRIP;
        const vf w0 = vf_set(v->low[n]), w1 = vf_set(v->high[n]);
        for (int i = 0; i < registers * VEC; i += VEC)
            vf_store(voxels + i, (vf_load(voxels + i) + w0 * vf_load(column + i)) +
                                     w1 * vf_load(column + STRIP + i));
    }
}

static void forward(const struct sparse_view *v, int width, const float *x, float *y)
{
    int k = 0;
    for (; k + BLOCK * VEC <= width; k += BLOCK * VEC)
        forward_block(v, x + k, y + k, BLOCK);
    for (; k < width; k += VEC)
        forward_block(v, x + k, y + k, 1);
}

static void back(const struct sparse_view *v, int width, const float *y, float *x)
{
    int k = 0;
    for (; k + BLOCK * VEC <= width; k += BLOCK * VEC)
        back_block(v, y + k, x + k, BLOCK);
    for (; k < width; k += VEC)
        back_block(v, y + k, x + k, 1);
}

static double total(vf v)
{
    double sum = 0;
    for (int i = 0; i < VEC; i++)
        sum += (double)v[i];
    return sum;
}

/* Entries [first, end) of a projection that is not stored: a column's square counts when the next
 * channel's first entry comes. float32 inside a lane for RUN entries, as in sweep_kernel.c. */
enum { RUN = 64 };

struct columns {
    vf low[BLOCK], high[BLOCK];
    int32_t channel;
};

VEC_INLINE double norm_run(const struct sparse_view *v, int64_t first, int64_t end, const float *x,
                           const float *w, struct columns *state, int weighted)
{
    struct columns s = *state;
    vf sum[BLOCK] = {{0}};
    for (int64_t n = first; n < end; n++) {
        const float *voxels = x + (int64_t)v->pixel[n] * STRIP;
        const float *weight = w + (int64_t)s.channel * STRIP;
        const vi moves = (vi){0} - (v->channel[n] != s.channel);
        const vf w0 = vf_set(v->low[n]), w1 = vf_set(v->high[n]);
        s.channel = v->channel[n];
        for (int i = 0; i < BLOCK; i++) {
            const vf a = vf_load(voxels + i * VEC), done = (vf)((vi)s.low[i] & moves);
            vf scaled = done;
            if (weighted)
                scaled *= vf_load(weight + i * VEC);
            sum[i] += scaled * done;
            s.low[i] = (vf)(((vi)s.high[i] & moves) | ((vi)s.low[i] & ~moves)) + w0 * a;
            s.high[i] = (vf)((vi)s.high[i] & ~moves) + w1 * a;
        }
    }
    *state = s;
    return total((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

VEC_INLINE double norm_block(const struct sparse_view *v, const float *x, const float *w,
                             int weighted)
{
    struct columns s = {{{0}}, {{0}}, 0};
    double sum = 0;
    for (int64_t n = 0; n < v->count; n += RUN)
        sum += norm_run(v, n, n + RUN < v->count ? n + RUN : v->count, x, w, &s, weighted);
    const float *weight = w + (int64_t)s.channel * STRIP;
    for (int i = 0; i < BLOCK; i++) {
        const vf low = s.low[i], high = s.high[i];
        vf w0 = vf_set(1), w1 = w0;
        if (weighted) {
            w0 = vf_load(weight + i * VEC);
            w1 = vf_load(weight + STRIP + i * VEC);
        }
        sum += total(low * low * w0 + high * high * w1);
    }
    return sum;
}

static double norm(const struct sparse_view *v, const float *x, const float *w)
{
    double sum = 0;
    for (int k = 0; k < STRIP; k += BLOCK * VEC)
        sum += w ? norm_block(v, x + k, w + k, 1) : norm_block(v, x + k, x, 0);
    return sum;
}

static void update(const float *w, const float *d, int64_t n, int width, float *e, float *out)
{
    for (int64_t c = 0; c < n; c++)
        for (int64_t i = c * STRIP; i < c * STRIP + width; i += VEC) {
            vf moved = vf_load(e + i);
            if (d) {
                moved += vf_load(d + i);
                vf_store(e + i, moved);
            }
            if (w)
                vf_store(out + i, vf_load(w + i) * moved);
        }
}

const struct sparse_kernels ISA_NAME(sparse_kernels) = {forward, back, norm, update};
