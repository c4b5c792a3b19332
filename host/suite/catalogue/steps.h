/* The steps on volumes and on views, one list each: rows of the suite's catalogue and of libtomoprof. */
#ifndef TP_SUITE_CATALOGUE_STEPS_H
#define TP_SUITE_CATALOGUE_STEPS_H

#include <math.h>

#include "host/suite/catalogue/volume.h"

/* clang-format off */
/* name behind "volume_", access pattern, what fills s->step, its settings, help */
#define VOLUME_STEPS(X) \
    X("z_norm", "stream", step_z_norm, "", "(x - mean) / std, NaN left out") \
    X("rescale", "stream", step_rescale, "min max", "least and largest value to min..max [0 1]") \
    X("crop", "stream", step_crop, "start shape", "box of a volume [3/4, centred]") \
    X("crop_or_pad", "stream", step_crop_or_pad, "shape", "centred, padded with 0 [5/4 3/4 1]") \
    X("flip", "stream", step_flip, "axes", "along axes [0]") \
    X("flip_all", "stream", step_flip_all, "", "along all three axes") \
    X("rot90", "stream", step_rot90, "axes k", "k quarter turns from axis to axis [0,1 1]") \
    X("resample_nearest", "gather", step_nearest, "shape", "nearest voxel, half-pixel centres [5/4]") \
    X("resample_linear", "gather", step_linear, "shape", "trilinear, half-pixel centres [5/4]") \
    X("downsample2", "stream", step_halve, "", "mean of 2x2x2 voxels") \
    X("cast", "stream", step_cast, "dtype", "to f16, bf16, i16 or u8, saturating [f16]") \
    X("crop_z_norm_cast", "stream", step_fused, "start shape dtype", "the three in one step, no array between")

/* name, access pattern, help, what makes the suite's input, what fills s->prepare, its settings, the check, what changes
 * the published set-up, the turn */
#define VIEW_STEPS(X) \
    X("remove_outliers", "stencil", "counts -> counts, bad pixels replaced", prepare_counts, step_outliers, \
      "size threshold sides", check_prepared, NULL, 0) \
    X("correct_flat_field", "stream", "counts -> transmission, flats that drift", prepare_frames, \
      step_flat_field, "flats after darks", check_prepared, NULL, 0) \
    X("normalise_air", "stream", "transmission -> the same, air becomes 1", prepare_transmission, step_air, \
      "left right per", check_prepared, NULL, 0) \
    X("retrieve_phase", "mixed", "transmission -> the same, Paganin's low-pass", prepare_transmission, \
      step_phase, "distance energy pixel delta_beta", check_phase, NULL, 0) \
    X("minus_log", "stream", "transmission -> sinogram, clipped", prepare_transmission, step_log, "low high", \
      check_prepared, NULL, 0) \
    X("correct_hardening", "stream", "sinogram -> sinogram, polynomial", prepare_sinogram, step_hardening, \
      "coefficients", check_prepared, NULL, 0) \
    X("correct_tilt", "gather", "sinogram -> sinogram, views turned, bilinear", prepare_sinogram, step_tilt, \
      "angle", check_prepared, NULL, 0) \
    X("join_half_turns", "gather", "full turn -> half a turn of a wide detector", prepare_sinogram, step_join, \
      "overlap end", check_prepared, set_up_off_centre, 2 * M_PI) \
    X("remove_stripes_wavelet", "mixed", "sinogram -> sinogram, rings taken out", prepare_stripes, \
      step_wavelet, "order levels damping", check_stripes, set_up_views, 0)
/* clang-format on */

#endif
