/* ZIP archives: members by their names, and where their bytes lie. Any bytes are safe. */
#ifndef TP_STORE_CONTAINER_ZIP_H
#define TP_STORE_CONTAINER_ZIP_H

#include "host/store/store.h"

enum { ZIP_STORED = 0, ZIP_DEFLATED = 8 };

struct zip_member {
    const char *name;
    int64_t header, stored, bytes; /* header: its place */
    int method;
    uint32_t number; /* in the directory: of equal names the last one is meant */
};

struct zip {
    int32_t object;
    struct zip_member *members; /* by name */
    size_t count;
};

/* Reads the directory at the end of the file. */
enum err zip_read(struct store *s, int32_t object, struct zip *out);
void zip_free(struct zip *z);
const struct zip_member *zip_find(const struct zip *z, const char *name); /* NULL: none */
/* The place of its stored bytes, behind a header of its own. */
enum err zip_place(struct store *s, const struct zip *z, const struct zip_member *m, int64_t *at);
/* The first `room` bytes of its content, or as many as there are: *got. */
enum err zip_head(struct store *s, const struct zip *z, const struct zip_member *m, void *out,
                  size_t room, size_t *got);

#endif
