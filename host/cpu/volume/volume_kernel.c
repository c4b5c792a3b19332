/* Loops over spans of a volume: vectors, then single floats at the ends. Bound by memory, so that
 * plain code is left to the compiler where it makes vectors of it. */
#include "host/cpu/volume/volume_kernel.h"
#include "host/backend/volume_math.h"
#include "host/cpu/common/vec.h"
#include "host/cpu/volume/mapped.h"

typedef float vh __attribute__((vector_size(VEC * 2), may_alias));
typedef float vh_unaligned __attribute__((vector_size(VEC * 2), aligned(4), may_alias));
typedef double vd __attribute__((vector_size(VEC * 4)));

/* The lines of 2 VEC floats that are read soon. */
VEC_INLINE void fetch(const float *x)
{
    for (int i = 0; i < 2 * VEC; i += VEC < 16 ? 2 * VEC : 16)
        __builtin_prefetch(x + i + VOLUME_FETCH);
}

VEC_INLINE double vd_sum(vd v)
{
    double sum = 0;
    for (int l = 0; l < VEC / 2; l++)
        sum += v[l];
    return sum;
}

/* float64 from the difference on. Four chains of sums and of squares: eight operations for 2 VEC
 * floats hide each other's latency. */
static struct volume_sums sums_of_all(const float *x, int64_t n, double k)
{
    vd sum[4] = {{0}}, squares[4] = {{0}};
    int64_t i = 0;
    for (; i + 2 * VEC <= n; i += 2 * VEC) {
        fetch(x + i);
#pragma GCC unroll 4
        for (int h = 0; h < 4; h++) {
            const vh part = *(const vh_unaligned *)(x + i + h * (VEC / 2));
            const vd d = __builtin_convertvector(part, vd) - k;
            sum[h] += d;
            squares[h] += d * d;
        }
    }
    struct volume_sums s = {(double)n, vd_sum((sum[0] + sum[1]) + (sum[2] + sum[3])),
                            vd_sum((squares[0] + squares[1]) + (squares[2] + squares[3]))};
    for (; i < n; i++) {
        const double d = (double)x[i] - k;
        s.sum += d;
        s.squares += d * d;
    }
    return s;
}

/* A NaN, which all sums would become, is left out in a second look. */
static struct volume_sums span_sums(const float *x, int64_t n, double k)
{
    struct volume_sums s = sums_of_all(x, n, k);
    if (s.sum == s.sum)
        return s;
    s = (struct volume_sums){0, 0, 0};
    for (int64_t i = 0; i < n; i++)
        if (x[i] == x[i]) {
            const double d = (double)x[i] - k;
            s.sum += d;
            s.squares += d * d;
            s.count++;
        }
    return s;
}

