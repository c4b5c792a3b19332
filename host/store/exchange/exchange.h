/* Data Exchange HDF5 scans (exchange/data, data_white, data_dark, theta). Needs libhdf5; without it
 * every call says so (ERR_UNSUPPORTED). */
#ifndef TP_STORE_EXCHANGE_EXCHANGE_H
#define TP_STORE_EXCHANGE_EXCHANGE_H

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

struct exchange_counts {
    int64_t views, rows, channels;
    float *counts;       /* (views, rows, channels), mem_alloc */
    float *white, *dark; /* means over their frames, (rows, channels); one mem_alloc block */
    float *angles;       /* radians, malloc */
};

/* Reads rows [row_first, row_first + row_count) (row_count < 0: all), averages whites and darks.
 * Whites all zero, theta of another length, a missing dataset: ERR_INPUT with the dataset's name.
 * Missing theta: linspace(0, pi, views) with the end included, with a warning. */
enum err exchange_read(const char *path, int64_t row_first, int64_t row_count,
                       struct exchange_counts *out);
void exchange_counts_free(struct exchange_counts *c);

/* Writes a scan that exchange_read reads back: counts = white * exp(-sinogram), `white` counts of
 * flat field, 0 dark, theta in degrees. */
enum err exchange_write(const char *path, int64_t views, int64_t rows, int64_t channels,
                        const float *sinogram, const float *angles, double white);

#endif
