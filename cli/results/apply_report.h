/* Prints the report of `tomoprof apply --json`. */
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

/* Prints one JSON object on stdout: parameters used (automatic ones filled), time of the
 * computation alone, work, fingerprint, and for MBIR the sigmas and one entry per iteration.
 * Unknown is null.
 */
void apply_report_print(const struct apply_report *r);

/* Notes how far the values of an input are from 1. npy_read has refused NaN and infinity, but for
 * volume and prepare operations, which define what they do with them. */
enum err apply_range_input(struct run_state *s, const struct array_pair *a);

/* Refuses a result that overflowed or vanished, although the input did not; warns where float32
 * lost digits. */
enum err apply_range_result(const struct run_state *s, const struct fingerprint *f);

/* Makes the model of edge `text`, or of a shape like 512x512x30. s->op is set. */
enum err apply_size_model(struct run_state *s, const char *text);
/* The line of times and rates on stderr; with `gate`, what the targets in that file say of it:
 * ERR_FAILED when one is missed. */
enum err apply_size_report(const struct apply_report *r, const char *text, const char *gate);

/* Has `tomoprof run` profile the operation: a run with its page and a flame graph. */
enum err apply_flame(const char *name, const char *size, int64_t runs, int threads);

/* KEY=VALUE KEY=VALUE into s->settings. */
enum err apply_settings(struct run_state *s, const char *text);

#endif
