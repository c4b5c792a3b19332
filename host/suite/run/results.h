/* Results of a run of the suite: a cell for each operation and size, in it a row for each run. */
#ifndef TP_SUITE_RUN_RESULTS_H
#define TP_SUITE_RUN_RESULTS_H

#include <stdint.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/timing/timing.h"
#include "host/backend/cpu_name.h"
#include "host/suite/catalogue/state.h"
#include "host/suite/run/plan.h"
#include "host/suite/run/suite.h"
#include "host/suite/statistics/stats.h"

enum row_status { ROW_SKIPPED, ROW_OK, ROW_FAILED };

/* A run. Everything but the status is meaningful for ROW_OK alone. Bytes moved count since the row
 * before. */
struct run_row {
    enum row_status status;
    double seconds;
    struct work work;
    struct fingerprint fingerprint;
    int64_t h2d_bytes, d2h_bytes, peak_host_bytes;
    double peak_device_bytes; /* 0: no device */
};

/* The machine's ceilings; 0 = unknown. cached_bytes_per_s: copy rate of arrays of the operation's
 * own size, the ceiling of those that fit the caches; like_runs_bytes_per_s: the same, measured as
 * runs are (suite_copy_rate), of volume operations alone. */
struct calibration {
    struct peak peak;
    double cached_bytes_per_s, like_runs_bytes_per_s;
    double kept_s; /* since the peak was measured, where it is a kept one; 0: before these runs */
};

/* The largest rates that were measured: a disturbed measurement is too slow, never too fast. */
struct peak calibration_ceiling(const struct calibration *c);

/* `reason` belongs to all rows that are not ok. Calibrated in the process that ran the rows. */
struct cell {
    const struct operation *op;
    int64_t size, shape[3]; /* shape: 0 for a cube */
    double bytes_in, bytes_out;
    struct run_row *rows; /* [runs] */
    char reason[256];
    struct calibration before, after; /* after: of further processes of a gate */
    struct pairs_joined pairs;        /* of calls and copies, for the gate */
    double pair_bytes;
    double updates;
    char shares[SUITE_SHARES];     /* of several processes: who did what */
    double touched, amplification; /* of reads of stores: chunks, bytes; 0: of others */
    struct statistics statistics;
    struct rates rates;
    int cold_only; /* the statistics rest on the cold run, because no other succeeded */
};

/* The machine and the build, without host name, user or paths: `facts` for timing.json, whose texts
 * are the arrays below. */
struct environment {
    struct timing_environment facts;
    const char *devices[1];
    char backend[16], device[128], isa[32], cpu[CPU_NAME], os[128], kernel[128];
};
void environment_read(const struct backend *be, const char *version, struct environment *out);

/* UTC now as 2026-01-31T12:00:00Z: a label, never a measurement. */
#define TIMESTAMP 24

struct results {
    struct run_plan plan;
    int64_t runs;
    uint64_t seed;
    const char *set; /* of `run --set`; NULL: none */
    double timeout_s;
    char timestamp[TIMESTAMP];
    int interrupted;
    struct environment environment;
    struct cell *cells; /* [op_count * size_count], operation by operation */
    struct fit fits[PLAN_OPS];
};
enum err results_create(const struct run_plan *plan, const struct suite_plan *options,
                        struct results *out);
void results_free(struct results *r);
struct cell *results_cell(const struct results *r, int op, int size);
/* Computes statistics and rates of all cells, and fits. */
void results_summarise(struct results *r);
int results_count(const struct results *r, enum row_status status);

/* timing.json (base/timing), whole or not at all. `traced`: rows of the traced pass, may be NULL.
 */
enum err results_write(const char *path, const struct results *r, const struct results *traced);
/* Prints the closing table on stderr, at most 100 columns; colours on a terminal. */
void results_print(const struct results *r);

/* Starts the child for c->op at c->size and fills c: every row becomes ok, failed (crash, timeout,
 * no memory, wrong result; reason) or skipped (more memory needed than there is, or *stop set;
 * reason). Needs no error of its own. `log` receives the child's stderr; on_tick(context) is called
 * about 10 times a second. */
void cell_run(const struct suite_plan *options, FILE *log, struct cell *c,
              void (*on_tick)(void *context), void *context);

#endif
