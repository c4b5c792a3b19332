/* Median of 27 by merging sorted lists of min and max, as host/cpu/median/median_kernel.c explains:
 * 77 operations per voxel where a sorting network takes 254. A thread owns one slice of two rows
 * and walks along the columns in pairs; the sorted nines of the last two columns stay in registers.
 */
#include "cuda/median/median.cuh"

#define THREADS    128
#define COLUMNS    32 /* of a walk: two more are sorted first, 6 % */
#define OPERATIONS 77

struct median_job {
    const float *in;
    float *out;
    int rows, cols, slices;
    int walks;       /* of columns */
    int64_t threads; /* slices first, so that no lane idles whatever their number */
};

static __device__ inline void pair_order(float *a, float *b)
{
    const float low = fminf(*a, *b);
    *b = fmaxf(*a, *b);
    *a = low;
}

static __device__ inline void merge_1_1(float a, float b, float *out)
{
    out[0] = fminf(a, b);
    out[1] = fmaxf(a, b);
}

/* Last step of an odd-even merge: `odd` is the merge of the elements of odd rank of both parts,
 * `even` that of even rank. */
template <int ODDS, int EVENS>
static __device__ inline void lists_join(const float *odd, const float *even, float *out)
{
    out[0] = odd[0];
    for (int i = 0; i < EVENS && i + 1 < ODDS; i++)
        merge_1_1(odd[i + 1], even[i], out + 2 * i + 1);
    if (ODDS == EVENS)
        out[2 * EVENS - 1] = even[EVENS - 1];
    else if (ODDS == EVENS + 2)
        out[2 * EVENS + 1] = odd[EVENS + 1];
}

static __device__ inline void merge_2_1(float a0, float a1, float b, float *out)
{
    float odd[2];
    merge_1_1(a0, b, odd);
    lists_join<2, 1>(odd, &a1, out);
}

static __device__ inline void merge_2_2(float a0, float a1, float b0, float b1, float *out)
{
    float odd[2], even[2];
    merge_1_1(a0, b0, odd);
    merge_1_1(a1, b1, even);
    lists_join<2, 2>(odd, even, out);
}

static __device__ inline void merge_3_1(float a0, float a1, float a2, float b, float *out)
{
    float odd[3];
    merge_2_1(a0, a2, b, odd);
    lists_join<3, 1>(odd, &a1, out);
}

static __device__ inline void merge_3_2(float a0, float a1, float a2, float b0, float b1,
                                        float *out)
{
    float odd[3], even[2];
    merge_2_1(a0, a2, b0, odd);
    merge_1_1(a1, b1, even);
    lists_join<3, 2>(odd, even, out);
}

static __device__ inline void merge_3_3(const float *a, const float *b, float *out)
{
    float odd[4], even[2];
    merge_2_2(a[0], a[2], b[0], b[2], odd);
    merge_1_1(a[1], b[1], even);
    lists_join<4, 2>(odd, even, out);
}

static __device__ inline void merge_6_3(const float *a, const float *b, float *out)
{
    float odd[5], even[4];
    merge_3_2(a[0], a[2], a[4], b[0], b[2], odd);
    merge_3_1(a[1], a[3], a[5], b[1], even);
    lists_join<5, 4>(odd, even, out);
}

/* a: 5 elements, b: 4, both at every second place. */
static __device__ inline void merge_5_4(const float *a, const float *b, float *out)
{
    float odd[5], even[4];
    merge_3_2(a[0], a[4], a[8], b[0], b[4], odd);
    merge_2_2(a[2], a[6], b[2], b[6], even);
    lists_join<5, 4>(odd, even, out);
}

/* Ranks 5..14 of two nines together: those that can be the 14th of 27. */
static __device__ inline void nines_middle(const float *a, const float *b, float *out)
{
    float x[9], y[9], all[18];
    merge_5_4(a, b + 1, x);
    merge_5_4(b, a + 1, y);
    for (int i = 0; i < 9; i++)
        merge_1_1(x[i], y[i], all + 2 * i);
    for (int i = 0; i < 10; i++)
        out[i] = all[4 + i];
}

