/* Parts of the reader of HDF5: files that links lead to, texts, links, virtual datasets. */
#ifndef TP_STORE_READER_HDF5_PARTS_H
#define TP_STORE_READER_HDF5_PARTS_H

#include "host/store/format/h5.h"
#include "host/store/h5/object.h"
#include "host/store/manifest/manifest.h"

#define HDF5_DEPTH 64 /* groups in groups, and links in a row */

struct hdf5_file {
    const char *name, *folder;
    int32_t object;
    int64_t base; /* bytes of a user block, which libhdf5 never sees: its addresses begin behind */
    hid_t id;     /* -1: closed */
    uint64_t device, node;
    int used;              /* arrays have datasets of it */
    struct h5_bytes bytes; /* for what is checked before libhdf5 sees it */
};

/* Makes an array of a dataset, which it takes over. NULL: it is noted as unreadable. Arrays of
 * `depth` > 0 are sources of virtual datasets, and not among the store's. */
typedef enum err hdf5_array(struct store *s, int file, hid_t id, const char *name, int depth,
                            struct store_array **out);

struct hdf5_reader {
    hdf5_array *array;
    struct hdf5_file *files; /* the first is the store's own */
    int count;
    size_t room;
};

struct hdf5_key { /* of an object: equal for all links to it */
    int file;
    unsigned char token[16];
};

struct hdf5_place { /* where an object is, without links */
    int file;
    hid_t id;
    char path[4096];
};

struct dataset { /* of an array, until the file is closed */
    hid_t id;
    struct hdf5_key key;
    int filters[CODEC_STEPS], filters_count; /* in the order of writing: codecs */
    struct codec_step steps[CODEC_STEPS];
    unsigned masks[STORE_PIPELINES]; /* filters that the chunks of a pipeline leave out */
};

struct hdf5_file *hdf5_file(struct store *s, int file);
enum err hdf5_array_make(struct store *s, int file, hid_t id, const char *name, int depth,
                         struct store_array **out);
/* Opens the store's own file as number 0. */
enum err hdf5_file_first(struct store *s, const char *path);
/* Finds or opens the file that a link or a mapping of `from` names. ERR_INPUT: it is not below the
 * folder of `from`, not a regular file, or not HDF5. */
enum err hdf5_file_named(struct store *s, int from, const char *name, int *file);
void hdf5_files_close(struct store *s);
/* Closes those that no array needs, once many are open. */
void hdf5_files_trim(struct store *s);

/* Opens the object of a hard link once its header is checked. */
enum err hdf5_object_open(struct store *s, int file, hid_t group, const char *name,
                          const H5L_info_t *link, hid_t *id);

/* Opens a file behind a URL, or one that begins at byte `base` of an object: libhdf5 reads its
 * metadata through a driver of its virtual file layer. The store must live as long as the file. */
enum err h5_open_object(struct store *s, int32_t object, int64_t base, hid_t *file);

int hdf5_key_of(int file, hid_t object, struct hdf5_key *out); /* 0: it failed */

/* Reads a text attribute, cut to `room`: 1; 0: there is none; -1: it cannot be read, and out says
 * why. */
int hdf5_text(struct store *s, int file, hid_t object, const char *name, char *out, size_t room);

/* Adds a note on what is there and cannot be read, and may be a group: its arrays are not known. */
enum err hdf5_hides(struct store *s, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Opens the object at a path by its links, all of which are checked. libhdf5 follows none. */
enum err hdf5_resolve(struct store *s, int file, const char *path, struct hdf5_place *out);
/* Finds all arrays and their other names. */
enum err hdf5_walk(struct store *s);

/* Fills the shape of a virtual dataset and its chunks, which are those of its sources. */
enum err hdf5_virtual(struct store *s, struct store_array *a, int file, hid_t list, hid_t id,
                      int depth);

#endif
