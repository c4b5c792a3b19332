/* Finds the arrays of a scan file that are its views, flat and dark frames and angles, in every
 * format. */
#ifndef TP_STORE_EXCHANGE_ROLES_H
#define TP_STORE_EXCHANGE_ROLES_H

#include "host/store/exchange/exchange.h"
#include "host/store/store.h"

struct frames { /* pictures of one kind */
    struct store *store;
    struct store_array *array; /* NULL: none */
    int64_t *index;            /* which of the array's pictures, malloc; NULL: the first `count` */
    int64_t count;
    int rows_first; /* (rows, frames, channels) instead of (frames, rows, channels) */
    double value;   /* of all pixels where the array is missing or zero; NAN: unknown */
};

struct scan_file {
    const char *path;
    struct store *store, *others[3]; /* flats, darks and angles of other files; NULL: none */
    struct frames data, flats, darks;
    int others_flats, others_darks, others_angles; /* they come from files of their own */
    const char *format;
    int64_t views, rows, channels;
    double *theta; /* radians, one per view, malloc; NULL: none is known */
    double center, pixel, source_iso, iso_detector; /* as in exchange_info */
    int cone;
    struct chunk_cache *kept; /* chunks of several kinds of frames are decoded once; or NULL */
    int keep_all;             /* and all others */
};

enum err scan_file_open(const struct exchange_source *source, struct scan_file *out);
void scan_file_close(struct scan_file *s);
/* Lets frames_read keep decoded chunks, at most so many bytes, where a chunk holds frames that are
 * read apart: views, flat and dark frames in one stack. */
enum err scan_file_keep(struct scan_file *s, int64_t bytes_most);

/* Decoded bytes of all chunks with a codec; 0: there are none, or they form no grid. */
int64_t scan_file_decoded_bytes(const struct scan_file *s);
/* Lets frames_read keep all of them where that takes at most so many bytes; else the above. */
enum err scan_file_keep_all(struct scan_file *s, int64_t bytes_most, int64_t shared_most);

/* Pictures [first, first + count) of a kind, rows [row, row + rows): element (frame, row, channel)
 * goes to out[frame * stride + row * channels + channel]. */
enum err frames_read(const struct scan_file *s, const struct frames *f, int64_t first,
                     int64_t count, int64_t row, int64_t rows, float *out, int64_t stride);

/* Single numbers, lists of angles and notes of a store. */

/* All names of arrays: their own, and those of links. */
int values_names(const struct store *s);
struct store_alias values_name(const struct store *s, int i);
struct store_array *values_find(struct store *s, const char *name); /* NULL: none */
/* The same for what a scan needs where it is there: ERR_INPUT where it cannot be read. */
enum err values_want(struct store *s, const char *name, struct store_array **out);
/* Reads all elements as float64, malloc'ed. */
enum err values_read(struct store *s, struct store_array *a, double **out);
/* Its only element; NAN: it is not there, or has several. `array` (if not NULL): it, or NULL. */
enum err values_scalar(struct store *s, const char *name, double *out, struct store_array **array);
double values_note(const struct store *s, const char *name); /* a note's number, or NAN */
double values_millimetres(const char *units);                /* NAN: another unit */
/* "FIRST:LAST" in degrees, or a file of one angle per view: .npy, or numbers in text. In radians,
 * malloc. */
enum err values_angles(const char *source, int64_t views, double **out);

/* Arrays of an NXtomo scan. */

/* Puts the path of another array of the group of `name` into `path`, and returns it. */
const char *nexus_sibling(const char *name, const char *other, char path[1024]);
/* Finds the views by the name that lies in an NXdetector, and their image_key. *key is NULL: none;
 * ERR_INPUT: it cannot be read. */
enum err nexus_detector(struct store *s, struct store_alias *out, struct store_array **key);
/* Finds the rotation_angle of an NXsample that shares most of its path with the detector; NULL:
 * none. ERR_INPUT: what may be it cannot be read. */
enum err nexus_rotation(struct store *store, const char *data, struct store_array **out);

#endif
