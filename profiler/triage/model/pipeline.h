/* Flat field, logarithm, filter and median of the projections as one dataflow between detector and
 * host: what a card would hold, and whether it keeps up with the detector. */
#ifndef TP_TRIAGE_MODEL_PIPELINE_H
#define TP_TRIAGE_MODEL_PIPELINE_H

#include "profiler/triage/model/fpga.h"

#define STAGES 4

struct pipeline {
    const struct card *card;
    const char *stages[STAGES];
    struct lane each[STAGES]; /* what a lane of it takes */
    double size, lanes;       /* lanes of each stage, side by side */
    struct bounds samples_per_s;
    double detector_samples_per_s;
    double line_buffer_kib, ram_share, dsp_share, lut_share;
    int fits, keeps_up; /* at the pessimistic end */
    const char *bound;  /* what does not fit, or what the lanes come up against */
};
enum err pipeline_make(const struct card *card, double size, const struct weights *w,
                       struct pipeline *out);

#endif
