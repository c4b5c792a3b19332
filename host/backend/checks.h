/* Checks that the operations of all back ends make. */
#ifndef TP_BACKEND_CHECKS_H
#define TP_BACKEND_CHECKS_H

#include "host/backend/backend.h"

/* 1: no pixel is named twice, for the indices ascend, or all pixels are meant. */
int pixels_ascend(const struct pixel_set *pixels);

/* Refuse buffers that hold less than the bytes that an operation reads and writes; the second also
 * one buffer for both. ERR_INTERNAL. */
enum err backend_check_sizes(const char *what, size_t read, size_t written, const struct buffer *in,
                             const struct buffer *out);
enum err backend_check_buffers(const char *what, size_t read, size_t written,
                               const struct buffer *in, const struct buffer *out);

#endif
