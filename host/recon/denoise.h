/* MAP denoising with the qGGMRF prior. */
#ifndef TP_RECON_DENOISE_H
#define TP_RECON_DENOISE_H

#include "host/recon/recon.h"

struct denoise_options {
    double sigma_noise;            /* of the image; 0 = estimated from it */
    int64_t max_iterations;        /* 15 */
    double stop_threshold_percent; /* 0.2 */
    uint32_t seed;                 /* of NumPy's generator, which draws the subsets */
    double sharpness;              /* sigma_x grows by 2^sharpness; 0 */
    double sigma_x;                /* of the prior; 0 = estimated from the image */
    const struct buffer *initial;  /* to begin with; NULL = the image */
    const struct partition *part;  /* subsets of the caller's; NULL = 16, drawn by the seed */
    void (*on_iteration)(void *context, int64_t done, int64_t total); /* progress (optional) */
    void *context;
};

struct denoise_report {
    double sigma_noise, sigma_x;
    int64_t iterations;
    double change_percent, alpha; /* of the last iteration */
};

/* MBIRJAX's QGGMRFDenoiser, its subsets in order. in and out are volumes of v's size and differ, but
 * out may be options->initial. r gives p, q, T and the weights of neighbours; NULL: MBIRJAX's
 * defaults. */
enum err qggmrf_denoise(struct backend *be, const struct volume *v, const struct regularisation *r,
                        const struct buffer *in, const struct denoise_options *o,
                        struct buffer *out, struct denoise_report *report);

#endif
