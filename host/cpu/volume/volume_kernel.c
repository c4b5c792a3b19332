/* Loops over spans of a volume: vectors, then single floats at the ends. Bound by memory, so that
 * plain code is left to the compiler where it makes vectors of it. */
#include "host/cpu/volume/volume_kernel.h"
#include "host/backend/volume_math.h"
#include "host/cpu/common/vec.h"

typedef float vh __attribute__((vector_size(VEC * 2), may_alias));
typedef float vh_unaligned __attribute__((vector_size(VEC * 2), aligned(4), may_alias));
typedef double vd __attribute__((vector_size(VEC * 4)));
typedef int64_t vl __attribute__((vector_size(VEC * 4)));

/* float64 from the difference on; a NaN is masked out of all three. */
static struct volume_sums sums(const float *x, int64_t n, double k)
{
    vd sum[2] = {{0}}, squares[2] = {{0}};
    vl count[2] = {{0}};
    int64_t i = 0;
    for (; i + VEC <= n; i += VEC)
        for (int h = 0; h < 2; h++) {
            const vh part = *(const vh_unaligned *)(x + i + h * (VEC / 2));
            vd d = __builtin_convertvector(part, vd) - k;
            const vl real = d == d;
            d = (vd)((vl)d & real);
            sum[h] += d;
            squares[h] += d * d;
            count[h] -= real;
        }
    struct volume_sums s = {0, 0, 0};
    for (int h = 0; h < 2; h++)
        for (int l = 0; l < VEC / 2; l++) {
            s.sum += sum[h][l];
            s.squares += squares[h][l];
            s.count += (double)count[h][l];
        }
    for (; i < n; i++)
        if (x[i] == x[i]) {
            const double d = (double)x[i] - k;
            s.sum += d;
            s.squares += d * d;
            s.count++;
        }
    return s;
}

/* vf_min and vf_max return their second operand where one is NaN. */
static void range(const float *x, int64_t n, float *low, float *high)
{
    vf least[2] = {vf_set(*low), vf_set(*low)}, most[2] = {vf_set(*high), vf_set(*high)};
    int64_t i = 0;
    for (; i + 2 * VEC <= n; i += 2 * VEC)
        for (int h = 0; h < 2; h++) {
            const vf v = vf_load(x + i + h * VEC);
            least[h] = vf_min(v, least[h]);
            most[h] = vf_max(v, most[h]);
        }
    least[0] = vf_min(least[0], least[1]);
    most[0] = vf_max(most[0], most[1]);
    for (int l = 0; l < VEC; l++) {
        *low = least[0][l] < *low ? least[0][l] : *low;
        *high = most[0][l] > *high ? most[0][l] : *high;
    }
    for (; i < n; i++) {
        *low = x[i] < *low ? x[i] : *low;
        *high = x[i] > *high ? x[i] : *high;
    }
}

/* Floats before the first that is aligned to a vector, at most n. */
VEC_INLINE int64_t before_aligned(const float *out, int64_t n)
{
    const int64_t rest = (int64_t)(-(uintptr_t)out / sizeof(float) % VEC);
    return rest < n ? rest : n;
}

VEC_INLINE void put(float *out, vf v, int stream)
{
    if (stream)
        vf_stream(out, v);
    else
        vf_store(out, v);
}

VEC_INLINE vf mapped_vector(vf x, const struct volume_map *m)
{
    const vf y = (x - m->less) * m->factor + m->plus;
    return vf_min(vf_set(m->high), vf_max(vf_set(m->low), y));
}

static void map_floats(const float *x, int64_t n, const struct volume_map *m, float *out,
                       int stream)
{
    int64_t i = 0;
    for (const int64_t head = stream ? before_aligned(out, n) : 0; i < head; i++)
        out[i] = volume_mapped(x[i], m);
    for (; i + VEC <= n; i += VEC)
        put(out + i, mapped_vector(vf_load(x + i), m), stream);
    for (; i < n; i++)
        out[i] = volume_mapped(x[i], m);
}

#define CAST(name, type, expression)                                                               \
    static void name(const float *x, int64_t n, const struct volume_map *m, type *out)             \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const float y = volume_mapped(x[i], m);                                                \
            out[i] = (type)(expression);                                                           \
        }                                                                                          \
    }
CAST(cast_half, uint16_t, volume_f16(y))
CAST(cast_brain, uint16_t, volume_bf16(y))
CAST(cast_short, int16_t, volume_whole(y, -32768, 32767))
CAST(cast_byte, uint8_t, volume_whole(y, 0, 255))

static void map(const float *x, int64_t n, const struct volume_map *m, enum volume_dtype t,
                void *out, int stream)
{
    switch (t) {
    case VOLUME_F32:
        map_floats(x, n, m, out, stream);
        break;
    case VOLUME_F16:
        cast_half(x, n, m, out);
        break;
    case VOLUME_BF16:
        cast_brain(x, n, m, out);
        break;
    case VOLUME_I16:
        cast_short(x, n, m, out);
        break;
    case VOLUME_U8:
        cast_byte(x, n, m, out);
        break;
    }
}

