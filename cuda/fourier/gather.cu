/* Every cell of the plane of frequencies gathers the samples near it, so that no two threads add to
 * the same number, and sums have one order. A thread owns SIDE x SIDE cells of one pair of slices.
 * A block first finds, together, the views whose line crosses all of its cells; each thread then
 * walks those of its own. */
#include "cuda/fourier/fourier.cuh"

#define SIDE    4
#define ACROSS  8 /* tiles of a block, along a row of the grid */
#define DOWN    4
#define TILES   (ACROSS * DOWN)
#define MOST    (TILES * PAIRS)
#define THREADS 256
#define EDGE    (0.5f * TAPS)
#define CELLF   ((float)(1 / CELL))

struct gather_job {
    struct fourier_sizes n;
    const struct fourier_line *lines;
    const float *weights;
    const float2 *spectra;
    float2 *grid;
    int blocks;  /* along a row of the grid */
    int entries; /* views x repetitions */
};

/* Samples from .. to, at most one more on each side. */
struct span {
    int from, to;
};

/* Those at low < k step < high. */
static __device__ inline struct span samples_between(float step, float low, float high, int reach)
{
    struct span s = {-reach, reach};
    if (fabsf(step) > 1e-6f) {
        const float a = low / step, b = high / step, most = (float)reach;
        s.from = (int)floorf(fminf(fmaxf(fminf(a, b), -most), most));
        s.to = (int)ceilf(fmaxf(fminf(fmaxf(a, b), most), -most));
    } else if (!(low < 0 && high > 0)) {
        s.to = s.from - 1;
    }
    return s;
}

/* Samples whose row lies near rows [row, row + count) of the wrap-th repetition. */
static __device__ inline struct span near_rows(const struct gather_job &j, int view, int wrap,
                                               int row, int count)
{
    const float low = (float)(row + wrap * j.n.rows) - EDGE;
    return samples_between(j.lines[view].row_step, low, low + (float)(count - 1) + 2 * EDGE,
                           j.n.reach);
}

/* Repetitions of columns [col, col + count) that samples of the span come near. */
static __device__ inline struct span near_cols(const struct gather_job &j, int view, struct span s,
                                               int col, int count)
{
    const float step = j.lines[view].col_step, cols = (float)j.n.cols;
    const float a = step * (float)s.from, b = step * (float)s.to;
    const float low = (float)col - EDGE - 0.01f, high = (float)(col + count - 1) + EDGE + 0.01f;
    struct span wraps;
    wraps.from = (int)ceilf((fminf(a, b) - high) / cols);
    wraps.to = (int)floorf((fmaxf(a, b) - low) / cols);
    return wraps;
}

/* Entry e holds view and repetition of the rows. */
static __device__ inline int entry_crosses(const struct gather_job &j, int e, int row, int col)
{
    if (e >= j.entries)
        return 0;
    const int each = 2 * j.n.wraps + 1, view = e / each;
    const struct span s = near_rows(j, view, e % each - j.n.wraps, row, DOWN * SIDE);
    if (s.from > s.to)
        return 0;
    const struct span wraps = near_cols(j, view, s, col, ACROSS * SIDE);
    return wraps.from <= wraps.to;
}

/* The entries of a chunk that cross the block, in their order. */
static __device__ inline int list_entries(const struct gather_job &j, int first, int row, int col,
                                          int *list, int *counts)
{
    const int thread = (int)threadIdx.x, warp = thread / WARP, lane = thread % WARP;
    const int warps = (int)blockDim.x / WARP;
    const int hit = entry_crosses(j, first + thread, row, col);
    const unsigned hits = __ballot_sync(ALL_LANES, hit);
    if (lane == 0)
        counts[warp] = __popc(hits);
    __syncthreads();
    int before = 0, all = 0;
    for (int w = 0; w < warps; w++) {
        before += w < warp ? counts[w] : 0;
        all += counts[w];
    }
    if (hit)
        list[before + __popc(hits & ((1u << lane) - 1))] = first + thread;
    __syncthreads();
    return all;
}

struct own_cells {
    int row, col, pair;
    float2 sum[SIDE][SIDE];
};

