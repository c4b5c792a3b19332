/* A reader of protobuf's wire format: fields of one message, one after the other. */
#ifndef TP_IMPORT_READ_PROTOBUF_H
#define TP_IMPORT_READ_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

struct proto {
    const unsigned char *at, *end;
    int bad; /* the message is damaged: nothing more is read */
};
struct proto_field {
    uint32_t number, type; /* type: 0 varint, 1 fixed64, 2 bytes, 5 fixed32 */
    uint64_t value;        /* of the numbers */
    const char *data;      /* of bytes */
    size_t bytes;
};

struct proto proto_start(const void *data, size_t bytes);
struct proto proto_in(const struct proto_field *f);     /* the message in a field of bytes */
int proto_next(struct proto *p, struct proto_field *f); /* 0: the end, or damage */
/* The next field of this number that is of bytes: a message or a text. Others are passed over. */
int proto_next_bytes(struct proto *p, uint32_t number, struct proto_field *f);
/* The next number of a packed field. */
int proto_packed(struct proto *p, uint64_t *value);

#endif
