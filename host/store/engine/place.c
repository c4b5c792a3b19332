/* Boxes from one layout of memory to another: long runs as copies, transpositions in tiles that
 * stay in the first cache. */
#include <string.h>

#include "host/store/engine/parts.h"

#define TILE     32
#define ROW_MOST 256 /* bytes: a call takes as long as the copy of so short a row */
#define ROW_PART 32

static int64_t place_size(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

static void place_drop_dimension(struct place *p, int d)
{
    for (int i = d; i + 1 < p->dims; i++) {
        p->count[i] = p->count[i + 1];
        p->from[i] = p->from[i + 1];
        p->to[i] = p->to[i + 1];
    }
    p->dims--;
}

/* Dimensions by their stride in the target, largest first; those of one element are left out and
 * those that follow each other on both sides are joined. */
static void place_simplify(struct place *p)
{
    for (int i = p->dims - 1; i >= 0; i--)
        if (p->count[i] == 1)
            place_drop_dimension(p, i);
    for (int i = 1; i < p->dims; i++)
        for (int k = i; k > 0 && place_size(p->to[k - 1]) < place_size(p->to[k]); k--) {
            int64_t *rows[] = {p->count, p->from, p->to};
            for (int r = 0; r < 3; r++) {
                int64_t t = rows[r][k];
                rows[r][k] = rows[r][k - 1];
                rows[r][k - 1] = t;
            }
        }
    for (int i = p->dims - 2; i >= 0; i--)
        if (p->from[i] == p->from[i + 1] * p->count[i + 1] &&
            p->to[i] == p->to[i + 1] * p->count[i + 1]) {
            p->count[i + 1] *= p->count[i];
            place_drop_dimension(p, i);
        }
}

#define TRANSPOSE(type)                                                                            \
    for (int64_t i = i0; i < i1; i++)                                                              \
        for (int64_t k = k0; k < k1; k++) {                                                        \
            type v;                                                                                \
            memcpy(&v, in + i * fi + k * fk, sizeof v);                                            \
            memcpy(out + i * ti + k * tk, &v, sizeof v);                                           \
        }

/* Two dimensions, neither of which is one run on both sides. */
static void place_plane(const struct place *p, int a, int b, const unsigned char *in,
                        unsigned char *out)
{
    const int64_t fi = p->from[a], fk = p->from[b], ti = p->to[a], tk = p->to[b];
    for (int64_t i0 = 0; i0 < p->count[a]; i0 += TILE)
        for (int64_t k0 = 0; k0 < p->count[b]; k0 += TILE) {
            const int64_t i1 = i0 + TILE < p->count[a] ? i0 + TILE : p->count[a],
                          k1 = k0 + TILE < p->count[b] ? k0 + TILE : p->count[b];
            if (p->bytes == 1)
                TRANSPOSE(uint8_t)
            else if (p->bytes == 2)
                TRANSPOSE(uint16_t)
            else if (p->bytes == 4)
                TRANSPOSE(uint32_t)
            else if (p->bytes == 8)
                TRANSPOSE(uint64_t)
            else
                for (int64_t i = i0; i < i1; i++)
                    for (int64_t k = k0; k < k1; k++)
                        memcpy(out + i * ti + k * tk, in + i * fi + k * fk, (size_t)p->bytes);
        }
}

/* Rows of dimension d, each a short run on both sides. */
static void place_rows(const struct place *p, int d, int64_t bytes, const unsigned char *in,
                       unsigned char *out)
{
    for (int64_t i = 0; i < p->count[d]; i++)
        for (int64_t k = 0; k < bytes; k += ROW_PART)
            memcpy(out + i * p->to[d] + k, in + i * p->from[d] + k, ROW_PART);
}

/* The dimensions but a and b, then the copy. */
static void place_rest(const struct place *p, int d, int a, int b, const unsigned char *in,
                       unsigned char *out)
{
    const int64_t row = p->count[a] * p->bytes;
    while (d < p->dims && (d == a || d == b))
        d++;
    if (a == b && d == p->dims - 2 && row <= ROW_MOST && row % ROW_PART == 0) {
        place_rows(p, d, row, in, out);
    } else if (d < p->dims) {
        for (int64_t i = 0; i < p->count[d]; i++)
            place_rest(p, d + 1, a, b, in + i * p->from[d], out + i * p->to[d]);
    } else if (a == b) {
        memcpy(out, in, (size_t)(p->count[a] * p->bytes));
    } else {
        place_plane(p, a, b, in, out);
    }
}

void place_box(struct place p, const void *in, void *out)
{
    for (int i = 0; i < p.dims; i++)
        if (p.count[i] < 1)
            return;
    place_simplify(&p);
    if (p.dims == 0) {
        memcpy(out, in, (size_t)p.bytes);
        return;
    }
    int inner = p.dims - 1, other = 0;
    for (int i = 0; i < p.dims; i++) /* the one that is fastest in the source */
        if (place_size(p.from[i]) < place_size(p.from[other]))
            other = i;
    if (p.from[inner] == p.bytes && p.to[inner] == p.bytes)
        other = inner;
    else if (other == inner && p.dims == 1) { /* a line with gaps */
        p.count[1] = 1;
        p.from[1] = p.to[1] = 0;
        p.dims = 2;
        other = 1;
        inner = 0;
    } else if (other == inner)
        other = inner - 1;
    place_rest(&p, 0, other, inner, in, out);
}
