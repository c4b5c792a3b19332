/* Four numbers that tell results apart. */
#include <math.h>

#include "host/base/jsonw.h"
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

enum err state_fingerprint(struct run_state *s, struct fingerprint *out)
{
    const struct buffer *b = &s->out.buffer;
    const struct partition *p = &s->partition;
    if (s->op->output == ARRAY_PARTITION)
        host_fingerprint(index_at, p->indices, p->subsets * p->length, out);
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