static void copy(const float *x, int64_t n, float *out, int stream)
{
    if (!stream) {
        memcpy(out, x, (size_t)n * sizeof *out);
        return;
    }
    int64_t i = before_aligned(out, n);
    memcpy(out, x, (size_t)i * sizeof *out);
    for (; i + VEC <= n; i += VEC)
        vf_stream(out + i, vf_load(x + i));
    memcpy(out + i, x + i, (size_t)(n - i) * sizeof *out);
}

VEC_INLINE vf reversed(vf v)
{
    vi order;
    for (int i = 0; i < VEC; i++)
        order[i] = VEC - 1 - i;
    return __builtin_shuffle(v, order);
}

static void reverse(const float *x, int64_t n, float *out, int stream)
{
    int64_t i = 0;
    for (const int64_t head = stream ? before_aligned(out, n) : 0; i < head; i++)
        out[i] = x[n - 1 - i];
    for (; i + VEC <= n; i += VEC)
        put(out + i, reversed(vf_load(x + n - i - VEC)), stream);
    for (; i < n; i++)
        out[i] = x[n - 1 - i];
}

static void zero(int64_t n, float *out, int stream)
{
    int64_t i = stream ? before_aligned(out, n) : n;
    memset(out, 0, (size_t)i * sizeof *out);
    for (; i + VEC <= n; i += VEC)
        vf_stream(out + i, (vf){0});
    memset(out + i, 0, (size_t)(n - i) * sizeof *out);
}

static void blend(const float *a, const float *b, float t, int64_t n, float *out)
{
    int64_t i = 0;
    for (; i + VEC <= n; i += VEC) {
        const vf low = vf_load(a + i);
        vf_store(out + i, low + t * (vf_load(b + i) - low));
    }
    for (; i < n; i++)
        out[i] = a[i] + t * (b[i] - a[i]);
}

VEC_INLINE vf gather(const float *x, const int32_t *at)
{
#if defined(__AVX512F__)
    return (vf)_mm512_i32gather_ps(_mm512_loadu_si512(at), x, 4);
#elif defined(__AVX2__)
    return (vf)_mm256_i32gather_ps(x, _mm256_loadu_si256((const __m256i *)at), 4);
#else
    vf v;
    for (int l = 0; l < VEC; l++)
        v[l] = x[at[l]];
    return v;
#endif
}

/* Of places that lie close together, two registers hold all: they are permuted, which takes a
 * fraction of what gathering does. Reads up to 32 floats from x[at[0]] on. */
VEC_INLINE vf blended_at(const float *x, const int32_t *at, const float *t)
{
    vf low, high;
#if defined(__AVX512F__)
    if (at[VEC - 1] - at[0] < 2 * VEC - 1) {
        const vf a = vf_load(x + at[0]), b = vf_load(x + at[0] + VEC);
        vi index;
        memcpy(&index, at, sizeof index);
        index -= at[0];
        low = (vf)_mm512_permutex2var_ps((__m512)a, (__m512i)index, (__m512)b);
        high = (vf)_mm512_permutex2var_ps((__m512)a, (__m512i)(index + 1), (__m512)b);
        return low + vf_load(t) * (high - low);
    }
#endif
    low = gather(x, at);
    high = gather(x + 1, at);
    return low + vf_load(t) * (high - low);
}

static void pick(const float *x, const int32_t *at, const float *t, int64_t n, float *out,
                 int stream)
{
    int64_t i = 0;
    for (const int64_t head = stream ? before_aligned(out, n) : 0; i < head; i++)
        out[i] = t ? x[at[i]] + t[i] * (x[at[i] + 1] - x[at[i]]) : x[at[i]];
    for (; i + VEC <= n; i += VEC)
        put(out + i, t ? blended_at(x, at + i, t + i) : gather(x, at + i), stream);
    for (; i < n; i++)
        out[i] = t ? x[at[i]] + t[i] * (x[at[i] + 1] - x[at[i]]) : x[at[i]];
}

static void halve(const float *const *rows, int count, int64_t n, float *out)
{
    const float share = 0.5f / (float)count;
    const float *a = rows[0], *b = rows[count / 4], *c = rows[count / 2];
    const float *d = rows[count - 1];
    if (count == 4)
        for (int64_t i = 0; i < n / 2; i++)
            out[i] = share * (((a[2 * i] + a[2 * i + 1]) + (b[2 * i] + b[2 * i + 1])) +
                              ((c[2 * i] + c[2 * i + 1]) + (d[2 * i] + d[2 * i + 1])));
    else if (count == 2)
        for (int64_t i = 0; i < n / 2; i++)
            out[i] = share * ((a[2 * i] + a[2 * i + 1]) + (d[2 * i] + d[2 * i + 1]));
    else
        for (int64_t i = 0; i < n / 2; i++)
            out[i] = share * (a[2 * i] + a[2 * i + 1]);
    if (n % 2) {
        float sum = 0;
        for (int r = 0; r < count; r++)
            sum += rows[r][n - 1];
        out[n / 2] = 2 * share * sum;
    }
}

const struct volume_kernels ISA_NAME(volume_kernels) = {sums, range, map,  copy,  reverse,
                                                        zero, blend, pick, halve, vf_stream_end};
