/* The operations on the views of a scan before a reconstruction: rows of the catalogue. */
#ifndef TP_SUITE_CATALOGUE_BEFORE_H
#define TP_SUITE_CATALOGUE_BEFORE_H

#include "host/suite/catalogue/catalogue.h"

extern const struct operation_rows prepare_operations;

/* Fills s->prepare, and the shapes in s->step, from the model's scan and s->settings. ERR_USAGE
 * names the setting that is wrong. In the order of the rows (before_step.c). */
enum err step_outliers(struct run_state *s);
enum err step_flat_field(struct run_state *s);
enum err step_air(struct run_state *s);
enum err step_log(struct run_state *s);
enum err step_hardening(struct run_state *s);
enum err step_tilt(struct run_state *s);
enum err step_join(struct run_state *s);
enum err step_wavelet(struct run_state *s);
enum err step_phase(struct run_state *s);
enum err step_center(struct run_state *s);

/* "1,0.1": the coefficients of y, y^2, .. */
enum err prepare_coefficients(const char *text, double out[PREPARE_COEFFICIENTS]);

/* Some hundred samples of the result, each computed anew in float64 (before_check.c). */
enum err check_prepared(struct run_state *s);
enum err check_phase(struct run_state *s);  /* keeps the mean, makes the views smoother */
enum err check_center(struct run_state *s); /* near the phantom's */

/* Inputs of the suite: counts of the phantom with outliers, flat fields that drift. */
enum err prepare_counts(struct run_state *s);
enum err prepare_transmission(struct run_state *s);
enum err prepare_frames(struct run_state *s);

#endif
