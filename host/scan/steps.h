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

#endif
