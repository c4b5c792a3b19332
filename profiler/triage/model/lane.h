/* Estimates one lane's use of a card, from the primitive's operations. */
#ifndef TP_TRIAGE_MODEL_LANE_H
#define TP_TRIAGE_MODEL_LANE_H

#include "profiler/triage/model/primitive.h"

struct lane {
    double dsp, lut, ports;
};

/* For slices of size^2, with the widths that the sweep found. `irregular`: cells are looked up in
 * banks, not shifted past. */
struct lane lane_of(const struct primitive *p, const struct card *card, double size, int irregular);

#endif
