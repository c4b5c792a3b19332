/* Median of 27 by sorting networks of min and max on vectors of slices. The 27 voxels of a window
 * are 9 lines of 3 slices; what neighbouring windows share is sorted once:
 *
 *   triple   3 slices of a line, sorted                              6 operations, by every window
 * that holds it nine     lines of rows i-1, i, i+1, sorted                      30: merge 3+3 of
 * rows (i, i+1) is shared by the nines of i and i+1 (12/2), merge 6+3 (24) middle   ranks 5..14 of
 * the 18 in the nines of columns          23: (j, j+1) is shared by the windows of j and (j, j+1);
 * the others are never the 14th of 27          j+1 (46/2) median   10th of those 10 and the third
 * nine                    18 77 in all; 254 for a sorting network of 27
 *
 * All merges are Batcher's odd-even merge. A tile is MEDIAN_ROWS rows high (the triples of two more
 * rows are sorted by two tiles: 83 operations with 2 rows), walks along the columns in pairs and
 * keeps the nines of the last two columns: 36 KiB for 2 rows of 256 slices, in the first two caches
 * beside its input.
 *
 * NaN: min and max take their second operand when one is NaN. The result is then some value of the
 * window, NaN or not; windows without a NaN are exact. */
#include "host/cpu/median_kernel.h"
#include "host/cpu/vec.h"

VEC_INLINE void order(vf *a, vf *b)
{
    vf low = vf_min(*a, *b);
    *b = vf_max(*a, *b);
    *a = low;
}

