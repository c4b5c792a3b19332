/* Facts of a store beside its arrays: notes, other names of arrays, names of values. */
#ifndef TP_STORE_MANIFEST_NOTES_H
#define TP_STORE_MANIFEST_NOTES_H

#include <stdint.h>

struct store_array;

struct store_member { /* of an enumeration */
    const char *name;
    int64_t value;
};

/* Facts that belong to no array: for `info`, and for what `convert` cannot keep. */
struct store_note {
    const char *name, *value;
    int hides;        /* "unreadable", and may be a group: arrays below it are not known */
    int64_t elements; /* of an unreadable array; -1: not known */
};

struct store_alias { /* another name of an array */
    const char *name, *group, *how;
    struct store_array *array;
};

/* 1: links of HDF5 files and of Zarr stores lead to any file; 0: to files of the same folder and below it. */
extern int store_follow_links;

#endif
