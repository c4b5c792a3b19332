/* Varints, lengths and nested messages; memory that ends is remembered, not fatal. */
#include <stdlib.h>
#include <string.h>

#include "profiler/report/export/proto_write.h"

static void proto_put(struct proto_out *p, const void *data, size_t n)
{
    if (p->bytes + n > p->room) {
        size_t room = (p->bytes + n) * 2 + 64;
        unsigned char *more = realloc(p->data, room);
        if (!more) {
            p->failed = 1;
            return;
        }
        p->data = more;
        p->room = room;
    }
    if (n)
        memcpy(p->data + p->bytes, data, n);
    p->bytes += n;
}

void proto_varint(struct proto_out *p, uint64_t value)
{
    unsigned char bytes[10];
    size_t n = 0;
    for (; value > 127; value >>= 7)
        bytes[n++] = (unsigned char)(value | 128);
    bytes[n++] = (unsigned char)value;
    proto_put(p, bytes, n);
}

void proto_number(struct proto_out *p, int field, uint64_t value)
{
    proto_varint(p, (uint64_t)field << 3);
    proto_varint(p, value);
}

static void proto_eight(struct proto_out *p, int field, const void *value)
{
    proto_varint(p, (uint64_t)field << 3 | 1);
    proto_put(p, value, 8);
}

void proto_fixed64(struct proto_out *p, int field, uint64_t value)
{
    proto_eight(p, field, &value);
}

void proto_real(struct proto_out *p, int field, double value)
{
    proto_eight(p, field, &value);
}

void proto_bytes(struct proto_out *p, int field, const void *data, size_t n)
{
    proto_varint(p, (uint64_t)field << 3 | 2);
    proto_varint(p, n);
    proto_put(p, data, n);
}

void proto_text(struct proto_out *p, int field, const char *text)
{
    proto_bytes(p, field, text, text ? strlen(text) : 0);
}

void proto_message(struct proto_out *p, int field, struct proto_out *inner)
{
    proto_bytes(p, field, inner->data, inner->bytes);
    p->failed |= inner->failed;
    inner->bytes = 0;
}

void proto_out_free(struct proto_out *p)
{
    free(p->data);
    memset(p, 0, sizeof *p);
}
