/* Median of 27 by networks of min and max on vectors of slices. The 27 voxels of a window are 9
 * lines of 3 slices; what neighbouring windows share is sorted once. Operations per voxel:
 *
 *   triple   6   3 slices of a line, sorted; used by every window that holds it
 *   nine    30   lines of rows i-1, i, i+1, sorted: 3+3 of rows (i, i+1), shared by the nines of i
 *                and i+1 (12/2), then 6+3 (24)
 *   middle  23   ranks 5..14 of the 18 in the nines of columns (j, j+1), shared by the windows of j
 *                and j+1 (46/2); the others are never the 14th of 27
 *   median  18   10th of those 10 and the third nine
 *
 * 77 in all, 80 in tiles of 4 rows, whose outer two rows of triples are sorted by two tiles; 254
 * for a sorting network of 27. All merges are Batcher's odd-even merge.
 *
 * A tile is MEDIAN_ROWS rows high and walks along the columns in blocks of COLS. Lines are copied
 * in groups of slices to where they stay in the nearest cache (columns at power-of-two strides
 * evict each other), nines go through memory: 9 stores for a vector of results, 20 when the
 * compiler was left to spill.
 *
 * With MEDIAN_KEYS floats are compared as integers in the same order: negative ones with all bits
 * below the sign flipped. AMD's Zen 4 does 1.8 integer minima of 512 bits per cycle, but one of
 * floats.
 *
 * NaN: as floats, min and max take their second operand when one is NaN; as keys it lies beyond
 * infinity. The result is then some value of the window, NaN or not; windows without a NaN are
 * exact. */
#include "host/cpu/median/median.h"
#include "host/cpu/common/vec_stream.h"

#ifdef MEDIAN_KEYS
#define TABLE median_key_kernels

/* Its own inverse. */
VEC_INLINE vf key(vf x)
{
    vi bits = (vi)x;
    return (vf)(bits ^ (bits >> 31 & 0x7fffffff));
}

VEC_INLINE vf lesser(vf a, vf b)
{
#if defined(__AVX512F__)
    return (vf)_mm512_min_epi32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (vf)_mm256_min_epi32((__m256i)a, (__m256i)b);
#else
    vi m = (vi)a < (vi)b;
    return (vf)(((vi)a & m) | ((vi)b & ~m));
#endif
}

VEC_INLINE vf greater(vf a, vf b)
{
#if defined(__AVX512F__)
    return (vf)_mm512_max_epi32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (vf)_mm256_max_epi32((__m256i)a, (__m256i)b);
#else
    vi m = (vi)a > (vi)b;
    return (vf)(((vi)a & m) | ((vi)b & ~m));
#endif
}
#else
#define TABLE   median_kernels
#define key(x)  (x)
#define lesser  vf_min
#define greater vf_max
#endif

VEC_INLINE void order(vf *a, vf *b)
{
    vf low = lesser(*a, *b);
    *b = greater(*a, *b);
    *a = low;
}

VEC_INLINE void merge_1_1(vf a, vf b, vf *out)
{
    out[0] = lesser(a, b);
    out[1] = greater(a, b);
}

/* Last step of an odd-even merge: `odd` is the merge of the elements of odd rank (1st, 3rd, ...) of
 * both parts, `even` that of even rank, and 0 <= odds - evens <= 2. Constants where this is
 * inlined. */
VEC_INLINE void join(const vf *odd, int odds, const vf *even, int evens, vf *out)
{
    out[0] = odd[0];

    for (int i = 0; i < evens && i + 1 < odds; i++)
        merge_1_1(odd[i + 1], even[i], out + 2 * i + 1);
    if (odds == evens)
        out[2 * evens - 1] = even[evens - 1];
    else if (odds == evens + 2)
        out[2 * evens + 1] = odd[evens + 1];
}

VEC_INLINE void merge_2_1(vf a0, vf a1, vf b, vf *out)
{
    vf odd[2];
    merge_1_1(a0, b, odd);
    join(odd, 2, &a1, 1, out);
}

VEC_INLINE void merge_2_2(vf a0, vf a1, vf b0, vf b1, vf *out)
{
    vf odd[2], even[2];
    merge_1_1(a0, b0, odd);
    merge_1_1(a1, b1, even);
    join(odd, 2, even, 2, out);
}

VEC_INLINE void merge_3_1(vf a0, vf a1, vf a2, vf b, vf *out)
{
    vf odd[3];
    merge_2_1(a0, a2, b, odd);
    join(odd, 3, &a1, 1, out);
}

VEC_INLINE void merge_3_2(vf a0, vf a1, vf a2, vf b0, vf b1, vf *out)
{
    vf odd[3], even[2];
    merge_2_1(a0, a2, b0, odd);
    merge_1_1(a1, b1, even);
    join(odd, 3, even, 2, out);
}

