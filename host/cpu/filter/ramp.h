/* The ramp filter for rows of one length, prepared, and its inner loops. */
#ifndef TP_CPU_FILTER_RAMP_H
#define TP_CPU_FILTER_RAMP_H

#include <stdint.h>

#include "host/backend/backend.h"
#include "host/cpu/common/isa.h"
#include "host/cpu/filter/fft.h"

/* Convolution of many rows side by side with one real, even spectrum. */

#define FILTER_ROWS_MAX     32 /* two vectors of the widest machine */
#define FILTER_CHANNELS_MIN 16 /* the widest vector */

/* Rows of `channels` >= FILTER_CHANNELS_MIN, in transforms of n >= 2 channels - 1 points: 2^k for
 * radix 4, else radix * 2^k. */
struct row_filter {
    int64_t n, channels;
    int radix;                       /* of the outermost pass: 3, 4, 5 */
    const float *twiddle, *spectrum; /* as ramp.c fills them */
    int stream;                      /* writes past the caches: channels a multiple of 16 */
};

/* Rows of a block: to[i] = spectrum (weight[i] * from[i]); NULL: no row, no weights. */
struct row_block {
    const float *from[FILTER_ROWS_MAX], *weight[FILTER_ROWS_MAX];
    float *to[FILTER_ROWS_MAX];
};

struct filter_kernels {
    int rows; /* of a block */
    /* x: scratch of n * rows floats, aligned to 64 bytes. All of `from` is read before `to` is
     * written. */
    void (*block)(const struct row_filter *f, const struct row_block *b, float *x);
};
ISA_TABLES(filter_kernels);

/* The ramp filter for rows of one length, prepared. */

/* Rows are filtered in blocks, by the kernel (many rows side by side) or, where `kernels` is NULL,
 * by the FFT library (two rows as real and imaginary part). */
struct ramp {
    struct row_filter filter; /* its spectrum is in natural order for the library */
    const struct filter_kernels *kernels;
    struct fft *fft;
    int rows; /* of a block */
};

/* scale * h for rows of `channels`, of which `views` are filtered side by side. h(0) = 1/4, h(m) =
 * -1/(pi m)^2 at odd m, else 0 (Kak and Slaney: |w| at unit pitch, band-limited, cut in space so
 * that its mean is right). */
enum err ramp_create(int64_t channels, int64_t views, double scale, int threads, struct ramp *out);
void ramp_free(struct ramp *r); /* also after a failed ramp_create */

/* The ramp filter: an entry of the back end's table (host/backend/backend.h). */

enum err cpu_ramp_filter(struct backend *be, const struct scan *s, double scale,
                         const struct buffer *y, struct buffer *out);

#endif
