/* Targets of speed: a JSON file of them (tomoprof-targets/1), and what a run's rows say to each.
 *   {"schema": "tomoprof-targets/1", "targets": [
 *     {"operation": "volume_flip*", "measure": "output_mb_per_s", "at_least": 500, "source":
 * ".."}]}
 */
#ifndef TP_SUITE_STATISTICS_TARGETS_H
#define TP_SUITE_STATISTICS_TARGETS_H

#include "base/json/json.h"
#include "host/suite/statistics/stats.h"

#define TARGETS_SCHEMA  "tomoprof-targets/1"
#define TARGETS_SHIPPED "shipped" /* the name of the file that is part of the program */

/* input_mb_per_s, output_mb_per_s: bytes of the arrays over the median, MB = 10^6. copy_share: the
 * bytes that must move over the copy rate of arrays of that size, in pairs of calls and copies;
 * output_copy_share: the result's bytes twice, as a copy of it. milliseconds: the median. */
#define TARGET_FIELDS(X)                                                                           \
    X(TEXT, _, operation, "name; * and ? as in a shell")                                           \
    X(TEXT, _, measure, "input_mb_per_s, output_mb_per_s, copy_share, ...")                        \
    X(EXTRA, _, at_least, "this or at_most")                                                       \
    X(EXTRA, _, at_most, "")                                                                       \
    X(EXTRA, _, from_size, "smaller volumes are not judged")                                       \
    X(TEXT, _, source, "whose target it is")

#define TARGETS_FILE_FIELDS(X)                                                                     \
    X(TEXT, _, schema, "")                                                                         \
    X(LIST, speed_target, targets, "")

/* clang-format off */
JSON_DEFINE(speed_target, TARGET_FIELDS)
struct targets {
    TARGETS_FILE_FIELDS(JSON_MEMBER)
    struct arena *arena;
};
/* clang-format on */

/* `name`: a file, or TARGETS_SHIPPED. ERR_INPUT for an unknown measure, a target without a limit
 * and the like. */
enum err targets_read(const char *name, struct targets *out);
void targets_free(struct targets *t); /* all zero is fine */

/* Results of one operation at one size; unknown numbers are NaN. */
struct target_row {
    const char *operation, *shape; /* "256", "512x512x30" */
    double size;
    double seconds, bytes_in, bytes_out, bytes_moved, copy_bytes_per_s;
    int implausible;         /* faster than the machine can be: passes nothing */
    const char *reason;      /* why the time is not known; NULL: it is */
    struct pair_share pairs; /* against copies; n = 0: the rates above are compared instead */
    double pair_bytes;       /* that one of these copies reads and writes */
};

/* UNDECIDED: the interval holds the limit. UNKNOWN: it was not measured. Both pass nothing. */
enum target_verdict {
    TARGET_ELSEWHERE,
    TARGET_PASSED,
    TARGET_MISSED,
    TARGET_UNDECIDED,
    TARGET_UNKNOWN
};
/* Compared with the limit; without pairs low = high = value. */
struct target_value {
    double value, low, high;
};
/* ELSEWHERE: the target is not about this row. Of shares of the copy rate the whole interval is
 * held against the limit. */
enum target_verdict target_judge(const struct speed_target *t, const struct target_row *row,
                                 struct target_value *value);

/* Returns 1 while more pairs could still decide a target of this row: one is about a share, and its
 * interval holds the limit. */
int targets_open(const struct targets *t, const struct target_row *row);
/* Returns 1 where a target of this row is about a share of the copy rate. */
int targets_ask_pairs(const struct targets *t, const struct target_row *row);

/* A table on stderr with a line for each target and row; how many were met, missed, undecided and
 * unknown. */
struct targets_count {
    int passed, missed, undecided, unknown;
};
struct targets_count targets_print(const struct targets *t, const struct target_row *rows, int n);
/* Concludes for a gate: ERR_FAILED where one was missed or none was about what was run (`what`).
 * Undecided ones are a warning. */
enum err targets_conclude(const struct targets *t, const struct targets_count *count,
                          const char *gate, const char *what);

#endif
