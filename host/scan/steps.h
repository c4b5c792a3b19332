/* Steps on the views of a scan before its reconstruction, in this order: zingers and dead pixels,
 * flat fields, air, phase, -log, beam hardening, tilt, halves of a turn joined, rings. Each step is
 * one of host/backend/prepare.h, timed and marked. */
#ifndef TP_SCAN_STEPS_H
#define TP_SCAN_STEPS_H

#include "host/scan/projections.h"
#include "host/scan/reconstruct.h"

/* Counts to transmissions, in x->counts; NaN where there is none. */
enum err scan_steps_counts(const struct scan_context *c, struct exchange_counts *x);
/* To line integrals; then what is done to these. Shapes in *p follow. */
enum err scan_steps_transmission(const struct scan_context *c, struct projections *p);
enum err scan_steps_integrals(const struct scan_context *c, struct projections *p);

/* A step on *y, a mem_alloc array of the step's input shape, which is replaced. frames: host, or
 * NULL. */
enum err scan_step_run(const struct scan_context *c, const char *name,
                       const struct prepare_step *step, const float *frames, float **y);
/* Adds a time to those of this name. */
void scan_step_time(struct scan_result *r, const char *name, double seconds);

/* Rays that were measured twice, in a scan that is to be reconstructed. */

/* Before the sinogram goes anywhere: it times the weights, and wider by zeros where half of the
 * object lies beside the detector (the model's channels and their offset follow). */
enum err scan_weigh_rays(struct scan_context *c);

/* Removal of rings, on the sinogram. */

/* If rings are to be removed, *y, (views, rows, channels) from mem_alloc, is replaced by one
 * without stripes. */
enum err scan_remove_rings(const struct scan_context *c, const struct ct_model *m, float **y);

#endif
