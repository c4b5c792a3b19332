/* Four numbers that tell results apart. */
#include <math.h>

#include "host/base/jsonw.h"
#include "host/base/memory.h"
#include "host/suite/catalogue/catalogue.h"
#include "host/suite/catalogue/state.h"

static double index_at(const void *indices, int64_t i)
{
    return ((const int32_t *)indices)[i];
}

static double float_at(const void *floats, int64_t i)
{
    return (double)((const float *)floats)[i];
}

static double f16_at(const void *array, int64_t i)
{
    return volume_value(VOLUME_F16, array, i);
}

static double bf16_at(const void *array, int64_t i)
{
    return volume_value(VOLUME_BF16, array, i);
}

static double i16_at(const void *array, int64_t i)
{
    return ((const int16_t *)array)[i];
}

static double u8_at(const void *array, int64_t i)
{
    return ((const uint8_t *)array)[i];
}

static void host_fingerprint(double (*at)(const void *array, int64_t i), const void *array,
                             int64_t n, struct fingerprint *out)
{
    double squares = 0;
    *out = (struct fingerprint){0, 0, INFINITY, -INFINITY};
    for (int64_t i = 0; i < n; i++) {
        double v = at(array, i);
        out->sum += v;
        squares += v * v;
        out->min = fmin(out->min, v);
        out->max = fmax(out->max, v);
    }
    out->l2 = sqrt(squares);
}

/* Of a step's result of any type. */
static enum err step_fingerprint(struct run_state *s, struct fingerprint *out)
{
    static double (*const at[])(const void *, int64_t) = {float_at, f16_at, bf16_at, i16_at, u8_at};
    const float *data;
    float *copy;
    TRY(state_result(s, &data, &copy));
    host_fingerprint(at[s->step.dtype], data, volume_step_voxels(s->step.out), out);
    mem_free(copy);
    return ERR_OK;
}

enum err state_fingerprint(struct run_state *s, struct fingerprint *out)
{
    /* Of a file that was written: what it holds. */
    const struct buffer *b = s->op->output == ARRAY_FILE ? &s->in.buffer : &s->out.buffer;
    const struct partition *p = &s->partition;
    if (s->op->output == ARRAY_PARTITION)
        host_fingerprint(index_at, p->indices, p->subsets * p->length, out);
    else if (s->step.dtype != VOLUME_F32)
        return step_fingerprint(s, out);
    else if (s->large)
        host_fingerprint(float_at, b->ptr, (int64_t)(b->bytes / sizeof(float)), out);
    else
        return s->be->ops->fingerprint(s->be, b, &out->sum, &out->l2, &out->min, &out->max);
    return ERR_OK;
}

void fingerprint_write(struct jsonw *w, const struct fingerprint *f)
{
    jsonw_knumber(w, "sum", f->sum);
    jsonw_knumber(w, "l2", f->l2);
    jsonw_knumber(w, "min", f->min);
    jsonw_knumber(w, "max", f->max);
}
