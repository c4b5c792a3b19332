/* Scaling, sums and fingerprints of whole buffers, in chunks of fixed size: same bits at any number
 * of threads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/backend/course.h"
#include "host/cpu/common/elementwise.h"
#include "host/cpu/common/threads.h"

static int64_t buffer_floats(const struct buffer *b)
{
    return (int64_t)(b->bytes / sizeof(float));
}

static int64_t chunk_length(int64_t n, int64_t chunk)
{
    int64_t left = n - chunk * CHUNK;
    return left < CHUNK ? left : CHUNK;
}

static struct operands at_chunk(struct operands in, int64_t chunk)
{
    int64_t first = chunk * CHUNK;
    return (struct operands){in.a ? in.a + first : NULL, in.b ? in.b + first : NULL,
                             in.c ? in.c + first : NULL};
}

enum err sum_chunks(struct backend *be, chunk_sums *f, struct operands in, int64_t n,
                    double out[SUMS])
{
    const int64_t chunks = (n + CHUNK - 1) / CHUNK;
    double(*part)[SUMS] = calloc((size_t)chunks + 1, sizeof *part);
    FAIL_IF(!part, ERR_MEMORY, "no memory for %lld partial sums", (long long)chunks);
#pragma omp parallel for num_threads(cpu_team(be, n)) schedule(static)
    for (int64_t i = 0; i < chunks; i++)
        if (!backend_stopped(be))
            f(at_chunk(in, i), chunk_length(n, i), part[i]);
    for (int s = 0; s < SUMS; s++) {
        out[s] = 0;
        for (int64_t i = 0; i < chunks; i++)
            out[s] += part[i][s];
    }
    free(part);
    return ERR_OK;
}

static double add_lanes(const double lane[CHUNK_LANES])
{
    double sum = 0;
    for (int l = 0; l < CHUNK_LANES; l++)
        sum += lane[l];
    return sum;
}

static void chunk_plain(struct operands in, int64_t n, double out[SUMS])
{
    double sum[CHUNK_LANES] = {0}, squares[CHUNK_LANES] = {0};
    int64_t i = 0;
    for (; i + CHUNK_LANES <= n; i += CHUNK_LANES)
        for (int l = 0; l < CHUNK_LANES; l++) {
            double a = (double)in.a[i + l];
            sum[l] += a;
            squares[l] += a * a;
        }
    for (; i < n; i++) {
        double a = (double)in.a[i];
        sum[0] += a;
        squares[0] += a * a;
    }
    out[0] = add_lanes(sum);
    out[1] = add_lanes(squares);
}

static void chunk_abs(struct operands in, int64_t n, double out[SUMS])
{
    double sum[CHUNK_LANES] = {0};
    int64_t i = 0;
    for (; i + CHUNK_LANES <= n; i += CHUNK_LANES)
        for (int l = 0; l < CHUNK_LANES; l++)
            sum[l] += (double)fabsf(in.a[i + l]);
    for (; i < n; i++)
        sum[0] += (double)fabsf(in.a[i]);
    out[0] = add_lanes(sum);
}

enum err cpu_sum_abs(struct backend *be, const struct buffer *x, double *out)
{
    double sums[SUMS];
    TRY(sum_chunks(be, chunk_abs, (struct operands){x->ptr, NULL, NULL}, buffer_floats(x), sums));
    *out = sums[0];
    backend_declare(be, (double)buffer_floats(x), (double)x->bytes, (double)x->bytes);
    return ERR_OK;
}

static void chunk_range(const float *a, int64_t n, float *min, float *max)
{
    float low[CHUNK_LANES], high[CHUNK_LANES];
    for (int l = 0; l < CHUNK_LANES; l++)
        low[l] = high[l] = a[0];
    int64_t i = 0;
    for (; i + CHUNK_LANES <= n; i += CHUNK_LANES)
        for (int l = 0; l < CHUNK_LANES; l++) {
            low[l] = a[i + l] < low[l] ? a[i + l] : low[l];
            high[l] = a[i + l] > high[l] ? a[i + l] : high[l];
        }
    for (; i < n; i++) {
        low[0] = a[i] < low[0] ? a[i] : low[0];
        high[0] = a[i] > high[0] ? a[i] : high[0];
    }
    for (int l = 0; l < CHUNK_LANES; l++) {
        *min = low[l] < *min ? low[l] : *min;
        *max = high[l] > *max ? high[l] : *max;
    }
}

enum err cpu_fingerprint(struct backend *be, const struct buffer *b, double *sum, double *l2,
                         double *min, double *max)
{
    const float *a = b->ptr;
    const int64_t n = buffer_floats(b), chunks = (n + CHUNK - 1) / CHUNK;
    double sums[SUMS];
    TRY(sum_chunks(be, chunk_plain, (struct operands){a, NULL, NULL}, n, sums));
    float low = INFINITY, high = -INFINITY;
#pragma omp parallel for num_threads(cpu_team(be, n)) reduction(min : low) reduction(max : high)
    for (int64_t i = 0; i < chunks; i++)
        if (!backend_stopped(be))
            chunk_range(a + i * CHUNK, chunk_length(n, i), &low, &high);
    *sum = sums[0];
    *l2 = sqrt(sums[1]);
    *min = n ? (double)low : 0;
    *max = n ? (double)high : 0;
    backend_declare(be, 5.0 * (double)n, (double)b->bytes, 2.0 * (double)b->bytes);
    return ERR_OK;
}

enum err cpu_scale(struct backend *be, double alpha, struct buffer *x)
{
    const float factor = (float)alpha;
    float *a = x->ptr;
    const int64_t n = buffer_floats(x);
#pragma omp parallel for num_threads(cpu_team(be, n)) schedule(static)
    for (int64_t i = 0; i < n; i++)
        a[i] *= factor;
    backend_declare(be, (double)n, 2.0 * (double)x->bytes, 2.0 * (double)x->bytes);
    return ERR_OK;
}

enum err cpu_scale_slices(struct backend *be, const struct volume *v, const float *factor,
                          struct buffer *x)
{
    const int64_t pixels = volume_pixels(v), slices = v->slices;
    float *a = x->ptr;
#pragma omp parallel for num_threads(cpu_team(be, pixels *slices)) schedule(static)
    for (int64_t p = 0; p < pixels; p++) {
        if (backend_stopped_at(be, p))
            continue;
        for (int64_t k = 0; k < slices; k++)
            a[p * slices + k] *= factor[k];
    }
    backend_declare(be, (double)volume_voxels(v), 2.0 * (double)x->bytes, 2.0 * (double)x->bytes);
    return ERR_OK;
}

static void chunk_weights(const struct weights_rule *rule, struct operands in, int64_t n,
                          float *out)
{
    const float threshold = (float)rule->threshold, scale = (float)(-1 / rule->beta);
    const float dense = (float)(1 + rule->gamma), *a = in.a, *m = in.b;
    const enum weights_kind kind = rule->kind;
    for (int64_t i = 0; i < n; i++) {
        if (kind == WEIGHTS_MAR)
            out[i] = expf(scale * a[i] * (m[i] > threshold ? dense : 1));
        else
            out[i] = kind == WEIGHTS_TRANSMISSION ? expf(-a[i])
                     : kind == WEIGHTS_ROOT       ? expf(-0.5f * a[i])
                     : kind == WEIGHTS_EMISSION   ? 1 / (fabsf(a[i]) + 0.1f)
                                                  : 1;
    }
}

/* An exponential is 20 operations. */
enum err cpu_make_weights(struct backend *be, const struct weights_rule *rule,
                          const struct buffer *y, const struct buffer *metal, struct buffer *w)
{
    const int64_t n = buffer_floats(y), chunks = (n + CHUNK - 1) / CHUNK;
    const struct operands in = {y->ptr, metal ? metal->ptr : y->ptr, NULL};
    float *out = w->ptr;
#pragma omp parallel for num_threads(cpu_team(be, n)) schedule(static)
    for (int64_t i = 0; i < chunks; i++)
        if (!backend_stopped(be))
            chunk_weights(rule, at_chunk(in, i), chunk_length(n, i), out + i * CHUNK);
    const double bytes = (double)y->bytes * (metal ? 3 : 2);
    backend_declare(be, weights_flops(rule->kind) * (double)n, bytes, bytes);
    return ERR_OK;
}

