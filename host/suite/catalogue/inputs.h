/* Inputs of the suite: a phantom of two ellipsoids that fills the region of reconstruction, 1 %
 * noise. */
#ifndef TP_SUITE_CATALOGUE_INPUTS_H
#define TP_SUITE_CATALOGUE_INPUTS_H

#include "host/suite/catalogue/state.h"

enum err prepare_volume(struct run_state *s); /* the phantom */
enum err prepare_noisy_volume(struct run_state *s);
enum err prepare_sinogram(struct run_state *s); /* its exact line integrals with noise */

enum err prepare_stripes(struct run_state *s); /* the same; a channel in seven is off */

/* References for checks; fill an array of the shape of the volume or the sinogram. */
void phantom_volume(const struct ct_model *m, float *out);
void phantom_sinogram(const struct ct_model *m, float *out);

#endif
