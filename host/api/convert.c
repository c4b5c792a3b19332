/* Arrays of any type and strides to float32 in C order, and back. */
#include <stdint.h>
#include <string.h>

#include "host/api/call.h"
#include "host/backend/volume_math.h"

static float value_of_half(uint16_t bits, enum volume_dtype type)
{
    return (float)volume_value(type, &bits, 0);
}

/* To the nearest, to even between two; NaN becomes 0. */
static double whole(float x, double low, double high)
{
    const double y = rint((double)x);
    return x == x ? (y < low ? low : y > high ? high : y) : 0;
}

typedef void row_reader(const char *from, int64_t stride, int64_t n, float *out);
typedef void row_writer(const float *in, int64_t n, char *to, int64_t stride);

/* Memory of the caller need not be aligned. */
#define ROW(name, type, get, put)                                                                  \
    static void read_##name(const char *from, int64_t stride, int64_t n, float *out)               \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            type v;                                                                                \
            memcpy(&v, from + i * stride, sizeof v);                                               \
            out[i] = (float)(get);                                                                 \
        }                                                                                          \
    }                                                                                              \
    static void write_##name(const float *in, int64_t n, char *to, int64_t stride)                 \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const float x = in[i];                                                                 \
            const type v = (type)(put);                                                            \
            memcpy(to + i * stride, &v, sizeof v);                                                 \
        }                                                                                          \
    }
ROW(float32, float, v, x)
ROW(float64, double, v, x)
ROW(float16, uint16_t, value_of_half(v, VOLUME_F16), volume_f16(x))
ROW(bfloat16, uint16_t, value_of_half(v, VOLUME_BF16), volume_bf16(x))
ROW(int16, int16_t, v, whole(x, INT16_MIN, INT16_MAX))
ROW(uint16, uint16_t, v, whole(x, 0, UINT16_MAX))
ROW(uint8, uint8_t, v, whole(x, 0, UINT8_MAX))
ROW(int32, int32_t, v, whole(x, INT32_MIN, INT32_MAX))

static const struct {
    row_reader *read;
    row_writer *write;
} rows[] = {
    [TOMOPROF_FLOAT32] = {read_float32, write_float32},
    [TOMOPROF_FLOAT64] = {read_float64, write_float64},
    [TOMOPROF_FLOAT16] = {read_float16, write_float16},
    [TOMOPROF_BFLOAT16] = {read_bfloat16, write_bfloat16},
    [TOMOPROF_INT16] = {read_int16, write_int16},
    [TOMOPROF_UINT16] = {read_uint16, write_uint16},
    [TOMOPROF_UINT8] = {read_uint8, write_uint8},
    [TOMOPROF_INT32] = {read_int32, write_int32},
};

/* Sizes and strides as four dimensions, the last is a row. */
struct lattice {
    int64_t n[4], stride[4];
};

static struct lattice lattice_of(const struct operand *o)
{
    struct lattice l = {{1, 1, 1, 1}, {0}};
    for (int i = 0, at = 4 - o->a.dimensions; i < o->a.dimensions; i++, at++) {
        l.n[at] = o->a.shape[i];
        l.stride[at] = o->a.strides[i];
    }
    return l;
}

static char *lattice_row(const struct lattice *l, void *data, int64_t row)
{
    const int64_t k = row % l->n[2], j = row / l->n[2] % l->n[1], i = row / l->n[2] / l->n[1];
    return (char *)data + i * l->stride[0] + j * l->stride[1] + k * l->stride[2];
}

void operand_read(const struct operand *o, float *out)
{
    const struct lattice l = lattice_of(o);
    const int64_t count = l.n[0] * l.n[1] * l.n[2], n = l.n[3];
#pragma omp parallel for schedule(static) if (o->elements > 1 << 18)
    for (int64_t row = 0; row < count; row++)
        rows[o->a.type].read(lattice_row(&l, o->a.data, row), l.stride[3], n, out + row * n);
}

void operand_write(const struct operand *o, const float *in)
{
    const struct lattice l = lattice_of(o);
    const int64_t count = l.n[0] * l.n[1] * l.n[2], n = l.n[3];
#pragma omp parallel for schedule(static) if (o->elements > 1 << 18)
    for (int64_t row = 0; row < count; row++)
        rows[o->a.type].write(in + row * n, n, lattice_row(&l, o->a.data, row), l.stride[3]);
}
