/* What `tomoprof apply --json` prints. */
#ifndef TP_CLI_RESULTS_APPLY_REPORT_H
#define TP_CLI_RESULTS_APPLY_REPORT_H

#include "host/backend/backend.h"
#include "host/suite/catalogue/state.h"

struct crew;
struct apply_report {
    struct run_state *state;
    const struct crew *crew; /* NULL: one process */
    double seconds, first;   /* median of `times`, or the first run */
    double *times;           /* [repeats], of the runs after the first */
    int64_t repeats;
    struct work work;
    size_t peak_host_bytes;
    struct fingerprint fingerprint;
    int dims; /* of the result */
    int64_t shape[3];
};

/* One JSON object on stdout: parameters used (automatic ones filled), time of the computation
 * alone, work, fingerprint, and for MBIR the sigmas and one entry per iteration. Unknown is null.
 */
void apply_report_print(const struct apply_report *r);

#endif
