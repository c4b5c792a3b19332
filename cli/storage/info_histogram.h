/* `info --histogram`. */
#ifndef TP_CLI_STORAGE_INFO_HISTOGRAM_H
#define TP_CLI_STORAGE_INFO_HISTOGRAM_H

#include "base/err.h"

/* Prints the histogram of the first array that store_open finds. */
enum err info_histogram(const char *path, int bins, int json);

#endif