VEC_INLINE void merge_1_1(vf a, vf b, vf *out)
{
    out[0] = vf_min(a, b);
    out[1] = vf_max(a, b);
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
        best[i + 1] = vf_max(m[i], c[8 - i]);
    /* a tree: as a chain, 9 latencies would follow each other */
    vf low = vf_min(vf_min(best[0], best[1]), vf_min(best[2], best[3]));
    vf high = vf_min(vf_min(best[4], best[5]), vf_min(best[6], best[7]));
    return vf_min(vf_min(low, high), vf_min(best[8], best[9]));
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

enum { ROWS = MEDIAN_ROWS, VECS = MEDIAN_SLICES / VEC };

/* Nines of the last two columns, for each row and vector of the tile. */
struct nines {
    vf of[ROWS][VECS][2][9];
};

/* Lines of two columns, with one row more on either side: at[][] is where vector 0 starts. */
struct lines {
    const float *at[ROWS + 2][2];
};

/* The vectors at the ends of lines, where the volume ends: -1 .. VEC with the ends replicated. */
struct ends {
    struct lines lines;
    float copy[ROWS + 2][2][VEC + 2];
};

struct tile {
    const struct median_volume *v;
    int64_t row, slice, width; /* width: slices of the tile */
    int vecs, has_head, has_tail;
    struct lines lines, next; /* next: of the step after this one, to be prefetched */
    struct ends head, tail;   /* of vectors 0 and vecs - 1 */
    struct nines nines;
    vf nowhere[VECS]; /* takes what lies outside the volume */
};

static int64_t clamp(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static void ends_start(struct ends *e)
{
    for (int r = 0; r < ROWS + 2; r++)
        for (int c = 0; c < 2; c++)
            e->lines.at[r][c] = e->copy[r][c] + 1;
}

static void tile_start(struct tile *t, const struct median_volume *v, int64_t row, int64_t slice)
{
    const int64_t rest = v->slices - slice;
    t->v = v;
    t->row = row;
    t->slice = slice;
    t->width = rest < MEDIAN_SLICES ? rest : MEDIAN_SLICES;
    t->vecs = (int)(t->width + VEC - 1) / VEC;
    t->has_head = slice == 0;
    t->has_tail = rest <= MEDIAN_SLICES;
    ends_start(&t->head);
    ends_start(&t->tail);
}

/* `before` and `rest`: slices of the volume before and from the vector at `from`. */
VEC_INLINE void copy_end(const float *from, int64_t before, int64_t rest, float *copy)
{
    copy[0] = before > 0 ? from[-1] : from[0];
    if (rest >= VEC) {
        memcpy(copy + 1, from, VEC * sizeof *copy);
        copy[VEC + 1] = rest > VEC ? from[VEC] : from[VEC - 1];
    } else {
        for (int64_t k = 0; k <= VEC; k++)
            copy[k + 1] = from[k < rest ? k : rest - 1];
    }
}

static const float *line_at(const struct tile *t, int64_t row, int64_t col)
{
    const struct median_volume *v = t->v;
    return v->in + (clamp(row, v->rows) * v->cols + clamp(col, v->cols)) * v->slices + t->slice;
}

/* The lines of columns col and col + 1. */
static void tile_lines(struct tile *t, int64_t col)
{
    const struct median_volume *v = t->v;
    const int64_t tail = (t->vecs - 1) * VEC, rest = v->slices - t->slice;
    for (int r = 0; r < ROWS + 2; r++)
        for (int c = 0; c < 2; c++) {
            const float *line = line_at(t, t->row + r - 1, col + c);
            t->lines.at[r][c] = line;
            t->next.at[r][c] = line_at(t, t->row + r - 1, col + c + 2);
            if (t->has_head)
                copy_end(line, t->slice, rest, t->head.copy[r][c]);
            if (t->has_tail)
                copy_end(line + tail, t->slice + tail, rest - tail, t->tail.copy[r][c]);
        }
}

/* Vector k of the tile, which starts at `offset` of `lines`: the nines of these two columns take
 * the place of the two before, whose medians, unless this is the first step, go to
 * out[row][column]. */
VEC_INLINE void vector_step(const struct lines *lines, int64_t offset, int first,
                            vf nines[][VECS][2][9], int k, vf out[ROWS][2])
{
    vf sorted[2][ROWS + 2][3];
    for (int c = 0; c < 2; c++)
        for (int r = 0; r < ROWS + 2; r++)
            triple(lines->at[r][c] + offset, sorted[c][r]);
    for (int r = 0; r < ROWS; r += 2) {
        vf six[2][6];
        merge_3_3(sorted[0][r + 1], sorted[0][r + 2], six[0]);
        merge_3_3(sorted[1][r + 1], sorted[1][r + 2], six[1]);
        for (int q = 0; q < 2; q++) {
            vf(*old)[9] = nines[r + q][k], left[9], right[9], m[10];
            merge_6_3(six[0], sorted[0][r + 3 * q], left);
            if (!first) {
                middle(old[1], left, m);
                out[r + q][0] = rank_10(m, old[0]);
            }
            memcpy(old[0], left, sizeof left);
            merge_6_3(six[1], sorted[1][r + 3 * q], right);
            if (!first)
                out[r + q][1] = rank_10(m, right);
            memcpy(old[1], right, sizeof right);
        }
    }
}

VEC_INLINE void put(float *to, vf median, int64_t rest, int stream)
{
    if (stream)
        vf_stream(to, median);
    else if (rest >= VEC)
        vf_store(to, median);
    else
        memcpy(to, &median, (size_t)rest * sizeof *to);
}

/* All vectors of the tile; `to`: where the medians of each row and column go. The prefetch is
 * worth 1.5 x beyond the caches. */
VEC_INLINE void step(struct tile *t, int first, float *const to[ROWS][2])
{
    for (int k = 0; k < t->vecs; k++) {
        vf out[ROWS][2];
        const struct lines *lines = &t->lines;
        int64_t offset = 0;
        if (k == 0 && t->has_head)
            lines = &t->head.lines;
        else if (k == t->vecs - 1 && t->has_tail)
            lines = &t->tail.lines;
        else
            offset = k * VEC;
        for (int r = 0; r < ROWS + 2; r++)
            for (int c = 0; c < 2; c++)
                __builtin_prefetch(t->next.at[r][c] + k * VEC);
        vector_step(lines, offset, first, t->nines.of, k, out);
        if (first)
            continue;
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < 2; c++)
                put(to[r][c] + k * VEC, out[r][c], t->width - k * VEC, t->v->stream);
    }
}

static void tile(const struct median_volume *v, int64_t row, int64_t slice)
{
    struct tile t;
    float *to[ROWS][2] = {0};
    tile_start(&t, v, row, slice);
    tile_lines(&t, -1); /* columns -1 and 0 */
    step(&t, 1, to);
    for (int64_t col = 0; col < v->cols; col += 2) {
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < 2; c++) {
                int inside = row + r < v->rows && col + c < v->cols;
                int64_t pixel = (row + r) * v->cols + col + c;
                to[r][c] = inside ? v->out + pixel * v->slices + slice : (float *)t.nowhere;
            }
        tile_lines(&t, col + 1);
        step(&t, 0, to);
    }
    vf_stream_end();
}

const struct median_kernels ISA_NAME(median_kernels) = {tile};
