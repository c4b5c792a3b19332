/* Data types of HDF5, as messages hold them: their members, sizes and bits lie within them. */
#include <inttypes.h>
#include <string.h>

#include "host/store/h5/parts.h"

#define NESTED_MOST 32
#define DIMS_MOST   32

enum { TIME = 2, STRING, BITS, OPAQUE, COMPOUND, REFERENCE, ENUM, SEQUENCE, ARRAY };

uint64_t h5_take(struct h5_cursor *c, int bytes)
{
    uint64_t v = 0;
    if (c->end - c->at < bytes) {
        c->is_short = 1;
        c->at = c->end;
        return 0;
    }
    for (int i = bytes - 1; i >= 0; i--)
        v = v << 8 | c->at[i];
    c->at += bytes;
    return v;
}

void h5_skip(struct h5_cursor *c, uint64_t bytes)
{
    const uint64_t left = (uint64_t)(c->end - c->at);
    c->is_short |= bytes > left;
    c->at += bytes > left ? left : bytes;
}

void h5_skip_text(struct h5_cursor *c, int unit)
{
    const size_t left = (size_t)(c->end - c->at), n = strnlen((const char *)c->at, left),
                 step = (size_t)unit;
    c->is_short |= n == left;
    h5_skip(c, (n + step) / step * step);
}

static enum err type_check(struct h5_cursor *c, int depth, struct h5_type *out);

static enum err number_check(struct h5_cursor *c, const struct h5_type *t)
{
    const uint64_t offset = h5_take(c, 2), bits = h5_take(c, 2);
    FAIL_IF(!c->is_short && (bits < 1 || offset + bits > 8 * t->bytes), ERR_INPUT,
            "bits %" PRIu64 " to %" PRIu64 " of a type of %" PRIu64 " bytes", offset, offset + bits,
            t->bytes);
    if (t->class != H5_CLASS_FLOAT)
        return ERR_OK;
    uint64_t v[4]; /* bits of the exponent and of the mantissa: the first, their number */
    for (int i = 0; i < 4; i++)
        v[i] = h5_take(c, 1);
    h5_skip(c, 4);
    FAIL_IF(!c->is_short && (v[1] < 1 || v[3] < 1 || v[0] + v[1] > offset + bits ||
                             v[2] + v[3] > offset + bits),
            ERR_INPUT, "an exponent or a mantissa beyond %" PRIu64 " bits", offset + bits);
    return ERR_OK;
}

/* Returns the bytes of an offset below `size`, from version 3 on. */
static int offset_bytes(uint64_t size)
{
    int n = 1;
    while (n < 8 && size >> (8 * n))
        n++;
    return n;
}

static enum err compound_check(struct h5_cursor *c, int version, uint64_t members, int depth,
                               struct h5_type *t)
{
    FAIL_IF(!members, ERR_INPUT, "a type without members");
    for (uint64_t i = 0; i < members && !c->is_short; i++) {
        struct h5_type member;
        uint64_t copies = 1;
        h5_skip_text(c, version < 3 ? 8 : 1);
        const uint64_t at = h5_take(c, version < 3 ? 4 : offset_bytes(t->bytes));
        if (version == 1) { /* an array is its member's own matter */
            const uint64_t dims = h5_take(c, 1);
            FAIL_IF(dims > 4, ERR_INPUT, "a member of %" PRIu64 " dimensions", dims);
            h5_skip(c, 11);
            for (uint64_t k = 0; k < 4; k++) {
                const uint64_t n = h5_take(c, 4);
                FAIL_IF(k < dims && __builtin_mul_overflow(copies, n, &copies), ERR_INPUT,
                        "a member of too many elements");
            }
        }
        TRY(type_check(c, depth + 1, &member));
        if (member.class < 0) {
            t->class = -1;
            return ERR_OK;
        }
        FAIL_IF(!c->is_short && (__builtin_mul_overflow(copies, member.bytes, &copies) ||
                                 at > t->bytes || copies > t->bytes - at),
                ERR_INPUT, "a member of %" PRIu64 " bytes at byte %" PRIu64 " of %" PRIu64,
                member.bytes, at, t->bytes);
    }
    return ERR_OK;
}

