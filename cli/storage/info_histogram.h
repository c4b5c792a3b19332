/* `info --histogram`. */
#ifndef TP_CLI_STORAGE_INFO_HISTOGRAM_H
#define TP_CLI_STORAGE_INFO_HISTOGRAM_H

#include "base/err.h"

/* Of the first array of what store_open knows. */
enum err info_histogram(const char *path, int bins, int json);

#endif
