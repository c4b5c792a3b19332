/* Pictures of slices as grey PNG files. */
#ifndef TP_STORE_FORMAT_PNG_H
#define TP_STORE_FORMAT_PNG_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* 8-bit grey PNG of values[rows][cols] (row stride and column stride in floats), [low, high] -> [0,
 * 255]. */
enum err png_write_grey(const char *path, int64_t rows, int64_t cols, const float *values,
                        int64_t row_stride, int64_t col_stride, double low, double high);
/* The same of values[rows][cols] without gaps, in memory: *png is malloc'ed, after failures too. */
enum err png_encode_grey(int64_t rows, int64_t cols, const float *values, double low, double high,
                         unsigned char **png, size_t *bytes);
/* A window that shows the object: the 0.5 and 99.5 percentiles of the finite values. */
void image_window(int64_t rows, int64_t cols, const float *values, int64_t row_stride,
                  int64_t col_stride, double *low, double *high);

/* Draws a bar of `high` in a frame of `low` into the lower left corner of values[rows][cols]. Its
 * length, which is returned, is 1, 2 or 5 times a power of ten, a quarter of the width at most. */
double scale_bar(int64_t rows, int64_t cols, float *values, double pitch, double low, double high);

#endif