/* 10th smallest of m[10] and c[9]: max(m_i, c_(10-i)) for the best split of the 10. */
static __device__ inline float rank_10(const float *m, const float *c)
{
    float best = m[9];
    for (int i = 0; i < 9; i++)
        best = fminf(best, fmaxf(m[i], c[8 - i]));
    return best;
}

static __device__ inline int index_clamp(int i, int n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

/* The three voxels around slice k of a pixel, sorted. */
static __device__ inline void voxel_triple(const struct median_job &j, int row, int col, int k,
                                           float *out)
{
    const float *line =
        j.in + ((int64_t)index_clamp(row, j.rows) * j.cols + index_clamp(col, j.cols)) * j.slices;
    out[0] = line[index_clamp(k - 1, j.slices)];
    out[1] = line[k];
    out[2] = line[index_clamp(k + 1, j.slices)];
    pair_order(&out[0], &out[1]);
    pair_order(&out[1], &out[2]);
    pair_order(&out[0], &out[1]);
}

/* The sorted nines of one column for rows row and row + 1. */
static __device__ inline void column_nines(const struct median_job &j, int row, int col, int k,
                                           float out[2][9])
{
    float line[4][3], six[6];
    for (int r = 0; r < 4; r++)
        voxel_triple(j, row + r - 1, col, k, line[r]);
    merge_3_3(line[1], line[2], six);
    merge_6_3(six, line[0], out[0]);
    merge_6_3(six, line[3], out[1]);
}

static __global__ void __launch_bounds__(THREADS) median_kernel(const struct median_job j)
{
    const int64_t thread = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (thread >= j.threads)
        return;
    const int64_t walk = thread / j.slices;
    const int k = (int)(thread - walk * j.slices);
    const int row = (int)(walk / j.walks) * 2, col0 = (int)(walk % j.walks) * COLUMNS;
    float before[2][2][9]; /* [column][row] */
    column_nines(j, row, col0 - 1, k, before[0]);
    column_nines(j, row, col0, k, before[1]);
    for (int col = col0; col < col0 + COLUMNS && col < j.cols; col += 2) {
        float left[2][9], right[2][9];
        column_nines(j, row, col + 1, k, left);
        column_nines(j, row, col + 2, k, right);
        for (int r = 0; r < 2; r++) {
            float m[10];
            float *const to = j.out + ((int64_t)(row + r) * j.cols + col) * j.slices + k;
            nines_middle(before[1][r], left[r], m);
            if (row + r < j.rows) {
                to[0] = rank_10(m, before[0][r]);
                if (col + 1 < j.cols)
                    to[j.slices] = rank_10(m, right[r]);
            }
            for (int i = 0; i < 9; i++) {
                before[0][r][i] = left[r][i];
                before[1][r][i] = right[r][i];
            }
        }
    }
}

static enum err median_launch(struct cuda_backend *be, const struct median_job *j)
{
    LAUNCH(be, median_kernel, ceil_div(j->threads, THREADS), THREADS, 0, *j);
    return ERR_OK;
}

enum err cuda_median3(struct backend *base, int64_t rows, int64_t cols, int64_t slices,
                      const struct buffer *in, struct buffer *out)
{
    const size_t bytes = (size_t)(rows * cols * slices) * sizeof(float);
    TRY(backend_check_buffers("a median filter", bytes, bytes, in, out));
    if (bytes == 0)
        return ERR_OK;
    struct median_job j = {floats_of(in), floats_of(out), (int)rows, (int)cols, (int)slices, 0, 0};
    j.walks = (int)ceil_div(cols, COLUMNS);
    j.threads = ceil_div(rows, 2) * j.walks * slices;
    mark_push("median3", bytes);
    const enum err e = median_launch(device_of(base), &j);
    mark_pop();
    backend_declare(base, OPERATIONS * (double)(bytes / sizeof(float)), 2.0 * (double)bytes,
                    28.0 * (double)bytes);
    return e;
}
