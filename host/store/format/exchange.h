/* Data Exchange HDF5 scans (exchange/data, data_white, data_dark, theta). Needs libhdf5; without it
 * every call says so (ERR_UNSUPPORTED). */
#ifndef TP_STORE_FORMAT_EXCHANGE_H
#define TP_STORE_FORMAT_EXCHANGE_H

#include <stdint.h>

#include "host/base/err.h"

struct exchange_info {
    int64_t views, rows, channels;
    int64_t whites, darks;
    char dtype[16];
    int sinogram_order; /* axes attribute says y:theta:x */
    int has_theta;
    double theta_first, theta_last; /* radians */
};
enum err exchange_info(const char *path, struct exchange_info *out);

struct projections {
    int64_t views, rows, channels;
    float *sinogram;  /* (views, rows, channels), mem_alloc */
    float *angles;    /* radians, malloc */
    int64_t repaired; /* samples that had no valid -log and were filled from their neighbours */
};

/* Reads rows [row_first, row_first + row_count) (row_count < 0: all), averages whites and darks,
 * and computes -log(|I - D| / |F - D|); samples where that is not finite are filled by the median
 * of their valid 3x3 neighbours, repeated until none is left. Whites all zero, theta of another
 * length, a missing dataset: ERR_INPUT with the dataset's name. Missing theta: linspace(0, pi,
 * views) with the end included, with a warning. */
enum err exchange_read(const char *path, int64_t row_first, int64_t row_count,
                       struct projections *out);
void projections_free(struct projections *p);

/* Writes a scan that exchange_read reads back: counts = white * exp(-sinogram), `white` counts of
 * flat field, 0 dark, theta in degrees. */
enum err exchange_write(const char *path, int64_t views, int64_t rows, int64_t channels,
                        const float *sinogram, const float *angles, double white);

/* Rotation centre (0-based channel, real number) of a scan over 180 degrees: the shift that best
 * matches the view at theta with the mirrored view at theta + pi, refined below one channel;
 * `score` in [0, 1] says how sharp the match is. ERR_INPUT when no two views lie 180 degrees apart
 * (within one step). */
enum err find_center(const struct projections *p, double *center, double *score);

#endif
