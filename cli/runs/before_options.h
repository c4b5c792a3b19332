/* The options of `recon` that are about the views before a reconstruction. */
#ifndef TP_CLI_RUNS_BEFORE_OPTIONS_H
#define TP_CLI_RUNS_BEFORE_OPTIONS_H

#include "base/err.h"
#include "host/scan/steps.h"

/* What was given; NULL or 0: not. */
struct before_options {
    double zingers; /* percent */
    const char *paganin, *hardening, *tilt, *overlap;
    int64_t air;
    double least;
};
/* ERR_USAGE names the option that is wrong. */
enum err before_options_read(const struct before_options *o, struct scan_steps *out);

/* One line: the steps and their times; lines for what they found. */
void before_options_tell(const struct scan_steps *s);

#endif
