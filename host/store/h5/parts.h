/* Parts of the checks of HDF5 objects: bytes of a message, data types, virtual layouts. */
#ifndef TP_STORE_H5_PARTS_H
#define TP_STORE_H5_PARTS_H

#include "host/store/h5/object.h"

struct h5_cursor { /* what is left of a message; is_short: more was taken than there is */
    const unsigned char *at, *end;
    int is_short;
};

/* Takes a little-endian number of at most 8 bytes; 0 where they are not there. */
uint64_t h5_take(struct h5_cursor *c, int bytes);
/* Takes bytes that do not matter. */
void h5_skip(struct h5_cursor *c, uint64_t bytes);
/* Takes a text with its end, and what fills it up to a multiple of `unit`. */
void h5_skip_text(struct h5_cursor *c, int unit);

struct h5_type {
    int class;      /* -1: of a kind that is not known; where it ends is not known either */
    uint64_t bytes; /* of an element */
};
#define H5_CLASS_INTEGER 0
#define H5_CLASS_FLOAT   1
#define H5_CLASS_ENUM    8

enum err h5_type_check(struct h5_cursor *c, struct h5_type *out);

/* Checks the mappings of a virtual dataset, which lie in the heap. */
enum err h5_virtual_check(const struct h5_bytes *b, uint64_t heap, uint64_t index);

#endif
