/* The ramp filter for rows of one length, prepared. */
#ifndef TP_CPU_FILTER_RAMP_H
#define TP_CPU_FILTER_RAMP_H

#include "host/cpu/filter/fft.h"
#include "host/cpu/filter/filter_kernel.h"

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

#endif