VEC_INLINE void merge_3_3(const vf *a, const vf *b, vf *out)
{
    vf odd[4], even[2];
    merge_2_2(a[0], a[2], b[0], b[2], odd);
    merge_1_1(a[1], b[1], even);
    join(odd, 4, even, 2, out);
}

VEC_INLINE void merge_6_3(const vf *a, const vf *b, vf *out)
{
    vf odd[5], even[4];
    merge_3_2(a[0], a[2], a[4], b[0], b[2], odd);
    merge_3_1(a[1], a[3], a[5], b[1], even);
    join(odd, 5, even, 4, out);
}

/* a: 5 elements, b: 4, both at every second place. */
VEC_INLINE void merge_5_4(const vf *a, const vf *b, vf *out)
{
    vf odd[5], even[4];
    merge_3_2(a[0], a[4], a[8], b[0], b[4], odd);
    merge_2_2(a[2], a[6], b[2], b[6], even);
    join(odd, 5, even, 4, out);
}

/* Ranks 5..14 of a[9] and b[9] together. The odd ranks of one are merged with the even ranks of the
 * other: that is Batcher's merge with a -infinity put before b and an infinity behind a, and costs
 * 46 operations where the plain pairing costs 48, once those behind the unused ranks are dropped
 * (by the compiler). */
VEC_INLINE void middle(const vf *a, const vf *b, vf *out)
{
    vf x[9], y[9], all[18];
    merge_5_4(a, b + 1, x);
    merge_5_4(b, a + 1, y);
#pragma GCC unroll 9
    for (int i = 0; i < 9; i++)
        merge_1_1(x[i], y[i], all + 2 * i);
#pragma GCC unroll 10
    for (int i = 0; i < 10; i++)
        out[i] = all[4 + i];
}

/* 10th smallest of m[10] and c[9]: max(m_i, c_(10-i)) for the best split of the 10 into i + (10-i).
 */
VEC_INLINE vf rank_10(const vf *m, const vf *c)
{
    vf best[10] = {m[9]};
#pragma GCC unroll 9
    for (int i = 0; i < 9; i++)
        best[i + 1] = greater(m[i], c[8 - i]);
    /* a tree: as a chain, 9 latencies would follow each other */
    vf low = lesser(lesser(best[0], best[1]), lesser(best[2], best[3]));
    vf high = lesser(lesser(best[4], best[5]), lesser(best[6], best[7]));
    return lesser(lesser(low, high), lesser(best[8], best[9]));
}

VEC_INLINE void triple(const float *line, vf *out)
{
    out[0] = vf_load(line - 1);
    out[1] = vf_load(line);
    out[2] = vf_load(line + 1);
    order(&out[0], &out[1]);
    order(&out[1], &out[2]);
    order(&out[0], &out[1]);
}

/* Columns of a block and vectors of a group: 8 of columns and 1, 2 or 8 of a group were up to 10 %
 * slower, 2 or 6 rows 5 %. */
enum { ROWS = MEDIAN_ROWS, COLS = 4, GROUP = 4, VECS = MEDIAN_SLICES / VEC };

typedef vf column_nines[ROWS][9]; /* of a vector of slices */

struct tile {
    const struct median_volume *v;
    int64_t row, slice, width; /* width: slices of the tile */
    int vecs;
    const float *line[COLS][ROWS + 2]; /* of the block and one row more on either side */
    const float *next[COLS][ROWS + 2]; /* of the block after it, to be prefetched */
    float *out[COLS][ROWS];
    float copy[COLS][ROWS + 2][(GROUP + 2) * VEC]; /* keys of a group, from VEC on */
    column_nines last[VECS][2];                    /* of the two columns before those of `line` */
    column_nines inner[2];
    vf carry[COLS][ROWS]; /* the vector before, where results are streamed across lines of memory */
    int aside;            /* floats by which results lie behind a line's begin */
    vf nowhere[VECS + 1]; /* takes what lies outside the volume */
} __attribute__((aligned(64)));

