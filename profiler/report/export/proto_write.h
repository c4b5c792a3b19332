/* A writer of protobuf's wire format into memory. */
#ifndef TP_REPORT_EXPORT_PROTO_WRITE_H
#define TP_REPORT_EXPORT_PROTO_WRITE_H

#include <stddef.h>
#include <stdint.h>

struct proto_out { /* all zero = empty */
    unsigned char *data;
    size_t bytes, room;
    int failed; /* no memory: what was written since is missing */
};

void proto_number(struct proto_out *p, int field, uint64_t value);
void proto_fixed64(struct proto_out *p, int field, uint64_t value);
void proto_real(struct proto_out *p, int field, double value);
void proto_bytes(struct proto_out *p, int field, const void *data, size_t n);
void proto_text(struct proto_out *p, int field, const char *text); /* NULL: "" */
/* `inner` as a message, and empties it for the next one. */
void proto_message(struct proto_out *p, int field, struct proto_out *inner);
/* A number of a packed list, which proto_message then closes. */
void proto_varint(struct proto_out *p, uint64_t value);
void proto_out_free(struct proto_out *p);

#endif
