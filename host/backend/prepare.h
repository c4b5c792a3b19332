/* Steps on the views of a scan before a reconstruction, as plain data that every back end computes:
 * arrays (views, rows, channels), one in, one out. Compiles as C17 and as CUDA C++17. */
#ifndef TP_BACKEND_PREPARE_H
#define TP_BACKEND_PREPARE_H

#include <stdint.h>

#include "base/err.h"

enum prepare_kind {
    PREPARE_OUTLIERS, /* samples far from the median of their neighbours become that median */
    PREPARE_FLAT,     /* |I - D| / |F - D|, F between the flat fields before and after; else NaN */
    PREPARE_AIR,      /* divided by a line through the means of the air left and right */
    PREPARE_LOG,      /* -log of what is clipped to [low, high]; NaN where that is not finite */
    PREPARE_POLYNOMIAL, /* y -> sum of coefficient[k] y^(k + 1) */
    PREPARE_TILT,       /* views turned about their middle, bilinear, edges repeated */
    PREPARE_JOIN,       /* a full turn of an off-centre detector to half a turn of a wide one */
    PREPARE_WAVELET,    /* stripes removed by wavelets and Fourier transforms (Muench 2009) */
    PREPARE_PHASE,      /* low-pass 1 / (1 + ratio f^2), f in cycles a pixel: Paganin's */
    PREPARE_SYMMETRY    /* how well each trial centre closes a turn (Vo 2014) */
};

enum { SIDE_BRIGHT = 1, SIDE_DARK = 2 };

#define PREPARE_COEFFICIENTS 6
#define PREPARE_WINDOW       7  /* of outliers: the widest */
#define PREPARE_ORDERS       10 /* of wavelets: filters of 2 to 20 taps */
#define PREPARE_TAPS         (2 * PREPARE_ORDERS)
#define PREPARE_LEVELS       8
#define PREPARE_FREQUENCIES  64 /* that are damped: enough for a width of 10 */

struct prepare_step {
    enum prepare_kind kind;
    int64_t in[3], out[3]; /* (views, rows, channels) */
    /* outliers: odd edge of the window; which sides; |x - m| > threshold * |m| */
    int size, sides;
    double threshold;
    /* flat: where the first view lies between the flats before (0) and after (1), and the step */
    double drift_first, drift_step;
    /* air: so many channels left and right; of the whole view, or row by row */
    int64_t left, right;
    int whole_view;
    double low, high; /* log */
    double coefficient[PREPARE_COEFFICIENTS];
    double cosine, sine; /* tilt */
    /* join: channels that both halves see, and 1 where the axis is near the last channel, -1: near
     * the first */
    double overlap;
    int end;
    /* wavelet: order of Daubechies' filters, levels, width of the damping in frequencies, and by
     * how many samples views (their mean) and channels (the edge) are continued */
    int order, levels;
    double damping;
    int64_t margin;
    /* phase: pi * wavelength * distance * (delta / beta) / pixel^2 */
    double ratio;
    /* symmetry: of trial `i` the axis is at channel first_center + i * center_step */
    double first_center, center_step;
};

static inline int64_t prepare_samples(const int64_t shape[3])
{
    return shape[0] * shape[1] * shape[2];
}

/* Bytes that must cross main memory at least once, and operations of an ideal machine. */
double prepare_step_bytes(const struct prepare_step *s);
double prepare_step_flops(const struct prepare_step *s);

/* Daubechies' low-pass filter of an order, 2 * order taps, as it decomposes. */
const float *prepare_wavelet(int order);

/* Sizes of the wavelet's levels: views and channels of level 0, the continued array, and so on. */
struct prepare_levels {
    int64_t views[PREPARE_LEVELS + 1], channels[PREPARE_LEVELS + 1];
};
struct prepare_levels prepare_levels_of(const struct prepare_step *s);
/* At most as many levels as leave 16 samples. */
int prepare_levels_most(const struct prepare_step *s);
/* Factors of the damped frequencies 0, 1, ..: returns how many (at most `most`). */
int prepare_damping(double sigma, int64_t length, int most, float *factor);

/* pi * wavelength * distance * (delta / beta) / pixel^2, lengths in mm, energy in keV. */
double prepare_phase_ratio(double distance, double energy, double pixel, double delta_beta);
/* Wavelet: returns a tenth of the shorter side, at most 150. */
int64_t prepare_wavelet_margin(int64_t views, int64_t channels);
/* Phase: samples by which each side is continued, where the kernel has fallen to 3e-4. */
int64_t prepare_phase_margin(const struct prepare_step *s);
/* The continued length of `n` samples: 2^a 3^b 5^c, the same on every back end. */
int64_t prepare_phase_length(const struct prepare_step *s, int64_t n);

/* The smallest 2^a 3^b 5^c >= n: lengths of Fourier transforms, the same on all back ends, so that
 * they round alike. */
int64_t fft_good_size(int64_t n);

struct buffer;
/* ERR_INTERNAL where a step that reads flat and dark fields has fewer in `frames` (may be NULL). */
enum err prepare_check_frames(const struct prepare_step *s, const struct buffer *frames);

#endif
