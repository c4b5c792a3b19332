/* Varints of at most 10 bytes, lengths checked against what is left; groups are refused. */
#include <string.h>

#include "profiler/import/read/protobuf.h"

struct proto proto_start(const void *data, size_t bytes)
{
    return (struct proto){.at = data, .end = (const unsigned char *)data + bytes};
}

struct proto proto_in(const struct proto_field *f)
{
    return f->type == 2 ? proto_start(f->data, f->bytes) : (struct proto){0};
}

int proto_packed(struct proto *p, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        if (p->at == p->end)
            break;
        unsigned char byte = *p->at++;
        *value |= (uint64_t)(byte & 127) << (shift < 64 ? shift : 63);
        if (byte < 128)
            return 1;
    }
    p->bad = 1;
    p->at = p->end;
    return 0;
}

static int proto_fixed(struct proto *p, size_t bytes, uint64_t *value)
{
    *value = 0;
    if ((size_t)(p->end - p->at) < bytes)
        return 0;
    for (size_t i = 0; i < bytes; i++)
        *value |= (uint64_t)p->at[i] << (8 * i);
    p->at += bytes;
    return 1;
}

int proto_next(struct proto *p, struct proto_field *f)
{
    uint64_t tag;
    memset(f, 0, sizeof *f);
    if (p->at == p->end || p->bad || !proto_packed(p, &tag))
        return 0;
    f->number = (uint32_t)(tag >> 3);
    f->type = (uint32_t)(tag & 7);
    int good = f->number != 0 && tag >> 3 < 1u << 29;
    if (f->type == 0)
        good &= proto_packed(p, &f->value);
    else if (f->type == 1 || f->type == 5)
        good &= proto_fixed(p, f->type == 1 ? 8 : 4, &f->value);
    else if (f->type == 2) {
        good &= proto_packed(p, &tag) && tag <= (uint64_t)(p->end - p->at);
        if (good) {
            f->data = (const char *)p->at;
            f->bytes = (size_t)tag;
            p->at += tag;
        }
    } else
        good = 0;
    p->bad |= !good;
    return good;
}

int proto_next_bytes(struct proto *p, uint32_t number, struct proto_field *f)
{
    while (proto_next(p, f))
        if (f->number == number && f->type == 2)
            return 1;
    return 0;
}
