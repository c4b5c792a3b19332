/* Weights of MBIR, and the thresholds that find metal. */
#ifndef TP_RECON_WEIGHTS_H
#define TP_RECON_WEIGHTS_H

#include "host/backend/backend.h"
#include "host/geom/scan.h"

/* MBIRJAX's gen_weights; the names of the kinds but WEIGHTS_MAR. */
#define WEIGHTS_NAMES "unweighted|transmission|transmission_root|emission"
enum err gen_weights(struct backend *be, enum weights_kind kind, const struct buffer *y,
                     struct buffer *w);

/* MBIRJAX's gen_weights_mar: exp(-y (1 + gamma m)/beta). Where `initial` is given, m is 1 for rays
 * through its metal, voxels above the upper of two Otsu thresholds; else for samples of y above
 * theirs. */
struct mar_options {
    double beta, gamma;
    const struct buffer *initial; /* volume (optional) */
};
#define MAR_DEFAULTS .beta = 1, .gamma = 3
enum err gen_weights_mar(struct backend *be, const struct ct_model *m, const struct buffer *y,
                         const struct mar_options *o, struct buffer *w);

#endif
