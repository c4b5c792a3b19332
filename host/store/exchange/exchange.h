/* Scans in all formats that host/store reads: views as counts, flat and dark frames, angles, and
 * what the file tells of its geometry. Data Exchange and NXtomo (HDF5), Zeiss TXRM, TIFF stacks,
 * .npy and any array of three dimensions, whose flats and angles then come from files of their own.
 */
#ifndef TP_STORE_EXCHANGE_EXCHANGE_H
#define TP_STORE_EXCHANGE_EXCHANGE_H

#include <stdint.h>

#include "base/err.h"

struct exchange_source {
    const char *path;
    const char *flats, *darks; /* files or folders of frames; NULL: those of the scan */
    const char *angles; /* .npy or text, degrees, one per view; or "FIRST:LAST", both included */
    const char *flats_after; /* flat fields after the views, of a file of their own; or NULL */
    int drift; /* flats before and after the views are wanted apart, by what the scan says */
    struct exchange_cache *kept; /* what reads of other rows left; NULL: nothing is kept */
};

/* The opened scan and its decoded chunks between reads of rows: a chunk that holds rows of several
 * of them is decoded once. Scans of more than `bytes_most` decoded bytes are not kept. */
struct exchange_cache;
enum err exchange_cache_create(int64_t bytes_most, struct exchange_cache **out);
void exchange_cache_free(struct exchange_cache *k); /* NULL is fine */
/* Chunks that were decoded, and how often one was there already. */
void exchange_cache_count(const struct exchange_cache *k, int64_t *decoded, int64_t *again);

struct exchange_info {
    char format[32];
    int64_t views, rows, channels;
    int64_t whites, darks;
    char dtype[16];
    int sinogram_order;    /* (rows, views, channels) */
    int64_t decoded_bytes; /* of all chunks that need decoding; 0: none does */
    int has_theta;
    double theta_first, theta_last;  /* radians */
    int cone;                        /* then the three lengths are known */
    double center;                   /* 0-based channel of the rotation axis; NAN: unknown */
    double pixel;                    /* mm, at the rotation axis for cone beams; NAN: unknown */
    double source_iso, iso_detector; /* mm */
};
enum err exchange_info(const struct exchange_source *source, struct exchange_info *out);

struct exchange_counts {
    int64_t views, rows, channels;
    float *counts; /* (views, rows, channels), mem_alloc */
    /* Means over their frames, (rows, channels); one mem_alloc block. `after` is white where flats
     * are not apart. */
    float *white, *dark, *after;
    float *angles; /* radians, malloc */
};

/* Reads rows [row_first, row_first + row_count) (row_count < 0: all), averages whites and darks.
 * Whites all zero, theta of another length, a missing dataset: ERR_INPUT with the dataset's name.
 * Missing theta: linspace(0, pi, views) with the end included, with a warning. */
enum err exchange_read(const struct exchange_source *source, int64_t row_first, int64_t row_count,
                       struct exchange_counts *out);
void exchange_counts_free(struct exchange_counts *c);

/* Writes a Data Exchange file that exchange_read reads back: counts = white * exp(-sinogram),
 * `white` counts of flat field, 0 dark, theta in degrees. ERR_UNSUPPORTED without libhdf5. */
enum err exchange_write(const char *path, int64_t views, int64_t rows, int64_t channels,
                        const float *sinogram, const float *angles, double white);

#endif