/* Samples of one line near the tile's own place in one repetition of the grid. */
static __device__ inline void cell_add_samples(const struct gather_job &j, int view, struct span s,
                                               int row, int col, struct own_cells *t)
{
    const struct fourier_line l = j.lines[view];
    const int64_t one = (int64_t)1 << 32, row_at = row * one, col_at = col * one;
    const float *weights = j.weights + (int64_t)view * (j.n.reach + 1);
    const float2 *spectrum = j.spectra + (int64_t)view * j.n.period * j.n.pairs + t->pair;
    int period = s.from / j.n.period, at = s.from % j.n.period;
    if (at < 0) {
        at += j.n.period;
        period--;
    }
    float2 root = root_of_turns((uint64_t)((int64_t)period * j.n.period) * l.turns);
    for (int k = s.from; k <= s.to; k++, at++) {
        if (at == j.n.period) {
            at = 0;
            period++;
            root = root_of_turns((uint64_t)((int64_t)period * j.n.period) * l.turns);
        }
        const float down = (float)(k * l.row - row_at) * CELLF;
        const float across = (float)(k * l.col - col_at) * CELLF;
        const float weight = weights[k < 0 ? -k : k];
        const float2 z = spectrum[(int64_t)at * j.n.pairs];
        const float2 v = make_float2(weight * (z.x * root.x - z.y * root.y),
                                     weight * (z.x * root.y + z.y * root.x));
        float side[SIDE];
        for (int i = 0; i < SIDE; i++)
            side[i] = fourier_taper(across - (float)i);
        for (int i = 0; i < SIDE; i++) {
            const float of_row = fourier_taper(down - (float)i);
            for (int c = 0; c < SIDE; c++) {
                t->sum[i][c].x += of_row * side[c] * v.x;
                t->sum[i][c].y += of_row * side[c] * v.y;
            }
        }
    }
}

static __device__ inline void cell_add_entry(const struct gather_job &j, int entry,
                                             struct own_cells *t)
{
    const int each = 2 * j.n.wraps + 1, view = entry / each, wrap = entry % each - j.n.wraps;
    const struct span rows = near_rows(j, view, wrap, t->row, SIDE);
    if (rows.from > rows.to)
        return;
    const struct span wraps = near_cols(j, view, rows, t->col, SIDE);
    for (int w = wraps.from; w <= wraps.to; w++) {
        const int col = t->col + w * j.n.cols;
        const float low = (float)col - EDGE;
        struct span s =
            samples_between(j.lines[view].col_step, low, low + (SIDE - 1) + 2 * EDGE, j.n.reach);
        s.from = max(s.from, rows.from);
        s.to = min(s.to, rows.to);
        cell_add_samples(j, view, s, t->row + wrap * j.n.rows, col, t);
    }
}

static __global__ void __launch_bounds__(THREADS) grid_kernel(const struct gather_job j)
{
    SHARED_ARRAY(int, list);
    int *const counts = list + MOST;
    const int thread = (int)threadIdx.x, place = thread / j.n.pairs;
    const int row = (int)blockIdx.x / j.blocks * DOWN * SIDE;
    const int col = (int)blockIdx.x % j.blocks * ACROSS * SIDE;
    struct own_cells t = {};
    t.row = row + place / ACROSS * SIDE;
    t.col = col + place % ACROSS * SIDE;
    t.pair = thread % j.n.pairs;
    for (int first = 0; first < j.entries; first += (int)blockDim.x) {
        const int count = list_entries(j, first, row, col, list, counts);
        for (int i = 0; i < count; i++)
            cell_add_entry(j, list[i], &t);
        __syncthreads();
    }
    for (int i = 0; i < SIDE; i++)
        for (int c = 0; c < SIDE; c++)
            if (t.row + i < j.n.rows && t.col + c < j.n.cols)
                j.grid[((int64_t)t.pair * j.n.rows + t.row + i) * j.n.cols + t.col + c] =
                    t.sum[i][c];
}

/* sinc(f) sinc(width f); sin(pi f) by its fraction of a turn, which is exact. */
static __global__ void __launch_bounds__(THREADS)
    weight_kernel(const struct fourier_sizes n, const struct fourier_line *lines, float *weights,
                  int64_t total)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= total)
        return;
    const int k = (int)(i % (n.reach + 1));
    const float f = (float)k / (float)n.period, width = lines[i / (n.reach + 1)].width;
    const float pi_f = (float)M_PI * f;
    const float one = root_of_turns((uint64_t)(0.5f * f * 16777216.0f) << 40).y;
    const float two = root_of_turns((uint64_t)(0.5f * width * f * 16777216.0f) << 40).y;
    weights[i] = k ? n.scale * (one / pi_f) * (two / (width * pi_f)) : n.scale;
}

enum err fourier_weights(struct cuda_backend *be, const struct fourier_sizes *n,
                         const struct fourier_line *lines, float *weights)
{
    const int64_t total = (int64_t)n->views * (n->reach + 1);
    LAUNCH(be, weight_kernel, ceil_div(total, THREADS), THREADS, 0, *n, lines, weights, total);
    return ERR_OK;
}

enum err fourier_gather(struct cuda_backend *be, const struct fourier_sizes *n,
                        const struct fourier_line *lines, const float *weights,
                        const float2 *spectra, float2 *grid)
{
    struct gather_job j = {};
    j.n = *n;
    j.lines = lines;
    j.weights = weights;
    j.spectra = spectra;
    j.grid = grid;
    j.blocks = (int)ceil_div(n->cols, ACROSS * SIDE);
    j.entries = n->views * (2 * j.n.wraps + 1);
    LAUNCH(be, grid_kernel, ceil_div(n->rows, DOWN * SIDE) * j.blocks, (unsigned)(TILES * n->pairs),
           (MOST + MOST / WARP) * sizeof(int), j);
    return ERR_OK;
}
