/* Calibrations of this machine that are kept for the processes to come, in
 * $XDG_CACHE_HOME/tomoprof/calibration-KEY, or below ~/.cache. */
#ifndef TP_SUITE_RUN_RATE_FILE_H
#define TP_SUITE_RUN_RATE_FILE_H

#include <limits.h>

#include "host/backend/backend.h"

#define RATES_COPIES 64

struct rate_copy {
    double bytes, bytes_per_s; /* of both arrays; the best rate of copies of that size */
};

struct rate_file {
    char path[PATH_MAX]; /* "": no folder is known, or nothing may be kept */
    char about[1024];    /* what the rates depend on, a line each */
    double age_s;        /* since the peak was measured; 0: there is none */
    struct peak peak;
    struct rate_copy copies[RATES_COPIES]; /* the last that was added comes first */
    int copies_count;
};

/* Finds what is kept of this machine, with the back end's threads: nothing where the file is of another
 * processor, limit of its frequency, kernel or build, or is damaged. */
void rate_file_read(const struct backend *be, struct rate_file *k);

/* 1: the rate of copies of so many bytes is kept. */
int rate_file_copy_rate(const struct rate_file *k, double bytes, double *bytes_per_s);
void rate_file_add_copy(struct rate_file *k, double bytes, double bytes_per_s);
void rate_file_forget(struct rate_file *k); /* the rates */

/* Writes it for others; where that cannot be done, the log says why. */
void rate_file_write(const struct rate_file *k);

#endif
