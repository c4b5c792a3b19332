/* A channel has a fixed number of entries and sometimes more: that loop is foretold wrongly for one
 * channel in five (at 1/128 of 256 x 256, 1.6 entries on average, 2 fixed ones), and no entry has
 * to ask whether it is its channel's first. An update takes a column of e through registers once:
 * moved, stored and back projected. What it reads next comes from main memory meanwhile. */
#include "host/cpu/vcd/footprint_table.h"
#include "host/cpu/common/vec.h"
#include "host/cpu/vcd/lane_sum.h"

#if VEC == 16
#define BLOCK 4 /* registers of a column */
#else
#define BLOCK 2
#endif

/* Sums of the pixels that begin in a channel. */
struct begun {
    vf first[BLOCK], both[BLOCK]; /* what falls on it, and that and what falls on the next one */
};

VEC_INLINE void take_entry(const struct sparse_entry *n, const float *x, int registers, int fresh,
                           struct begun *b)
{
    const float *voxels = x + (int64_t)n->pixel * STRIP;
    const vf share = vf_set(n->share);
    for (int i = 0; i < registers; i++) {
        const vf a = vf_load(voxels + i * VEC);
        if (fresh) {
            b->first[i] = share * a;
            b->both[i] = a;
        } else {
            b->first[i] += share * a;
            b->both[i] += a;
        }
    }
}

/* All entries of a channel, from n on; returns where the next channel's begin. */
VEC_INLINE const struct sparse_entry *take_channel(const struct sparse_entry *n, const float *x,
                                                   int registers, int fixed, struct begun *b)
{
    const struct sparse_entry *end = n + fixed + n->more;
    for (int i = 0; i < fixed; i++)
        take_entry(n + i, x, registers, i == 0, b);
    for (n += fixed; n < end; n++)
        take_entry(n, x, registers, 0, b);
    return n;
}

/* A column from what began in it and, `rest`, in the one before; leaves the next one's rest. */
VEC_INLINE void close_column(const struct begun *b, int registers, vf *rest, vf *column)
{
    for (int i = 0; i < registers; i++) {
        column[i] = rest[i] + b->first[i];
        rest[i] = b->both[i] - b->first[i];
    }
}

/* A channel's column less the next one's, and the next one's. */
struct columns {
    vf step[BLOCK], next[BLOCK];
};

VEC_INLINE void entry_add_column(const struct sparse_entry *n, float *x, int registers,
                                 const struct columns *c)
{
    float *voxels = x + (int64_t)n->pixel * STRIP;
    const vf share = vf_set(n->share);
    for (int i = 0; i < registers; i++)
        vf_store(voxels + i * VEC, (vf_load(voxels + i * VEC) + c->next[i]) + share * c->step[i]);
}

VEC_INLINE const struct sparse_entry *channel_add_column(const struct sparse_entry *n, float *x,
                                                         int registers, int fixed,
                                                         const struct columns *c)
{
    const struct sparse_entry *end = n + fixed + n->more;
    for (int i = 0; i < fixed; i++)
        entry_add_column(n + i, x, registers, c);
    for (n += fixed; n < end; n++)
        entry_add_column(n, x, registers, c);
    return n;
}

/* e += the column, which then is the second one to be back projected. */
VEC_INLINE void move_column(const vf *column, float *e, const float *w, int registers, int weighted,
                            struct columns *c)
{
    for (int i = 0; i < registers; i++) {
        vf sum = vf_load(e + i * VEC) + column[i];
        vf_store(e + i * VEC, sum);
        if (weighted)
            sum *= vf_load(w + i * VEC);
        c->step[i] = c->next[i] - sum;
        c->next[i] = sum;
    }
}

VEC_INLINE void prefetch_column(const float *column, int registers)
{
    for (int i = 0; i < registers * VEC; i += 16)
        __builtin_prefetch(column + i, 0, 2);
}