/* vf_min and vf_max return their second operand where one is NaN. */
static void span_range(const float *x, int64_t n, float *low, float *high)
{
    vf least[2] = {vf_set(*low), vf_set(*low)}, most[2] = {vf_set(*high), vf_set(*high)};
    int64_t i = 0;
    for (; i + 2 * VEC <= n; i += 2 * VEC) {
        fetch(x + i);
        for (int h = 0; h < 2; h++) {
            const vf v = vf_load(x + i + h * VEC);
            least[h] = vf_min(v, least[h]);
            most[h] = vf_max(v, most[h]);
        }
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

/* The machine's own conversion, with the same NaN as volume_f16: few vectors hold one. */
#if defined(__AVX512F__)
static void cast_half(const float *x, int64_t n, const struct volume_map *m, uint16_t *out)
{
    int64_t i = 0;
    struct volume_map narrow = *m; /* the type's limits are the map's */
    narrow.low = m->low < -65504 ? -65504 : m->low > 65504 ? 65504 : m->low;
    narrow.high = m->high > 65504 ? 65504 : m->high < -65504 ? -65504 : m->high;
    for (; i + VEC <= n; i += VEC) {
        __builtin_prefetch(x + i + VOLUME_FETCH);
        __m512 y = (__m512)mapped_vector(vf_load(x + i), &narrow);
        const __mmask16 is_nan = _mm512_cmp_ps_mask(y, y, _CMP_UNORD_Q);
        if (__builtin_expect(is_nan, 0)) {
            const __m512i bits = _mm512_castps_si512(y), quiet = _mm512_set1_epi32(0x7fc00000);
            const __m512i sign = _mm512_and_si512(bits, _mm512_set1_epi32(INT32_MIN));
            const __m512i nan = _mm512_or_si512(sign, quiet);
            y = _mm512_castsi512_ps(_mm512_mask_mov_epi32(bits, is_nan, nan));
        }
        _mm256_storeu_si256((__m256i *)(out + i), _mm512_cvtps_ph(y, 0));
    }
    for (; i < n; i++)
        out[i] = volume_f16(volume_mapped(x[i], m));
}
#else
CAST(cast_half, uint16_t, volume_f16(y))
#endif
CAST(cast_brain, uint16_t, volume_bf16(y))
CAST(cast_short, int16_t, volume_whole(y, -32768, 32767))
CAST(cast_byte, uint8_t, volume_whole(y, 0, 255))

static void span_map(const float *x, int64_t n, const struct volume_map *m, enum volume_dtype t,
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

/* The first m of VEC floats, zeros behind them. */
VEC_INLINE vf load_some(const float *x, int64_t m)
{
#if defined(__AVX512F__)
    return (vf)_mm512_maskz_loadu_ps((__mmask16)((1u << m) - 1), x);
#else
    vf v = {0};
    for (int l = 0; l < m; l++)
        v[l] = x[l];
    return v;
#endif
}

VEC_INLINE void store_some(float *out, vf v, int64_t m)
{
#if defined(__AVX512F__)
    _mm512_mask_storeu_ps(out, (__mmask16)((1u << m) - 1), (__m512)v);
#else
    for (int l = 0; l < m; l++)
        out[l] = v[l];
#endif
}

/* Place of an address in its vector. */
VEC_INLINE int place_of(const float *out)
{
    return (int)((uintptr_t)out / sizeof(float) % VEC);
}

static void line_begin(struct volume_line *line, const float *out)
{
    line->first = place_of(out);
}

/* `out` is behind the last float that was put. */
static void line_end(struct volume_line *line, float *out)
{
    const int n = place_of(out) - line->first;
    if (line->stream && n > 0)
        memcpy(out - n, line->v + line->first, (size_t)n * sizeof *out);
}

/* m floats that do not begin a vector; they may complete it. */
VEC_INLINE void put_head(struct volume_line *line, float *out, vf v, int64_t m)
{
    const int place = place_of(out), full = place + m == VEC;
    store_some(line->v + place, v, m);
    if (full && line->first == 0)
        vf_stream(out - place, vf_load(line->v));
    else if (full)
        memcpy(out - place + line->first, line->v + line->first,
               (size_t)(VEC - line->first) * sizeof *out);
    if (full)
        line->first = 0;
}

/* n floats at `out`: ALL(i) is the vector of the floats from i on, SOME(i, m) has m of them. */
#define PUT_ROW(ALL, SOME)                                                                         \
    const int stream = line->stream;                                                               \
    const int64_t ahead __attribute__((unused)) = line->ahead;                                     \
    int64_t i = 0;                                                                                 \
    if (stream && place_of(out)) {                                                                 \
        i = before_aligned(out, n);                                                                \
        put_head(line, out, SOME(0, i), i);                                                        \
    }                                                                                              \
    for (; i + VEC <= n; i += VEC)                                                                 \
        put(out + i, ALL(i), stream);                                                              \
    if (i < n)                                                                                     \
        store_some(stream ? line->v : out + i, SOME(i, n - i), n - i);

/* Into the caches the C library's copy is the fastest: it spares reading what is overwritten. */
static void line_copy(const float *x, int64_t n, float *out, struct volume_line *line)
{
    if (!line->stream) {
        memcpy(out, x, (size_t)n * sizeof *x);
        return;
    }
#define ALL(i)     (__builtin_prefetch(x + (i) + ahead), vf_load(x + (i)))
#define SOME(i, m) load_some(x + (i), m)
    {
        PUT_ROW(ALL, SOME)
    }
#undef ALL
#undef SOME
}

/* Reverses the first n floats. */
VEC_INLINE vf reversed(vf v, int n)
{
    vi order;
    for (int i = 0; i < VEC; i++)
        order[i] = (n - 1 - i) & (VEC - 1);
    return __builtin_shuffle(v, order);
}

static void line_reverse(const float *x, int64_t n, float *out, struct volume_line *line)
{
#define ALL(i)     reversed(vf_load(x + n - (i)-VEC), VEC)
#define SOME(i, m) reversed(load_some(x + n - (i) - (m), m), (int)(m))
    PUT_ROW(ALL, SOME)
#undef ALL
#undef SOME
}

static void line_zero(int64_t n, float *out, struct volume_line *line)
{
#define ALL(i)     ((vf){0})
#define SOME(i, m) ((vf){0})
    PUT_ROW(ALL, SOME)
#undef ALL
#undef SOME
}

static void line_blend(const float *a, const float *b, float t, int64_t n, float *out)
{
    int64_t i = 0;
    for (; i + VEC <= n; i += VEC) {
        const vf e = vf_load(a + i);
        __builtin_prefetch(a + i + VOLUME_FETCH);
        __builtin_prefetch(b + i + VOLUME_FETCH);
        vf_store(out + i, e + t * (vf_load(b + i) - e));
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

/* Two registers hold all places that lie close together, and `more` floats behind: they are
 * permuted, which takes a fraction of the time of gathering. */
#if defined(__AVX512F__)
struct window {
    __m512 low, high;
    __m512i index;
};

VEC_INLINE int window_holds(const int32_t *at, int more)
{
    return at[VEC - 1] - at[0] + more < 2 * VEC;
}

VEC_INLINE struct window window_of(const float *x, const int32_t *at, int more)
{
    const uint32_t mask = ~0u >> (2 * VEC - 1 - (at[VEC - 1] - at[0] + more));
    return (struct window){_mm512_maskz_loadu_ps((__mmask16)mask, x + at[0]),
                           _mm512_maskz_loadu_ps((__mmask16)(mask >> VEC), x + at[0] + VEC),
                           _mm512_sub_epi32(_mm512_loadu_si512(at), _mm512_set1_epi32(at[0]))};
}
#endif

VEC_INLINE vf picked(const float *x, const int32_t *at)
{
#if defined(__AVX512F__)
    if (window_holds(at, 0)) {
        const struct window w = window_of(x, at, 0);
        return (vf)_mm512_permutex2var_ps(w.low, w.index, w.high);
    }
#endif
    return gather(x, at);
}

VEC_INLINE vf mixed(vf a, vf b, vf t)
{
    return a + t * (b - a);
}

VEC_INLINE vf blended_at(const float *x, const int32_t *at, const float *t)
{
#if defined(__AVX512F__)
    if (window_holds(at, 1)) {
        const struct window w = window_of(x, at, 1);
        const __m512i next = _mm512_add_epi32(w.index, _mm512_set1_epi32(1));
        return mixed((vf)_mm512_permutex2var_ps(w.low, w.index, w.high),
                     (vf)_mm512_permutex2var_ps(w.low, next, w.high), vf_load(t));
    }
#endif
    return mixed(gather(x, at), gather(x + 1, at), vf_load(t));
}

static void line_pick(const float *x, const int32_t *at, const float *t, int64_t n, float *out,
                      struct volume_line *line)
{
#define SOME(i, m) ALL(i)
    if (t) {
#define ALL(i) blended_at(x, at + (i), t + (i))
        PUT_ROW(ALL, SOME)
#undef ALL
        return;
    }
#define ALL(i) (__builtin_prefetch(x + at[i] + ahead), picked(x, at + (i)))
    PUT_ROW(ALL, SOME)
#undef ALL
#undef SOME
}

/* Rows that begin a vector have the groups of 16 that `behind` counts from. */
static void pick_close(const float *x, const int32_t *at, const int32_t *behind, const float *t,
                       int64_t n, float *out, struct volume_line *line)
{
#if defined(__AVX512F__)
    if (!line->stream || !place_of(out)) {
        const __m512i one = _mm512_set1_epi32(1);
        const int stream = line->stream;
        int64_t i = 0;
        for (; i < n; i += VEC) {
            const __m512 here = _mm512_loadu_ps(x + at[i]), more = _mm512_loadu_ps(x + at[i] + VEC);
            const __m512i index = _mm512_loadu_si512(behind + i);
            const __m512i next = _mm512_add_epi32(index, one);
            const vf v = mixed((vf)_mm512_permutex2var_ps(here, index, more),
                               (vf)_mm512_permutex2var_ps(here, next, more), vf_load(t + i));
            if (i + VEC <= n)
                put(out + i, v, stream);
            else
                store_some(stream ? line->v : out + i, v, n - i);
        }
        return;
    }
#endif
    (void)behind;
    line_pick(x, at, t, n, out, line);
}

/* Places that lie within one vector: it is blended along the other dimensions first, and permuted
 * twice. Down the rows: places, weights and what two rows share stay in registers. */
#if defined(__AVX2__)
VEC_INLINE vf permuted(vf v, vi index)
{
#if defined(__AVX512F__)
    return (vf)_mm512_permutexvar_ps((__m512i)index, (__m512)v);
#else
    return (vf)_mm256_permutevar8x32_ps((__m256)v, (__m256i)index);
#endif
}

/* Blends column `c`, the first `left` floats at most. */
VEC_INLINE vf between_slices(const struct volume_between *b, int64_t c, int64_t from, int64_t left)
{
    const float *x = b->slice[0] + c * b->n + from, *y = b->slice[1] + (x - b->slice[0]);
    __builtin_prefetch(y + b->ahead);
    return left >= VEC ? mixed(vf_load(x), vf_load(y), vf_set(b->t))
                       : mixed(load_some(x, left), load_some(y, left), vf_set(b->t));
}

static void line_between(const struct volume_between *block, const int32_t *at, const float *t,
                         int64_t n, float *out, int stream)
{
    const struct volume_between b = *block; /* not changed by what is stored */
    for (int64_t i = 0; i < n; i += VEC) {
        const int64_t from = at[i], left = b.n - from;
        const vi index = (vi)vf_load((const float *)(at + i)) - at[i];
        vf low = {0}, high = {0};
        vi next = index + 1;
        if (left < VEC)
            next += next >= (int)left; /* true is -1 */
        for (int64_t k = 0, has = -2; k < b.count; k++) {
            const int64_t c = b.at[k];
            if (c != has) {
                low = c == has + 1 ? high : between_slices(&b, c, from, left);
                high = c + 1 < b.columns ? between_slices(&b, c + 1, from, left) : low;
                has = c;
            }
            const vf both = mixed(low, high, vf_set(b.weight[k]));
            const vf v = mixed(permuted(both, index), permuted(both, next), vf_load(t + i));
            if (i + VEC > n)
                store_some(out + k * n + i, v, n - i);
            else
                put(out + k * n + i, v, stream);
        }
    }
}
#define BETWEEN line_between, VEC
#else
#define BETWEEN NULL, 0
#endif

static void line_halve(const float *const *rows, int count, int64_t n, float *out)
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

const struct volume_kernels ISA_NAME(volume_kernels) = {
    span_sums, span_range, span_map, line_begin, line_copy,  line_reverse, line_zero,
    line_pick, pick_close, BETWEEN,  line_end,   line_blend, line_halve,   vf_stream_end};
