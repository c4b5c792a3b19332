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

#endif