VEC_INLINE void update_block(const struct sparse_update *s, int offset, int registers, int fixed,
                             int weighted)
{
    const float *x = s->x + offset, *w = weighted ? s->w + offset : NULL;
    float *e = s->e + offset, *sum = s->sum + offset;
    vf column[BLOCK], rest[BLOCK] = {{0}};
    struct begun begun;
    struct columns moved = {{{0}}, {{0}}};
    const struct sparse_entry *take = s->taken.entries, *give = s->given.entries;
    take = take_channel(take, x, registers, fixed, &begun);
    close_column(&begun, registers, rest, column);
    for (int64_t channel = 0; channel < s->taken.channels; channel++) {
        take = take_channel(take, x, registers, fixed, &begun);
        close_column(&begun, registers, rest, column);
        move_column(column, e, w, registers, weighted, &moved);
        give = channel_add_column(give, sum, registers, fixed, &moved);
        prefetch_column(e + s->ahead, registers);
        e += STRIP;
        if (weighted) {
            prefetch_column(w + s->ahead, registers);
            w += STRIP;
        }
    }
    for (int i = 0; i < registers; i++) {
        moved.step[i] = moved.next[i];
        moved.next[i] = (vf){0};
    }
    channel_add_column(give, sum, registers, fixed, &moved);
}

VEC_INLINE void update_fixed(const struct sparse_update *s, int width, int fixed)
{
    int k = 0;
    for (; k + BLOCK * VEC <= width; k += BLOCK * VEC)
        if (s->w)
            update_block(s, k, BLOCK, fixed, 1);
        else
            update_block(s, k, BLOCK, fixed, 0);
    for (; k < width; k += VEC)
        if (s->w)
            update_block(s, k, 1, fixed, 1);
        else
            update_block(s, k, 1, fixed, 0);
}

static void subset_update(const struct sparse_update *s, int width)
{
    if (s->taken.fixed == 1)
        update_fixed(s, width, 1);
    else if (s->taken.fixed == 2)
        update_fixed(s, width, 2);
    else
        update_fixed(s, width, 4);
}

/* float32 inside a lane for RUN channels, as in error_sinogram_kernel.c. */
enum { RUN = 64 };

VEC_INLINE void square_column(const vf *column, const float *w, int registers, vf *sum,
                              int weighted)
{
    for (int i = 0; i < registers; i++) {
        vf scaled = column[i];
        if (weighted)
            scaled *= vf_load(w + i * VEC);
        sum[i] += scaled * column[i];
    }
}

VEC_INLINE double norm_block(const struct sparse_view *v, const float *x, const float *w,
                             int registers, int fixed, int weighted)
{
    vf column[BLOCK], rest[BLOCK] = {{0}};
    struct begun begun;
    double all = 0;
    const struct sparse_entry *n = take_channel(v->entries, x, registers, fixed, &begun);
    close_column(&begun, registers, rest, column);
    for (int64_t channel = 0; channel < v->channels;) {
        vf sum[BLOCK] = {{0}};
        const int64_t end = channel + RUN < v->channels ? channel + RUN : v->channels;
        for (; channel < end; channel++) {
            n = take_channel(n, x, registers, fixed, &begun);
            close_column(&begun, registers, rest, column);
            square_column(column, w + channel * STRIP, registers, sum, weighted);
        }
        for (int i = 0; i < registers; i++)
            all += vf_sum(sum[i]);
    }
    return all;
}

VEC_INLINE double norm_fixed(const struct sparse_view *v, int width, const float *x, const float *w,
                             int fixed)
{
    double sum = 0;
    int k = 0;
    for (; k + BLOCK * VEC <= width; k += BLOCK * VEC)
        sum += w ? norm_block(v, x + k, w + k, BLOCK, fixed, 1)
                 : norm_block(v, x + k, x, BLOCK, fixed, 0);
    for (; k < width; k += VEC)
        sum += w ? norm_block(v, x + k, w + k, 1, fixed, 1) : norm_block(v, x + k, x, 1, fixed, 0);
    return sum;
}

static double subset_norm(const struct sparse_view *v, int width, const float *x, const float *w)
{
    return v->fixed == 1   ? norm_fixed(v, width, x, w, 1)
           : v->fixed == 2 ? norm_fixed(v, width, x, w, 2)
                           : norm_fixed(v, width, x, w, 4);
}

const struct sparse_kernels ISA_NAME(sparse_kernels) = {subset_update, subset_norm};
