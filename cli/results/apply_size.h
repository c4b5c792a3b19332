/* `apply NAME SIZE ITERATIONS`: one operation on an input that the suite makes. */
#ifndef TP_CLI_RESULTS_APPLY_SIZE_H
#define TP_CLI_RESULTS_APPLY_SIZE_H

#include "cli/results/apply_report.h"

/* The model of edge `text`, or of a shape like 512x512x30. s->op is set. */
enum err apply_size_model(struct run_state *s, const char *text);
/* The line of times and rates on stderr; with `gate`, what the targets in that file say of it:
 * ERR_FAILED when one is missed. */
enum err apply_size_report(const struct apply_report *r, const char *text, const char *gate);

/* KEY=VALUE KEY=VALUE into s->settings. */
enum err apply_settings(struct run_state *s, const char *text);

#endif
