/* What is done to the views of a scan before its reconstruction, in this order: zingers and dead
 * pixels, flat fields, air, phase, -log, beam hardening, tilt, halves of a turn joined, rings. Each
 * step is one of host/backend/prepare.h, timed and marked. */
#ifndef TP_SCAN_STEPS_H
#define TP_SCAN_STEPS_H

#include "host/backend/backend.h"
#include "host/scan/projections.h"

enum scan_rings { RINGS_KEEP, RINGS_SORTING, RINGS_WAVELET };
enum scan_center { CENTER_REGISTRATION, CENTER_ENTROPY, CENTER_SYMMETRY };
enum scan_find { FIND_NO, FIND_GIVEN, FIND_AUTO };

#define SCAN_STEPS_MOST 12

struct scan_steps {
    /* What a user asked for. */
    double zingers; /* share by which a pixel is brighter than its neighbours' median; 0: kept */
    int64_t air;    /* channels of air at either side; 0: not used */
    double delta_beta, energy, distance, pixel; /* phase: keV, mm; delta_beta 0: none */
    double least;                               /* transmission; 0: as it is */
    double hardening[PREPARE_COEFFICIENTS];     /* all 0: none */
    enum scan_find tilted, joined;
    double tilt, overlap; /* degrees, channels; found where asked for */
    int64_t bin;
    /* Where it is computed, and what was done. */
    struct backend *be;
    int end; /* of the overlap (prepare.h) */
    int64_t dead, zapped;
    int count;
    struct {
        const char *name;
        double seconds;
    } done[SCAN_STEPS_MOST];
};

/* Any step but -log. */
int scan_steps_wanted(const struct scan_steps *s);
/* A step needs all rows of a view: no slabs. */
int scan_steps_whole(const struct scan_steps *s);
/* Phase retrieval spreads a defect over its view. */
int scan_steps_spread(const struct scan_steps *s);

/* Counts to transmissions, in c->counts; NaN where there is none. */
enum err scan_steps_counts(struct scan_steps *s, struct exchange_counts *c);
/* To line integrals; then what is done to these. Shapes in *p follow. */
enum err scan_steps_transmission(struct scan_steps *s, struct projections *p);
enum err scan_steps_integrals(struct scan_steps *s, struct projections *p);

/* One step on *y, a mem_alloc array of the step's input shape, which is replaced. frames: host, or
 * NULL. */
enum err scan_step_run(struct scan_steps *s, const char *name, const struct prepare_step *step,
                       const float *frames, float **y);
/* Adds a time to those of this name. */
void scan_step_time(struct scan_steps *s, const char *name, double seconds);

#endif
