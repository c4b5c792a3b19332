/* Compares the caller's description of an array with what a call expects. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "host/api/call.h"

static const struct {
    const char *name;
    size_t bytes;
} types[] = {
    [TOMOPROF_FLOAT32] = {"float32", 4}, [TOMOPROF_FLOAT64] = {"float64", 8},
    [TOMOPROF_FLOAT16] = {"float16", 2}, [TOMOPROF_BFLOAT16] = {"bfloat16", 2},
    [TOMOPROF_INT16] = {"int16", 2},     [TOMOPROF_UINT16] = {"uint16", 2},
    [TOMOPROF_UINT8] = {"uint8", 1},     [TOMOPROF_INT32] = {"int32", 4},
};
#define TYPES (int)(sizeof types / sizeof *types)

size_t type_bytes(tomoprof_type type)
{
    return types[type].bytes;
}

const char *type_name(tomoprof_type type)
{
    return types[type].name;
}

struct shape_text {
    char text[100];
};

/* "(30, 40, 50)" */
static struct shape_text shape_text(const int64_t *shape, int dimensions)
{
    struct shape_text out = {"("};
    for (int i = 0; i < dimensions; i++)
        text_append(out.text, sizeof out.text, "%s%" PRId64, i ? ", " : "", shape[i]);
    text_append(out.text, sizeof out.text, dimensions == 1 ? ",)" : ")");
    return out;
}

/* A shape, and in words what it is; -1: any size. */
struct expected {
    int dimensions;
    int64_t shape[3];
    const char *words;
};

static struct expected operand_expected(const struct api_call *k, const struct operand *o)
{
    const struct ct_model *m = k->m;
    const tomoprof_array *first = &k->operands[0].a;
    switch (o->form) {
    case FORM_VOLUME:
        return (struct expected){3,
                                 {m->volume.rows, m->volume.cols, m->volume.slices},
                                 "the model's volume (rows, columns, slices)"};
    case FORM_SINOGRAM:
        return (struct expected){3,
                                 {m->scan.views, m->scan.rows, m->scan.channels},
                                 "the model's sinogram (views, detector rows, channels)"};
    case FORM_CYLINDERS:
        return (struct expected){2, {k->count, m->volume.slices, 0}, "(count, slices)"};
    case FORM_ALIKE:
        return (struct expected){
            3, {first->shape[0], first->shape[1], first->shape[2]}, k->operands[0].name};
    case FORM_GIVEN:
        return (struct expected){3, {k->shape[0], k->shape[1], k->shape[2]}, "the result"};
    default:
        return (struct expected){3, {-1, -1, -1}, "three dimensions"};
    }
}

static enum err check_shape(const struct operand *o, const struct expected *e)
{
    const tomoprof_array *a = &o->a;
    const struct shape_text is = shape_text(a->shape, a->dimensions);
    int differs = a->dimensions != e->dimensions;
    for (int i = 0; i < e->dimensions && !differs; i++)
        differs = e->shape[i] >= 0 ? a->shape[i] != e->shape[i] : a->shape[i] < 1;
    if (differs && e->shape[0] < 0)
        return FAIL(ERR_USAGE, "%s has the shape %s; expected three sizes of 1 or more", o->name,
                    is.text);
    FAIL_IF(differs, ERR_USAGE, "%s has the shape %s; expected %s, that of %s", o->name, is.text,
            shape_text(e->shape, e->dimensions).text, e->words);
    return ERR_OK;
}

/* Fills the strides of C order where the caller left them 0, and finds the first and the last byte.
 */
static enum err find_extent(struct operand *o)
{
    tomoprof_array *a = &o->a;
    const int64_t item = (int64_t)type_bytes(a->type);
    int64_t stride = item, low = 0, high = item;
    int given = 0;
    for (int i = 0; i < a->dimensions; i++)
        given |= a->strides[i] != 0;
    o->elements = 1;
    for (int i = a->dimensions - 1; i >= 0; i--) {
        int64_t reach, *side;
        if (!given)
            a->strides[i] = stride;
        side = a->strides[i] < 0 ? &low : &high;
        if (__builtin_mul_overflow(stride, a->shape[i], &stride) ||
            __builtin_mul_overflow(o->elements, a->shape[i], &o->elements) ||
            __builtin_mul_overflow(a->strides[i], a->shape[i] - 1, &reach) ||
            __builtin_add_overflow(*side, reach, side) ||
            o->elements > INT64_MAX / (int64_t)sizeof(double))
            return FAIL(ERR_USAGE, "%s has the shape %s, too large for any machine", o->name,
                        shape_text(a->shape, a->dimensions).text);
        FAIL_IF(o->way == WAY_OUT && a->shape[i] > 1 &&
                    (a->strides[i] < 0 ? -a->strides[i] : a->strides[i]) < item,
                ERR_USAGE,
                "%s has the stride %" PRId64
                " in dimension %d, so that its elements overlap; pass an array that can be written",
                o->name, a->strides[i], i);
    }
    o->low = (const char *)a->data + low;
    o->high = (const char *)a->data + high;
    return ERR_OK;
}

