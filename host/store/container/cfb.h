/* Compound files (OLE2): streams by their paths, and where their bytes lie. */
#ifndef TP_STORE_CONTAINER_CFB_H
#define TP_STORE_CONTAINER_CFB_H

#include <stddef.h>

#include "host/store/store.h"

struct cfb_stream {
    const char *path; /* "ImageInfo/Angles" */
    uint32_t start;
    int64_t bytes;
};

struct cfb {
    struct store *store;
    int32_t object;
    int shift; /* of a sector's size */
    uint32_t *fat, *small_fat, fat_count, small_count;
    struct cfb_stream root, *streams;
    size_t streams_count;
};

enum err cfb_open(struct store *s, int32_t object, struct cfb *out);
void cfb_close(struct cfb *c);
const struct cfb_stream *cfb_find(const struct cfb *c, const char *path); /* NULL: none */
/* The first `bytes` of a stream. ERR_INPUT: it is shorter. */
enum err cfb_read(const struct cfb *c, const struct cfb_stream *t, void *out, size_t bytes);
/* Offset of a stream that lies in one piece; -1: it does not. */
int64_t cfb_offset(const struct cfb *c, const struct cfb_stream *t);

#endif