static enum err enum_check(struct h5_cursor *c, int version, uint64_t members, int depth,
                           struct h5_type *t)
{
    struct h5_type base;
    TRY(type_check(c, depth + 1, &base));
    if (base.class < 0) {
        t->class = -1;
        return ERR_OK;
    }
    FAIL_IF(!c->is_short && (base.class != H5_CLASS_INTEGER || base.bytes != t->bytes), ERR_INPUT,
            "an enumeration of %" PRIu64 " bytes of another type", t->bytes);
    for (uint64_t i = 0; i < members && !c->is_short; i++)
        h5_skip_text(c, version < 3 ? 8 : 1);
    h5_skip(c, members * base.bytes);
    return ERR_OK;
}

static enum err array_check(struct h5_cursor *c, int version, int depth, struct h5_type *t)
{
    struct h5_type base;
    uint64_t n = 1;
    const uint64_t dims = h5_take(c, 1);
    FAIL_IF(!c->is_short && (dims < 1 || dims > DIMS_MOST), ERR_INPUT,
            "an array of %" PRIu64 " dimensions", dims);
    h5_skip(c, version < 3 ? 3 : 0);
    for (uint64_t i = 0; i < dims; i++)
        FAIL_IF(__builtin_mul_overflow(n, h5_take(c, 4), &n), ERR_INPUT,
                "an array of too many elements");
    h5_skip(c, version < 3 ? 4 * dims : 0);
    TRY(type_check(c, depth + 1, &base));
    if (base.class < 0) {
        t->class = -1;
        return ERR_OK;
    }
    FAIL_IF(!c->is_short && (__builtin_mul_overflow(n, base.bytes, &n) || n != t->bytes), ERR_INPUT,
            "an array that is not of %" PRIu64 " bytes", t->bytes);
    return ERR_OK;
}

static enum err class_check(struct h5_cursor *c, int version, uint64_t bits, int depth,
                            struct h5_type *t)
{
    struct h5_type base;
    switch (t->class) {
    case H5_CLASS_INTEGER:
    case H5_CLASS_FLOAT:
    case BITS:
        return number_check(c, t);
    case TIME:
        h5_skip(c, 2);
        return ERR_OK;
    case OPAQUE:
        h5_skip(c, bits & 0xff);
        return ERR_OK;
    case COMPOUND:
        return compound_check(c, version, bits & 0xffff, depth, t);
    case ENUM:
        return enum_check(c, version, bits & 0xffff, depth, t);
    case SEQUENCE:
        TRY(type_check(c, depth + 1, &base));
        t->class = base.class < 0 ? -1 : t->class;
        return ERR_OK;
    case ARRAY:
        return array_check(c, version, depth, t);
    default: /* texts have nothing more */
        return ERR_OK;
    }
}

static enum err type_check(struct h5_cursor *c, int depth, struct h5_type *out)
{
    const int head = (int)h5_take(c, 1), version = head >> 4;
    const uint64_t bits = h5_take(c, 3);
    *out = (struct h5_type){.class = head & 15, .bytes = h5_take(c, 4)};
    FAIL_IF(depth > NESTED_MOST, ERR_INPUT, "more than %d types in each other", NESTED_MOST);
    if (out->class > ARRAY || version < 1 || version > 4 ||
        (out->class == REFERENCE && version == 4))
        out->class = -1;
    FAIL_IF(!c->is_short && !out->bytes, ERR_INPUT, "a type of 0 bytes");
    if (out->class >= 0 && !c->is_short)
        TRY(class_check(c, version, bits, depth, out));
    FAIL_IF(c->is_short, ERR_INPUT, "a type that ends before its last member");
    return ERR_OK;
}

enum err h5_type_check(struct h5_cursor *c, struct h5_type *out)
{
    return type_check(c, 0, out);
}
