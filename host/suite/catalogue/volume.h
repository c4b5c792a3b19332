/* The operations on volumes, and on the views before a reconstruction: rows of the catalogue, and
 * what `apply --set` says to them. */
#ifndef TP_SUITE_CATALOGUE_VOLUME_H
#define TP_SUITE_CATALOGUE_VOLUME_H

#include "host/suite/catalogue/catalogue.h"

extern const struct operation_rows volume_operations;

/* Fills s->step, and the shapes in bytes, from the model's volume and s->settings. ERR_USAGE names
 * the setting that is wrong. In the order of the rows (volume_step.c). */
enum err step_z_norm(struct run_state *s);
enum err step_rescale(struct run_state *s);
enum err step_crop(struct run_state *s);
enum err step_crop_or_pad(struct run_state *s);
enum err step_flip(struct run_state *s);
enum err step_flip_all(struct run_state *s);
enum err step_rot90(struct run_state *s);
enum err step_nearest(struct run_state *s);
enum err step_linear(struct run_state *s);
enum err step_halve(struct run_state *s);
enum err step_cast(struct run_state *s);
enum err step_fused(struct run_state *s);
enum err step_same(struct run_state *s); /* the volume as it is: load and save */

/* Computes the step that they filled, from s->in to s->out. */
enum err run_volume_step(struct run_state *s);

/* KEY=VALUE of `apply --set`: the value, NULL where it was not given; *out is left alone then. */
const char *setting(const struct run_state *s, const char *key);
enum err setting_number(const struct run_state *s, const char *key, double *out);
/* Cuts "KEY=VALUE KEY=VALUE" into its items, at most `most`; text is changed. */
enum err settings_split(char *text, const char **items, int most, int *count);
#define SETTINGS_MOST 32
/* 1: the operation takes the key of KEY=VALUE. */
struct operation;
int setting_taken(const struct operation *op, const char *given);
/* Only what the operation takes, each once. */
enum err settings_check(const struct run_state *s);

/* Some hundred voxels of the result, each computed anew in float64 (volume_check.c). */
enum err check_volume(struct run_state *s);

/* Files of the operation's own making, in $TMPDIR (volume_file.c). */
enum err prepare_nii(struct run_state *s);
enum err prepare_nii_gz(struct run_state *s);
enum err run_map(struct run_state *s);
enum err run_touch(struct run_state *s);
enum err run_load(struct run_state *s);
enum err run_save_nii(struct run_state *s);
enum err run_save_nii_gz(struct run_state *s);
enum err check_loaded(struct run_state *s);
enum err check_saved(struct run_state *s);
enum err prepare_save(struct run_state *s);
void volume_finish(struct run_state *s);
struct work work_map(struct run_state *s);
struct work work_touch(struct run_state *s);
struct work work_file(struct run_state *s);

/* On views: group prepare. */
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
enum err run_view_step(struct run_state *s);
enum err step_sorting(struct run_state *s); /* remove_stripes: its median in s->prepare.size */
enum err run_sorting(struct run_state *s);

/* Some hundred samples of the result, each computed anew in float64 (before_check.c). */
enum err check_prepared(struct run_state *s);
enum err check_phase(struct run_state *s);  /* keeps the mean, makes the views smoother */
enum err check_center(struct run_state *s); /* near the phantom's */

/* Inputs of the suite: counts of the phantom with outliers, flat fields that drift. */
enum err prepare_counts(struct run_state *s);
enum err prepare_transmission(struct run_state *s);
enum err prepare_frames(struct run_state *s);

#endif
