/* Powers of two that bring the values of an array near 1. Multiplying by them changes no digit. */
#ifndef TP_RECON_COMMON_RESCALE_H
#define TP_RECON_COMMON_RESCALE_H

#include "host/backend/backend.h"

/* Sums of products of values up to this may vanish, where none of the values does. */
#define RESCALE_TINY 0x1p-100

/* Finds the largest magnitude of a buffer on the device or, with `on_host`, in host memory. NaN
 * when a value is not finite. `be` may be NULL with `on_host`. */
enum err rescale_largest(struct backend *be, const struct buffer *b, int on_host, double *out);

/* Returns the exponent of the factor for values up to `largest`. 0 within 2^-32 and 2^32, where
 * squares and their products with other squares fit float32; also for 0 and NaN. */
int rescale_exponent(double largest);

/* b *= 2^exponent. */
enum err rescale_by(struct backend *be, struct buffer *b, int on_host, int exponent);

/* A copy of `from` in *to, times 2^exponent; free with rescale_release. */
enum err rescale_copy(struct backend *be, const char *what, const struct buffer *from, int on_host,
                      int exponent, struct buffer *to);
void rescale_release(struct backend *be, struct buffer *b, int on_host);

#endif
