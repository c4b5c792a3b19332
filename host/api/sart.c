/* SART of tomoprof.h. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "host/api/call.h"
#include "host/cpu/sart/sart.h"

enum { SART_Y, SART_INITIAL, SART_X }; /* operands */

struct sart_call {
    const tomoprof_sart_options *given;
    tomoprof_sart_options o;
    const double *angles;
    int64_t *every; /* the order where the caller gives none */
};

static enum err prepare_sart(struct api_call *k)
{
    struct sart_call *s = k->result;
    struct operand *y = &k->operands[SART_Y];
    if (s->given)
        TRY(sized_copy("options", s->given, s->given->size, &s->o, sizeof s->o));
    k->operands[SART_INITIAL].array = s->o.initial;
    if (y->array) {
        k->type = y->array->type;
        FAIL_IF(k->type != TOMOPROF_FLOAT32 && k->type != TOMOPROF_FLOAT64, ERR_USAGE,
                "y has the type %d; expected TOMOPROF_FLOAT32 or TOMOPROF_FLOAT64", (int)k->type);
    }
    TRY(operand_check(k, y));
    const int64_t *n = y->a.shape;
    FAIL_IF(n[2] > SART_MOST_CHANNELS, ERR_USAGE, "y has %" PRId64 " channels; expected at most %d",
            n[2], SART_MOST_CHANNELS);
    memcpy(k->shape, (int64_t[3]){n[2], n[2], n[1]}, sizeof k->shape);
    return ERR_OK;
}

static enum err check_numbers(const char *name, const double *values, int64_t count)
{
    for (int64_t v = 0; v < count; v++)
        FAIL_IF(!isfinite(values[v]), ERR_USAGE, "%s[%" PRId64 "] is %g; expected a finite number",
                name, v, values[v]);
    return ERR_OK;
}

static enum err check_sart(struct api_call *k)
{
    struct sart_call *s = k->result;
    const tomoprof_sart_options *o = &s->o;
    const int64_t views = k->operands[SART_Y].a.shape[0];
    FAIL_IF(!s->angles, ERR_USAGE, "angles is NULL; pass the angle of each view");
    TRY(check_numbers("angles", s->angles, views));
    if (o->shifts)
        TRY(check_numbers("shifts", o->shifts, views));
    FAIL_IF(!isfinite(o->relaxation), ERR_USAGE, "relaxation=%g; expected a finite number",
            o->relaxation);
    FAIL_IF(o->clip && !(o->clip[0] <= o->clip[1]), ERR_USAGE,
            "clip is %g to %g; expected two numbers, the smaller first", o->clip[0], o->clip[1]);
    FAIL_IF(o->order_count < 0 || (o->order_count && !o->order), ERR_USAGE,
            "order_count=%" PRId64 "; expected how many views `order` has", o->order_count);
    for (int64_t i = 0; i < o->order_count; i++)
        FAIL_IF(o->order[i] < 0 || o->order[i] >= views, ERR_USAGE,
                "order[%" PRId64 "] is %" PRId64 "; expected 0 to %" PRId64, i, o->order[i],
                views - 1);
    return ERR_OK;
}

static enum err compute_sart(struct api_call *k)
{
    struct sart_call *s = k->result;
    const tomoprof_sart_options *o = &s->o;
    const int64_t *n = k->operands[SART_Y].a.shape;
    const struct operand *initial = &k->operands[SART_INITIAL], *x = &k->operands[SART_X];
    struct sart_plan p = {.views = n[0],
                          .rows = n[1],
                          .channels = n[2],
                          .angles = s->angles,
                          .shifts = o->shifts,
                          .order = o->order,
                          .steps = o->order_count,
                          .relaxation = o->relaxation,
                          .low = o->clip ? o->clip[0] : -HUGE_VAL,
                          .high = o->clip ? o->clip[1] : HUGE_VAL,
                          .wide = k->type == TOMOPROF_FLOAT64};
    if (!o->order) {
        TRY(mem_alloc("order", (size_t)n[0] * sizeof *s->every, (void **)&s->every));
        for (int64_t v = 0; v < n[0]; v++)
            s->every[v] = v;
        p.order = s->every;
        p.steps = n[0];
    }
    if (!initial->array)
        memset(x->host, 0, x->buffer.bytes);
    else if (x->host != initial->host)
        memcpy(x->host, initial->host, x->buffer.bytes);
    const enum err e = cpu_sart(k->be, &p, k->operands[SART_Y].host, x->host);
    mem_free(s->every);
    return e;
}

tomoprof_status tomoprof_sart(tomoprof_context *c, const tomoprof_array *y, const double *angles,
                              const tomoprof_sart_options *options, tomoprof_array *x)
{
    struct sart_call s = {.given = options, .o = TOMOPROF_SART_OPTIONS, .angles = angles};
    struct api_call k = {
        .context = c,
        .on_host = 1,
        .operands = {[SART_Y] = {"y", FORM_ANY, WAY_IN, y, .raw = 1},
                     [SART_INITIAL] = {"initial", FORM_GIVEN, WAY_IN, NULL, .optional = 1,
                                       .may_equal = 1 << SART_X, .raw = 1},
                     [SART_X] = {"x", FORM_GIVEN, WAY_OUT, x, .raw = 1}},
        .prepare = prepare_sart,
        .check = check_sart,
        .compute = compute_sart,
        .result = &s};
    return call_run(&k);
}