enum err cpu_weigh_rays(struct backend *be, const struct scan *s, const float *factor,
                        const struct buffer *y, struct buffer *out)
{
    const int64_t n = s->channels;
    const float *from = y->ptr;
    float *to = out->ptr;
#pragma omp parallel for num_threads(cpu_team(be, scan_samples(s))) schedule(static)
    for (int64_t row = 0; row < s->views * s->rows; row++) {
        if (backend_stopped_at(be, row))
            continue;
        for (int64_t c = 0; c < n; c++)
            to[row * n + c] = from[row * n + c] * factor[row / s->rows * n + c];
    }
    backend_declare(be, (double)scan_samples(s), 2.0 * (double)y->bytes, 3.0 * (double)y->bytes);
    return ERR_OK;
}

/* Moves a line of some slices of a volume array to or from an array of them alone. */
static void move_line(const struct slices_move *move, float *x, float *packed)
{
    const int64_t count = move->count;
    const size_t bytes = (size_t)count * sizeof *x;
    if (move->how == SLICES_TAKE)
        memcpy(packed, x, bytes);
    else if (move->how == SLICES_PUT)
        memcpy(x, packed, bytes);
    else
        for (int64_t k = 0; k < count; k++)
            x[k] += packed[k];
}

enum err cpu_move_slices(struct backend *be, const struct slices_move *move,
                         const struct pixel_set *pixels, struct buffer *x, struct buffer *packed)
{
    const int64_t count = move->count;
    const int adds = move->how == SLICES_ADD;
    float *volume = x->ptr, *alone = packed->ptr;
    const double n = (double)pixels->count * (double)count;
    const double bytes = (adds ? 12 : 8) * n;
#pragma omp parallel for num_threads(cpu_team(be, pixels->count *count)) schedule(static)
    for (int64_t q = 0; q < pixels->count; q++) {
        const int64_t p = pixels->indices ? pixels->indices[q] : q;
        move_line(move, volume + p * move->slices + move->first, alone + q * count);
    }
    backend_declare(be, adds ? n : 0, bytes, bytes);
    return ERR_OK;
}