static enum err check_place(const struct api_call *k, const struct operand *o)
{
    const tomoprof_array *a = &o->a;
    if (a->place == TOMOPROF_HOST)
        return ERR_OK;
    FAIL_IF(a->place != TOMOPROF_CUDA, ERR_USAGE,
            "%s has the place %d; expected TOMOPROF_HOST or TOMOPROF_CUDA", o->name, (int)a->place);
    FAIL_IF(!k->be->ops->streams, ERR_UNSUPPORTED,
            "%s lies on a GPU, but the context computes on the CPU (%s); make a context with "
            "backend \"cuda\", or copy the array to host memory",
            o->name, k->be->device);
    FAIL_IF(!operand_is_plain(o), ERR_UNSUPPORTED,
            "%s lies on a GPU and is not float32 in C order; copy it to such an array", o->name);
    return ERR_OK;
}

enum err operand_check(const struct api_call *k, struct operand *o)
{
    const char *how = "as TOMOPROF_ARRAY does";
    if (!o->array && o->optional)
        return ERR_OK;
    FAIL_IF(!o->array, ERR_USAGE, "%s is NULL; pass a tomoprof_array", o->name);
    TRY(sized_copy(o->name, o->array, o->array->size, &o->a, sizeof o->a));
    const tomoprof_array *a = &o->a;
    FAIL_IF(o->array->size < sizeof o->a, ERR_USAGE,
            "%s: size is %zu; set it to sizeof(tomoprof_array), %s", o->name, o->array->size, how);
    FAIL_IF((int)a->type < 0 || (int)a->type >= TYPES, ERR_USAGE,
            "%s has the type %d; expected one of tomoprof_type", o->name, (int)a->type);
    FAIL_IF(a->dimensions < 1 || a->dimensions > TOMOPROF_DIMENSIONS, ERR_USAGE,
            "%s has %d dimensions; expected 1 to %d", o->name, a->dimensions, TOMOPROF_DIMENSIONS);
    const struct expected e = operand_expected(k, o);
    TRY(check_shape(o, &e));
    TRY(find_extent(o));
    FAIL_IF(!a->data, ERR_USAGE, "%s: data is NULL; pass the address of its first element",
            o->name);
    FAIL_IF((uintptr_t)a->data % type_bytes(a->type) && operand_is_plain(o), ERR_USAGE,
            "%s: data is not aligned to %zu bytes", o->name, type_bytes(a->type));
    FAIL_IF(o->raw && a->type != k->type, ERR_USAGE,
            "%s has the type %s; expected %s, that of the result", o->name, type_name(a->type),
            type_name(k->type));
    FAIL_IF(o->raw && !operand_is_plain(o), ERR_USAGE,
            "%s is not in C order, which a result of the type %s has to be", o->name,
            type_name(a->type));
    return check_place(k, o);
}

static int operands_are_same(const struct operand *a, const struct operand *b)
{
    return a->a.data == b->a.data && a->a.type == b->a.type &&
           !memcmp(a->a.strides, b->a.strides, sizeof a->a.strides);
}

enum err operands_check_overlap(const struct api_call *k)
{
    for (int i = 0; i < CALL_OPERANDS && k->operands[i].name; i++)
        for (int j = 0; j < i; j++) {
            const struct operand *a = &k->operands[j], *b = &k->operands[i];
            if (!a->array || !b->array || (a->way == WAY_IN && b->way == WAY_IN))
                continue;
            if (a->a.place != b->a.place || a->high <= b->low || b->high <= a->low)
                continue;
            if (a->may_equal & 1 << i && operands_are_same(a, b))
                continue;
            return FAIL(ERR_USAGE, "%s and %s overlap in memory, shapes %s and %s; pass %s",
                        a->name, b->name, shape_text(a->a.shape, a->a.dimensions).text,
                        shape_text(b->a.shape, b->a.dimensions).text,
                        a->may_equal & 1 << i ? "the same array twice, or two that are apart"
                                              : "arrays that are apart");
        }
    return ERR_OK;
}

int operand_is_plain(const struct operand *o)
{
    const tomoprof_array *a = &o->a;
    int64_t stride = sizeof(float);
    if (a->type != TOMOPROF_FLOAT32 && !o->raw)
        return 0;
    stride = (int64_t)type_bytes(a->type);
    for (int i = a->dimensions - 1; i >= 0; i--) {
        if (a->shape[i] > 1 && a->strides[i] != stride)
            return 0;
        stride *= a->shape[i];
    }
    return 1;
}