static int64_t median_clamp(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static void tile_start(struct tile *t, const struct median_volume *v, int64_t row, int64_t slice)
{
    const int64_t rest = v->slices - slice;
    t->v = v;
    t->row = row;
    t->slice = slice;
    t->width = rest < MEDIAN_SLICES ? rest : MEDIAN_SLICES;
    t->vecs = (int)(t->width + VEC - 1) / VEC;
    t->aside = vec_behind(v->out);
}

static const float *median_line(const struct tile *t, int64_t row, int64_t col)
{
    const struct median_volume *v = t->v;
    return v->in + (median_clamp(row, v->rows) * v->cols + median_clamp(col, v->cols)) * v->slices;
}

/* Results of columns col .., for which the lines of the columns after them are needed. */
static void block_start(struct tile *t, int64_t col)
{
    const struct median_volume *v = t->v;
    for (int c = 0; c < COLS; c++) {
        for (int r = 0; r < ROWS + 2; r++) {
            t->line[c][r] = median_line(t, t->row + r - 1, col + c + 1);
            t->next[c][r] = median_line(t, t->row + r - 1, col + c + 1 + COLS) + t->slice;
        }
        for (int r = 0; r < ROWS; r++) {
            const int inside = t->row + r < v->rows && col + c >= 0 && col + c < v->cols;
            const int64_t pixel = (t->row + r) * v->cols + col + c;
            t->out[c][r] =
                inside ? v->out + pixel * v->slices + t->slice : (float *)t->nowhere + t->aside;
        }
    }
}

VEC_INLINE float end_key(float x)
{
    return key(vf_set(x))[0];
}

/* Slices [first, first + GROUP * VEC) of a line and one more on either side, the volume's ends
 * replicated. */
VEC_INLINE void copy_line(const float *line, int64_t first, int64_t slices, float *copy)
{
    const int64_t rest = slices - first, n = rest < GROUP * VEC ? rest : GROUP * VEC;
    int64_t k = 0;
    for (; k + VEC <= n; k += VEC)
        vf_store(copy + k, key(vf_load(line + first + k)));
    if (k < n) {
        vf part = {0};
        memcpy(&part, line + first + k, (size_t)(n - k) * sizeof *line);
        vf_store(copy + k, key(part));
    }
    copy[-1] = end_key(line[first > 0 ? first - 1 : 0]);
    copy[n] = end_key(line[rest > n ? first + n : slices - 1]);
}

static void copy_group(struct tile *t, int k)
{
    for (int c = 0; c < COLS; c++)
        for (int r = 0; r < ROWS + 2; r++)
            copy_line(t->line[c][r], t->slice + k * VEC, t->v->slices, t->copy[c][r] + VEC);
}

/* The nines of column c of the block. The compiler must not keep them in registers, which are too
 * few: hence the barrier. */
VEC_INLINE void sort_column(const struct tile *t, int c, int k, column_nines out)
{
    const float(*lines)[(GROUP + 2) * VEC] = t->copy[c];
    const int at = VEC + k % GROUP * VEC;
    for (int r = 0; r < ROWS; r += 2) {
        vf a[3], b[3], six[6];
        triple(lines[r + 1] + at, a);
        triple(lines[r + 2] + at, b);
        merge_3_3(a, b, six);
        triple(lines[r] + at, a);
        merge_6_3(six, a, out[r]);
        triple(lines[r + 3] + at, b);
        merge_6_3(six, b, out[r + 1]);
    }
    __asm__ volatile("" ::: "memory");
}

VEC_INLINE void put(struct tile *t, int c, int r, int k, vf median)
{
    float *to = t->out[c][r] + k * VEC;
    const int64_t rest = t->width - k * VEC;
    if (t->v->stream && t->aside)
        vf_stream_across(to, k == 0, k == t->vecs - 1, t->aside, &t->carry[c][r], median);
    else if (t->v->stream)
        vf_stream(to, median);
    else if (rest >= VEC)
        vf_store(to, median);
    else
        memcpy(to, &median, (size_t)rest * sizeof *to);
}

/* Vector k of columns c and c + 1, of which `old` holds the nines of one column before and of the
 * first; `new` takes those of the second and of one column after. */
VEC_INLINE void pair_step(struct tile *t, int c, int k, column_nines *old, column_nines *new)
{
    for (int side = 0; side < 2; side++)
        for (int r = 0; r < ROWS + 2; r++) /* into L2: worth 1.2 x beyond the caches */
            __builtin_prefetch(t->next[c + side][r] + k * VEC, 0, 1);
    sort_column(t, c, k, new[0]);
    sort_column(t, c + 1, k, new[1]);
    for (int r = 0; r < ROWS; r++) {
        vf m[10];
        middle(old[1][r], new[0][r], m);
        put(t, c, r, k, key(rank_10(m, old[0][r])));
        put(t, c + 1, r, k, key(rank_10(m, new[1][r])));
    }
}

static void median_of_tile(const struct median_volume *v, int64_t row, int64_t slice)
{
    struct tile t;
    tile_start(&t, v, row, slice);
    block_start(&t, -COLS);
    for (int k = 0; k < t.vecs; k++) {
        if (k % GROUP == 0)
            copy_group(&t, k);
        sort_column(&t, COLS - 2, k, t.last[k][0]);
        sort_column(&t, COLS - 1, k, t.last[k][1]);
    }
    for (int64_t col = 0; col < v->cols; col += COLS) {
        block_start(&t, col);
        for (int k = 0; k < t.vecs; k++) {
            if (k % GROUP == 0)
                copy_group(&t, k);
            pair_step(&t, 0, k, t.last[k], t.inner);
            pair_step(&t, 2, k, t.inner, t.last[k]);
        }
    }
    vf_stream_end();
}

const struct TABLE ISA_NAME(TABLE) = {median_of_tile};
