/* What `tomoprof bench` says: a table for people on stderr, Markdown for the docs on stdout. */
#ifndef TP_CLI_RESULTS_BENCH_REPORT_H
#define TP_CLI_RESULTS_BENCH_REPORT_H

#include "host/suite/bench/bench.h"

/* The operations and their units, on stdout. */
void bench_report_list(void);

/* Head and rows of the table. */
void bench_report_head(void);
void bench_report_row(const struct bench_row *row);

/* "24.1 GUP/s", "410 k rows/s"; "-" when unknown. */
void bench_rate_text(double rate, enum bench_unit unit, char out[24]);

/* One line for each row that both have: ratio of costs and verdict, same within `percent`.
 * fail: ERR_FAILED when one is slower by more than that. ERR_INPUT when they have no row in common.
 */
enum err bench_report_against(const struct bench_results *now, const char *path,
                              const struct bench_results *then, double percent, int fail);

/* Tables of targets, of all rows, and of growth with size. */
void bench_report_markdown(const struct bench_results *r);

/* A graph of seconds against N. ERR_INPUT when no operation has two sizes. */
enum err bench_report_svg(FILE *out, const struct bench_results *r);

#endif
